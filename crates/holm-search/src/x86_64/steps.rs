//! Ascending lanes, compared one vector after the other up to the first one that is not wholly below a key: the linear
//! searches of Sasaki and Araki, with vectors of SSE (16 bytes) and of AVX (32).
//!
//! A proof of AVX2 is one of SSE 4.2, which compares numbers of eight bytes. All other instructions of the narrow
//! blocks are part of every x86-64.

use super::Avx2;
use super::lanes::{Line, lines};
use crate::lanes::{Lane, LaneKernels};
use crate::portable::Portable;
use std::arch::asm;

/// A loop over vectors of `$bytes` with lanes of `$lane` bytes. `$full` is the mask of a vector that is wholly below.
macro_rules! stepping {
    ($name:ident, $lane:literal, $bytes:literal, $full:literal: $($broadcast:literal)*;
     $($compare:literal)*; $collect:literal $register:literal, $end:literal) => {
        #[inline(always)]
        fn $name(_: Avx2, lines: &[Line], key: i64) -> usize {
            let range = lines.as_ptr_range();
            if range.is_empty() {
                return 0;
            }
            let (at, mask): (*const Line, u32);
            // SAFETY: the first argument proves the instructions. The loop loads vectors from the first line on and
            // ends with the last one: lines are whole vectors, and there is at least one. `asm_upper` names the
            // registers.
            unsafe {
                asm_upper!(
                    $($broadcast,)*
                    "2:",
                    $($compare,)*
                    concat!($collect, " {mask:e}, ", $register),
                    concat!("cmp {mask:e}, ", $full),
                    "jne 3f",
                    concat!("add {at}, ", $bytes),
                    "cmp {at}, {end}",
                    "jb 2b",
                    "3:",
                    $end,
                    key = in(reg) key,
                    at = inout(reg) range.start => at,
                    end = in(reg) range.end,
                    mask = out(reg) mask,
                    options(pure, readonly, nostack)
                );
            }
            let whole = (at.addr() - range.start.addr()) / $lane;
            // Lanes ascend, so those that are below stand at the beginning of their vector.
            if at < range.end { whole + mask.trailing_ones() as usize } else { whole }
        }
    };
}

stepping!(narrow_4, 4, "16", "15": "movd xmm0, {key:e}" "pshufd xmm0, xmm0, 0";
    "movdqu xmm2, [{at}]" "movdqa xmm1, xmm0" "pcmpgtd xmm1, xmm2"; "movmskps" "xmm1", "");
stepping!(narrow_8, 8, "16", "3": "movq xmm0, {key}" "punpcklqdq xmm0, xmm0";
    "movdqu xmm2, [{at}]" "movdqa xmm1, xmm0" "pcmpgtq xmm1, xmm2"; "movmskpd" "xmm1", "");
stepping!(half_4, 4, "32", "255": "vmovd xmm0, {key:e}" "vpbroadcastd ymm0, xmm0";
    "vpcmpgtd ymm1, ymm0, [{at}]"; "vmovmskps" "ymm1", "vzeroupper");
stepping!(half_8, 8, "32", "15": "vmovq xmm0, {key}" "vpbroadcastq ymm0, xmm0";
    "vpcmpgtq ymm1, ymm0, [{at}]"; "vmovmskpd" "ymm1", "vzeroupper");

/// Returns how many of `lanes`, which ascend, are < `key`.
#[inline(always)]
pub(super) fn below<const BYTES: usize, L: Lane>(x: Avx2, lanes: &[L], key: L) -> usize {
    match (BYTES, size_of::<L>()) {
        (16, 4) => narrow_4(x, lines(lanes), key.number()),
        (16, 8) => narrow_8(x, lines(lanes), key.number()),
        (32, 4) => half_4(x, lines(lanes), key.number()),
        (32, 8) => half_8(x, lines(lanes), key.number()),
        _ => Portable.below_by::<BYTES, L>(lanes, key),
    }
}
