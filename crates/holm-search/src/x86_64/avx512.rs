//! AVX-512: unsigned compares into mask registers, eight words at a time.
//!
//! Only `zmm16` to `zmm31` are used. They have no SSE names, so leaving them dirty slows no other code down, and no
//! `vzeroupper` is needed. The compiler of an older target never uses them, so a block costs its surroundings no
//! register. Masks of lines are joined in general registers: with `kunpck` they took up to a third longer if the next
//! call waited for them.

use super::{Avx2, ones_below};
use crate::kernels::{Kernels, Line};
use crate::search::MOST_RANKED;
use std::arch::asm;
use std::sync::atomic::AtomicU64;

/// A proof that this CPU has the instructions of the blocks below, AVX2 included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx512(Avx2);

/// Predicates of `vpcmpuq` for "key, compared with word".
const EQUAL: i32 = 0;
const NOT_LESS: i32 = 5;

impl Avx512 {
    /// Checks the CPU and the operating system.
    pub(crate) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        // The proof of AVX2 covers `bzhi` and `popcnt` too.
        Avx2::detect().filter(|_| has).map(Self)
    }

    /// Returns the proof of AVX2.
    #[inline(always)]
    pub(super) fn narrower(self) -> Avx2 {
        self.0
    }

    /// Bit i of the result is set if `key` relates to word i as `PREDICATE` says.
    #[inline(always)]
    fn compare<const PREDICATE: i32>(self, lines: &[Line], key: u64) -> u64 {
        // The number of lines is a constant in most callers, so the compiler removes all but one or two of these tests.
        if let Ok(lines) = lines.try_into() {
            return self.compare_eight::<PREDICATE>(lines, key);
        }
        let (mut left, mut mask, mut shift) = (lines, 0, 0);
        if let Some((lines, rest)) = left.split_first_chunk() {
            mask = self.compare_four::<PREDICATE>(lines, key);
            (left, shift) = (rest, 32);
        }
        if let Some((lines, rest)) = left.split_first_chunk() {
            mask |= self.compare_two::<PREDICATE>(lines, key) << shift;
            (left, shift) = (rest, shift + 16);
        }
        if let Some(line) = left.first() {
            mask |= self.compare_one::<PREDICATE>(line, key) << shift;
        }
        mask
    }

    #[inline(always)]
    fn compare_one<const PREDICATE: i32>(self, line: &Line, key: u64) -> u64 {
        let mask: u64;
        // SAFETY: `self` proves the instructions; the load is one line, which `line` spans; zmm16 and k1 are named.
        unsafe {
            asm!(
                "vpbroadcastq zmm16, {key}",
                "vpcmpuq k1, zmm16, [{at}], {predicate}",
                "kmovw {mask:e}, k1",
                key = in(reg) key,
                at = in(reg) line,
                predicate = const PREDICATE,
                mask = lateout(reg) mask,
                out("xmm16") _,
                out("k1") _,
                options(readonly, nostack, preserves_flags)
            );
        }
        mask
    }
}

/// As `compare`, for several lines in one block, which broadcasts the key once.
macro_rules! compare_lines {
    ($name:ident, $lines:literal: $($line:literal)*) => {
        impl Avx512 {
            #[inline(always)]
            fn $name<const PREDICATE: i32>(self, lines: &[Line; $lines], key: u64) -> u64 {
                let mask: u64;
                // SAFETY: `self` proves the instructions; the loads are the lines that `lines` spans; all written
                // registers are named.
                unsafe {
                    asm!(
                        "vpbroadcastq zmm16, {key}",
                        "vpcmpuq k1, zmm16, [{at}], {predicate}",
                        "kmovw {mask:e}, k1",
                        $(
                            concat!("vpcmpuq k1, zmm16, [{at} + 64 * ", $line, "], {predicate}"),
                            "kmovw {eight:e}, k1",
                            concat!("shl {eight}, 8 * ", $line),
                            "or {mask}, {eight}",
                        )*
                        key = in(reg) key,
                        at = in(reg) lines,
                        predicate = const PREDICATE,
                        mask = out(reg) mask,
                        eight = out(reg) _,
                        out("xmm16") _,
                        out("k1") _,
                        options(readonly, nostack)
                    );
                }
                mask
            }
        }
    };
}

compare_lines!(compare_two, 2: 1);
compare_lines!(compare_four, 4: 1 2 3);
compare_lines!(compare_eight, 8: 1 2 3 4 5 6 7);

impl Kernels for Avx512 {
    #[inline(always)]
    fn rank(self, lines: &[Line], count: usize, key: u64) -> usize {
        let mask = self.compare::<NOT_LESS>(lines, key);
        // SAFETY: `Avx2::detect` checked for both instructions, and `self` holds its proof.
        unsafe { ones_below(mask, count) }
    }

