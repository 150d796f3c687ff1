//! Threads that begin together, each on a processor of its own.

use anyhow::Result;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Does the same work in so many threads; from the first one's start to the last one's end.
pub(crate) fn together(threads: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<Duration> {
    let barrier = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|thread| {
                let (barrier, work) = (&barrier, &work);
                scope.spawn(move || {
                    pin(thread);
                    barrier.wait();
                    work(thread)
                })
            })
            .collect();
        barrier.wait();
        let began = Instant::now();
        let outcomes: Vec<Result<()>> = all.into_iter().map(|one| one.join().expect("no panic")).collect();
        let taken = began.elapsed();
        outcomes.into_iter().collect::<Result<()>>()?;
        Ok(taken)
    })
}

/// Keeps this thread on one of the processors that it may use; where that is refused it goes where it likes.
fn pin(thread: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let all: Vec<_> = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
    if let Some(own) = all.get(thread % all.len().max(1)) {
        let mut set = CpuSet::new();
        set.set(*own);
        let _ = sched_setaffinity(None, &set);
    }
}
