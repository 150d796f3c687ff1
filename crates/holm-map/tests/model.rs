//! Every selection and every type of keys against the standard library's map: random operations of all kinds, and a
//! comparison of both maps after each phase. A failure prints the seed.

mod suite;

use holm_map::{Fast, FastNarrow, Map, Paper, Real, Selection, Vectors};
use std::collections::BTreeMap;
use std::ops::Bound;
use suite::*;

/// A map and its model.
struct Twins<K: TestKey, S: Selection> {
    map: Map<K, u64, S>,
    model: BTreeMap<K, u64>,
    random: Random,
    /// The number of different numbers that keys are made of.
    spread: u64,
}

impl<K: TestKey, S: Selection> Twins<K, S> {
    fn new(vectors: Vectors, seed: u64) -> Self {
        Self { map: Map::with_vectors(vectors), model: BTreeMap::new(), random: Random(seed), spread: 1 }
    }

    /// Returns one of a small set of keys, which spans the range of the type.
    fn key(&mut self) -> K {
        let number = self.random.below(self.spread);
        K::of(if number + 1 == self.spread { 0xffff_ffff } else { number * (0xffff_ffff / self.spread) })
    }

    fn compare(&self) {
        assert_eq!(self.map.len(), self.model.len());
        assert_eq!(self.map.is_empty(), self.model.is_empty());
        assert!(self.map.iter().eq(self.model.iter().map(|(key, value)| (*key, value))), "iteration forwards");
        assert!(self.map.iter().rev().eq(self.model.iter().rev().map(|(key, value)| (*key, value))), "and backwards");
        assert_eq!(self.map.first_key_value(), self.model.first_key_value().map(|(key, value)| (*key, value)));
        assert_eq!(self.map.last_key_value(), self.model.last_key_value().map(|(key, value)| (*key, value)));
        let keys: Vec<K> = self.model.keys().copied().collect();
        let found = self.map.get_many(&keys);
        assert!(found.iter().zip(self.model.values()).all(|(found, value)| *found == Some(value)));
        for key in keys.iter().step_by(7) {
            assert_eq!(self.map.get(key), self.model.get(key));
        }
    }

    /// Runs one operation on one key, or on an end of the map.
    fn step(&mut self) {
        let (key, value) = (self.key(), self.random.next());
        match self.random.below(12) {
            0..=3 => assert_eq!(self.map.insert(key, value), self.model.insert(key, value)),
            4..=6 => assert_eq!(self.map.remove(&key), self.model.remove(&key)),
            7 => assert_eq!(self.map.get_mut(&key).map(change), self.model.get_mut(&key).map(change)),
            8 => {
                let entry = |before: &mut u64| *before ^= value;
                let changed = *self.map.entry(key).and_modify(entry).or_insert(value);
                assert_eq!(changed, *self.model.entry(key).and_modify(entry).or_insert(value));
            }
            9 => {
                if !self.model.contains_key(&key) {
                    self.map.insert_unique(key, value);
                    self.model.insert(key, value);
                }
            }
            10 if value % 8 == 0 => assert_eq!(self.map.pop_first(), self.model.pop_first()),
            11 if value % 8 == 0 => assert_eq!(self.map.pop_last(), self.model.pop_last()),
            _ => assert_eq!(self.map.get(&key), self.model.get(&key)),
        }
    }

    /// Iterates over a range from both ends in turns, with shared or mutable values.
    fn range(&mut self) {
        let (mut low, mut high) = (self.key(), self.key());
        if low > high {
            (low, high) = (high, low);
        }
        let bound = |kind: u64, key: K| match kind % 3 {
            0 => Bound::Included(key),
            1 if low < high => Bound::Excluded(key),
            1 => Bound::Included(key),
            _ => Bound::Unbounded,
        };
        let bounds = (bound(self.random.next(), low), bound(self.random.next(), high));
        let mut turns = self.random.next();
        let (mut range, mut expected) = (self.map.range(bounds), self.model.range(bounds));
        loop {
            turns = turns.rotate_left(1);
            let pair = if turns & 1 == 0 { range.next() } else { range.next_back() };
            let other = if turns & 1 == 0 { expected.next() } else { expected.next_back() };
            assert_eq!(pair, other.map(|(key, value)| (*key, value)), "{bounds:?}");
            if pair.is_none() {
                break;
            }
        }
        assert!(range.next().is_none() && range.next_back().is_none());
        self.map.range_mut(bounds).for_each(|(_, value)| *value = value.rotate_left(7));
        self.model.range_mut(bounds).for_each(|(_, value)| *value = value.rotate_left(7));
    }

    fn batches(&mut self) {
        let count = self.random.below(90) as usize;
        let pairs: Vec<(K, u64)> = (0..count).map(|_| (self.key(), self.random.next())).collect();
        let before = self.model.len();
        self.model.extend(pairs.iter().copied());
        assert_eq!(self.map.insert_many(pairs), self.model.len() - before);
        let keys: Vec<K> = (0..self.random.below(90)).map(|_| self.key()).collect();
        assert!(self.map.get_many(&keys).into_iter().eq(keys.iter().map(|key| self.model.get(key))));
        let mut taken = vec![None; keys.len()];
        let removed = self.map.remove_many_with(&keys, |at, value| taken[at] = value);
        let expected: Vec<Option<u64>> = keys.iter().map(|key| self.model.remove(key)).collect();
        assert_eq!(removed, expected.iter().flatten().count());
        assert_eq!(taken, expected);
    }

