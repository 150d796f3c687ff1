//! The atomics and locks of the medium's `sync`, and the search that reads atomics: where schedules are explored, it
//! reads one at a time.

use holm_search::Search;
use std::sync::atomic::AtomicU64 as Raced;

pub use holm_medium::sync::{Mutex, MutexGuard, atomic, spin_loop, yield_now};

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
