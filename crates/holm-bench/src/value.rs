//! Values: slices of one pool of random bytes, at an offset that depends on a number. They are random, so that
//! compression does not help any engine. They come from a pool, so that creating one costs nothing. They depend on a
//! number, so that a value can be checked after a crash. Slices are taken in sequence, which suits hardware
//! prefetchers, so that the pool disturbs the engine's caches as little as possible.

use rand::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Large compared with an engine's compression block, so that a block rarely holds the same bytes twice.
const POOL_BYTES: usize = 1 << 20;

/// Values of one size.
pub struct Values {
    pool: Vec<u8>,
    value_bytes: usize,
}

impl Values {
    /// Creates values of `value_bytes` bytes. Equal seeds give equal values. Uses 1 MiB of memory plus one value.
    #[must_use]
    pub fn new(value_bytes: usize, seed: u64) -> Self {
        let mut pool = vec![0; POOL_BYTES + value_bytes];
        Pcg64Mcg::seed_from_u64(seed ^ 0x706f_6f6c).fill_bytes(&mut pool);
        Self { pool, value_bytes }
    }

    /// Returns the value with this number. The load gives record `n` the value `n`. Numbers a MiB apart may share
    /// bytes.
    #[must_use]
    pub fn of(&self, number: u64) -> &[u8] {
        let start = (number.wrapping_mul(self.value_bytes as u64) % POOL_BYTES as u64) as usize;
        &self.pool[start..start + self.value_bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn values_have_the_size_differ_and_repeat_with_the_seed() {
        for bytes in [0, 1, 100, 1000, 3 << 20] {
            assert_eq!(Values::new(bytes, 7).of(u64::MAX).len(), bytes);
        }
        let values = Values::new(100, 7);
        let distinct: HashSet<_> = (0..10_000).map(|number| values.of(number)).collect();
        assert_eq!(distinct.len(), 10_000);
        assert_eq!(values.of(4711), Values::new(100, 7).of(4711));
        assert_ne!(values.of(4711), Values::new(100, 8).of(4711));
    }

    #[test]
    fn bytes_are_incompressible() {
        let values = Values::new(1000, 7);
        let mut counts = [0_u32; 256];
        (0..1000).flat_map(|number| values.of(number)).for_each(|&byte| counts[usize::from(byte)] += 1);
        let entropy: f64 = counts.iter().map(|&count| f64::from(count) / 1e6).map(|share| -share * share.log2()).sum();
        assert!(entropy > 7.99, "{entropy} bits per byte");
    }
}
