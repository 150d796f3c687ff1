//! The atomics and locks under schedule exploration: shuttle's where a test asks for them (`--cfg shuttle`), else those
//! of std.
//!
//! The scheduler treats every ordering as sequentially consistent and explores interleavings only. Miri checks what
//! weaker orderings allow.

use holm_search::Search;
use std::sync::atomic::AtomicU64 as Raced;

#[cfg(not(shuttle))]
pub use std::{
    hint::spin_loop,
    sync::{Mutex, atomic},
    thread::yield_now,
};

#[cfg(shuttle)]
pub use shuttle::{
    hint::spin_loop,
    sync::{Mutex, atomic},
    thread::yield_now,
};

/// Returns how many of the first `count` heads are at most `head`, with a vector kernel.
#[cfg(not(shuttle))]
#[inline(always)]
pub fn rank(
    kernel: impl Fn(Search, &[Raced], usize, u64) -> usize,
    search: Search,
    heads: &[atomic::AtomicU64],
    count: usize,
    head: u64,
) -> usize {
    kernel(search, heads, count, head)
}

/// The same, one head at a time: kernels read std's atomics, and the schedule may change with each load.
#[cfg(shuttle)]
pub fn rank(
    _: impl Fn(Search, &[Raced], usize, u64) -> usize,
    _: Search,
    heads: &[atomic::AtomicU64],
    count: usize,
    head: u64,
) -> usize {
    heads.iter().take(count).filter(|at| at.load(atomic::Ordering::Relaxed) <= head).count()
}
