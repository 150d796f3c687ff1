//! The pair area: keys and values in order of arrival, addressed by identifiers of 32 bits.
//!
//! The area is written at its end like a log. A removal leaves a hole, and insertions fill holes before the end grows.
//! The latest hole is filled first, because its line is most likely in the cache. An area without pairs starts anew.
//! This is one of the files where `unsafe` is allowed.

use crate::area::{Area, Pages};
use holm_search::{Lane, prefetch_address, prefetch_address_write};
use std::ptr::NonNull;

struct Pair<L, V> {
    /// The key stands beside its value, as in the paper, so that a pair is complete without its leaf.
    lane: L,
    value: V,
}

/// Pairs by identifier. The leaves record which identifiers are in use; there is no other list.
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

    /// Stores a pair, and returns its identifier.
    #[inline(always)]
    pub(super) fn insert(&mut self, lane: L, value: V) -> u32 {
        let identifier = self.holes.pop().unwrap_or_else(|| {
            let end = u32::try_from(self.pairs.len()).ok();
            // The greatest number is never an identifier, so the area never grows past it.
            let end = end.filter(|end| *end < u32::MAX).unwrap_or_else(|| panic!("at most 2^32 - 1 pairs"));
            self.pairs.grow_unwritten(1);
            end
        });
        // SAFETY: inside the area, and unused: a hole or the fresh end.
        unsafe { self.pairs.at(identifier as usize).write(Pair { lane, value }) };
        identifier
    }

    /// Removes the pair of `lane`, and returns its value.
    ///
    /// # Safety
    /// `identifier` came from `insert` and has not been removed since.
    #[inline(always)]
    pub(super) unsafe fn remove(&mut self, lane: L, identifier: u32) -> V {
        // SAFETY: there is a pair, by this function's contract. From here on the identifier belongs to a hole.
        let pair = unsafe { self.pairs.at(identifier as usize).read() };
        assert_eq!(pair.lane, lane, "a pair is of the key that leads to it");
        self.holes.push(identifier);
        if self.holes.len() == self.pairs.len() {
            self.holes.clear();
            self.pairs.truncate(0);
        }
        pair.value
    }

    /// Returns the address of the value.
    #[inline(always)]
    pub(super) fn value_at(&self, identifier: u32) -> NonNull<V> {
        // SAFETY: the pair is inside the area, and so is its field.
        unsafe { NonNull::new_unchecked(&raw mut (*self.pairs.at(identifier as usize).as_ptr()).value) }
    }

    /// Prefetches a pair.
    #[inline(always)]
    pub(super) fn ask(&self, identifier: u32) {
        prefetch_address(self.pairs.at(identifier as usize).as_ptr());
    }

    /// Prefetches the place of the next pair.
    #[inline(always)]
    pub(super) fn ask_room(&self) {
        if let Some(hole) = self.holes.last() {
            prefetch_address_write(self.pairs.at(*hole as usize).as_ptr());
        }
    }
}
