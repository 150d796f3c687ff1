//! AVX2: four words at a time, and masks through `vmovmskpd`.
//!
//! AVX2 compares words only as signed. With the top bit flipped on both sides, the signed order is the unsigned one.
//! Every block ends with `vzeroupper`: otherwise dirty upper halves would slow down the SSE code around it.

use super::ones_below;
use crate::kernels::{Kernels, Line};
use crate::portable::Portable;
use crate::search::MOST_RANKED;
use std::arch::asm;
use std::sync::atomic::AtomicU64;

/// A proof that this CPU has the instructions of the blocks below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx2(());

/// The sign bit of a signed word.
const SIGN: u64 = 1 << 63;

/// Numbers that are ranked at once.
const HALF: usize = MOST_RANKED / 2;

/// Words per vector.
const VECTOR_WORDS: usize = 4;

impl Avx2 {
    /// Checks the CPU and the operating system.
    pub(crate) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("sse4.2")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        has.then_some(Self(()))
    }
}

/// Blocks over several lines: `above` for `word > key` and `equal` for `word == key`, bit i for word i.
macro_rules! compare_lines {
    ($above:ident, $equal:ident, $lines:literal: $($half:literal)*) => {
        impl Avx2 {
            #[inline(always)]
            fn $above(self, lines: &[Line; $lines], key: u64) -> u64 {
                let mask: u64;
                // SAFETY: `self` proves the instructions; the loads are the half lines that `lines` spans; all written
                // registers are named.
                unsafe {
                    asm_upper!(
                        "vmovq xmm0, {key}",
                        "vpbroadcastq ymm0, xmm0",
                        "vpcmpeqd ymm1, ymm1, ymm1",
                        "vpsllq ymm1, ymm1, 63",
                        "vpxor ymm2, ymm1, [{at}]",
                        "vpcmpgtq ymm2, ymm2, ymm0",
                        "vmovmskpd {mask:e}, ymm2",
                        $(
                            concat!("vpxor ymm2, ymm1, [{at} + 32 * ", $half, "]"),
                            "vpcmpgtq ymm2, ymm2, ymm0",
                            "vmovmskpd {four:e}, ymm2",
                            concat!("shl {four}, 4 * ", $half),
                            "or {mask}, {four}",
                        )*
                        "vzeroupper",
                        key = in(reg) key ^ SIGN,
                        at = in(reg) lines,
                        mask = out(reg) mask,
                        four = out(reg) _,
                        options(readonly, nostack)
                    );
                }
                mask
            }

            #[inline(always)]
            fn $equal(self, lines: &[Line; $lines], key: u64) -> u64 {
                let mask: u64;
                // SAFETY: as above.
                unsafe {
                    asm_upper!(
                        "vmovq xmm0, {key}",
                        "vpbroadcastq ymm0, xmm0",
                        "vpcmpeqq ymm2, ymm0, [{at}]",
                        "vmovmskpd {mask:e}, ymm2",
                        $(
                            concat!("vpcmpeqq ymm2, ymm0, [{at} + 32 * ", $half, "]"),
                            "vmovmskpd {four:e}, ymm2",
                            concat!("shl {four}, 4 * ", $half),
                            "or {mask}, {four}",
                        )*
                        "vzeroupper",
                        key = in(reg) key,
                        at = in(reg) lines,
                        mask = out(reg) mask,
                        four = out(reg) _,
                        options(readonly, nostack)
                    );
                }
                mask
            }
        }
    };
}

compare_lines!(above_one, equal_one, 1: 1);
compare_lines!(above_two, equal_two, 2: 1 2 3);
compare_lines!(above_four, equal_four, 4: 1 2 3 4 5 6 7);
compare_lines!(above_eight, equal_eight, 8: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);

