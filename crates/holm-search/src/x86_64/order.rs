//! Sorts sixty-four lanes at once with AVX-512: a bitonic network over four registers.
//!
//! The network sorts numbers of 32 bits. Each number has 26 bits of a lane, those after the common prefix of all lanes,
//! and below them the lane's index. So the indices come out in the order of the lanes. Lanes that agree in these bits
//! come out in the order of their indices, which may be wrong, so the result says whether there are any. A number is
//! the one of rank `4 * element + register`: so most steps stay within an element, and none needs more than two
//! shuffles.

use super::Avx512;
use crate::lanes::{Lane, MASK_LANES};
use std::arch::x86_64::*;

/// Bits of an index.
const PLACE_BITS: u32 = MASK_LANES.trailing_zeros();

/// Returns the indices of the lanes that `which` selects, in order, and whether the order is certain.
#[inline]
pub(super) fn order<L: Lane>(_: Avx512, lanes: &[L; MASK_LANES], which: u64) -> ([u8; MASK_LANES], bool) {
    // All share the prefix of this selected lane; the comparison uses the bits that differ from it.
    let some = lanes[which.trailing_zeros() as usize % MASK_LANES];
    // SAFETY: the first argument proves the instructions, and an array of lanes is an array of numbers of their size.
    unsafe {
        if size_of::<L>() == 4 {
            sort(narrow(lanes.as_ptr().cast(), some.number() as i32, which), which.count_ones())
        } else {
            sort(wide(lanes.as_ptr().cast(), some.number(), which), which.count_ones())
        }
    }
}

/// Returns the indices of the 16 numbers in a register.
#[target_feature(enable = "avx512f")]
fn places(register: usize) -> __m512i {
    let places = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    _mm512_add_epi32(places, _mm512_set1_epi32(16 * register as i32))
}

/// Writes the numbers' indices into their low bits. Where `named` has no bit, writes the greatest number.
#[target_feature(enable = "avx512f")]
fn with_places(numbers: __m512i, register: usize, named: u16) -> __m512i {
    /// Selects the third operand's bit where the mask is 1, the first operand's elsewhere.
    const THIRD_UNDER_MASK: i32 = 0b1101_1000;
    let mask = _mm512_set1_epi32((1 << PLACE_BITS) - 1);
    let placed = _mm512_ternarylogic_epi32::<THIRD_UNDER_MASK>(numbers, places(register), mask);
    _mm512_mask_mov_epi32(_mm512_set1_epi32(-1), named, placed)
}

/// # Safety
/// The CPU has AVX-512F, and there are 64 numbers behind `lanes`.
#[target_feature(enable = "avx512f")]
unsafe fn narrow(lanes: *const i32, some: i32, which: u64) -> [__m512i; 4] {
    let named = |register: usize| (which >> (16 * register)) as u16;
    // SAFETY: inside the array.
    let lanes: [_; 4] = std::array::from_fn(|register| unsafe { _mm512_loadu_epi32(lanes.add(16 * register)) });
    let (some, mut differing) = (_mm512_set1_epi32(some), _mm512_setzero_si512());
    for (register, lanes) in lanes.iter().enumerate() {
        let differs = _mm512_maskz_xor_epi32(named(register), *lanes, some);
        differing = _mm512_or_si512(differing, differs);
    }
    let common = (_mm512_reduce_or_epi32(differing) as u32).leading_zeros();
    let shift = _mm_cvtsi32_si128(common as i32);
    let sign = _mm512_set1_epi32(i32::MIN);
    std::array::from_fn(|register| {
        let unsigned = _mm512_xor_si512(lanes[register], sign);
        with_places(_mm512_sll_epi32(unsigned, shift), register, named(register))
    })
}

/// # Safety
/// As for [`narrow`].
#[target_feature(enable = "avx512f")]
unsafe fn wide(lanes: *const i64, some: i64, which: u64) -> [__m512i; 4] {
    // SAFETY: inside the array.
    let lanes: [_; 8] = std::array::from_fn(|register| unsafe { _mm512_loadu_epi64(lanes.add(8 * register)) });
    let (some, mut differing) = (_mm512_set1_epi64(some), _mm512_setzero_si512());
    for (register, lanes) in lanes.iter().enumerate() {
        let differs = _mm512_maskz_xor_epi64((which >> (8 * register)) as u8, *lanes, some);
        differing = _mm512_or_si512(differing, differs);
    }
    let common = (_mm512_reduce_or_epi64(differing) as u64).leading_zeros();
    let shift = _mm_cvtsi32_si128(common as i32);
    let sign = _mm512_set1_epi64(i64::MIN);
    let upper = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    std::array::from_fn(|register| {
        let [low, high] = [2 * register, 2 * register + 1]
            .map(|register| _mm512_sll_epi64(_mm512_xor_si512(lanes[register], sign), shift));
        let halves = _mm512_permutex2var_epi32(low, upper, high);
        with_places(halves, register, (which >> (16 * register)) as u16)
    })
}

