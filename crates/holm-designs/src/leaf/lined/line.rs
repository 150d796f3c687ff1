//! A line: three pairs, and one word that says which of them were live at the ends of which epochs.
//!
//! ```text
//! bytes 0-7     epoch tag 36 | spare 4 | turns 3 x 4 | states of two epochs before, one before, and now: 3 x 4
//!       8-55    three pairs {key, value}
//!       56-63   three fingerprints | spare 8 | 32 bits of the leaf: in the first line its keyspace, in the second its
//!               origin or heir
//! ```
//!
//! A state has a bit for each slot. In the first line it has one more, which says whether the block is a leaf. The tag
//! is the epoch of the line's last change, so the three states belong to the ends of that epoch and of the two before.
//! *One store of the word rolls the states over and publishes a change*, and survives any tearing down to words. A slot
//! that an older state names changes only after a store of the word that takes it out of that state, so the stores to a
//! line must persist in their order.

use holm_medium::{Epoch, Medium, Word, WriteHandle, persistent};
use holm_tree::keys::Slot;
use holm_tree::pair::Pair;

/// The pairs of a line.
pub const PAIRS: usize = 3;
/// A bit for each of them.
pub const ALL: u32 = (1 << PAIRS) - 1;
/// In a state of the first line: the block is a leaf.
pub const LEAF: u32 = 1 << PAIRS;

/// Where the parts of the word lie, and the bits of each.
const TAG: u32 = 28;
const TURNS: u32 = 12;
const STATE: u64 = 0xf;
const TURN: u32 = 0xf;

/// Of two copies of a key, the newer one has the greater turn, counted modulo sixteen. Copies of one key never lie more
/// turns apart than this.
pub const FARTHEST: u32 = 7;

persistent! {
    /// 64 bytes.
    #[repr(align(64))]
    pub struct Line {
        /// See [`Versions`].
        pub versions: Word,
        /// The slots.
        pub pairs: [Pair; 3],
        /// Fingerprints, and 32 bits of the leaf.
        pub rest: Word,
    }
}

const _: () = assert!(size_of::<Line>() == 64, "a line");

/// The word of a line, unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Versions {
    /// The epoch of the last change.
    pub tag: Epoch,
    /// The state since then.
    pub now: u32,
    /// The state at the end of the epoch before the tag's.
    pub last: u32,
    /// The state at the end of the epoch before that one.
    pub before: u32,
    /// A turn for each slot.
    turns: u32,
}

impl Versions {
    /// Any word is valid.
    #[inline]
    pub fn unpack(word: u64) -> Self {
        let state = |shift: u32| (word >> shift & STATE) as u32;
        let turns = (word >> TURNS) as u32 & 0xfff;
        Versions { tag: word >> TAG, now: state(0), last: state(4), before: state(8), turns }
    }

    #[inline]
    fn pack(self) -> u64 {
        let states = self.now | self.last << 4 | self.before << 8;
        self.tag << TAG | u64::from(self.turns) << TURNS | u64::from(states)
    }

    /// Returns the state at the end of an epoch that a crash may choose, or the present one. Epochs without changes
    /// leave no trace in a log, so the tag may lie far beyond; at most two epochs with changes follow a recovery point,
    /// one directly after the other, so the oldest state is then the wanted one.
    #[inline]
    pub fn at(self, epoch: Epoch) -> u32 {
        match self.tag {
            tag if tag <= epoch => self.now,
            tag if tag == epoch + 1 => self.last,
            _ => self.before,
        }
    }

    /// Returns the word as an operation of `epoch` finds it, with no change of that epoch yet.
    #[inline]
    pub fn in_epoch(self, epoch: Epoch) -> Self {
        let [last, before] = [1, 2].map(|past| self.at(epoch.saturating_sub(past)));
        Versions { tag: epoch, last, before, ..self }
    }

    /// Returns the slots that no operation of the tag's epoch may overwrite: older states name them.
    #[inline]
    pub fn pinned(self) -> u32 {
        self.last | self.before
    }

    /// Returns a slot's turn.
    #[inline]
    pub fn turn(self, index: usize) -> u32 {
        self.turns >> (index * 4) & TURN
    }

