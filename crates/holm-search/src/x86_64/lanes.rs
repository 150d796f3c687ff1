//! Lanes with AVX2 and AVX-512. There is no concurrent writer, so plain vector loads would do. The code uses `asm!`
//! nevertheless, because it needs no `#[target_feature]` and so inlines into every caller, including a whole descent.

use super::{Avx2, Avx512, order, steps};
use crate::LINE_BYTES;
use crate::lanes::{Lane, LaneKernels, MASK_LANES, by_sorting, sealed_kernels::Sealed};
use crate::portable::Portable;
use std::arch::asm;

impl Sealed for Avx2 {}
impl Sealed for Avx512 {}

/// A cache line of bytes. The blocks see lanes of either size as bytes.
pub(super) type Line = [u8; LINE_BYTES];

/// Returns the whole lines of `lanes`.
#[inline(always)]
pub(super) fn lines<L: Lane>(lanes: &[L]) -> &[Line] {
    let count = size_of_val(lanes) / LINE_BYTES;
    // SAFETY: as many whole lines as `lanes` spans, at its start, with the same borrow. Lanes are integers, so every
    // byte may be read, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(lanes.as_ptr().cast(), count) }
}

/// Counts over some lines of one width, with AVX-512: `$ones` adds the mask of each line to the count.
macro_rules! wide_below {
    ($name:ident, $lines:literal, $broadcast:literal, $compare:literal: $($line:literal)*) => {
        #[inline(always)]
        fn $name(_: Avx512, at: &[Line; $lines], key: i64) -> usize {
            let count: usize;
            // SAFETY: the first argument proves the instructions, `popcnt` included; the loads are the lines of `at`;
            // all written registers are named.
            unsafe {
                asm!(
                    $broadcast,
                    concat!($compare, " k1, zmm16, [{at}]"),
                    "kmovw {count:e}, k1",
                    "popcnt {count:e}, {count:e} /* {mask} */",
                    $(
                        concat!($compare, " k2, zmm16, [{at} + 64 * ", $line, "]"),
                        "kmovw {mask:e}, k2",
                        "popcnt {mask:e}, {mask:e}",
                        "add {count:e}, {mask:e}",
                    )*
                    key = in(reg) key,
                    at = in(reg) at,
                    count = out(reg) count,
                    mask = out(reg) _,
                    out("xmm16") _, out("k1") _, out("k2") _,
                    options(pure, readonly, nostack)
                );
            }
            count
        }
    };
}

/// Masks over some lines of one width, with AVX-512: `$lanes` bits a line.
macro_rules! wide_equal {
    ($name:ident, $lines:literal, $lanes:literal, $broadcast:literal, $compare:literal: $($line:literal)*) => {
        #[inline(always)]
        fn $name(_: Avx512, at: &[Line; $lines], key: i64) -> u64 {
            let mask: u64;
            // SAFETY: as above.
            unsafe {
                asm!(
                    $broadcast,
                    concat!($compare, " k1, zmm16, [{at}]"),
                    "kmovw {mask:e}, k1 /* {more} */",
                    $(
                        concat!($compare, " k2, zmm16, [{at} + 64 * ", $line, "]"),
                        "kmovw {more:e}, k2",
                        concat!("shl {more}, ", $lanes, " * ", $line),
                        "or {mask}, {more}",
                    )*
                    key = in(reg) key,
                    at = in(reg) at,
                    mask = out(reg) mask,
                    more = out(reg) _,
                    out("xmm16") _, out("k1") _, out("k2") _,
                    options(pure, readonly, nostack)
                );
            }
            mask
        }
    };
}