/// Sorts 64 numbers. Returns their low bits, and whether the other bits of the first `count` are distinct.
#[target_feature(enable = "avx512f")]
fn sort(numbers: [__m512i; 4], count: u32) -> ([u8; MASK_LANES], bool) {
    let [mut a, mut b, mut c, mut d] = numbers;
    let compare = |one: &mut __m512i, other: &mut __m512i| {
        let (least, greatest) = (_mm512_min_epu32(*one, *other), _mm512_max_epu32(*one, *other));
        (*one, *other) = (least, greatest);
    };
    // Sorts each element's four numbers by the network of five comparisons.
    compare(&mut a, &mut b);
    compare(&mut c, &mut d);
    compare(&mut a, &mut c);
    compare(&mut b, &mut d);
    compare(&mut b, &mut c);
    // Exchanges opposite elements: the first half of each run gets the lesser numbers.
    macro_rules! exchange {
        ($shuffle:expr, $upper:literal, reversed) => {{
            let shuffle = $shuffle;
            let (e, f, g, h) = (shuffle(d), shuffle(c), shuffle(b), shuffle(a));
            exchange!(e f g h $upper);
        }};
        ($shuffle:expr, $upper:literal) => {{
            let shuffle = $shuffle;
            let (e, f, g, h) = (shuffle(a), shuffle(b), shuffle(c), shuffle(d));
            exchange!(e f g h $upper);
        }};
        ($e:ident $f:ident $g:ident $h:ident $upper:literal) => {
            a = _mm512_mask_max_epu32(_mm512_min_epu32(a, $e), $upper, a, $e);
            b = _mm512_mask_max_epu32(_mm512_min_epu32(b, $f), $upper, b, $f);
            c = _mm512_mask_max_epu32(_mm512_min_epu32(c, $g), $upper, c, $g);
            d = _mm512_mask_max_epu32(_mm512_min_epu32(d, $h), $upper, d, $h);
        };
    }
    // Sorts within each element, whose numbers rise and then fall, or fall and then rise.
    macro_rules! settle {
        () => {
            compare(&mut a, &mut c);
            compare(&mut b, &mut d);
            compare(&mut a, &mut b);
            compare(&mut c, &mut d);
        };
    }
    let beside = |numbers| _mm512_shuffle_epi32::<0b10_11_00_01>(numbers);
    let two_on = |numbers| _mm512_shuffle_epi32::<0b01_00_11_10>(numbers);
    let four_on = |numbers| _mm512_shuffle_i32x4::<0b10_11_00_01>(numbers, numbers);
    let of_four = |numbers| _mm512_shuffle_epi32::<0b00_01_10_11>(numbers);
    let of_eight = |numbers| four_on(of_four(numbers));
    let backwards = _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let of_all = |numbers| _mm512_permutexvar_epi32(backwards, numbers);
    exchange!(beside, 0b1010_1010_1010_1010, reversed);
    settle!();
    exchange!(of_four, 0b1100_1100_1100_1100, reversed);
    exchange!(beside, 0b1010_1010_1010_1010);
    settle!();
    exchange!(of_eight, 0b1111_0000_1111_0000, reversed);
    exchange!(two_on, 0b1100_1100_1100_1100);
    exchange!(beside, 0b1010_1010_1010_1010);
    settle!();
    exchange!(of_all, 0b1111_1111_0000_0000, reversed);
    exchange!(four_on, 0b1111_0000_1111_0000);
    exchange!(two_on, 0b1100_1100_1100_1100);
    exchange!(beside, 0b1010_1010_1010_1010);
    settle!();
    let onwards = _mm512_set_epi32(0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    let following = [b, c, d, _mm512_permutexvar_epi32(onwards, a)];
    let mut agreeing = 0;
    for ((one, next), register) in [a, b, c, d].into_iter().zip(following).zip(0..) {
        let agree = _mm512_cmplt_epu32_mask(_mm512_xor_si512(one, next), _mm512_set1_epi32(1 << PLACE_BITS));
        // The elements whose number in this register, and its successor, are among the first `count`.
        let counted = (1_u32 << (count + 2).saturating_sub(register).div_euclid(4).min(16)) - 1;
        agreeing |= u32::from(agree) & counted;
    }
    // Packs four numbers into an element, one byte each.
    let low = _mm512_set1_epi32((1 << PLACE_BITS) - 1);
    let place = |numbers| _mm512_and_si512(numbers, low);
    let lower = _mm512_or_si512(place(a), _mm512_slli_epi32::<8>(place(b)));
    let upper = _mm512_or_si512(_mm512_slli_epi32::<16>(place(c)), _mm512_slli_epi32::<24>(place(d)));
    let mut places = [0; MASK_LANES];
    // SAFETY: the array has as many bytes as a register.
    unsafe { _mm512_storeu_epi32(places.as_mut_ptr().cast(), _mm512_or_si512(lower, upper)) };
    (places, agreeing == 0)
}