    /// Returns the word with another turn of a slot.
    #[inline]
    pub fn with_turn(self, index: usize, turn: u32) -> Self {
        let shift = index * 4;
        Versions { turns: self.turns & !(TURN << shift) | (turn & TURN) << shift, ..self }
    }

    /// Returns the word with another present state.
    #[inline]
    pub fn with_now(self, now: u32) -> Self {
        Versions { now, ..self }
    }

    /// Returns the word without slots in its older states, for slots that no older state needs.
    #[inline]
    pub fn without(self, slots: u32) -> Self {
        Versions { last: self.last & !slots, before: self.before & !slots, ..self }
    }

    /// Returns the word after a recovery to an epoch: nothing later can come back.
    pub fn scrubbed(self, epoch: Epoch) -> Self {
        let now = self.at(epoch);
        Versions { tag: epoch, now, last: now, before: now, ..self }
    }
}

/// Returns how many turns one copy comes after another: 1 to 8 if it is the newer one.
#[inline]
pub fn turns_after(older: u32, newer: u32) -> u32 {
    newer.wrapping_sub(older) & TURN
}

impl Line {
    #[inline]
    pub fn versions(&self) -> Versions {
        Versions::unpack(self.versions.read())
    }

    /// Makes these the versions, in one store: the commit word of most operations. The line is deferred to the end of
    /// its epoch.
    #[inline]
    pub fn put<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, versions: Versions) {
        handle.write(&self.versions, versions.pack());
        handle.defer(&self.versions);
    }

    /// The same in recovery, which flushes at once.
    pub fn put_now<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, versions: Versions) {
        handle.write(&self.versions, versions.pack());
        handle.flush(&self.versions);
    }

    /// Returns a slot's pair. Total over any bits.
    #[inline]
    pub fn slot(&self, index: usize) -> Slot {
        self.pairs[index % PAIRS].slot()
    }

    #[inline]
    pub fn fingerprint(&self, index: usize) -> u8 {
        (self.rest.read() >> (index * 8)) as u8
    }

    /// Writes a slot that no state names. The caller publishes it, which defers the line.
    #[inline]
    pub fn write<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, slot: Slot, fingerprint: u8) {
        self.pairs[index].write(handle, slot);
        let (rest, shift) = (self.rest.read(), index * 8);
        let with = rest & !(0xff << shift) | u64::from(fingerprint) << shift;
        if with != rest {
            handle.write(&self.rest, with);
        }
    }

    /// Returns the 32 bits of the leaf.
    #[inline]
    pub fn of_leaf(&self) -> u32 {
        (self.rest.read() >> 32) as u32
    }

    /// Writes them. The caller defers or flushes the line.
    pub fn set_of_leaf<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, value: u32) {
        handle.write(&self.rest, self.rest.read() & 0xffff_ffff | u64::from(value) << 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_parts() {
        let versions = Versions { tag: (1 << 36) - 1, now: 5, last: 15, before: 9, turns: 0xabc };
        assert_eq!(Versions::unpack(versions.pack()), versions);
        assert_eq!([0, 1, 2].map(|index| versions.turn(index)), [0xc, 0xb, 0xa]);
        assert_eq!(versions.with_turn(1, 16).turn(1), 0);
    }

    #[test]
    fn states_roll_over_by_epochs() {
        let line = Versions { tag: 10, now: 1, last: 2, before: 4, turns: 0 };
        assert_eq!([7, 8, 9, 10, 11].map(|epoch| line.at(epoch)), [4, 4, 2, 1, 1]);
        let states = |epoch| {
            let found = line.in_epoch(epoch);
            [found.now, found.last, found.before]
        };
        assert_eq!([10, 11, 12, 90].map(states), [[1, 2, 4], [1, 1, 2], [1, 1, 1], [1, 1, 1]]);
        assert_eq!(line.scrubbed(9), Versions { tag: 9, now: 2, last: 2, before: 2, turns: 0 });
    }

    #[test]
    fn turns_are_compared_modulo_sixteen() {
        assert_eq!([turns_after(15, 0), turns_after(3, 5), turns_after(5, 3)], [1, 2, 14]);
    }
}
