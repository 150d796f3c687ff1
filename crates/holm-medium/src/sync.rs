//! Where the clock's atomics, locks and thread slots come from: std, or a scheduler that explores interleavings
//! (`--cfg shuttle`).
//!
//! The scheduler runs one thread at a time and changes threads only at these operations, so it explores orders and
//! nothing weaker: every ordering is taken for sequentially consistent. What weaker orderings allow is Miri's part.
//! Once-cells stay std's in both: nothing is scheduled inside their initialisers, so nobody can meet one half way.

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

/// Before each access to a word: where schedules are explored, another thread may go first; else nothing.
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

    /// A value per scheduled thread: all of those share one thread of the system, and would share its value too.
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

    /// Time does not pass here: whoever sleeps lets the others go first.
    pub(crate) fn sleep(_: Duration) {
        yield_now();
    }
}
