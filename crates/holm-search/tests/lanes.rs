//! Every level's lane kernels against a naive oracle: both widths, all lengths, keys at and beside every lane, and the
//! ends of the range. The portable level is one of the tested levels.

use holm_search::{Lane, LaneKernels, MASK_LANES, Vectors, with_vectors};

/// A multiplicative generator with the same results on every platform.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    (1_u64..).map(move |step| (step + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ step)
}

fn check<L: Lane>(lanes: &[L], key: L) {
    let whole = &lanes[..lanes.len() - lanes.len() % L::PER_LINE];
    let below = whole.iter().filter(|lane| **lane < key).count();
    let masked = &whole[..whole.len().min(MASK_LANES)];
    let equal = masked.iter().enumerate().fold(0_u64, |mask, (slot, lane)| mask | u64::from(*lane == key) << slot);
    for vectors in Vectors::all_available() {
        let name = vectors.name();
        assert_eq!(with_vectors!(vectors, x => x.below(lanes, key)), below, "{name}: {key:?} in {lanes:?}");
        assert_eq!(with_vectors!(vectors, x => x.equal(lanes, key)), equal, "{name}: {key:?} in {lanes:?}");
    }
}

fn check_all<L: Lane>(of: impl Fn(u64) -> L) {
    let lengths = if cfg!(miri) { vec![0, 7, 16, 33] } else { (0..=300).step_by(3).chain([64, 128, 256]).collect() };
    for len in lengths {
        let mut random = numbers(len as u64);
        let mut lanes: Vec<L> = random.by_ref().take(len).map(&of).collect();
        for ordered in [false, true] {
            if ordered {
                lanes.sort_unstable();
            }
            let near = lanes.clone().into_iter().step_by(5);
            near.chain(random.by_ref().take(5).map(&of)).chain([L::LEAST, L::GREATEST]).for_each(|key| {
                check(&lanes, key);
            });
        }
    }
}

/// Checks the searches that go vector by vector, which need lanes that ascend: at all lengths, from any first lane, and
/// with keys beside and at every lane, those at both ends among them.
fn check_steps<L: Lane>(of: impl Fn(u64) -> L) {
    let longest = if cfg!(miri) { 17 } else { 70 };
    for len in 0..=longest {
        let mut sorted: Vec<L> = numbers(len as u64).take(len).map(&of).collect();
        sorted.sort_unstable();
        let beside = |lane: &L| [lane.previous(), Some(*lane), lane.next()];
        let keys = sorted.iter().flat_map(beside).flatten().chain([L::LEAST, L::GREATEST]).collect::<Vec<_>>();
        for first in [0, 1, 3].into_iter().filter(|first| *first <= len) {
            let lanes = &sorted[first..];
            let whole = &lanes[..lanes.len() - lanes.len() % L::PER_LINE];
            for key in &keys {
                let below = whole.iter().filter(|lane| *lane < key).count();
                for vectors in Vectors::all_available() {
                    let found = [16, 32, 64].map(|bytes| match bytes {
                        16 => with_vectors!(vectors, x => x.below_by::<16, L>(lanes, *key)),
                        32 => with_vectors!(vectors, x => x.below_by::<32, L>(lanes, *key)),
                        _ => with_vectors!(vectors, x => x.below_by::<64, L>(lanes, *key)),
                    });
                    assert_eq!(found, [below; 3], "{}: {key:?} in {lanes:?}", vectors.name());
                }
            }
        }
    }
}

#[test]
fn vectors_one_after_the_other_count_the_lesser_lanes() {
    check_steps(|number| number as i32);
    check_steps(|number| number as i64);
    check_steps(|number| i128::from(number as i64) << (number % 65));
    // Many equal lanes, and the ends of the range.
    check_steps(|number| [i32::MIN, -1, 0, 1, i32::MAX][(number % 5) as usize]);
    check_steps(|number| [i64::MIN, -1, 0, 1, i64::MAX, 1 << 32][(number % 6) as usize]);
}

fn check_ranks<L: Lane>(of: impl Fn(u64) -> L) {
    for count in 0..=MASK_LANES {
        let mut lanes = [L::LEAST; MASK_LANES];
        numbers(count as u64).zip(&mut lanes).for_each(|(number, lane)| *lane = of(number));
        let counted = &lanes[..count];
        for vectors in Vectors::all_available() {
            let ranks = with_vectors!(vectors, x => x.ranks(&lanes, count));
            let less = counted.iter().map(|lane| counted.iter().filter(|than| *than < lane).count());
            assert!(less.eq(ranks[..count].iter().map(|rank| usize::from(*rank))), "{}: {counted:?}", vectors.name());
        }
    }
}

