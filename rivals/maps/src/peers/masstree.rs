//! `masstree`, a concurrent trie of B+-trees with values inside its nodes. One guard serves many operations.

use crate::peer::{Peer, Value, number};
use masstree::{MassTree, RangeBound};

pub(crate) struct Masstree(MassTree<u64>);

impl Peer<u64, 8> for Masstree {
    fn new(_: usize) -> Self {
        Self(MassTree::new())
    }

    fn insert(&mut self, key: u64, value: Value<8>) {
        let _: Option<u64> = self.0.insert_with_guard(&key.to_be_bytes(), number(&value), &self.0.guard());
    }

    fn get(&self, key: u64) -> u64 {
        self.0.get_with_guard(&key.to_be_bytes(), &self.0.guard()).unwrap_or(0)
    }

    fn remove(&mut self, key: u64) -> bool {
        self.0.remove_with_guard(&key.to_be_bytes(), &self.0.guard()).is_ok_and(|value| value.is_some())
    }

    fn scan(&self, from: u64, count: usize) -> u64 {
        let (mut sum, mut left) = (0_u64, count);
        let guard = self.0.guard();
        self.0.scan(
            RangeBound::Included(&from.to_be_bytes()),
            RangeBound::Unbounded,
            |_, value| {
                sum = sum.wrapping_add(value);
                left -= 1;
                left > 0
            },
            &guard,
        );
        sum
    }
}
