//! The kernels for x86-64: the only place of this crate with `unsafe`.
//!
//! Why the blocks are sound, for all of them:
//!
//! - *The instructions exist.* `Avx2` and `Avx512` are created only by their `detect`, which checks the CPU and the
//!   operating system. So a method that takes `self` runs only where its instructions exist.
//! - *The loads stay inside.* Each block reads what its references and slices span, by length or by masked lanes, which
//!   do not fault. It writes only to `&mut` slices.
//! - *The loads may race.* The compiler sees a block that may read memory, and assumes nothing about its loads. In
//!   hardware, a vector load is no weaker than a relaxed load of each aligned word in it: words are never torn. No
//!   block is `pure`, so the compiler hoists and merges none of them, and moves none across an acquire.
//! - *The registers are declared.* Each block names what it writes. A register class that the build's target lacks
//!   cannot be in use by the compiler, and naming it as a clobber is allowed. `vzeroupper` touches the first sixteen
//!   vector registers, so a block that ends with it names all of them.

/// `asm!` with all registers that `vzeroupper` touches named as clobbers.
macro_rules! asm_upper {
    ($($part:tt)*) => {
        asm!(
            $($part)*,
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
        )
    };
}

mod avx2;
mod avx512;
mod lanes;
mod order;
pub(crate) mod prefetch;
mod steps;

pub use avx2::Avx2;
pub use avx512::Avx512;

use std::arch::asm;

/// Returns how many of the lowest `count` bits of `mask` are set; all set bits if `count` is 64 or more, up to 255.
///
/// # Safety
/// The CPU has `popcnt` and `bmi2`.
#[inline(always)]
unsafe fn ones_below(mask: u64, count: usize) -> usize {
    let ones: usize;
    // SAFETY: the instructions exist, by this function's contract, and the block uses only registers.
    unsafe {
        asm!(
            "bzhi {ones}, {mask}, {count}",
            "popcnt {ones}, {ones}",
            mask = in(reg) mask,
            count = in(reg) count,
            ones = lateout(reg) ones,
            options(pure, nomem, nostack)
        );
    }
    ones
}
