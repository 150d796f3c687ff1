//! What programs do with whole maps and with parts of them: bulk loading, cloning, iteration and short scans. Each step
//! repeats until it has visited enough pairs, so that maps of a few pairs can be timed, too.

use crate::keys::{Spread, TestKey, asked, keys, mixed};
use crate::measure::clock;
use crate::peer::{Value, Wholly, value};
use anyhow::{Result, ensure};
use std::hint::black_box;

/// The timed operations, in this order. All but the scan count nanoseconds per pair.
pub(crate) const OPERATIONS: [&str; 6] = ["bulk_load", "clone", "iterate", "iterate back", "scan of 20", "drop"];

/// Pairs that a step visits at least.
const VISITS: usize = 4_000_000;

/// The work of a run: pairs in random order and in key order, and keys where scans begin.
pub(crate) struct Parts<K, const N: usize> {
    random: Vec<(K, Value<N>)>,
    ascending: Vec<(K, Value<N>)>,
    asked: Vec<K>,
}

impl<K: TestKey, const N: usize> Parts<K, N> {
    pub(crate) fn new(loaded: usize, spread: Spread) -> Result<Self> {
        ensure!(loaded >= 20, "at least 20 pairs");
        let random: Vec<_> =
            keys::<K>(loaded, spread)?.into_iter().zip(1..).map(|(key, at)| (key, value(mixed(at) | 1))).collect();
        let mut ascending = random.clone();
        ascending.sort_unstable_by_key(|(key, _)| *key);
        let keys: Vec<K> = random.iter().map(|(key, _)| *key).collect();
        Ok(Self { asked: asked(&keys, loaded, spread), random, ascending })
    }

    /// Runs all of it on a map of this type. Sums check the answers.
    pub(crate) fn run<M: Wholly<K, N>>(&self) -> Result<Vec<f64>> {
        let (len, mut figures) = (self.random.len(), Vec::new());
        let repeats = VISITS.div_ceil(len);
        let mut map = M::new(0);
        self.random.iter().for_each(|(key, value)| map.insert(*key, *value));
        let expected = self.random.iter().fold(0_u64, |sum, (_, value)| sum.wrapping_add(crate::peer::number(value)));
        let mut timed = |count: usize, work: &mut dyn FnMut()| {
            let start = clock();
            work();
            figures.push((clock() - start).as_nanos() as f64 / count as f64);
        };
        // Maps that are made stay until the clock stops, and those before are dropped outside of it.
        let kept = repeats.min(100);
        let mut made: Vec<M> = Vec::with_capacity(kept);
        timed(kept * len, &mut || made.extend((0..kept).map(|_| M::of_sorted(black_box(&self.ascending)))));
        ensure!(made.iter().all(|made| made.sum() == expected), "a bulk load lost a pair");
        made.clear();
        timed(kept * len, &mut || made.extend((0..kept).map(|_| black_box(&map).copy())));
        ensure!(made.iter().all(|made| made.sum() == expected), "a clone lost a pair");
        let (mut forth, mut back) = (0_u64, 0_u64);
        timed(repeats * len, &mut || (0..repeats).for_each(|_| forth = forth.wrapping_add(black_box(&map).sum())));
        timed(repeats * len, &mut || (0..repeats).for_each(|_| back = back.wrapping_add(black_box(&map).sum_back())));
        ensure!(forth == back && forth == expected.wrapping_mul(repeats as u64), "an iteration lost a pair");
        let scans = repeats.div_ceil(20);
        timed(scans * self.asked.len(), &mut || {
            (0..scans).for_each(|_| {
                black_box(self.asked.iter().fold(0_u64, |sum, key| sum.wrapping_add(map.scan(*key, 20))));
            });
        });
        timed(kept * len, &mut || made.clear());
        Ok(figures)
    }
}
