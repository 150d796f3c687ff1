//! The flush instructions of x86, and the bare spin on the time-stamp counter that emulates slower memory.
//!
//! `unsafe` is allowed in this file. Each block names an address and nothing else: in Rust's sense no memory is read
//! or written.

use super::instruction::Flush;
use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _rdtsc};
use std::sync::OnceLock;
use std::time::Instant;

pub(super) fn detect() -> Flush {
    let features = __cpuid_count(7, 0).ebx;
    match (features >> 24 & 1, features >> 23 & 1) {
        (1, _) => Flush::Clwb,
        (_, 1) => Flush::Clflushopt,
        _ => Flush::Clflush,
    }
}

#[inline]
pub(super) fn flush(how: Flush, line: *const u8) {
    // Not `nomem`: the compiler must not move a store of the line past its own flush.
    match how {
        // SAFETY: writes a cache line back by address; the address is of a live reference, and contents do not change.
        Flush::Clwb => unsafe { asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)) },
        // SAFETY: as above.
        Flush::Clflushopt => unsafe { asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags)) },
        // SAFETY: as above.
        Flush::Clflush => unsafe { asm!("clflush [{}]", in(reg) line, options(nostack, preserves_flags)) },
        Flush::Nothing | Flush::DcCvap => {}
    }
}

#[inline]
pub(super) fn fence() {
    // SAFETY: orders stores and flushes; touches no memory.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) }
}

fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has a time-stamp counter, and user space may read it on Linux unless it asked not to.
    unsafe { _rdtsc() }
}

fn ticks_per_us() -> u64 {
    static RATE: OnceLock<u64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let (clock, start) = (Instant::now(), ticks());
        while clock.elapsed().as_micros() < 2_000 {}
        (ticks() - start) * 1_000 / clock.elapsed().as_nanos() as u64
    })
}

#[inline]
pub(super) fn spin(ns: u32) {
    let until = ticks() + u64::from(ns) * ticks_per_us() / 1_000;
    while ticks() < until {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An instruction that the processor lacks would end the process, and an older one evicts the line.
    #[test]
    fn the_best_instruction_that_the_kernel_lists_is_chosen() {
        let Ok(about) = std::fs::read_to_string("/proc/cpuinfo") else { return };
        let Some(flags) = about.lines().find(|line| line.starts_with("flags")) else { return };
        let has = |flag: &str| flags.split_whitespace().any(|it| it == flag);
        let best = match (has("clwb"), has("clflushopt")) {
            (true, _) => Flush::Clwb,
            (_, true) => Flush::Clflushopt,
            _ => Flush::Clflush,
        };
        assert_eq!(detect(), best);
    }
}