wide_below!(wide_below_4_one, 1, "vpbroadcastd zmm16, {key:e}", "vpcmpgtd":);
wide_below!(wide_below_4_two, 2, "vpbroadcastd zmm16, {key:e}", "vpcmpgtd": 1);
wide_below!(wide_below_4_four, 4, "vpbroadcastd zmm16, {key:e}", "vpcmpgtd": 1 2 3);
wide_below!(wide_below_4_eight, 8, "vpbroadcastd zmm16, {key:e}", "vpcmpgtd": 1 2 3 4 5 6 7);
wide_below!(wide_below_8_one, 1, "vpbroadcastq zmm16, {key}", "vpcmpgtq":);
wide_below!(wide_below_8_two, 2, "vpbroadcastq zmm16, {key}", "vpcmpgtq": 1);
wide_below!(wide_below_8_four, 4, "vpbroadcastq zmm16, {key}", "vpcmpgtq": 1 2 3);
wide_below!(wide_below_8_eight, 8, "vpbroadcastq zmm16, {key}", "vpcmpgtq": 1 2 3 4 5 6 7);
wide_equal!(wide_equal_4_one, 1, "16", "vpbroadcastd zmm16, {key:e}", "vpcmpeqd":);
wide_equal!(wide_equal_4_four, 4, "16", "vpbroadcastd zmm16, {key:e}", "vpcmpeqd": 1 2 3);
wide_equal!(wide_equal_8_one, 1, "8", "vpbroadcastq zmm16, {key}", "vpcmpeqq":);
wide_equal!(wide_equal_8_eight, 8, "8", "vpbroadcastq zmm16, {key}", "vpcmpeqq": 1 2 3 4 5 6 7);

/// Computes how many of `count` lanes from `all` on are less than each lane of two lines, as bytes.
macro_rules! wide_ranks {
    ($name:ident, $bytes:literal, $compare:literal, $broadcast:literal, $ones:literal, $add:literal, $narrow:literal,
     $lanes:literal) => {
        /// # Safety
        /// There are `count` lanes behind `all`, at least one, two lines behind `ranked`, and room for a byte for each
        /// of their lanes behind `out`.
        #[inline(always)]
        unsafe fn $name(_: Avx512, all: *const u8, ranked: *const u8, count: usize, out: *mut u8) {
            // SAFETY: the first argument proves the instructions; loads and stores are those that the caller
            // guarantees, and the loop over `all` stops after `count` lanes; written registers are named.
            unsafe {
                asm!(
                    "vmovdqu64 zmm16, [{ranked}]",
                    "vmovdqu64 zmm17, [{ranked} + 64]",
                    "vpxorq zmm18, zmm18, zmm18",
                    "vpxorq zmm19, zmm19, zmm19",
                    "vpternlogd zmm20, zmm20, zmm20, 255",
                    concat!($ones, " zmm20, zmm20"),
                    "2:",
                    concat!($broadcast, " zmm21, [{all}]"),
                    concat!($compare, " k1, zmm16, zmm21"),
                    concat!($compare, " k2, zmm17, zmm21"),
                    concat!($add, " zmm18 {{k1}}, zmm18, zmm20"),
                    concat!($add, " zmm19 {{k2}}, zmm19, zmm20"),
                    concat!("add {all}, ", $bytes),
                    "dec {count}",
                    "jnz 2b",
                    concat!($narrow, " [{out}], zmm18"),
                    concat!($narrow, " [{out} + ", $lanes, "], zmm19"),
                    all = inout(reg) all => _,
                    ranked = in(reg) ranked,
                    count = inout(reg) count => _,
                    out = in(reg) out,
                    out("xmm16") _, out("xmm17") _, out("xmm18") _, out("xmm19") _, out("xmm20") _, out("xmm21") _,
                    out("k1") _, out("k2") _,
                    options(nostack)
                );
            }
        }
    };
}

wide_ranks!(wide_ranks_4, "4", "vpcmpgtd", "vpbroadcastd", "vpabsd", "vpaddd", "vpmovdb", "16");
wide_ranks!(wide_ranks_8, "8", "vpcmpgtq", "vpbroadcastq", "vpabsq", "vpaddq", "vpmovqb", "8");

