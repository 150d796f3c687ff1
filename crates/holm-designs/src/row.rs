//! The slots of a sorted leaf as searches see them: some are in use, ascending from a base, perhaps around the end.
//!
//! A slot has a *place*, where it lies in the block, and an *index*, the number of slots in use before it. Both stay in
//! bounds whatever a racing reader read: counts are limited to the existing slots. Lines are counted from the block's
//! first line, whose header leaves room for fewer slots.

use holm_medium::{Medium, WriteHandle};
use holm_tree::keys::{Keys, Role, Slot};
use holm_tree::pair::{Pair, slots};

/// The number of slots in a whole line.
pub const LINE_SLOTS: usize = 4;

/// Flushes the lines of some slots, each once. The header before place 0 is as long as `lead` slots.
pub fn flush_lines<M: Medium>(handle: &mut WriteHandle<'_, M>, pairs: &[Pair], lead: usize, changed: u32) {
    let mut last = None;
    for at in slots(changed) {
        let line = (at + lead) / LINE_SLOTS;
        if last.replace(line) != Some(line) {
            handle.flush(&pairs[at]);
        }
    }
}

/// Slots in ascending order of their heads.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pairs: &'a [Pair],
    lead: usize,
    base: usize,
    count: usize,
}

impl<'a> Row<'a> {
    /// A row of `count` slots in use from place `base` on. The header before place 0 is as long as `lead` slots.
    #[inline(always)]
    pub fn new(pairs: &'a [Pair], lead: usize, base: usize, count: usize) -> Self {
        let base = if base < pairs.len() { base } else { 0 };
        Row { pairs, lead, base, count: count.min(pairs.len()) }
    }

    /// The number of slots in use.
    #[inline(always)]
    pub fn count(self) -> usize {
        self.count
    }

    /// The place of index 0.
    #[inline(always)]
    pub fn base(self) -> usize {
        self.base
    }

    /// The number of places.
    #[inline(always)]
    pub fn places(self) -> usize {
        self.pairs.len()
    }

    /// The place of an index, which may be one beyond the last.
    #[inline(always)]
    pub fn place(self, index: usize) -> usize {
        let place = self.base + index;
        if place < self.pairs.len() { place } else { place - self.pairs.len() }
    }

    /// The index of a place, as if all places were in use.
    #[inline(always)]
    pub fn index(self, place: usize) -> usize {
        if place >= self.base { place - self.base } else { place + self.pairs.len() - self.base }
    }

    /// The pair at a place.
    #[inline(always)]
    pub fn pair(self, place: usize) -> &'a Pair {
        &self.pairs[place]
    }

    /// The head at an index.
    #[inline(always)]
    pub fn head(self, index: usize) -> u64 {
        self.pairs[self.place(index)].head.read()
    }

    /// The slot at an index.
    #[inline(always)]
    pub fn slot(self, index: usize) -> Slot {
        self.pairs[self.place(index)].slot()
    }

    /// The line of a place.
    #[inline(always)]
    pub fn line(self, place: usize) -> usize {
        (place + self.lead) / LINE_SLOTS
    }

    /// The number of lines that hold slots.
    #[inline(always)]
    pub fn lines(self) -> usize {
        (self.pairs.len() + self.lead) / LINE_SLOTS
    }

    /// The first place of a line.
    #[inline(always)]
    pub fn first(self, line: usize) -> usize {
        (line * LINE_SLOTS).saturating_sub(self.lead)
    }

    /// The slots in use as they lie: those up to the last place, and those that continue from place 0.
    #[inline(always)]
    pub fn parts(self) -> [&'a [Pair]; 2] {
        let end = self.base + self.count;
        let wrapped = end.saturating_sub(self.pairs.len());
        [&self.pairs[self.base..end - wrapped], &self.pairs[..wrapped]]
    }

    /// Of the indices `from..to`, the first whose head is `head` or greater; `to` if none is.
    #[inline(always)]
    pub fn scan(self, from: usize, to: usize, head: u64) -> usize {
        (from..to).find(|index| self.head(*index) >= head).unwrap_or(to)
    }

    /// Checks that a payload that is a mark for index `at` differs from all others and from none: otherwise a shift
    /// would lose a pair without any crash.
    pub fn check_unique<K: Keys>(self, at: usize, payload: u64) {
        if K::UNIQUE == Role::Payload {
            assert!(payload != 0, "a payload of zero leads to no record");
            let differs = |index: usize| self.slot(index).payload != payload;
            debug_assert!((0..self.count()).all(|index| index == at || differs(index)), "a payload twice in one leaf");
        }
    }
}
