//! Every level of this CPU against a naive oracle, on words that do not change. The inputs are all lengths, all counts,
//! keys at and beside every word, and the numbers at which a signed compare fails. The oracle shares no code with the
//! portable level, which is one of the tested levels.

use holm_search::{MOST_RANKED, Search};
use std::sync::atomic::AtomicU64;

/// Numbers around which signed and unsigned compares differ.
const EXTREMES: [u64; 11] =
    [0, 1, 0x7f, 0xff, u32::MAX as u64, 1 << 32, i64::MAX as u64 - 1, i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX];

/// A xorshift generator: the tests give the same results on every platform and run under Miri quickly.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Fewer rounds under an interpreter.
fn rounds(of: usize) -> usize {
    if cfg!(miri) { of.div_ceil(40) } else { of }
}

fn atomic(words: &[u64]) -> Vec<AtomicU64> {
    words.iter().copied().map(AtomicU64::new).collect()
}

/// Returns words of one kind: spread, dense, few and equal, extreme, all equal.
fn words(random: &mut Random, len: usize, kind: usize) -> Vec<u64> {
    let base = random.next();
    (0..len)
        .map(|_| match kind {
            0 => random.next(),
            1 => base.wrapping_add(random.next() % 97),
            2 => random.next() % 4,
            3 => EXTREMES[random.below(EXTREMES.len())],
            _ => EXTREMES[(base % 11) as usize],
        })
        .collect()
}

/// Returns the keys to search for: each word, its neighbours, the extremes.
fn keys(words: &[u64]) -> Vec<u64> {
    let near = words.iter().flat_map(|word| [word.wrapping_sub(1), *word, word.wrapping_add(1)]);
    near.chain(EXTREMES).collect()
}

fn check_rank(sorted: &[u64], count: usize, key: u64) {
    let words = atomic(sorted);
    let counted = &sorted[..count.min(sorted.len())];
    let at_most = counted.iter().filter(|word| **word <= key).count();
    let below = counted.iter().filter(|word| **word < key).count();
    for search in Search::all_available() {
        let name = search.name();
        assert_eq!(search.rank(&words, count, key), at_most, "{name}: {sorted:x?}, count {count}, key {key:x}");
        assert_eq!(search.rank_below(&words, count, key), below, "{name}: {sorted:x?}, count {count}, key {key:x}");
        let others = [search.rank_halving(&words, count, key), search.rank_interpolating(&words, count, key)];
        assert_eq!(others, [at_most; 2], "{name}: {sorted:x?}, count {count}, key {key:x}");
    }
}

#[test]
fn rank_of_one_to_eight_lines_at_all_counts() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..rounds(40) {
        for len in (0..=64).step_by(8) {
            for count in (0..=len).step_by(if cfg!(miri) { 7 } else { 1 }) {
                let mut sorted = words(&mut random, len, round % 5);
                // The words behind the count stay as they are: the kernels must not count them.
                sorted[..count].sort_unstable();
                let keys = keys(&sorted);
                for _ in 0..4 {
                    check_rank(&sorted, count, keys[random.below(keys.len())]);
                }
            }
        }
    }
}

#[test]
fn rank_asks_every_key_of_a_node() {
    let mut random = Random(0x0bad_cafe);
    for kind in 0..rounds(5) {
        for (len, count) in [(8, 8), (8, 5), (40, 38), (64, 64), (64, 1), (512, 512), (512, 300)] {
            let mut sorted = words(&mut random, len, kind);
            sorted[..count].sort_unstable();
            for key in keys(&sorted).into_iter().step_by(if cfg!(miri) { 61 } else { 1 }) {
                check_rank(&sorted, count, key);
            }
        }
    }
}

#[test]
fn rank_of_many_lines() {
    let mut random = Random(77);
    for round in 0..rounds(400) {
        let len = 8 * (9 + random.below(if round % 2 == 0 { 60 } else { 200 }));
        let count = if round % 3 == 0 { len } else { random.below(len + 1) };
        let mut sorted = words(&mut random, len, round % 5);
        sorted[..count].sort_unstable();
        let keys = keys(&sorted);
        for _ in 0..if cfg!(miri) { 2 } else { 20 } {
            check_rank(&sorted, count, keys[random.below(keys.len())]);
        }
    }
}

