//! The atomics and locks that schedules are explored over: shuttle's where a test asks for it (`--cfg shuttle`), else
//! std's.
//!
//! The scheduler takes every ordering for sequentially consistent and explores interleavings alone; what weaker
//! orderings allow is Miri's part.

use holm_search::Search;

#[cfg(not(shuttle))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{Mutex, atomic},
    thread::yield_now,
};

#[cfg(shuttle)]
pub(crate) use shuttle::{
    hint::spin_loop,
    sync::{Mutex, atomic},
    thread::yield_now,
};

/// How many of the first `count` heads are at most `head`.
#[cfg(not(shuttle))]
#[inline(always)]
pub(crate) fn rank(search: Search, heads: &[atomic::AtomicU64], count: usize, head: u64) -> usize {
    search.rank(heads, count, head)
}

/// The same one by one: kernels read std's atomics, and with each load the schedule may change.
#[cfg(shuttle)]
pub(crate) fn rank(_: Search, heads: &[atomic::AtomicU64], count: usize, head: u64) -> usize {
    heads.iter().take(count).filter(|at| at.load(atomic::Ordering::Relaxed) <= head).count()
}
