//! A subnode: the words of one block, and how a leaf's subnodes are found.
//!
//! ```text
//! bytes 0-7     number of the next subnode 32 | keyspace 24 | region 2 | USED | zero 5
//!       8-15    bitmap of the leaf: region r has bits 15r to 15r + 14; of the head's alone
//!       16-31   slot 0, or of the next subnode 15 fingerprints and the region
//!       32-255  slots 1 to 14 {head, payload}; slot s lies in line (s + 1) / 4
//! ```
//!
//! The last subnode of a leaf has 15 slots, any other has 14: its slot 0 holds the next subnode's fingerprints, which
//! are delegated to it. A region is a subnode's part of the bitmap, which it keeps until it is free. **Free** is a
//! subnode without `USED`. The paper uses ones there, but fresh memory is zero, so no block needs a store to be free
//! before its first use. The region stays in the word of a subnode that is being released: while the head leads to it
//! and its bits are set, the subnode counts.

use super::{SsTree, Volatile};
use holm_medium::{Medium, WriteHandle, atomics};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::ReadContext;
use holm_tree::pair::slots;
use std::sync::atomic::AtomicU64;

/// The number of slots in a region.
pub const SLOTS: usize = 15;
/// The bits of one region.
pub const ALL: u32 = (1 << SLOTS) - 1;

/// In the first word: the position of the keyspace.
const KEYSPACE: u32 = 32;
/// In the first word: the position of the region.
const REGION: u32 = 56;
/// In the first word: the subnode is part of a leaf.
const USED: u64 = 1 << 58;
/// In the first word: the number of the next subnode.
const NUMBER: u64 = 0xffff_ffff;

/// The bitmap's bit of a slot.
pub const fn bit(region: usize, slot: usize) -> u64 {
    1 << (region * SLOTS + slot)
}

/// A region's part of the bitmap.
#[inline]
pub fn part(bitmap: u64, region: usize) -> u32 {
    (bitmap >> (region * SLOTS)) as u32 & ALL
}

/// The line of a slot.
pub const fn line(slot: usize) -> usize {
    (slot + 1) / 4
}

/// The lines, behind the first one, in which these slots lie.
pub fn lines_behind(taken: u32) -> impl Iterator<Item = usize> {
    (1..4).filter(move |at| slots(taken).any(|slot| line(slot) == *at))
}

/// The slots of a subnode, which depend on whether another subnode is behind it.
#[inline]
pub const fn places(followed: bool) -> u32 {
    if followed { ALL & !1 } else { ALL }
}

/// The first word of a used subnode.
pub fn used(keyspace: u32, region: usize, next: u32) -> u64 {
    USED | u64::from(keyspace & 0xff_ffff) << KEYSPACE | u64::from(next) | spare(region)
}

/// The first word of a subnode that is free unless something leads to it.
pub fn spare(region: usize) -> u64 {
    (region as u64) << REGION
}

impl<const SUBNODES: usize, const COURSE: usize> SsTree<SUBNODES, COURSE> {
    /// The next subnode's number; 0 is none.
    #[inline]
    pub(super) fn next(&self) -> u32 {
        self.words[0].read() as u32
    }

    /// The subnode's region of the bitmap.
    #[inline]
    pub(super) fn region(&self) -> usize {
        (self.words[0].read() >> REGION) as usize & 3
    }

    pub(super) fn keyspace(&self) -> u32 {
        (self.words[0].read() >> KEYSPACE) as u32 & 0xff_ffff
    }

    pub(super) fn is_used(&self) -> bool {
        self.words[0].read() & USED != 0
    }

    /// Whether any operation can have left this first word and this bitmap.
    pub(super) fn is_sound(&self) -> bool {
        let (word, bitmap) = (self.words[0].read(), self.words[1].read());
        if word & USED == 0 {
            return word & NUMBER == 0 && word < USED;
        }
        word < USED << 1 && self.region() < SUBNODES && bitmap < 1 << (SUBNODES * SLOTS)
    }

    /// The leaf's bitmap, if this is its head.
    #[inline]
    pub(super) fn bitmap(&self) -> u64 {
        self.words[1].read() & ((1 << (SUBNODES * SLOTS)) - 1)
    }

    #[inline]
    pub(super) fn slot(&self, at: usize) -> Slot {
        Slot { head: self.words[2 + 2 * at].read(), payload: self.words[3 + 2 * at].read() }
    }

    /// Writes both words of a slot that does not count yet.
    pub(super) fn store<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, at: usize, slot: Slot) {
        handle.write(&self.words[2 + 2 * at], slot.head);
        handle.write(&self.words[3 + 2 * at], slot.payload);
    }

    /// Flushes a line of the subnode; line 0 has the header.
    pub(super) fn flush<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, line: usize) {
        handle.flush(&self.words[line * 8]);
    }

    /// Tags the subnode free; the caller flushes.
    pub(super) fn untag<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.words[0], self.words[0].read() & !(USED | NUMBER));
    }

    /// Drops the link to the next subnode; the caller flushes.
    pub(super) fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.words[0], self.words[0].read() & !NUMBER);
    }

    /// The fingerprints of the next subnode, and the words behind them.
    #[inline]
    pub(super) fn delegated(&self) -> &[AtomicU64; 4] {
        atomics(&self.words[2..6]).try_into().expect("four words")
    }

    /// The region of the next subnode: a search need not read that subnode to learn it.
    #[inline]
    pub(super) fn delegated_region(&self) -> usize {
        (self.words[3].read() >> 56) as usize & 3
    }

    /// One of the next subnode's fingerprints.
    pub(super) fn delegated_fingerprint(&self, slot: usize) -> u8 {
        (self.words[2 + slot / 8].read() >> (slot % 8 * 8)) as u8
    }

    /// Writes one of the next subnode's fingerprints; the caller flushes.
    pub(super) fn delegate<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, slot: usize, fingerprint: u8) {
        let (word, shift) = (&self.words[2 + slot / 8], slot % 8 * 8);
        handle.write(word, word.read() & !(0xff << shift) | u64::from(fingerprint) << shift);
    }

    /// Writes all of them, and the region; the caller flushes.
    pub(super) fn delegate_all<M: Medium>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        fingerprints: [u64; 2],
        region: usize,
    ) {
        handle.write(&self.words[2], fingerprints[0]);
        handle.write(&self.words[3], fingerprints[1] & !(0xff << 56) | (region as u64) << 56);
    }

    /// The subnode behind this one.
    #[inline]
    pub(super) fn after<'a, K: Keys>(&self, context: ReadContext<'a, Volatile, K>) -> Option<&'a Self> {
        let number = self.next();
        if number == 0 { None } else { context.block(number) }
    }

    /// The subnodes behind this one, each with the one before it.
    pub(super) fn followers<'a, K: Keys>(
        &'a self,
        context: ReadContext<'a, Volatile, K>,
    ) -> impl Iterator<Item = (&'a Self, &'a Self)> {
        let step = move |(_, node): &(&'a Self, &'a Self)| node.after(context).map(|next| (*node, next));
        // A racing reader may see a cycle.
        std::iter::successors(self.after(context).map(|next| (self, next)), step).take(SUBNODES - 1)
    }
}