/// The mask of up to eight lines, from the blocks for one, two, four and eight of them. The number of lines is a
/// constant in most callers, so the compiler removes all but one or two of these tests.
macro_rules! by_blocks {
    ($lines:expr, $one:expr, $two:expr, $four:expr, $eight:expr) => {{
        let mut left: &[Line] = $lines;
        if let Ok(lines) = left.try_into() {
            return $eight(lines);
        }
        let (mut mask, mut shift) = (0, 0);
        if let Some((lines, rest)) = left.split_first_chunk() {
            mask = $four(lines);
            (left, shift) = (rest, 32);
        }
        if let Some((lines, rest)) = left.split_first_chunk() {
            mask |= $two(lines) << shift;
            (left, shift) = (rest, shift + 16);
        }
        if let Some((lines, _)) = left.split_first_chunk() {
            mask |= $one(lines) << shift;
        }
        mask
    }};
}

impl Avx2 {
    #[inline(always)]
    fn above(self, lines: &[Line], key: u64) -> u64 {
        by_blocks!(
            lines,
            |lines| self.above_one(lines, key),
            |lines| self.above_two(lines, key),
            |lines| self.above_four(lines, key),
            |lines| self.above_eight(lines, key)
        )
    }
}

impl Kernels for Avx2 {
    #[inline(always)]
    fn rank(self, lines: &[Line], count: usize, key: u64) -> usize {
        let mask = !self.above(lines, key);
        // SAFETY: `detect` checked for both instructions.
        unsafe { ones_below(mask, count) }
    }

    #[inline(always)]
    fn bytes_equal(self, words: &[AtomicU64; 4], byte: u8) -> u32 {
        let mask: u32;
        // SAFETY: `self` proves the instructions; the load is 32 bytes, which `words` spans; all registers are named.
        unsafe {
            asm_upper!(
                "vmovd xmm0, {byte:e}",
                "vpbroadcastb ymm0, xmm0",
                "vpcmpeqb ymm0, ymm0, [{at}]",
                "vpmovmskb {mask:e}, ymm0",
                "vzeroupper",
                byte = in(reg) u32::from(byte),
                at = in(reg) words,
                mask = lateout(reg) mask,
                options(readonly, nostack, preserves_flags)
            );
        }
        mask
    }

    #[inline(always)]
    fn words_equal(self, lines: &[Line], key: u64) -> u64 {
        by_blocks!(
            lines,
            |lines| self.equal_one(lines, key),
            |lines| self.equal_two(lines, key),
            |lines| self.equal_four(lines, key),
            |lines| self.equal_eight(lines, key)
        )
    }

    #[inline(always)]
    fn ranks(self, numbers: &[u64; MOST_RANKED], count: usize) -> [u64; MOST_RANKED] {
        let mut ranks = [0; MOST_RANKED];
        let count = count.min(MOST_RANKED);
        // Sixteen at a time: these numbers, their ranks and the results of a comparison fill all registers.
        for half in (0..count).step_by(HALF) {
            // SAFETY: `self` proves the instructions. 16 numbers are read behind `half` and as many ranks written
            // behind `out`. `than` stays among the first `count`, and `count` is at least 1. `asm_upper` names the
            // registers.
            unsafe {
                asm_upper!(
                    "vpcmpeqd ymm0, ymm0, ymm0",
                    "vpsllq ymm0, ymm0, 63",
                    "vpxor ymm1, ymm0, [{half}]",
                    "vpxor ymm2, ymm0, [{half} + 32]",
                    "vpxor ymm3, ymm0, [{half} + 64]",
                    "vpxor ymm4, ymm0, [{half} + 96]",
                    "vpxor ymm5, ymm5, ymm5",
                    "vpxor ymm6, ymm6, ymm6",
                    "vpxor ymm7, ymm7, ymm7",
                    "vpxor ymm8, ymm8, ymm8",
                    "2:",
                    "vpbroadcastq ymm9, [{than}]",
                    "vpxor ymm9, ymm9, ymm0",
                    "vpcmpgtq ymm10, ymm1, ymm9",
                    "vpcmpgtq ymm11, ymm2, ymm9",
                    "vpcmpgtq ymm12, ymm3, ymm9",
                    "vpcmpgtq ymm13, ymm4, ymm9",
                    "vpsubq ymm5, ymm5, ymm10",
                    "vpsubq ymm6, ymm6, ymm11",
                    "vpsubq ymm7, ymm7, ymm12",
                    "vpsubq ymm8, ymm8, ymm13",
                    "add {than}, 8",
                    "cmp {than}, {end}",
                    "jb 2b",
                    "vmovdqu [{out}], ymm5",
                    "vmovdqu [{out} + 32], ymm6",
                    "vmovdqu [{out} + 64], ymm7",
                    "vmovdqu [{out} + 96], ymm8",
                    "vzeroupper",
                    half = in(reg) numbers.as_ptr().add(half),
                    than = inout(reg) numbers.as_ptr() => _,
                    end = in(reg) numbers.as_ptr().add(count),
                    out = in(reg) ranks.as_mut_ptr().add(half),
                    options(nostack)
                );
            }
        }
        ranks
    }

