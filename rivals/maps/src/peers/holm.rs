//! Holm's map, with and without memory allocated in advance.

use crate::peer::{Peer, Value, Wholly, number};
use holm_map::{Key, Map, Selection};

impl<K: Key, S: Selection, const N: usize> Peer<K, N> for Map<K, Value<N>, S> {
    fn new(_: usize) -> Self {
        Self::selected()
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

    fn get_many(&self, keys: &[K]) -> u64 {
        let mut sum = 0_u64;
        self.get_many_with(keys, |_, value| sum = sum.wrapping_add(value.map_or(0, number)));
        sum
    }

    fn insert_many(&mut self, pairs: &[(K, Value<N>)]) {
        self.insert_many(pairs.iter().copied());
    }

    fn remove_many(&mut self, keys: &[K]) -> usize {
        self.remove_many(keys)
    }
}

/// The map with memory allocated in advance. No other peer offers that.
pub(crate) struct Reserved<K: Key, V, S: Selection>(Map<K, V, S>);

impl<K: Key, S: Selection, const N: usize> Peer<K, N> for Reserved<K, Value<N>, S> {
    fn new(expected: usize) -> Self {
        let mut map = Map::selected();
        map.reserve(expected);
        Self(map)
    }

    fn insert(&mut self, key: K, value: Value<N>) {
        self.0.insert(key, value);
    }

    fn get(&self, key: K) -> u64 {
        Peer::get(&self.0, key)
    }

    fn remove(&mut self, key: K) -> bool {
        self.0.remove(&key).is_some()
    }

    fn scan(&self, from: K, count: usize) -> u64 {
        self.0.scan(from, count)
    }

    fn get_many(&self, keys: &[K]) -> u64 {
        Peer::get_many(&self.0, keys)
    }

    fn insert_many(&mut self, pairs: &[(K, Value<N>)]) {
        Peer::insert_many(&mut self.0, pairs);
    }

    fn remove_many(&mut self, keys: &[K]) -> usize {
        self.0.remove_many(keys)
    }
}

impl<K: Key, S: Selection, const N: usize> Wholly<K, N> for Map<K, Value<N>, S> {
    fn of_sorted(pairs: &[(K, Value<N>)]) -> Self {
        Self::bulk_load(pairs.iter().copied()).unwrap_or_else(|error| panic!("{error}"))
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
