//! The number of the calling thread, and the points at which another thread may run: threads of the system, or those of
//! a scheduler that explores interleavings (`--cfg shuttle`), all of which share one thread of the system.

#[cfg(not(shuttle))]
pub(crate) use system::{apart, number, step};

#[cfg(shuttle)]
pub(crate) use scheduled::{apart, number, step};

#[cfg(not(shuttle))]
mod system {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU32, Ordering};

    static THREADS: AtomicU32 = AtomicU32::new(0);

    thread_local! {
        static THREAD: Cell<u32> = Cell::new(unused());
    }

    fn unused() -> u32 {
        THREADS.fetch_add(1, Ordering::Relaxed)
    }

    /// The number of the calling thread.
    pub(crate) fn number() -> u32 {
        THREAD.get()
    }

    /// Takes the former number back, even if the work panicked.
    struct Former(u32);

    impl Drop for Former {
        fn drop(&mut self) {
            THREAD.set(self.0);
        }
    }

    /// Works as a thread of its own: under a number that no other thread has. To start a thread costs more than most
    /// of what is done here.
    pub(crate) fn apart<T>(work: impl FnOnce() -> T + Send) -> T
    where
        T: Send,
    {
        let _former = Former(THREAD.replace(unused()));
        work()
    }

    /// Does nothing: the system schedules threads.
    pub(crate) fn step() {}

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn work_apart_has_a_number_of_its_own_until_it_ends() {
            let own = number();
            assert_ne!(apart(number), own);
            let panicked = std::panic::catch_unwind(|| apart(|| panic!("{}", number())));
            assert!(panicked.is_err());
            assert_eq!(number(), own);
        }
    }
}

#[cfg(shuttle)]
mod scheduled {
    use std::time::Duration;

    /// The number of the calling thread.
    pub(crate) fn number() -> u32 {
        shuttle::current::get_current_task().map_or(0, |task| usize::from(task) as u32)
    }

    /// Works on a thread of the system, outside of the scheduler's.
    pub(crate) fn apart<T>(work: impl FnOnce() -> T + Send) -> T
    where
        T: Send,
    {
        let done = std::thread::scope(|scope| scope.spawn(work).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Another thread may run first.
    pub(crate) fn step() {
        shuttle::thread::sleep(Duration::ZERO);
    }
}