    #[inline(always)]
    fn bytes_equal(self, words: &[AtomicU64; 4], byte: u8) -> u32 {
        let mask: u32;
        // SAFETY: `self` proves the instructions; the load is 32 bytes, which `words` spans; all registers are named.
        unsafe {
            asm!(
                "vpbroadcastb ymm16, {byte:e}",
                "vpcmpeqb k1, ymm16, [{at}]",
                "kmovd {mask:e}, k1",
                byte = in(reg) u32::from(byte),
                at = in(reg) words,
                mask = lateout(reg) mask,
                out("xmm16") _,
                out("k1") _,
                options(readonly, nostack, preserves_flags)
            );
        }
        mask
    }

    #[inline(always)]
    fn words_equal(self, lines: &[Line], key: u64) -> u64 {
        self.compare::<EQUAL>(lines, key)
    }

    #[inline(always)]
    fn ranks(self, numbers: &[u64; MOST_RANKED], count: usize) -> [u64; MOST_RANKED] {
        let mut ranks = [0; MOST_RANKED];
        let numbers = numbers.as_ptr();
        if count == 0 {
            return ranks;
        }
        // SAFETY: `self` proves the instructions. 32 numbers are read behind `at` and as many written behind `out`.
        // `than` stays among the first `count`, and `count` is at least 1. All written registers are named.
        unsafe {
            asm!(
                "vmovdqu64 zmm16, [{at}]",
                "vmovdqu64 zmm17, [{at} + 64]",
                "vmovdqu64 zmm18, [{at} + 128]",
                "vmovdqu64 zmm19, [{at} + 192]",
                "vpxord zmm20, zmm20, zmm20",
                "vpxord zmm21, zmm21, zmm21",
                "vpxord zmm22, zmm22, zmm22",
                "vpxord zmm23, zmm23, zmm23",
                "vpternlogd zmm24, zmm24, zmm24, 255",
                "2:",
                "vpbroadcastq zmm25, [{than}]",
                "vpcmpnleuq k1, zmm16, zmm25",
                "vpcmpnleuq k2, zmm17, zmm25",
                "vpcmpnleuq k3, zmm18, zmm25",
                "vpcmpnleuq k4, zmm19, zmm25",
                "vpsubq zmm20{{k1}}, zmm20, zmm24",
                "vpsubq zmm21{{k2}}, zmm21, zmm24",
                "vpsubq zmm22{{k3}}, zmm22, zmm24",
                "vpsubq zmm23{{k4}}, zmm23, zmm24",
                "add {than}, 8",
                "cmp {than}, {end}",
                "jb 2b",
                "vmovdqu64 [{out}], zmm20",
                "vmovdqu64 [{out} + 64], zmm21",
                "vmovdqu64 [{out} + 128], zmm22",
                "vmovdqu64 [{out} + 192], zmm23",
                at = in(reg) numbers,
                than = inout(reg) numbers => _,
                end = in(reg) numbers.add(count.min(MOST_RANKED)),
                out = in(reg) ranks.as_mut_ptr(),
                out("xmm16") _, out("xmm17") _, out("xmm18") _, out("xmm19") _, out("xmm20") _,
                out("xmm21") _, out("xmm22") _, out("xmm23") _, out("xmm24") _, out("xmm25") _,
                out("k1") _, out("k2") _, out("k3") _, out("k4") _,
                options(nostack)
            );
        }
        ranks
    }

    #[inline(always)]
    fn copy(self, from: &[AtomicU64], out: &mut [u64]) {
        // Measured: words lie at any multiple of eight bytes, so nearly every vector of a whole line straddles two
        // lines. Within the caches, half vectors copy up to twice as fast.
        self.0.copy(from, out);
    }

    #[inline(always)]
    fn starts_with(self, words: &[AtomicU64], key: &[u8]) -> bool {
        let bytes = key.len().min(size_of_val(words));
        let differ: u64;
        // SAFETY: `self` proves the instructions. Lines are compared while more than 64 bytes are left, then exactly
        // the lanes of the remaining bytes. Both pointers have `bytes` bytes behind them. All registers are named.
        unsafe {
            asm!(
                "jmp 3f",
                "2:",
                "vmovdqu64 zmm16, [{key}]",
                "vpcmpb k1, zmm16, [{words}], 4",
                "kmovq {differ}, k1",
                "test {differ}, {differ}",
                "jnz 4f",
                "add {key}, 64",
                "add {words}, 64",
                "sub {left}, 64",
                "3:",
                "cmp {left}, 64",
                "ja 2b",
                "bzhi {lanes}, {lanes}, {left}",
                "kmovq k1, {lanes}",
                "vmovdqu8 zmm16 {{k1}} {{z}}, [{key}]",
                "vpcmpb k1 {{k1}}, zmm16, [{words}], 4",
                "kmovq {differ}, k1",
                "4:",
                key = inout(reg) key.as_ptr() => _,
                words = inout(reg) words.as_ptr() => _,
                left = inout(reg) bytes => _,
                lanes = inout(reg) u64::MAX => _,
                differ = out(reg) differ,
                out("xmm16") _,
                out("k1") _,
                options(readonly, nostack)
            );
        }
        differ == 0
    }
}
