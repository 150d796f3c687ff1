//! A pass over a list on all cores. The work is a dynamic call, so that this is compiled once for each kind of list.

use holm_medium::Result;
use std::thread;

/// Runs `work` on equal parts of a list and joins the results in order.
pub(super) fn parallel<T: Sync, R: Send>(
    threads: usize,
    all: &[T],
    work: &(dyn Fn(&[T]) -> Result<Vec<R>> + Sync),
) -> Result<Vec<R>> {
    let part = all.len().div_ceil(threads.max(1)).max(1024);
    if part >= all.len() {
        // A small tree set is recovered sooner than a thread starts.
        return work(all);
    }
    let mut joined = Vec::with_capacity(all.len());
    thread::scope(|scope| {
        let begin = |part| (thread::Builder::new().spawn_scoped(scope, move || work(part)).ok(), part);
        let parts: Vec<_> = all.chunks(part).map(begin).collect();
        for (begun, part) in parts {
            match begun.map(thread::ScopedJoinHandle::join) {
                Some(Ok(done)) => joined.extend(done?),
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                // The system refused a thread: the caller does this part.
                None => joined.extend(work(part)?),
            }
        }
        Ok(joined)
    })
}
