//! The source of the clock's atomics, locks and thread slots: std, or a scheduler that explores interleavings (`--cfg
//! shuttle`).
//!
//! The scheduler runs one thread at a time and switches threads only at these operations. It therefore explores orders
//! and nothing weaker: every ordering counts as sequentially consistent. Miri covers what weaker orderings allow.
//! Once-cells are std's in both cases: nothing is scheduled inside their initialisers, so no thread can find one half
//! initialised.

#[cfg(not(shuttle))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, atomic},
    thread::{sleep, yield_now},
};
#[cfg(not(shuttle))]
pub(crate) use thread_local::ThreadLocal as PerThread;

#[cfg(shuttle)]
pub(crate) use scheduled::{PerThread, sleep};
#[cfg(shuttle)]
pub(crate) use shuttle::{
    hint::spin_loop,
    sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, atomic},
    thread::yield_now,
};

/// Called before each access to a word: where schedules are explored, another thread may run first. Otherwise it does
/// nothing.
#[inline(always)]
pub(crate) fn step() {
    #[cfg(shuttle)]
    shuttle::thread::sleep(std::time::Duration::ZERO);
}

#[cfg(shuttle)]
mod scheduled {
    use shuttle::thread::{ThreadId, current, yield_now};
    use std::sync::OnceLock;
    use std::time::Duration;

    /// More threads than any model starts.
    const MOST_THREADS: usize = 16;

    /// A value per scheduled thread. All scheduled threads run on one thread of the system, and would share a
    /// thread-local.
    pub(crate) struct PerThread<T>([OnceLock<(ThreadId, T)>; MOST_THREADS]);

    impl<T: Default> PerThread<T> {
        pub(crate) fn new() -> Self {
            PerThread([const { OnceLock::new() }; MOST_THREADS])
        }

        pub(crate) fn get(&self) -> Option<&T> {
            let own = current().id();
            self.0.iter().filter_map(OnceLock::get).find(|(id, _)| *id == own).map(|(_, value)| value)
        }

        pub(crate) fn get_or_default(&self) -> &T {
            self.get().unwrap_or_else(|| {
                let own = current().id();
                let place = self.0.iter().find(|place| place.get().is_none()).expect("few threads");
                &place.get_or_init(|| (own, T::default())).1
            })
        }

        pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
            self.0.iter().filter_map(OnceLock::get).map(|(_, value)| value)
        }
    }

    /// Time does not pass here: a thread that sleeps lets the others run first.
    pub(crate) fn sleep(_: Duration) {
        yield_now();
    }
}