    #[inline(always)]
    fn copy(self, from: &[AtomicU64], out: &mut [u64]) {
        let words = from.len().min(out.len());
        if words < VECTOR_WORDS {
            return Portable.copy(from, out);
        }
        // The last vector ends with the last word and may overlap the one before: copying a word twice is cheaper than
        // computing the remainder.
        // SAFETY: `self` proves the instructions; vectors start at words 0, 4, .. below `words - 4`, and at
        // `words - 4`, so all accesses lie in the first `words` words of `from` and `out`, and `out` is exclusive; all
        // registers are named.
        unsafe {
            asm_upper!(
                "jmp 3f",
                "2:",
                "vmovdqu ymm0, [{from} + 8 * {at}]",
                "vmovdqu [{out} + 8 * {at}], ymm0",
                "add {at}, 4",
                "3:",
                "cmp {at}, {last}",
                "jb 2b",
                "vmovdqu ymm0, [{from} + 8 * {last}]",
                "vmovdqu [{out} + 8 * {last}], ymm0",
                "vzeroupper",
                from = in(reg) from.as_ptr(),
                out = in(reg) out.as_mut_ptr(),
                last = in(reg) words - VECTOR_WORDS,
                at = inout(reg) 0_usize => _,
                options(nostack)
            );
        }
    }

    #[inline(always)]
    fn starts_with(self, words: &[AtomicU64], key: &[u8]) -> bool {
        let bytes = key.len().min(size_of_val(words));
        if bytes < size_of::<[u64; VECTOR_WORDS]>() {
            return Portable.starts_with(words, key);
        }
        let same: u32;
        // SAFETY: `self` proves the instructions; vectors start at bytes 0, 32, .. below `bytes - 32`, and at
        // `bytes - 32`, so all loads lie in the first `bytes` bytes, which are there behind both pointers; all
        // registers are named.
        unsafe {
            asm_upper!(
                "jmp 3f",
                "2:",
                "vmovdqu ymm0, [{key} + {at}]",
                "vpcmpeqb ymm0, ymm0, [{words} + {at}]",
                "vpmovmskb {same:e}, ymm0",
                "cmp {same:e}, -1",
                "jne 4f",
                "add {at}, 32",
                "3:",
                "cmp {at}, {last}",
                "jb 2b",
                "vmovdqu ymm0, [{key} + {last}]",
                "vpcmpeqb ymm0, ymm0, [{words} + {last}]",
                "vpmovmskb {same:e}, ymm0",
                "4:",
                "vzeroupper",
                key = in(reg) key.as_ptr(),
                words = in(reg) words.as_ptr(),
                last = in(reg) bytes - size_of::<[u64; VECTOR_WORDS]>(),
                at = inout(reg) 0_usize => _,
                same = out(reg) same,
                options(readonly, nostack)
            );
        }
        same == u32::MAX
    }
}
