//! Threads that start together, each on a processor of its own.

use anyhow::Result;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Runs the same work on `threads` threads. Returns the time from the start of the first to the end of the last. The
/// threads record both themselves, because the thread that waits for them may be asleep meanwhile.
pub(crate) fn together(threads: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<Duration> {
    let barrier = Barrier::new(threads);
    let times = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|thread| {
                let (barrier, work) = (&barrier, &work);
                scope.spawn(move || {
                    pin(thread);
                    barrier.wait();
                    let began = Instant::now();
                    work(thread).map(|()| (began, Instant::now()))
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().expect("no panic")).collect::<Result<Vec<_>>>()
    })?;
    let began = times.iter().map(|(began, _)| *began).min();
    let ended = times.iter().map(|(_, ended)| *ended).max();
    Ok(began.zip(ended).map_or(Duration::ZERO, |(began, ended)| ended - began))
}

/// Pins this thread to one of the processors that it may use. If the system refuses, the thread stays unpinned.
fn pin(thread: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let all: Vec<_> = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
    if let Some(own) = all.get(thread % all.len().max(1)) {
        let mut set = CpuSet::new();
        set.set(*own);
        let _ = sched_setaffinity(None, &set);
    }
}
