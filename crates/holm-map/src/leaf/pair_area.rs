//! The pair area: keys and values in the order in which they came, found by identifiers of 32 bits.
//!
//! It is written at its end like a log. What is removed leaves a hole, and holes are filled before the end grows, the
//! last one first, for its line is likeliest in the cache. An area without pairs begins anew. One of the rooms where
//! `unsafe` may stand.

use crate::area::{Area, Pages};
use holm_search::{Lane, prefetch_address, prefetch_address_write};
use std::ptr::NonNull;

struct Pair<L, V> {
    /// Beside its value, as in the paper, so that a pair is whole without the leaf that leads to it.
    lane: L,
    value: V,
}

/// Pairs by identifier. Which identifiers are in use is what the leaves say: there is no other list.
pub(super) struct PairArea<L, V> {
    pairs: Area<Pair<L, V>>,
    holes: Vec<u32>,
}

impl<L: Lane, V> PairArea<L, V> {
    pub(super) fn new(pages: Pages) -> Self {
        Self { pairs: Area::new(pages), holes: Vec::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.pairs.bytes() + self.holes.capacity() * size_of::<u32>()
    }

    pub(super) fn prepare(&mut self, count: usize) {
        self.pairs.prepare(count);
    }

    /// Puts a pair down, and says where.
    #[inline(always)]
    pub(super) fn insert(&mut self, lane: L, value: V) -> u32 {
        let identifier = self.holes.pop().unwrap_or_else(|| {
            let end = u32::try_from(self.pairs.len()).ok();
            // The greatest number is nobody's identifier, and so the area never grows over its place.
            let end = end.filter(|end| *end < u32::MAX).unwrap_or_else(|| panic!("at most 2^32 - 1 pairs"));
            self.pairs.grow_unwritten(1);
            end
        });
        // SAFETY: inside the area, and nobody's: a hole or the fresh end.
        unsafe { self.pairs.at(identifier as usize).write(Pair { lane, value }) };
        identifier
    }

    /// Takes the pair of `lane` back.
    ///
    /// # Safety
    /// `identifier` came from `insert` and was not taken back since.
    #[inline(always)]
    pub(super) unsafe fn remove(&mut self, lane: L, identifier: u32) -> V {
        // SAFETY: there is a pair, by this function's contract, and from here on the identifier is a hole's.
        let pair = unsafe { self.pairs.at(identifier as usize).read() };
        assert_eq!(pair.lane, lane, "a pair is of the key that leads to it");
        self.holes.push(identifier);
        if self.holes.len() == self.pairs.len() {
            self.holes.clear();
            self.pairs.truncate(0);
        }
        pair.value
    }

    /// Where the value is.
    #[inline(always)]
    pub(super) fn value_at(&self, identifier: u32) -> NonNull<V> {
        // SAFETY: the pair is inside the area, and so is its field.
        unsafe { NonNull::new_unchecked(&raw mut (*self.pairs.at(identifier as usize).as_ptr()).value) }
    }

    /// Asks for a pair.
    #[inline(always)]
    pub(super) fn ask(&self, identifier: u32) {
        prefetch_address(self.pairs.at(identifier as usize).as_ptr());
    }

    /// Asks for where the next pair goes.
    #[inline(always)]
    pub(super) fn ask_room(&self) {
        if let Some(hole) = self.holes.last() {
            prefetch_address_write(self.pairs.at(*hole as usize).as_ptr());
        }
    }
}