#[test]
fn rank_clamps_the_count_and_drops_a_broken_line() {
    let words = atomic(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    for search in Search::all_available() {
        assert_eq!(search.rank(&words, usize::MAX, 100), 8, "{}", search.name());
        assert_eq!(search.rank(&words[..7], 7, 100), 0, "{}", search.name());
        for rank in [Search::rank_halving, Search::rank_interpolating] {
            assert_eq!(rank(search, &words, usize::MAX, 100), 8, "{}", search.name());
            assert_eq!(rank(search, &words[..7], 7, 100), 0, "{}", search.name());
        }
        assert_eq!(search.words_equal(&words, 10), 0, "{}", search.name());
        assert_eq!(search.words_equal(&words, 8), 1 << 7, "{}", search.name());
    }
}

#[test]
fn rank_of_words_out_of_order_stays_in_range() {
    let mut random = Random(5);
    for _ in 0..rounds(2000) {
        let len = 8 * random.below(70);
        let words = atomic(&words(&mut random, len, 3));
        let (count, key) = (random.below(len + 3), EXTREMES[random.below(EXTREMES.len())]);
        for search in Search::all_available() {
            assert!(search.rank(&words, count, key) <= count.min(len), "{}", search.name());
            assert!(search.rank_below(&words, count, key) <= count.min(len), "{}", search.name());
            assert!(search.rank_halving(&words, count, key) <= count.min(len), "{}", search.name());
            assert!(search.rank_interpolating(&words, count, key) <= count.min(len), "{}", search.name());
        }
    }
}

#[test]
fn bytes_equal_sets_a_bit_for_each_byte() {
    let mut random = Random(0x5eed);
    for round in 0..rounds(4000) {
        // Runs of zeros and ones of the searched byte are where carry tricks fail.
        let wanted = [0, 1, 0x7f, 0x80, 0xff, random.next() as u8][round % 6];
        let bytes: Vec<u8> = (0..32)
            .map(|_| match random.below(4) {
                0 => wanted,
                1 => wanted.wrapping_add(1),
                2 => wanted ^ 0x80,
                _ => random.next() as u8,
            })
            .collect();
        let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect();
        let words: [AtomicU64; 4] = std::array::from_fn(|at| AtomicU64::new(words[at]));
        let expected = bytes.iter().enumerate().fold(0, |mask, (at, byte)| mask | u32::from(*byte == wanted) << at);
        for search in Search::all_available() {
            assert_eq!(search.bytes_equal(&words, wanted), expected, "{}: {bytes:x?}, {wanted:x}", search.name());
        }
    }
}

#[test]
fn words_equal_sets_a_bit_for_each_word() {
    let mut random = Random(0xfeed);
    for round in 0..rounds(500) {
        for lines in 0..=9 {
            let plain = words(&mut random, 8 * lines, round % 5);
            let words = atomic(&plain);
            let keys = keys(&plain);
            for _ in 0..3 {
                // A key that differs in one bit only distinguishes a compare of halves from a compare of words.
                let key = keys[random.below(keys.len())] ^ if random.below(4) == 0 { 1 << 40 } else { 0 };
                let slots = plain.iter().take(64).enumerate();
                let expected = slots.fold(0, |mask, (slot, word)| mask | u64::from(*word == key) << slot);
                for search in Search::all_available() {
                    assert_eq!(search.words_equal(&words, key), expected, "{}: {plain:x?}, {key:x}", search.name());
                }
            }
        }
    }
}

#[test]
fn ranks_count_the_lesser_numbers() {
    let mut random = Random(0x5eed);
    for kind in 0..5 {
        for count in 0..=MOST_RANKED {
            let numbers: [u64; MOST_RANKED] = words(&mut random, MOST_RANKED, kind).try_into().expect("as many");
            let ranked = &numbers[..count];
            let wanted: Vec<_> = ranked.iter().map(|a| ranked.iter().filter(|b| *b < a).count() as u64).collect();
            for search in Search::all_available() {
                assert_eq!(search.ranks(&numbers, count)[..count], wanted, "{} {numbers:?} {count}", search.name());
            }
        }
    }
}

#[test]
fn copy_takes_what_both_hold_and_no_more() {
    let mut random = Random(0xc0de);
    for (longer, shorter) in (0..rounds(120)).flat_map(|len| [(len + 9, len), (len, len)]) {
        let plain = words(&mut random, longer, 0);
        let from = atomic(&plain);
        for search in Search::all_available() {
            let name = search.name();
            let mut out = vec![7; shorter];
            search.copy(&from, &mut out);
            assert_eq!(out, plain[..shorter], "{name}: {longer} into {shorter}");

            let mut out = vec![7; longer + 9];
            search.copy(&from[..shorter], &mut out[1..]);
            assert_eq!(out[0], 7, "{name}: wrote in front, {shorter}");
            assert_eq!(out[1..=shorter], plain[..shorter], "{name}: {shorter} into {longer}");
            assert!(out[shorter + 1..].iter().all(|word| *word == 7), "{name}: wrote behind, {shorter}");
        }
    }
}

#[test]
fn starts_with_sees_every_differing_byte() {
    let mut random = Random(0xabcd);
    let longest: usize = if cfg!(miri) { 40 } else { 210 };
    for len in 0..longest {
        let bytes: Vec<u8> = (0..len + 17).map(|_| random.next() as u8).collect();
        let plain: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect();
        let words = atomic(&plain);
        let exact = &words[..len.div_ceil(8)];
        for search in Search::all_available() {
            let name = search.name();
            assert!(search.starts_with(&words, &bytes[..len]), "{name}: {len}");
            assert!(search.starts_with(exact, &bytes[..len]), "{name}: {len}, exact");
            if let Some((_, short)) = exact.split_last() {
                assert!(!search.starts_with(short, &bytes[..len]), "{name}: {len}, too short");
            }
            for at in 0..len {
                let mut other = bytes[..len].to_vec();
                other[at] ^= 1 << (random.next() % 8);
                assert!(!search.starts_with(&words, &other), "{name}: {len}, byte {at} differs");
            }
        }
    }
}

#[test]
fn a_whole_line_of_the_key_differs_by_one_bit_only() {
    let words = atomic(&[u64::MAX; 8]);
    for search in Search::all_available() {
        for bit in 0..64 {
            assert_eq!(search.words_equal(&words, u64::MAX ^ 1 << bit), 0, "{}: {bit}", search.name());
        }
    }
}
