//! The atomics that schedules are explored over: shuttle's where a test asks for it (`--cfg shuttle`), else std's.

#[cfg(not(shuttle))]
pub(crate) use std::{hint::spin_loop, sync::atomic, thread::yield_now};

#[cfg(shuttle)]
pub(crate) use shuttle::{hint::spin_loop, sync::atomic, thread::yield_now};
