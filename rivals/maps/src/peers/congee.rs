//! `congee`, a concurrent adaptive radix tree: keys and values are words. One guard serves many operations, as its
//! documentation recommends. It is repinned now and then so that removed nodes can be freed.

use crate::peer::{Peer, Value, number};
use congee::U64Congee;
use std::cell::Cell;

pub(crate) struct Congee {
    map: U64Congee<usize>,
    uses: Cell<u32>,
    guard: congee::epoch::Guard,
}

impl Peer<u64, 8> for Congee {
    fn new(_: usize) -> Self {
        Self { map: U64Congee::new(), uses: Cell::new(0), guard: congee::epoch::pin() }
    }

    fn insert(&mut self, key: u64, value: Value<8>) {
        self.renew();
        let inserted = self.map.insert(key, number(&value) as usize, &self.guard);
        assert!(inserted.is_ok(), "there is memory for this");
    }

    fn get(&self, key: u64) -> u64 {
        self.map.get(key, &self.guard).map_or(0, |value| value as u64)
    }

    fn remove(&mut self, key: u64) -> bool {
        self.renew();
        self.map.remove(key, &self.guard).is_some()
    }

    fn scan(&self, from: u64, count: usize) -> u64 {
        let mut found = [([0; 8], 0); 100];
        let len = self.map.range(from, u64::MAX, &mut found[..count.min(100)], &self.guard);
        found[..len].iter().fold(0, |sum, (_, value)| sum.wrapping_add(*value as u64))
    }
}

impl Congee {
    fn renew(&mut self) {
        self.uses.set(self.uses.get() + 1);
        if self.uses.get().is_multiple_of(256) {
            self.guard.repin();
        }
    }
}