/// Checks the order of selected lanes: exact if `certain`, else adjacent lanes may be swapped if the level says so.
fn check_order<L: Lane>(certain: bool, of: impl Fn(u64) -> L) {
    let masks = [0, 1, 1 << 63, u64::MAX, u64::MAX >> 8, 0x0000_ffff_0000_ffff, 0x8421_8421_1248_1248];
    let random = numbers(7).take(if cfg!(miri) { 0 } else { 60 });
    for (which, seed) in masks.into_iter().chain(random).zip(0..) {
        let mut lanes = [L::LEAST; MASK_LANES];
        numbers(seed).zip(&mut lanes).for_each(|(number, lane)| *lane = of(number));
        let mut named: Vec<u8> = (0..64).filter(|place| which >> place & 1 == 1).collect();
        for vectors in Vectors::all_available() {
            let (order, sure) = with_vectors!(vectors, x => x.order(&lanes, which));
            let ordered = &order[..named.len()];
            let sorted = ordered.is_sorted_by_key(|place| lanes[usize::from(*place)]);
            assert!(sorted || !sure, "{}: {ordered:?} of {lanes:?}", vectors.name());
            assert!(sure || !certain, "{}: not certain of {lanes:?}", vectors.name());
            let mut places = ordered.to_vec();
            places.sort_unstable();
            named.sort_unstable();
            assert_eq!(places, named, "{}: each place once", vectors.name());
        }
    }
}

#[test]
fn order_has_the_lesser_lanes_first() {
    check_order(true, |number| (number % (1 << 26)) as i32 - (1 << 25));
    check_order(true, |number| i64::from(number as i32) << 31);
    check_order(true, |number| 1_i64 << 60 | (number % (1 << 25)) as i64);
    check_order(true, |number| [i64::MIN, i64::MAX][(number >> 63) as usize] ^ ((number >> 30) as i64) << 30);
    check_order(true, |number| i128::from(number as i64) << (number % 65));
    // Lanes too close together for their range, and equal ones.
    check_order(false, |number| number as i32 / 3 * 3);
    check_order(false, |number| [i64::MIN, i64::MAX][(number >> 63) as usize] ^ (number % 97) as i64);
    check_order(false, |number| [i32::MIN, -1, 0, 1, i32::MAX][(number % 5) as usize]);
    check_order(false, |number| [i64::MIN, -1, 0, 1, i64::MAX, 1 << 32][(number % 6) as usize]);
}

#[test]
fn ranks_count_the_lesser_lanes() {
    check_ranks(|number| number as i32);
    check_ranks(|number| number as i64);
    check_ranks(|number| i128::from(number as i64) << (number % 65));
    check_ranks(|number| [i32::MIN, -1, 0, 1, i32::MAX][(number % 5) as usize]);
    check_ranks(|number| [i64::MIN, -1, 0, 1, i64::MAX, 1 << 32][(number % 6) as usize]);
}

#[test]
fn lanes_are_compared_as_signed_numbers() {
    check_all(|number| number as i32);
    check_all(|number| number as i64);
    check_all(|number| i128::from(number as i64) << (number % 65));
    // Few different lanes, and the ends of the range.
    check_all(|number| [i32::MIN, -1, 0, 1, i32::MAX][(number % 5) as usize]);
    check_all(|number| [i64::MIN, -1, 0, 1, i64::MAX, 1 << 32][(number % 6) as usize]);
}

#[test]
fn equal_bytes_are_found() {
    let mut random = numbers(3);
    for _ in 0..if cfg!(miri) { 3 } else { 300 } {
        let bytes: [u8; 64] = std::array::from_fn(|_| (random.next().unwrap_or(0) % 5) as u8 * 63);
        for byte in [0, 63, 126, 189, 252, 255, 1] {
            let mask = bytes.iter().enumerate().fold(0_u64, |mask, (at, one)| mask | u64::from(*one == byte) << at);
            for vectors in Vectors::all_available() {
                assert_eq!(with_vectors!(vectors, x => x.bytes_equal(&bytes, byte)), mask, "{}", vectors.name());
            }
        }
    }
}
