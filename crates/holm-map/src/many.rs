//! Batches: the descents of many keys run interleaved.
//!
//! A single search waits for memory at every level. Each search of a group prefetches its next node and lets the others
//! proceed, so that the memory system stays busy. Some tens of searches are enough for that.

use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::map::Map;
use crate::tree::{NOWHERE, Tree};
use holm_search::{Lane, LaneKernels, with_vectors};
use std::vec::Drain;

/// Searches per group. This is more than can wait for memory at a time, because their waits differ in length.
const GROUP: usize = 64;
/// The size of a group when fewer searches are left.
const FEW: usize = 16;

impl<K: Key, V, S: Selection> Map<K, V, S> {
    /// Returns the values of many keys, in the order of `keys`; `None` for an absent key.
    pub fn get_many(&self, keys: &[K]) -> Vec<Option<&V>> {
        let mut found = Vec::with_capacity(keys.len());
        self.get_many_with(keys, |_, value| found.push(value));
        found
    }

    /// Calls `each` with the index of each key in `keys` and its value, in the order of `keys`.
    #[inline]
    pub fn get_many_with<'a>(&'a self, keys: &[K], mut each: impl FnMut(usize, Option<&'a V>)) {
        with_vectors!(self.tree.vectors, x => self.tree.get_many(x, keys, &mut each));
    }

    /// Inserts many pairs, with the result of calling [`Map::insert`] for one after the other. Returns how many keys
    /// were absent before. Replaced values are dropped.
    pub fn insert_many(&mut self, pairs: impl IntoIterator<Item = (K, V)>) -> usize {
        let before = self.len();
        let mut pairs = pairs.into_iter();
        let mut waiting = Waiting { tree: &mut self.tree, group: Vec::with_capacity(GROUP) };
        loop {
            waiting.group.extend(pairs.by_ref().take(GROUP));
            if waiting.group.is_empty() {
                break;
            }
            waiting.insert();
        }
        drop(waiting);
        self.len() - before
    }

    /// Removes many keys and drops their values. Returns how many keys were present.
    pub fn remove_many(&mut self, keys: &[K]) -> usize {
        self.remove_many_with(keys, |_, _| ())
    }

    /// Removes many keys. Calls `each` with the index of each key in `keys` and its value. Returns how many keys were
    /// present.
    pub fn remove_many_with(&mut self, keys: &[K], mut each: impl FnMut(usize, Option<V>)) -> usize {
        let before = self.len();
        with_vectors!(self.tree.vectors, x => self.tree.remove_many(x, keys, &mut each));
        before - self.len()
    }
}

/// The pairs that an iterator has given and that wait for their group. If the iterator panics, they are inserted: what
/// it gave before is in the map, as if each pair had been inserted at once.
struct Waiting<'a, K: Key, V, S: Selection> {
    tree: &'a mut Tree<K, V, S>,
    group: Vec<(K, V)>,
}

impl<K: Key, V, S: Selection> Waiting<'_, K, V, S> {
    fn insert(&mut self) {
        with_vectors!(self.tree.vectors, x => self.tree.insert_many(x, &mut self.group));
    }
}

impl<K: Key, V, S: Selection> Drop for Waiting<'_, K, V, S> {
    fn drop(&mut self) {
        if !self.group.is_empty() {
            self.insert();
        }
    }
}

impl<K: Key, V, S: Selection> Tree<K, V, S> {
    #[inline(always)]
    fn get_many<'a, X: LaneKernels>(&'a self, x: X, keys: &[K], each: &mut impl FnMut(usize, Option<&'a V>)) {
        if self.is_bare() {
            return (0..keys.len()).for_each(|at| each(at, None));
        }
        let (groups, rest) = keys.as_chunks::<GROUP>();
        let (few, rest) = rest.as_chunks::<FEW>();
        let mut at = 0;
        let mut next = |value| {
            each(at, value);
            at += 1;
        };
        groups.iter().for_each(|keys| self.get_group(x, keys, &mut next));
        few.iter().for_each(|keys| self.get_group(x, keys, &mut next));
        rest.iter().for_each(|key| next(self.find(x, key.lane()).map(|place| self.value(place))));
    }

