//! Three words, each of which says one thing under the epoch in which it came to be: what a block is now, and what it
//! was at the ends of the two epochs before.

use holm_medium::{Epoch, LAST_EPOCH, Medium, Word, WriteHandle};
use std::hint::select_unpredictable;

/// Bits of what a word says.
const BITS: u32 = 28;

/// What was said, and since which epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// The epoch in which the block changed to this.
    pub tag: Epoch,
    /// 28 bits: of versions, a bit per slot.
    pub bits: u32,
}

impl State {
    /// A tag of 36 bits above the others: words in the order of their tags.
    pub fn unpack(word: u64) -> Self {
        State { tag: word >> BITS, bits: word as u32 & ((1 << BITS) - 1) }
    }

    /// See [`State::unpack`].
    pub fn pack(self) -> u64 {
        self.tag << BITS | u64::from(self.bits)
    }
}

/// Such words, wherever they lie: the one with the greatest tag is the present, the others are the states at the ends
/// of the two epochs before in which there was a change. A change overwrites the word of its own epoch, else the
/// oldest, so *one eight-byte store both rolls the versions over and publishes the change*, and survives any tearing
/// down to words.
#[derive(Clone, Copy)]
pub struct Tagged<'a>(pub &'a [Word; 3]);

impl<'a> Tagged<'a> {
    fn states(self) -> impl Iterator<Item = State> + use<'a> {
        self.0.iter().map(|word| State::unpack(word.read()))
    }

    #[inline]
    fn read(self) -> [u64; 3] {
        self.0.each_ref().map(Word::read)
    }

    /// The word of an epoch that is no earlier than the present's, or else the oldest.
    #[inline]
    fn word_for(self, epoch: Epoch) -> &'a Word {
        // Without a branch: which of the three it is nobody could guess.
        let of_two = |chosen: bool, [(a, at), (b, bt)]: [(u64, usize); 2]| {
            (select_unpredictable(chosen, b, a), select_unpredictable(chosen, bt, at))
        };
        let [a, b, c] = self.read();
        let oldest = of_two(b < a, [(a, 0), (b, 1)]);
        let oldest = of_two(c < oldest.0, [oldest, (c, 2)]);
        let newest = of_two(b > a, [(a, 0), (b, 1)]);
        let newest = of_two(c > newest.0, [newest, (c, 2)]);
        &self.0[select_unpredictable(State::unpack(newest.0).tag == epoch, newest.1, oldest.1)]
    }

    /// The present. Tags are distinct, so comparing whole words compares tags.
    #[inline]
    pub fn now(self) -> State {
        State::unpack(self.read().into_iter().max().unwrap_or(0))
    }

    /// The state at the end of an epoch that a crash may choose; zero if there was none yet.
    #[inline]
    pub fn at(self, recovery_epoch: Epoch) -> State {
        Self::at_of(&self.read(), recovery_epoch)
    }

    /// The same in a copy of the words.
    #[inline]
    pub fn at_of(words: &[u64; 3], recovery_epoch: Epoch) -> State {
        let last = State { tag: recovery_epoch.min(LAST_EPOCH), bits: (1 << BITS) - 1 }.pack();
        let until = words.map(|word| if word <= last { word } else { 0 });
        State::unpack(until.into_iter().max().unwrap_or(0))
    }

    /// In a copy of the words: the state at the end of an epoch, unless later ones have brought more changes than two
    /// that follow one another can, or have left no word of it.
    pub fn ended_of(words: &[u64; 3], epoch: Epoch) -> Option<State> {
        let later = || words.iter().map(|word| State::unpack(*word).tag).filter(|tag| *tag > epoch);
        let follow = later().max().unwrap_or(0) <= later().min().unwrap_or(0) + 1;
        Some(Self::at_of(words, epoch)).filter(|_| follow && later().count() < 3)
    }

    /// In a copy of the words: the first state after an epoch that names a slot, and the last one of all, if there is
    /// one after it.
    pub fn after(words: &[u64; 3], recovery_epoch: Epoch) -> Option<(Epoch, Epoch)> {
        let states = || words.iter().map(|word| State::unpack(*word)).filter(|state| state.tag > recovery_epoch);
        let last = states().map(|state| state.tag).max()?;
        // One that names nothing may be of a block that a recovery took and that was cut short.
        Some((states().filter(|state| state.bits != 0).map(|state| state.tag).min().unwrap_or(last), last))
    }

    /// What the states at the ends of the two epochs before say, together; no tag is greater than the epoch.
    #[inline]
    pub fn before(self, epoch: Epoch) -> u32 {
        let [a, b, c] = self.read();
        let (low, high) = (a.min(b), a.max(b));
        let (newest, middle, oldest) = (high.max(c), low.max(high.min(c)), low.min(c));
        let (last, other) = if State::unpack(newest).tag < epoch { (newest, middle) } else { (middle, oldest) };
        let (last, other) = (State::unpack(last), State::unpack(other));
        // That of one epoch before is that of two before, too, unless it is from that very epoch.
        last.bits | if last.tag + 1 == epoch { other.bits } else { 0 }
    }

    /// Makes a state the present, in one store. The oldest of three distinct tags is no state that a crash may choose
    /// while an operation of the epoch runs: two epochs back is the second-oldest at the furthest. The caller flushes.
    #[inline]
    #[track_caller]
    pub fn put<M: Medium>(self, handle: &mut WriteHandle<'_, M>, state: State) {
        handle.write(self.word_for(state.tag), state.pack());
    }

    /// The least tag, if it is beyond any that can be here once a crash has cut history there. Not by how much they are
    /// beyond: epochs in which nothing changed leave no record, however many pass. But only two with changes go without
    /// one.
    pub fn beyond(self, recovery_epoch: Epoch) -> Option<Epoch> {
        self.states().map(|state| state.tag).min().filter(|least| *least > recovery_epoch)
    }

    /// Takes away what is later than the recovery point, each word by itself: a crash in between finds the rest. Tells
    /// whether there was anything. The caller flushes.
    pub fn scrub<M: Medium>(self, handle: &mut WriteHandle<'_, M>, recovery_epoch: Epoch) -> bool {
        let mut any = false;
        for word in self.0.iter().filter(|word| State::unpack(word.read()).tag > recovery_epoch) {
            handle.write(word, 0);
            any = true;
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holm_medium::{Area, FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage};

    /// Every three tags up to 6, two of which are equal only where nothing was stored yet, and every epoch from the
    /// greatest on.
    fn each(check: impl Fn(&[Word; 3], Epoch)) {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let writer = Storage::open(Mapped::heap(1024, 64, options), FIRST_EPOCH).expect("memory");
        let image = writer.storage().medium_image();
        let words: &[Word; 3] = image.words(Area::Leaves.at(512), 3).expect("inside").try_into().expect("three");
        for tags in 0..7_u64.pow(3) {
            let tags = [tags % 7, tags / 7 % 7, tags / 49];
            if (0..3).any(|at| tags[at] != 0 && tags[at] == tags[(at + 1) % 3]) {
                continue;
            }
            for (word, (tag, bits)) in words.iter().zip(tags.into_iter().zip([1, 2, 4])) {
                writer.begin_write_at(FIRST_EPOCH).write(word, if tag == 0 { 0 } else { State { tag, bits }.pack() });
            }
            let latest = tags.into_iter().max().unwrap_or(0);
            (latest.max(1)..latest + 4).for_each(|epoch| check(words, epoch));
        }
    }

    #[test]
    fn what_was_before_is_what_was_at_the_two_ends() {
        each(|words, epoch| {
            let words = Tagged(words);
            let ends = [epoch - 1, epoch.saturating_sub(2)].map(|end| words.at(end).bits);
            assert_eq!(words.before(epoch), ends[0] | ends[1], "{:?} in {epoch}", words.states().collect::<Vec<_>>());
        });
    }

    #[test]
    fn a_change_overwrites_the_word_of_its_epoch_or_the_oldest() {
        each(|words, epoch| {
            let tags = || Tagged(words).states().map(|state| state.tag);
            let wanted = if tags().any(|tag| tag == epoch) { epoch } else { tags().min().unwrap_or(0) };
            assert_eq!(
                State::unpack(Tagged(words).word_for(epoch).read()).tag,
                wanted,
                "of {:?}",
                tags().collect::<Vec<_>>()
            );
        });
    }
}
