//! The measurements of the map's figures: gets, puts and removals, for any map and any keys.

use crate::threads::together;
use anyhow::{Result, ensure};
use holm_map::{Key, Map, Real, Selection};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

/// The operations of either map.
pub(super) trait Subject {
    type Key: Made;
    fn empty() -> Self;
    fn put(&mut self, key: Self::Key);
    fn put_unique(&mut self, key: Self::Key);
    fn get(&self, key: Self::Key) -> u64;
    fn remove(&mut self, key: Self::Key) -> bool;
}

impl<K: Made, S: Selection, const BYTES: usize> Subject for Map<K, [u8; BYTES], S> {
    type Key = K;
    fn empty() -> Self {
        Self::selected()
    }
    fn put(&mut self, key: K) {
        self.insert(key, [1; BYTES]);
    }
    fn put_unique(&mut self, key: K) {
        self.insert_unique(key, [1; BYTES]);
    }
    fn get(&self, key: K) -> u64 {
        self.get(&key).map_or(0, |value| u64::from(value[0]))
    }
    fn remove(&mut self, key: K) -> bool {
        self.remove(&key).is_some()
    }
}

impl<K: Made, const BYTES: usize> Subject for BTreeMap<K, [u8; BYTES]> {
    type Key = K;
    fn empty() -> Self {
        Self::new()
    }
    fn put(&mut self, key: K) {
        self.insert(key, [1; BYTES]);
    }
    fn put_unique(&mut self, key: K) {
        self.insert(key, [1; BYTES]);
    }
    fn get(&self, key: K) -> u64 {
        self.get(&key).map_or(0, |value| u64::from(value[0]))
    }
    fn remove(&mut self, key: K) -> bool {
        self.remove(&key).is_some()
    }
}

/// This number of 4-byte floats lies evenly between -1 and 1.
const KEYS: u64 = 1 << 25;

/// Maps a number below that to another: one-to-one, scattered.
fn scattered(number: u64) -> u64 {
    let product = |word: u64, odd: u64| word.wrapping_mul(odd) % KEYS;
    let half = product(number, 0x9E_3779);
    product(half ^ half >> 13, 0xD1_B54B)
}

/// A key made from a number: one-to-one, and uniform in some range.
pub(super) trait Made: Key {
    fn made(number: u64) -> Self;
}

impl Made for Real<f32> {
    fn made(number: u64) -> Self {
        Real::try_from((number as f64 / (KEYS / 2) as f64 - 1.0) as f32).expect("a quotient of numbers that are finite")
    }
}

impl Made for Real<f64> {
    fn made(number: u64) -> Self {
        Real::try_from(number as f64 / KEYS as f64).expect("a quotient of numbers that are finite")
    }
}

impl Made for i32 {
    fn made(number: u64) -> Self {
        (number as u32) as i32
    }
}

impl Made for i64 {
    fn made(number: u64) -> Self {
        number as i64
    }
}

/// Keys spread over 64 powers of two, all equally likely.
pub(super) fn logarithmic(number: u64) -> Real<f32> {
    Real::try_from((-64.0 * number as f64 / KEYS as f64).exp2() as f32).expect("a power of two that is a number")
}

/// Returns millions per second of gets, puts and removals.
pub(super) fn sample<M: Subject>(loaded: u64, timed: u64, unique: bool) -> Result<Vec<f64>> {
    sample_of::<M>(loaded, timed, unique, M::Key::made)
}

pub(super) fn sample_of<M: Subject>(
    loaded: u64,
    timed: u64,
    unique: bool,
    made: fn(u64) -> M::Key,
) -> Result<Vec<f64>> {
    ensure!(loaded + timed <= KEYS, "{loaded} pairs and {timed} more: there are {KEYS} such keys");
    let measured = std::sync::Mutex::new(vec![]);
    together(1, |_| {
        let keys: Vec<_> = (0..loaded + timed).map(|number| made(scattered(number))).collect();
        let mut map = M::empty();
        keys[..loaded as usize].iter().for_each(|key| map.put(*key));
        let fresh = &keys[loaded as usize..];
        let rate = |work: &mut dyn FnMut()| {
            let began = Instant::now();
            work();
            timed as f64 / began.elapsed().as_secs_f64() / 1e6
        };
        let put = match unique {
            true => rate(&mut || fresh.iter().for_each(|key| map.put_unique(*key))),
            false => rate(&mut || fresh.iter().for_each(|key| map.put(*key))),
        };
        let get = rate(&mut || {
            black_box(fresh.iter().fold(0, |sum: u64, key| sum + map.get(*key)));
        });
        let remove = rate(&mut || {
            black_box(keys[..timed as usize].iter().filter(|key| map.remove(**key)).count());
        });
        *measured.lock().expect("no panic") = vec![get, put, remove];
        Ok(())
    })?;
    Ok(measured.into_inner().expect("no panic"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_one_to_one() {
        let numbers = || (0..KEYS).step_by(97).chain(0..100_000).map(scattered);
        let distinct = numbers().collect::<BTreeSet<_>>().len();
        let reals = |made: fn(u64) -> Real<f32>| numbers().map(made).collect::<BTreeSet<_>>().len();
        assert_eq!([reals(Made::made), reals(logarithmic)], [distinct; 2]);
        assert!(distinct > 270_000);
    }
}
