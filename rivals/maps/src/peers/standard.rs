//! The standard library's map.

use crate::peer::{Peer, Value, Wholly, number};
use std::collections::BTreeMap;

impl<K: Copy + Ord, const N: usize> Peer<K, N> for BTreeMap<K, Value<N>> {
    fn new(_: usize) -> Self {
        Self::new()
    }

    fn insert(&mut self, key: K, value: Value<N>) {
        self.insert(key, value);
    }

    fn get(&self, key: K) -> u64 {
        self.get(&key).map_or(0, number)
    }

    fn remove(&mut self, key: K) -> bool {
        self.remove(&key).is_some()
    }

    fn scan(&self, from: K, count: usize) -> u64 {
        self.range(from..).take(count).fold(0, |sum, (_, value)| sum.wrapping_add(number(value)))
    }
}

impl<K: Copy + Ord, const N: usize> Wholly<K, N> for BTreeMap<K, Value<N>> {
    fn of_sorted(pairs: &[(K, Value<N>)]) -> Self {
        pairs.iter().copied().collect()
    }

    fn copy(&self) -> Self {
        self.clone()
    }

    fn sum(&self) -> u64 {
        let mut sum = 0_u64;
        for value in self.values() {
            sum = sum.wrapping_add(number(value));
        }
        sum
    }

    fn sum_back(&self) -> u64 {
        self.values().rev().fold(0, |sum, value| sum.wrapping_add(number(value)))
    }
}