/// One comparison of `key` with the lanes of one line, with AVX2: bit i for lane i.
macro_rules! half_mask {
    ($name:ident, $lanes:literal, $move:literal, $broadcast:literal, $compare:literal, $collect:literal) => {
        #[inline(always)]
        fn $name(_: Avx2, at: &Line, key: i64) -> u64 {
            let mask: u64;
            // SAFETY: the first argument proves the instructions; the loads are the two halves of `at`; `asm_upper`
            // names the registers.
            unsafe {
                asm_upper!(
                    $move,
                    concat!($broadcast, " ymm0, xmm0"),
                    "vmovdqu ymm1, [{at}]",
                    "vmovdqu ymm2, [{at} + 32]",
                    concat!($compare, " ymm1, ymm0, ymm1"),
                    concat!($compare, " ymm2, ymm0, ymm2"),
                    concat!($collect, " {mask:e}, ymm1"),
                    concat!($collect, " {more:e}, ymm2"),
                    concat!("shl {more}, ", $lanes),
                    "or {mask}, {more}",
                    "vzeroupper",
                    key = in(reg) key,
                    at = in(reg) at,
                    mask = out(reg) mask,
                    more = out(reg) _,
                    options(pure, readonly, nostack)
                );
            }
            mask
        }
    };
}

half_mask!(half_below_4, "8", "vmovd xmm0, {key:e}", "vpbroadcastd", "vpcmpgtd", "vmovmskps");
half_mask!(half_below_8, "4", "vmovq xmm0, {key}", "vpbroadcastq", "vpcmpgtq", "vmovmskpd");
half_mask!(half_equal_4, "8", "vmovd xmm0, {key:e}", "vpbroadcastd", "vpcmpeqd", "vmovmskps");
half_mask!(half_equal_8, "4", "vmovq xmm0, {key}", "vpbroadcastq", "vpcmpeqq", "vmovmskpd");
half_mask!(half_bytes, "32", "vmovd xmm0, {key:e}", "vpbroadcastb", "vpcmpeqb", "vpmovmskb");

/// Returns the number of set bits.
#[inline(always)]
fn ones(_: Avx2, mask: u64) -> usize {
    let ones: usize;
    // SAFETY: the first argument proves the instruction; registers only.
    unsafe {
        asm!("popcnt {ones}, {mask}", mask = in(reg) mask, ones = lateout(reg) ones, options(pure, nomem, nostack));
    }
    ones
}

impl LaneKernels for Avx2 {
    #[inline(always)]
    fn below<L: Lane>(self, lanes: &[L], key: L) -> usize {
        if size_of::<L>() > 8 {
            return Portable.below(lanes, key);
        }
        let (lines, key) = (lines(lanes), key.number());
        match size_of::<L>() {
            4 => lines.iter().map(|line| ones(self, half_below_4(self, line, key))).sum(),
            _ => lines.iter().map(|line| ones(self, half_below_8(self, line, key))).sum(),
        }
    }

    #[inline(always)]
    fn below_by<const BYTES: usize, L: Lane>(self, lanes: &[L], key: L) -> usize {
        steps::below::<BYTES, L>(self, lanes, key)
    }

    #[inline(always)]
    fn equal<L: Lane>(self, lanes: &[L], key: L) -> u64 {
        if size_of::<L>() > 8 {
            return Portable.equal(lanes, key);
        }
        let (lines, key) = (&lines(lanes)[..(lanes.len() / L::PER_LINE).min(MASK_LANES / L::PER_LINE)], key.number());
        let masks = lines.iter().map(|line| match size_of::<L>() {
            4 => half_equal_4(self, line, key),
            _ => half_equal_8(self, line, key),
        });
        masks.enumerate().fold(0, |mask, (line, more)| mask | more << (line * L::PER_LINE))
    }

    fn ranks<L: Lane>(self, lanes: &[L; MASK_LANES], count: usize) -> [u8; MASK_LANES] {
        Portable.ranks(lanes, count)
    }

    #[inline(always)]
    fn bytes_equal(self, bytes: &Line, byte: u8) -> u64 {
        half_bytes(self, bytes, i64::from(byte))
    }
}

