//! Batches: many keys whose ways down are gone together.
//!
//! One search waits for memory at every level. Of a group of searches each asks for its next node and lets the others
//! go on meanwhile, so that the memory is busy as a whole. Some tens at a time are enough to keep it so.

use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::map::Map;
use crate::tree::{NOWHERE, Tree};
use holm_search::{Lane, LaneKernels, with_vectors};

/// Searches that go together.
const GROUP: usize = 32;

impl<K: Key, V, S: Selection> Map<K, V, S> {
    /// The values of many keys, in the keys' order.
    pub fn get_many(&self, keys: &[K]) -> Vec<Option<&V>> {
        let mut found = Vec::with_capacity(keys.len());
        self.get_many_with(keys, |_, value| found.push(value));
        found
    }

    /// Calls `each` with the place of each key among `keys` and its value, in the keys' order.
    #[inline]
    pub fn get_many_with<'a>(&'a self, keys: &[K], mut each: impl FnMut(usize, Option<&'a V>)) {
        with_vectors!(self.tree.vectors, x => self.tree.get_many(x, keys, &mut each));
    }

    /// Puts many pairs in, as [`Map::insert`] one after the other would, and says how many keys were not there before.
    /// Values that are replaced are dropped.
    pub fn insert_many(&mut self, pairs: impl IntoIterator<Item = (K, V)>) -> usize {
        let before = self.len();
        let mut pairs = pairs.into_iter();
        let mut group = Vec::with_capacity(GROUP);
        loop {
            group.extend(pairs.by_ref().take(GROUP));
            if group.is_empty() {
                return self.len() - before;
            }
            with_vectors!(self.tree.vectors, x => self.tree.insert_many(x, &mut group));
        }
    }

    /// Takes many keys out and drops their values; says how many were there.
    pub fn remove_many(&mut self, keys: &[K]) -> usize {
        self.remove_many_with(keys, |_, _| ())
    }

    /// Takes many keys out, calls `each` with the place of each key among `keys` and its value, and says how many were
    /// there.
    pub fn remove_many_with(&mut self, keys: &[K], mut each: impl FnMut(usize, Option<V>)) -> usize {
        let before = self.len();
        with_vectors!(self.tree.vectors, x => self.tree.remove_many(x, keys, &mut each));
        before - self.len()
    }
}

impl<K: Key, V, S: Selection> Tree<K, V, S> {
    /// What looks find of a group of keys in the leaves where they belong.
    #[inline(always)]
    fn trace_many<X: LaneKernels>(
        &self,
        x: X,
        lanes: &[K::Lane; GROUP],
        leaves: &[u32; GROUP],
    ) -> [<S::Leaf<K, V> as Leaf<K, V>>::Trace; GROUP] {
        let mut traces = [<S::Leaf<K, V> as Leaf<K, V>>::Trace::default(); GROUP];
        for at in 0..GROUP {
            traces[at] = self.leaves.trace(x, leaves[at], lanes[at]);
            self.leaves.ask_traced(leaves[at], traces[at]);
        }
        for at in 0..GROUP {
            traces[at] = self.leaves.trace_on(x, leaves[at], lanes[at], traces[at]);
        }
        traces
    }

    #[inline(always)]
    fn get_many<'a, X: LaneKernels>(&'a self, x: X, keys: &[K], each: &mut impl FnMut(usize, Option<&'a V>)) {
        let (groups, rest) = keys.as_chunks::<GROUP>();
        let rest_start = keys.len() - rest.len();
        if self.is_bare() {
            return (0..keys.len()).for_each(|at| each(at, None));
        }
        let mut leaves = [0; GROUP];
        for (group, keys) in groups.iter().enumerate() {
            let lanes = keys.map(K::lane);
            self.seek_many(x, &lanes, &mut leaves);
            let traces = self.trace_many(x, &lanes, &leaves);
            for at in 0..GROUP {
                each(group * GROUP + at, self.value_traced(leaves[at], traces[at], lanes[at]));
            }
        }
        for (at, key) in rest.iter().enumerate() {
            each(rest_start + at, self.find(x, key.lane()).map(|place| self.value(place)));
        }
    }

    /// Puts up to a group of pairs in, and empties it.
    #[inline(always)]
    fn insert_many<X: LaneKernels>(&mut self, x: X, group: &mut Vec<(K, V)>) {
        if self.is_bare() {
            self.plant();
        }
        let mut leaves = [0; GROUP];
        let last = group.last().map_or(K::Lane::LEAST, |(key, _)| key.lane());
        let mut lanes = [last; GROUP];
        group.iter().zip(&mut lanes).for_each(|((key, _), lane)| *lane = key.lane());
        self.seek_many(x, &lanes, &mut leaves);
        leaves.iter().for_each(|leaf| self.leaves.ask_count(*leaf));
        self.trace_many(x, &lanes, &leaves);
        leaves.iter().zip(lanes).for_each(|(leaf, lane)| self.leaves.ask_room(x, *leaf, lane));
        for (at, (_, value)) in group.drain(..).enumerate() {
            let leaf = if leaves[at] == NOWHERE { self.seek(x, lanes[at]) } else { leaves[at] };
            let (split, before) = self.insert_into(x, leaf, lanes[at], value);
            drop(before);
            if split {
                // Whoever was to go to this leaf may belong to the new one.
                leaves[at + 1..].iter_mut().filter(|other| **other == leaf).for_each(|other| *other = NOWHERE);
            }
        }
    }

    /// Takes keys out. The ways down are gone together only to bring what they meet into the cache: a leaf may have
    /// joined another by the time that its key's turn comes.
    #[inline(always)]
    fn remove_many<X: LaneKernels>(&mut self, x: X, keys: &[K], each: &mut impl FnMut(usize, Option<V>)) {
        let mut leaves = [0; GROUP];
        for (group, keys) in keys.chunks(GROUP).enumerate() {
            if let (Ok(keys), false) = (<&[K; GROUP]>::try_from(keys), self.is_bare()) {
                let lanes = keys.map(K::lane);
                self.seek_many(x, &lanes, &mut leaves);
                leaves.iter().for_each(|leaf| self.leaves.ask_count(*leaf));
                self.trace_many(x, &lanes, &leaves);
            }
            for (at, key) in keys.iter().enumerate() {
                let lane = key.lane();
                let value = self.find(x, lane).map(|(leaf, slot)| self.remove_at(leaf, slot, lane));
                each(group * GROUP + at, value);
            }
        }
    }
}
