//! The interface of a map under test, and the list of maps. For a map without batches, a batch is one call after the
//! other, as its users do it.

use crate::keys::{Ordered, TestKey};
use crate::measure::{Figures, Plan};
use crate::whole::Parts;
use anyhow::{Result, bail};
use holm_map::{Fast, Map, Paper, Real};
use std::collections::BTreeMap;

/// A value of `N` bytes. The first eight hold its number.
pub(crate) type Value<const N: usize> = [u8; N];

/// Returns the value of `number`.
pub(crate) fn value<const N: usize>(number: u64) -> Value<N> {
    std::array::from_fn(|at| if at < 8 { number.to_le_bytes()[at] } else { 7 })
}

/// Returns the number of a value.
pub(crate) fn number<const N: usize>(value: &Value<N>) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|at| value[at]))
}

/// A map under test. A lookup of an absent key returns 0.
pub(crate) trait Peer<K: Copy, const N: usize>: Sized {
    /// Creates an empty map, which may allocate memory for `expected` pairs in advance.
    fn new(expected: usize) -> Self;
    fn insert(&mut self, key: K, value: Value<N>);
    fn get(&self, key: K) -> u64;
    fn remove(&mut self, key: K) -> bool;
    /// Returns the sum of the numbers of up to `count` values, from a key on.
    fn scan(&self, from: K, count: usize) -> u64;

    fn get_many(&self, keys: &[K]) -> u64 {
        keys.iter().fold(0, |sum, key| sum.wrapping_add(self.get(*key)))
    }

    fn insert_many(&mut self, pairs: &[(K, Value<N>)]) {
        pairs.iter().for_each(|(key, value)| self.insert(*key, *value));
    }

    fn remove_many(&mut self, keys: &[K]) -> usize {
        keys.iter().filter(|key| self.remove(**key)).count()
    }
}

/// A map that is read and made as a whole.
pub(crate) trait Wholly<K: Copy, const N: usize>: Peer<K, N> {
    /// Makes a map of pairs whose keys ascend.
    fn of_sorted(pairs: &[(K, Value<N>)]) -> Self;
    fn copy(&self) -> Self;
    /// Returns the sum of the numbers of all values, in key order.
    fn sum(&self) -> u64;
    /// As `sum`, from the greatest key down.
    fn sum_back(&self) -> u64;
}

/// The peers that a run compares by default, in order.
pub(crate) const USUAL: &[&str] = &[
    "fast",
    #[cfg(feature = "absl")]
    "absl",
    "std",
];

/// Measures the peer of this name with keys `u64` and values of 8 bytes.
pub(crate) fn run_whole(name: &str, plan: &Plan<u64, 8>) -> Result<Figures> {
    match name {
        #[cfg(feature = "absl")]
        "absl" => plan.run::<crate::peers::absl::AbslWhole>(),
        "congee" => plan.run::<crate::peers::congee::Congee>(),
        "masstree" => plan.run::<crate::peers::masstree::Masstree>(),
        _ => run_any(name, plan),
    }
}

/// Measures the peer of this name with keys `f32` and values of 28 bytes.
pub(crate) fn run_real(name: &str, plan: &Plan<Real<f32>, 28>) -> Result<Figures> {
    match name {
        #[cfg(feature = "absl")]
        "absl" => plan.run::<crate::peers::absl::AbslReal>(),
        _ => run_any(name, plan),
    }
}

fn run_any<K: TestKey, const N: usize>(name: &str, plan: &Plan<K, N>) -> Result<Figures> {
    match name {
        "fast" => plan.run::<Map<K, Value<N>, Fast>>(),
        "fast-reserved" => plan.run::<crate::peers::holm::Reserved<K, Value<N>, Fast>>(),
        "paper" => plan.run::<Map<K, Value<N>, Paper>>(),
        "std" => plan.run::<BTreeMap<K, Value<N>>>(),
        "blart" => plan.run::<blart::TreeMap<Ordered<K>, Value<N>>>(),
        _ => bail!(
            "no peer {name} for these keys: there are fast, fast-reserved, paper, std and blart; for u64 also congee \
             and masstree; and absl by its feature"
        ),
    }
}

/// Measures what the peer of this name does with whole maps, with keys `u64` and values of 8 bytes.
pub(crate) fn run_whole_parts(name: &str, parts: &Parts<u64, 8>) -> Result<Vec<f64>> {
    match name {
        #[cfg(feature = "absl")]
        "absl" => parts.run::<crate::peers::absl::AbslWhole>(),
        _ => run_any_parts(name, parts),
    }
}

/// As [`run_whole_parts`], with keys `f32` and values of 28 bytes.
pub(crate) fn run_real_parts(name: &str, parts: &Parts<Real<f32>, 28>) -> Result<Vec<f64>> {
    match name {
        #[cfg(feature = "absl")]
        "absl" => parts.run::<crate::peers::absl::AbslReal>(),
        _ => run_any_parts(name, parts),
    }
}

fn run_any_parts<K: TestKey, const N: usize>(name: &str, parts: &Parts<K, N>) -> Result<Vec<f64>> {
    match name {
        "fast" => parts.run::<Map<K, Value<N>, Fast>>(),
        "paper" => parts.run::<Map<K, Value<N>, Paper>>(),
        "std" => parts.run::<BTreeMap<K, Value<N>>>(),
        _ => bail!("no peer {name} for whole maps: there are fast, paper and std, and absl by its feature"),
    }
}