    #[inline(always)]
    fn get_group<'a, X: LaneKernels, const MANY: usize>(
        &'a self,
        x: X,
        keys: &[K; MANY],
        next: &mut impl FnMut(Option<&'a V>),
    ) {
        let (lanes, mut leaves) = (keys.map(K::lane), [0; MANY]);
        self.seek_many(x, &lanes, &mut leaves);
        self.values(x, &leaves, &lanes).into_iter().for_each(next);
    }

    /// Inserts up to one group of pairs.
    #[inline(always)]
    fn insert_many<X: LaneKernels>(&mut self, x: X, group: &mut Vec<(K, V)>) {
        if self.is_bare() {
            self.plant();
        }
        if group.len() == GROUP {
            return self.insert_group::<X, GROUP>(x, group.drain(..));
        }
        while !group.is_empty() {
            self.insert_group::<X, FEW>(x, group.drain(..group.len().min(FEW)));
        }
    }

    /// Inserts at most `MANY` pairs. If the drop of a replaced value panics, the remaining pairs are dropped.
    #[inline(always)]
    fn insert_group<X: LaneKernels, const MANY: usize>(&mut self, x: X, pairs: Drain<'_, (K, V)>) {
        let last = pairs.as_slice().last().map_or(K::Lane::LEAST, |(key, _)| key.lane());
        let (mut lanes, mut leaves) = ([last; MANY], [0; MANY]);
        pairs.as_slice().iter().zip(&mut lanes).for_each(|((key, _), lane)| *lane = key.lane());
        self.seek_many(x, &lanes, &mut leaves);
        leaves.iter().for_each(|leaf| self.leaves.ask_count(*leaf));
        leaves.iter().zip(lanes).for_each(|(leaf, lane)| self.leaves.ask_place(x, *leaf, lane));
        for (at, (_, value)) in pairs.enumerate() {
            let leaf = if leaves[at] == NOWHERE { self.home(lanes[at]) } else { leaves[at] };
            let (split, before) = self.insert_into(x, leaf, lanes[at], value);
            drop(before);
            if split {
                // A search that ended at this leaf may belong to the new one.
                leaves[at + 1..].iter_mut().filter(|other| **other == leaf).for_each(|other| *other = NOWHERE);
            }
        }
    }

    #[inline(always)]
    fn remove_many<X: LaneKernels>(&mut self, x: X, keys: &[K], each: &mut impl FnMut(usize, Option<V>)) {
        let (groups, rest) = keys.as_chunks::<GROUP>();
        let (few, rest) = rest.as_chunks::<FEW>();
        let mut at = 0;
        let mut remove = |tree: &mut Self, keys: &[K]| {
            for lane in keys.iter().map(|key| key.lane()) {
                each(at, tree.find(x, lane).map(|(leaf, slot)| tree.remove_at(leaf, slot, lane)));
                at += 1;
            }
        };
        for keys in groups {
            self.approach_many(x, keys);
            remove(self, keys);
        }
        for keys in few {
            self.approach_many(x, keys);
            remove(self, keys);
        }
        remove(self, rest);
    }

    /// Descends for all keys together, only to bring the visited nodes into the cache. The result is not used: when a
    /// key's turn comes, an earlier removal may have merged its leaf with another.
    #[inline(always)]
    fn approach_many<X: LaneKernels, const MANY: usize>(&self, x: X, keys: &[K; MANY]) {
        if self.is_bare() {
            return;
        }
        let (lanes, mut leaves) = (keys.map(K::lane), [0; MANY]);
        self.seek_many(x, &lanes, &mut leaves);
        leaves.iter().for_each(|leaf| self.leaves.ask_count(*leaf));
        leaves.iter().zip(lanes).for_each(|(leaf, lane)| self.leaves.ask_place(x, *leaf, lane));
    }
}
