//! The keys: their distribution over their type, and the order of lookups. All keys are distinct. They are the same in
//! every process, because they are computed from numbers alone.

use anyhow::{Result, bail};
use holm_map::{Key, Real};

/// A bijection of 64-bit numbers that looks random.
pub(crate) fn mixed(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// A bijection of numbers below `1 << bits`.
fn mixed_within(number: u64, bits: u32) -> u64 {
    let mask = (1 << bits) - 1;
    let mut mixed = number & mask;
    for factor in [0x9e37_79b9_7f4a_7c15_u64, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        mixed = mixed.wrapping_mul(factor) & mask;
        mixed ^= mixed >> (bits / 2);
    }
    mixed
}

/// The distribution of keys over their type, and the frequency of lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Spread {
    /// Uniform over the type.
    Uniform,
    /// Uniform, and a few keys get most lookups (Zipf's law, 0.99).
    Skewed,
    /// Consecutive numbers, in random order.
    Dense,
    /// Consecutive numbers, in ascending order.
    Ascending,
    /// Scattered runs of 1024 consecutive numbers, in random order.
    Clustered,
    /// Equally many between 2^n and 2^(n+1) for every n.
    Logarithmic,
}

/// Keys in byte order.
pub(crate) type Ordered<K> = <K as TestKey>::Ordered;

/// A type of keys under test.
pub(crate) trait TestKey: Key {
    type Ordered: blart::OrderedBytes + blart::NoPrefixesBytes + Copy;

    /// Returns bytes that have the same order as keys.
    fn ordered(self) -> Self::Ordered;

    /// Returns the key of a number. The number is below 2^25, or below 2^30 if keys lie apart. Different numbers give
    /// different keys.
    fn spread(number: u64, spread: Spread) -> Self;
}

impl TestKey for u64 {
    type Ordered = [u8; 8];

    fn ordered(self) -> [u8; 8] {
        self.to_be_bytes()
    }

    fn spread(number: u64, spread: Spread) -> Self {
        match spread {
            Spread::Uniform | Spread::Skewed => mixed(number),
            Spread::Dense | Spread::Ascending => number,
            Spread::Clustered => mixed(number >> 10) << 10 | number & 1023,
            Spread::Logarithmic => {
                // Below 2^25 there are too few distinct numbers, so the exponents begin there.
                let exponent = 25 + number % 39;
                1 << exponent | mixed_within(number / 39, 25) << (exponent - 25)
            }
        }
    }
}

impl TestKey for Real<f32> {
    type Ordered = [u8; 4];

    fn ordered(self) -> [u8; 4] {
        (self.lane() ^ i32::MIN).to_be_bytes()
    }

    fn spread(number: u64, spread: Spread) -> Self {
        let float = match spread {
            Spread::Uniform | Spread::Skewed => (mixed_within(number, 25) as i64 - (1 << 24)) as f32 / 16_777_216.0,
            Spread::Dense | Spread::Ascending => f32::from_bits(0x3f00_0000 + number as u32),
            Spread::Clustered => f32::from_bits((mixed_within(number >> 10, 20) << 10 | number & 1023) as u32),
            Spread::Logarithmic => f32::from_bits(mixed_within(number, 30) as u32),
        };
        Self::new(float).unwrap_or_else(|_| panic!("number {number} made a NaN"))
    }
}

/// Returns the first `count` keys of a distribution, in order of arrival.
///
/// # Errors
/// There are fewer keys.
pub(crate) fn keys<K: TestKey>(count: usize, spread: Spread) -> Result<Vec<K>> {
    if count > 1 << 25 {
        bail!("found {count} keys, expected at most 2^25 per distribution");
    }
    let mut numbers: Vec<u64> = (0..count as u64).collect();
    if spread != Spread::Ascending {
        shuffle(&mut numbers);
    }
    Ok(numbers.into_iter().map(|number| K::spread(number, spread)).collect())
}

/// Shuffles the items, always in the same way.
pub(crate) fn shuffle<T>(items: &mut [T]) {
    for at in (1..items.len()).rev() {
        items.swap(at, (mixed(at as u64) % (at as u64 + 1)) as usize);
    }
}

/// Returns `count` of these keys in random order: each once, or by Zipf's law.
pub(crate) fn asked<K: Copy>(keys: &[K], count: usize, spread: Spread) -> Vec<K> {
    if spread != Spread::Skewed {
        let mut asked = keys[keys.len() - count..].to_vec();
        shuffle(&mut asked);
        return asked;
    }
    // The sum of the law, approximated by an integral and inverted.
    const POWER: f64 = 1.0 - 0.99;
    let ends = (keys.len() as f64).powf(POWER) - 1.0;
    let rank = |chance: f64| (ends * chance + 1.0).powf(1.0 / POWER) - 1.0;
    let chance = |at: usize| mixed(!(at as u64)) as f64 / u64::MAX as f64;
    (0..count).map(|at| keys[(rank(chance(at)) as usize).min(keys.len() - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_are_different_and_order_as_their_bytes() {
        fn check<K: TestKey + std::hash::Hash>(spread: Spread)
        where
            K::Ordered: Ord,
        {
            let mut keys = keys::<K>(100_000, spread).unwrap();
            keys.sort_unstable();
            assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{spread:?}: one comes twice");
            assert!(keys.windows(2).all(|pair| pair[0].ordered() < pair[1].ordered()), "{spread:?}: bytes");
        }
        use Spread::{Ascending, Clustered, Dense, Logarithmic, Skewed, Uniform};
        for spread in [Uniform, Skewed, Dense, Ascending, Clustered, Logarithmic] {
            check::<u64>(spread);
            check::<Real<f32>>(spread);
        }
    }

    #[test]
    fn a_skewed_few_are_asked_for_most_of_the_time() {
        let keys: Vec<u32> = (0..10_000).collect();
        let asked = asked(&keys, 10_000, Spread::Skewed);
        let few = asked.iter().filter(|key| **key < 100).count();
        assert!((4000..7000).contains(&few), "{few} of 10000 asks for a hundredth of the keys");
        assert!(asked.iter().collect::<HashSet<_>>().len() > 1000);
    }
}