    fn wholes(&mut self) {
        let clone = self.map.clone();
        assert!(clone == self.map);
        let mut halves = clone.into_iter();
        let mut expected = self.model.clone().into_iter();
        for turn in 0..self.model.len() / 2 {
            let pair = if turn % 3 == 0 { halves.next_back() } else { halves.next() };
            assert_eq!(pair, if turn % 3 == 0 { expected.next_back() } else { expected.next() });
            assert_eq!(halves.len(), expected.len());
        }
        drop(halves);
        let kept = self.random.below(4);
        self.map.retain(|_, value| *value % 4 != kept);
        self.model.retain(|_, value| *value % 4 != kept);
        self.map.values_mut().for_each(|value| *value ^= 5);
        self.model.values_mut().for_each(|value| *value ^= 5);
        self.compare();
        let pairs: Vec<(K, u64)> = self.map.iter().map(|(key, value)| (key, *value)).collect();
        assert!(Map::<K, u64, S>::bulk_load(pairs.iter().copied()).as_ref() == Ok(&self.map));
        let twice = pairs.iter().rev().map(|(key, value)| (*key, value ^ 1)).chain(pairs.iter().copied());
        assert!(twice.collect::<Map<K, u64, S>>() == self.map);
    }
}

fn change(value: &mut u64) -> u64 {
    *value = value.wrapping_mul(3);
    *value
}

/// Runs all operations on keys of few, of some and of many numbers.
fn agrees<K: TestKey, S: Selection>(seed: u64) {
    for (round, vectors) in Vectors::all_available().into_iter().enumerate() {
        let mut twins = Twins::<K, S>::new(vectors, seed + round as u64);
        for (spread, count) in [(40, 300), (3000, 5000), (100_000, 4000)] {
            twins.spread = spread;
            for step in 0..steps(count) {
                twins.step();
                if step % 97 == 0 {
                    twins.range();
                    twins.batches();
                }
            }
            twins.compare();
            twins.wholes();
        }
        // Removes until nothing is left, so that every leaf and node is removed.
        while let Some((key, _)) = twins.model.iter().nth(twins.random.below(9) as usize).or(twins.model.iter().next())
        {
            let key = *key;
            assert_eq!(twins.map.remove(&key), twins.model.remove(&key));
        }
        twins.compare();
        assert_eq!(twins.map.height(), 0);
        twins.step();
        twins.map.clear();
        assert!(twins.map.is_empty() && twins.map.iter().next().is_none());
    }
}

macro_rules! agree {
    ($($name:ident: $key:ty, $selection:ty;)*) => { $(
        #[test]
        fn $name() {
            agrees::<$key, $selection>(line!().into());
        }
    )* };
}

agree! {
    fast_u64: u64, Fast;
    fast_f32: Real<f32>, Fast;
    paper_u64: u64, Paper;
    paper_f32: Real<f32>, Paper;
    tall_i32: i32, Tall;
    rowed_u64: u64, Rowed;
    rowed_f32: Real<f32>, Rowed;
    loose_u64: u64, Loose;
    broad_u64: u64, Broad;
    unsorted_scalar_i64: i64, UnsortedScalar;
    unsorted_pure_f64: Real<f64>, UnsortedPure;
    sorted_linear_u32: u32, SortedLinear;
    sorted_binary_u64: u64, SortedBinary;
    sorted_steps_u64: u64, SortedSteps;
    sorted_steps_f32: Real<f32>, SortedSteps;
    sorted_guessed_f32: Real<f32>, SortedGuessed;
}

/// Builds trees of many levels in ascending order, in descending order and from both ends: splits at the ends take
/// another path. One leaf has keys at both ends of the range, so that neighbours agree in the bits that a vector
/// compares.
#[test]
fn keys_that_lie_together_far_apart_come_in_order() {
    fn check<S: Selection>() {
        for vectors in Vectors::all_available() {
            let mut map = Map::<u64, u64, S>::with_vectors(vectors);
            let keys = (0..14).flat_map(|step| [step * 5 % 14, u64::MAX - step * 3 % 14]);
            keys.for_each(|key| assert_eq!(map.insert(key, !key), None));
            let expected = (0..14).chain(u64::MAX - 13..=u64::MAX).map(|key| (key, !key));
            assert!(map.iter().map(|(key, value)| (key, *value)).eq(expected), "{}", vectors.name());
        }
    }
    check::<Fast>();
    check::<FastNarrow>();
    check::<Paper>();
}

#[test]
fn keys_in_order_make_tall_trees() {
    fn grow<S: Selection>(keys: impl Iterator<Item = u64> + Clone) {
        let mut map = Map::<u64, u64, S>::selected();
        keys.clone().for_each(|key| assert_eq!(map.insert(key, !key), None));
        let mut sorted: Vec<u64> = keys.clone().collect();
        sorted.sort_unstable();
        assert!(map.iter().eq(sorted.iter().map(|key| (*key, &map[key]))));
        assert!(map.height() >= if cfg!(miri) { 1 } else { 3 }, "{}", map.height());
        keys.for_each(|key| assert_eq!(map.remove(&key), Some(!key)));
        assert_eq!((map.len(), map.height()), (0, 0));
    }
    let count = steps(6000) as u64;
    grow::<Tall>(0..count);
    grow::<Tall>((0..count).rev());
    grow::<Rowed>((0..count).map(|key| key.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    grow::<SortedBinary>((0..count).map(|key| if key % 2 == 0 { key } else { u64::MAX - key }));
    grow::<UnsortedPure>((0..count).map(|key| (key % 64).pow(8) ^ key << 50));
}
