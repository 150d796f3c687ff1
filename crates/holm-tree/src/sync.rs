//! The atomics and locks that schedules are explored over: shuttle's where a test asks for it (`--cfg shuttle`), else
//! std's.
//!
//! The scheduler takes every ordering for sequentially consistent and explores interleavings alone; what weaker
//! orderings allow is Miri's part.

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

/// How many of the first `count` heads are at most `head`, by one of the kernels that say so.
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

/// The same one by one: kernels read std's atomics, and with each load the schedule may change.
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
