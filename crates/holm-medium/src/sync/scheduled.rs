//! What replaces std where a scheduler runs the threads.
//!
//! Atomics are std's, with a step before each access. Locks, threads and channels are shuttle's. Time, and every wait
//! with an end, are simulated: see [`time`].

pub mod atomic;
mod condvar;
mod mutex;
mod per_thread;
pub mod time;

pub use condvar::Condvar;
pub use mutex::{Mutex, MutexGuard};
pub use per_thread::PerThread;
pub use shuttle::{
    hint::spin_loop,
    sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, mpsc},
    thread::{self, yield_now},
    thread_local,
};
pub use time::{Instant, sleep};

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::time::Duration;

/// Hashes with the same keys in every run, so that a seed repeats it.
pub type RandomState = BuildHasherDefault<DefaultHasher>;

std::thread_local! {
    /// How many callers want no interruption.
    static QUIET: Cell<u32> = const { Cell::new(0) };
    /// Steps until the next interruption.
    static LEFT: Cell<u32> = const { Cell::new(0) };
    /// The steps from one interruption to the next, on average.
    static APART: Cell<u32> = const { Cell::new(1) };
    /// The state of the generator that draws them.
    static DRAWN: Cell<u64> = const { Cell::new(0) };
    /// What is called before each store to a durable word.
    static OBSERVER: RefCell<Option<StoreObserver>> = const { RefCell::new(None) };
}

/// A point at which another thread may run.
#[inline]
pub(super) fn step() {
    let left = LEFT.get();
    if left > 0 {
        LEFT.set(left - 1);
    } else if QUIET.get() == 0 {
        let apart = APART.get();
        if apart > 1 {
            LEFT.set((draw() % u64::from(2 * apart - 1)) as u32);
        }
        thread::sleep(Duration::ZERO);
    }
}

/// What is called before each store to a durable word, by the thread that stores.
pub type StoreObserver = Box<dyn Fn()>;

/// Sets what is called before each store to a durable word, or nothing. It must not store to durable words. No thread
/// is interrupted in it, and the schedule is the same as without it.
pub fn observe_stores(observer: Option<StoreObserver>) {
    OBSERVER.set(observer);
}

/// A step, and then the observer of stores.
#[inline]
pub(super) fn step_before_store() {
    step();
    OBSERVER.with_borrow(|observer| {
        let Some(observer) = observer else { return };
        let left = LEFT.get();
        begin_quiet();
        observer();
        end_quiet();
        LEFT.set(left);
    });
}

/// SplitMix64.
fn draw() -> u64 {
    let state = DRAWN.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
    DRAWN.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Makes steps interrupt the thread at one in `apart`, on average, as `seed` decides; 1: at each.
pub fn interrupt(apart: u32, seed: u64) {
    APART.set(apart.max(1));
    DRAWN.set(seed);
    LEFT.set(0);
}

pub(super) fn begin_quiet() {
    QUIET.set(QUIET.get() + 1);
}

pub(super) fn end_quiet() {
    QUIET.set(QUIET.get() - 1);
}
