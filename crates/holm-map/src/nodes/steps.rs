//! Sampled nodes searched step by step: each step says where the next one looks, and nothing of it is checked again.
//!
//! A check is two or three instructions of the fifteen that a step takes, and how many searches a CPU has under way at
//! a time is how often their instructions fit into what it looks ahead. One of the rooms where `unsafe` may stand.
//!
//! **Why a search ends in its node's room.** Keys ascend, and the last one in the room is not used: it is the greatest
//! lane, which no key is above. Each sample is the last key of its step, and the greatest lane where there is no such
//! step. So the samples below a key are the first ones and not all in the room; and of the step behind them the last
//! key is not below the key either.

use super::Nodes;
use crate::key::Key;
use crate::level::Level;
use crate::search::{STEP, Search};
use holm_search::{Hint, LaneKernels, prefetch_address, prefetch_lines_as};

impl<K: Key, C: Level> Nodes<K, C> {
    /// The samples of a node.
    #[inline(always)]
    pub(super) fn samples(&self, node: u32) -> &[K::Lane] {
        let samples = Self::samples_per_node();
        assert!((node as usize) < self.used.len(), "a node that is not there");
        let start = node as usize * samples;
        // SAFETY: each node has as many samples, and this one is there.
        unsafe { self.samples.get_unchecked(start..start + samples) }
    }

    /// Where the step begins in which `key`'s place is: behind so many separators of the level.
    #[inline(always)]
    fn step_of<X: LaneKernels>(&self, x: X, node: u32, key: K::Lane) -> usize {
        Self::start(node) + C::Search::narrow(x, self.samples(node), Self::CHILDREN, key)
    }

    /// The keys of a step.
    ///
    /// # Safety
    /// `start` is what [`Nodes::step_of`] said, and nothing has changed since.
    #[inline(always)]
    unsafe fn keys_from(&self, start: usize) -> &[K::Lane] {
        // SAFETY: the room consists of whole steps, and this one is in it, as the head of this file says.
        unsafe { self.separators.get_unchecked(start..start + STEP) }
    }

    /// Which child of the level is the one of `key`, counted from the level's first.
    ///
    /// # Safety
    /// As of [`Nodes::keys_from`].
    #[inline(always)]
    unsafe fn child_in_step<X: LaneKernels>(&self, x: X, start: usize, key: K::Lane) -> (usize, u32) {
        // SAFETY: by this function's contract.
        let entry = start + x.below(unsafe { self.keys_from(start) }, key);
        // SAFETY: in the step, for its last key is not below `key`; and a room of keys is one of as many identifiers.
        (entry, unsafe { *self.identifiers.get_unchecked(entry) })
    }

    /// See [`Nodes::find`].
    #[inline(always)]
    pub(super) fn find_by_steps<X: LaneKernels>(&self, x: X, node: u32, key: K::Lane) -> (usize, u32) {
        let start = self.step_of(x, node, key);
        // The samples say which keys are next, and with them which identifiers, so neither waits for the other.
        prefetch_address(self.identifiers.as_ptr().wrapping_add(start));
        // SAFETY: said in this very search.
        let (entry, child) = unsafe { self.child_in_step(x, start, key) };
        (entry - Self::start(node), child)
    }

    /// See [`Nodes::descend`].
    #[inline(always)]
    pub(super) fn descend_by_steps<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        keys: &[K::Lane; MANY],
        nodes: &mut [u32; MANY],
        ask: impl Fn(u32, K::Lane),
    ) {
        let mut starts = [0; MANY];
        for ((node, key), start) in nodes.iter().zip(keys).zip(&mut starts) {
            *start = self.step_of(x, *node, *key);
            // SAFETY: said in the line above.
            prefetch_lines_as(unsafe { self.keys_from(*start) }, Hint::T0);
            prefetch_address(self.identifiers.as_ptr().wrapping_add(*start));
        }
        for ((node, key), start) in nodes.iter_mut().zip(keys).zip(starts) {
            // SAFETY: said above, in this very search.
            *node = unsafe { self.child_in_step(x, start, *key).1 };
            ask(*node, *key);
        }
    }
}
