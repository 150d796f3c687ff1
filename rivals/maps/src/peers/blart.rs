//! `blart`, an adaptive radix tree with the standard map's methods, over bytes in the order of the keys.

use crate::keys::{Ordered, TestKey};
use crate::peer::{Peer, Value, number};
use blart::TreeMap;

impl<K: TestKey, const N: usize> Peer<K, N> for TreeMap<Ordered<K>, Value<N>> {
    fn new(_: usize) -> Self {
        Self::new()
    }

    fn insert(&mut self, key: K, value: Value<N>) {
        self.insert(key.ordered(), value);
    }

    fn get(&self, key: K) -> u64 {
        self.get(&key.ordered()).map_or(0, number)
    }

    fn remove(&mut self, key: K) -> bool {
        self.remove(&key.ordered()).is_some()
    }

    fn scan(&self, from: K, count: usize) -> u64 {
        self.range(key_on(from)).take(count).fold(0, |sum, (_, value)| sum.wrapping_add(number(value)))
    }
}

fn key_on<K: TestKey>(from: K) -> std::ops::RangeFrom<Ordered<K>> {
    from.ordered()..
}
