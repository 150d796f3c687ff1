//! Sequences of keys, created before any timing starts.

use holm_bench::Zipf;
use holm_lab::measured::word;
use rand::Rng;
use rand_pcg::Pcg64Mcg;

/// Returns every key once, in random order.
pub(crate) fn all(count: u64) -> Vec<u64> {
    (0..count).map(word).collect()
}

/// Returns up to `count` of these keys, each once, in an order that is neither theirs nor by size: a tree that keeps
/// pairs where they came must not be read in that order.
pub(crate) fn shuffled(keys: &[u64], count: u64) -> Vec<u64> {
    let mut keys = keys.to_vec();
    keys.sort_unstable_by_key(|key| word(*key));
    keys.truncate(count as usize);
    keys
}

/// Returns keys out of `range`, all equally likely.
pub(crate) fn uniform(count: u64, range: u64, seed: u64) -> Vec<u64> {
    let mut random = random(seed);
    (0..count).map(|_| word(random.random_range(0..range))).collect()
}

/// Returns keys out of `range` by Zipf's law with skew 0.99.
pub(crate) fn zipf(count: u64, range: u64, seed: u64) -> Vec<u64> {
    let (zipf, mut random) = (Zipf::new(range), random(seed));
    // Keys are scattered already, so popular keys are not neighbours.
    (0..count).map(|_| word(zipf.rank(random.random()))).collect()
}

/// Returns every key once, in order.
pub(crate) fn ascending(count: u64) -> Vec<u64> {
    let mut keys = all(count);
    keys.sort_unstable();
    keys
}

/// Returns keys out of `range`, four fifths of them from its first fifth.
pub(crate) fn eighty_twenty(count: u64, range: u64, seed: u64) -> Vec<u64> {
    let (mut random, fifth) = (random(seed), (range / 5).max(1));
    let mut draw = || {
        // Of the other draws, a fifth is popular too.
        let most = if random.random_ratio(3, 4) { fifth } else { range };
        word(random.random_range(0..most))
    };
    (0..count).map(|_| draw()).collect()
}

/// Returns the share of the keys of one of `threads` threads.
pub(crate) fn part<T>(keys: &[T], thread: usize, threads: usize) -> &[T] {
    let at = |thread| keys.len() * thread / threads;
    &keys[at(thread)..at(thread + 1)]
}

fn random(seed: u64) -> Pcg64Mcg {
    Pcg64Mcg::new(u128::from(seed) << 64 | 0xB5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_of_it_and_keys_are_distinct() {
        let keys = all(10_001);
        let parts: Vec<u64> = (0..4).flat_map(|thread| part(&keys, thread, 4)).copied().collect();
        assert_eq!(parts, keys);
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), keys.len());
    }

    #[test]
    fn shuffled_keys_are_the_same_in_another_order() {
        let (keys, shuffled) = (all(1_000), shuffled(&all(1_000), 1_000));
        let neighbours = shuffled.windows(2).filter(|two| keys.windows(2).any(|pair| pair == *two)).count();
        assert!(neighbours < 20 && !shuffled.is_sorted(), "{neighbours}");
        let sorted = shuffled.iter().copied().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(sorted.into_iter().collect::<Vec<_>>(), ascending(1_000));
    }

    #[test]
    fn four_fifths_of_a_trace_go_to_a_fifth_of_the_keys() {
        let popular: std::collections::HashSet<_> = all(2_000).into_iter().collect();
        let hits = eighty_twenty(20_000, 10_000, 1).into_iter().filter(|key| popular.contains(key)).count();
        assert!((15_500..16_500).contains(&hits), "{hits} of 20000");
        assert!(ascending(1_000).is_sorted());
    }

    #[test]
    fn a_few_keys_are_most_of_a_zipf_trace() {
        let trace = zipf(20_000, 1_000_000, 1);
        let head: Vec<_> = all(10_000);
        let hits = trace.iter().filter(|key| head.contains(key)).count();
        assert!((10_000..16_000).contains(&hits), "{hits} of 20000 among the first hundredth");
    }
}
