//! The kernels for x86-64, the crate's only room with `unsafe`.
//!
//! What makes the blocks sound, once for all of them:
//!
//! - *The instructions exist.* `Avx2` and `Avx512` can be made only by their `detect`, which asks the CPU and the
//!   system; a method that takes `self` therefore runs only where its instructions do.
//! - *The loads stay inside.* Each block reads what its references and slices span, by length or by masked lanes,
//!   which do not fault; writes go to `&mut` slices alone.
//! - *The loads may race.* The compiler sees a block that may read memory, not loads that it may assume anything of.
//!   On the machine a vector load is no worse than a relaxed load of each aligned word in it: words are never torn.
//!   No block is `pure`, so none is hoisted, merged or moved across an acquire.
//! - *The registers are given back.* Each block names what it writes. A register class that the build's target lacks
//!   cannot be in use by the compiler, and naming it as a clobber is allowed. `vzeroupper` touches all of the first
//!   sixteen vector registers, so a block that ends with it names all of them.

/// `asm!` with all the registers that `vzeroupper` touches named as clobbers.
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

pub use avx2::Avx2;
pub use avx512::Avx512;

use std::arch::asm;

/// How many of the lowest `count` bits of `mask` are set; all of them count where `count` is 64 or more, up to 255.
///
/// # Safety
/// The CPU has `popcnt` and `bmi2`.
#[inline(always)]
unsafe fn ones_below(mask: u64, count: usize) -> usize {
    let ones: usize;
    // SAFETY: the instructions exist, by this function's contract; registers only.
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
