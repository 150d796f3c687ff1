//! AVX-512: unsigned compares into mask registers, eight words at a time.
//!
//! Only `zmm16` to `zmm31` are used. They have no SSE names, so leaving them dirty slows nobody down and no
//! `vzeroupper` is owed; and the compiler of an older target never has anything in them, so a block costs its
//! surroundings no register. Masks of lines are joined in general registers: by `kunpck` they took up to a third longer
//! where the next call waited for them.

use super::{Avx2, ones_below};
use crate::kernels::{Kernels, Line};
use std::arch::asm;
use std::sync::atomic::AtomicU64;

/// A proof that this CPU has what the blocks below use, AVX2 included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(Avx2);

/// Predicates of `vpcmpuq` for "key, compared with word".
const EQUAL: i32 = 0;
const NOT_LESS: i32 = 5;

impl Avx512 {
    /// Asks the CPU and the system.
    pub(crate) fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl");
        // The proof of AVX2 covers `bzhi` and `popcnt` too.
        Avx2::detect().filter(|_| has).map(Self)
    }

    /// Bit i of the answer: whether `key` relates to word i as `PREDICATE` says.
    #[inline(always)]
    fn compare<const PREDICATE: i32>(self, lines: &[Line], key: u64) -> u64 {
        // The number of lines is a constant in most callers, so all but one or two of these tests vanish.
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

/// The same for several lines in one block, which broadcasts the key once.
macro_rules! compare_lines {
    ($name:ident, $lines:literal: $($line:literal)*) => {
        impl Avx512 {
            #[inline(always)]
            fn $name<const PREDICATE: i32>(self, lines: &[Line; $lines], key: u64) -> u64 {
                let mask: u64;
                // SAFETY: `self` proves the instructions; the loads are the lines that `lines` spans; all registers
                // that are written are named.
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
        // SAFETY: `Avx2::detect` asked for both instructions, and `self` holds its proof.
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
    fn copy(self, from: &[AtomicU64], out: &mut [u64]) {
        // Measured: words lie at any multiple of eight, so nearly every vector of a whole line straddles two lines,
        // and within the caches half vectors copy up to twice as fast.
        self.0.copy(from, out);
    }

    #[inline(always)]
    fn starts_with(self, words: &[AtomicU64], key: &[u8]) -> bool {
        let bytes = key.len().min(size_of_val(words));
        let differ: u64;
        // SAFETY: `self` proves the instructions; lines are compared while more than 64 bytes are left, then exactly
        // the lanes of the bytes left, and there are `bytes` bytes behind both pointers; all registers are named.
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
