//! The number of the calling thread, and the points at which another thread may run: threads of the system, or those of
//! a scheduler that explores interleavings (`--cfg shuttle`), all of which share one thread of the system.

#[cfg(not(shuttle))]
pub(crate) use system::{number, step};

#[cfg(shuttle)]
pub(crate) use scheduled::{number, step};

#[cfg(not(shuttle))]
mod system {
    use std::sync::atomic::{AtomicU32, Ordering};

    static THREADS: AtomicU32 = AtomicU32::new(0);

    thread_local! {
        static THREAD: u32 = THREADS.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of the calling thread.
    pub(crate) fn number() -> u32 {
        THREAD.with(|thread| *thread)
    }

    /// Does nothing: the system schedules threads.
    pub(crate) fn step() {}
}

#[cfg(shuttle)]
mod scheduled {
    use std::time::Duration;

    /// The number of the calling thread.
    pub(crate) fn number() -> u32 {
        shuttle::current::get_current_task().map_or(0, |task| usize::from(task) as u32)
    }

    /// Another thread may run first.
    pub(crate) fn step() {
        shuttle::thread::sleep(Duration::ZERO);
    }
}