impl LaneKernels for Avx512 {
    #[inline(always)]
    fn below<L: Lane>(self, lanes: &[L], key: L) -> usize {
        if size_of::<L>() > 8 {
            return Portable.below(lanes, key);
        }
        let (eights, rest) = lines(lanes).as_chunks::<8>();
        let (fours, rest) = rest.as_chunks::<4>();
        let (twos, ones) = rest.as_chunks::<2>();
        let (ones, _) = ones.as_chunks::<1>();
        let key = key.number();
        let mut count = 0;
        // The number of lines is a constant in nearly every caller, so one of these loops remains, without a test.
        if size_of::<L>() == 4 {
            eights.iter().for_each(|at| count += wide_below_4_eight(self, at, key));
            fours.iter().for_each(|at| count += wide_below_4_four(self, at, key));
            twos.iter().for_each(|at| count += wide_below_4_two(self, at, key));
            ones.iter().for_each(|at| count += wide_below_4_one(self, at, key));
        } else {
            eights.iter().for_each(|at| count += wide_below_8_eight(self, at, key));
            fours.iter().for_each(|at| count += wide_below_8_four(self, at, key));
            twos.iter().for_each(|at| count += wide_below_8_two(self, at, key));
            ones.iter().for_each(|at| count += wide_below_8_one(self, at, key));
        }
        count
    }

    #[inline(always)]
    fn below_by<const BYTES: usize, L: Lane>(self, lanes: &[L], key: L) -> usize {
        steps::below::<BYTES, L>(self.narrower(), lanes, key)
    }

    #[inline(always)]
    fn equal<L: Lane>(self, lanes: &[L], key: L) -> u64 {
        if size_of::<L>() > 8 {
            return Portable.equal(lanes, key);
        }
        let key = key.number();
        let lines = &lines(lanes)[..(lanes.len() / L::PER_LINE).min(MASK_LANES / L::PER_LINE)];
        if size_of::<L>() == 4 {
            if let Ok(four) = lines.try_into() {
                return wide_equal_4_four(self, four, key);
            }
            let masks = lines.as_chunks::<1>().0.iter().map(|one| wide_equal_4_one(self, one, key));
            return masks.enumerate().fold(0, |mask, (line, more)| mask | more << (16 * line));
        }
        if let Ok(eight) = lines.try_into() {
            return wide_equal_8_eight(self, eight, key);
        }
        let masks = lines.as_chunks::<1>().0.iter().map(|one| wide_equal_8_one(self, one, key));
        masks.enumerate().fold(0, |mask, (line, more)| mask | more << (8 * line))
    }

    #[inline(always)]
    fn ranks<L: Lane>(self, lanes: &[L; MASK_LANES], count: usize) -> [u8; MASK_LANES] {
        if size_of::<L>() > 8 {
            return Portable.ranks(lanes, count);
        }
        let mut ranks = [0; MASK_LANES];
        let count = count.min(MASK_LANES);
        // Two vectors at a time, so that their sums do not depend on each other.
        let (at, step) = (lanes.as_ptr(), 2 * L::PER_LINE);
        for first in (0..count).step_by(step) {
            // SAFETY: `first` is a multiple of `step`, and so is `MASK_LANES`. So the two lines that are ranked, and
            // their ranks, lie inside. `count` is not zero.
            unsafe {
                match size_of::<L>() {
                    4 => wide_ranks_4(self, at.cast(), at.add(first).cast(), count, ranks.as_mut_ptr().add(first)),
                    _ => wide_ranks_8(self, at.cast(), at.add(first).cast(), count, ranks.as_mut_ptr().add(first)),
                }
            }
        }
        ranks
    }

    #[inline(always)]
    fn order<L: Lane>(self, lanes: &[L; MASK_LANES], which: u64) -> ([u8; MASK_LANES], bool) {
        if size_of::<L>() > 8 {
            return (by_sorting(lanes, which), true);
        }
        order::order(self, lanes, which)
    }

    #[inline(always)]
    fn bytes_equal(self, bytes: &Line, byte: u8) -> u64 {
        let mask: u64;
        // SAFETY: `self` proves the instructions (AVX-512BW among them); the load is `bytes`; registers are named.
        unsafe {
            asm!(
                "vpbroadcastb zmm16, {byte:e}",
                "vpcmpeqb k1, zmm16, [{at}]",
                "kmovq {mask}, k1",
                byte = in(reg) u32::from(byte),
                at = in(reg) bytes,
                mask = out(reg) mask,
                out("xmm16") _, out("k1") _,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        mask
    }
}
