//! The source of atomics, locks, threads and time for the crates of the store: std, or a scheduler that explores
//! interleavings (`--cfg shuttle`).
//!
//! The scheduler runs one thread at a time and switches threads only at these operations. It therefore explores orders
//! and nothing weaker: every ordering counts as sequentially consistent. Miri covers what weaker orderings allow. Under
//! the scheduler, time is simulated too: waits and sleeps end when the simulated clock says so. Once-cells are std's in
//! both cases: nothing is scheduled inside their initialisers, so no thread can find one half initialised.
//!
//! The module is public for the crates above, and no part of the interface of the store.

#[cfg(not(shuttle))]
pub use std::{
    hash::RandomState,
    hint::spin_loop,
    sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, mpsc},
    thread::{self, sleep, yield_now},
    thread_local,
    time::Instant,
};
#[cfg(not(shuttle))]
pub use thread_local::ThreadLocal as PerThread;

#[cfg(shuttle)]
pub mod scheduled;
#[cfg(shuttle)]
pub use scheduled::{
    Condvar, Instant, Mutex, MutexGuard, PerThread, RandomState, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic,
    mpsc, sleep, spin_loop, thread, thread_local, yield_now,
};

/// Called before each access to a word: where schedules are explored, another thread may run first. Otherwise it does
/// nothing.
#[inline(always)]
pub fn step() {
    #[cfg(shuttle)]
    scheduled::step();
}

/// Called before each store to a durable word: a step. Where schedules are explored, an observer can be called there,
/// too.
#[inline(always)]
pub fn step_before_store() {
    #[cfg(shuttle)]
    scheduled::step_before_store();
}

/// While it lives, the calling thread is not interrupted at steps. For what takes a lock of std, which the scheduler
/// does not know. Without a scheduler it is nothing.
#[derive(Debug)]
pub struct Quiet(());

/// Begins a time without interruption.
#[inline(always)]
pub fn quiet() -> Quiet {
    #[cfg(shuttle)]
    scheduled::begin_quiet();
    Quiet(())
}

#[cfg(shuttle)]
impl Drop for Quiet {
    fn drop(&mut self) {
        scheduled::end_quiet();
    }
}
