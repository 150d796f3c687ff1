//! Numbers by chance: which members a command chooses, and which keys a server forgets.
//!
//! SplitMix64 of Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014. Replicas that
//! begin with the same seed choose the same, so the numbers of a seed never change.

/// A source of numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random(u64);

impl Random {
    /// Returns the source of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Returns a number below a bound; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the reference implementation for the seed 1234567. The bound leaves out the last bit only.
    #[test]
    fn numbers_of_a_seed_never_change() {
        let mut random = Random::new(1_234_567);
        let expected = [6_457_827_717_110_365_317u64, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(expected.map(|_| random.below(1 << 63)), expected.map(|number| number >> 1));
        assert_eq!(random.below(0), 0);
        assert!((0..1_000).all(|_| random.below(3) < 3));
    }
}
