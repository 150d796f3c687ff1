//! A batch that sets a mark: a transaction, because the mark that is there decides whether the next one rises.

use crate::commit::Write;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::transaction::{Transaction, pause};
use std::sync::Arc;

/// How often a batch is tried before it gives up: each time, another one has set the mark meanwhile.
const MOST_ATTEMPTS: u32 = 1_000;

/// Commits writes together with a mark.
///
/// # Errors
/// As [`Batch::commit`](crate::Batch::commit).
pub(crate) fn commit_with(engine: &Arc<Engine>, mark: u64, writes: &[Write<'_>]) -> Result<()> {
    for attempt in 0..MOST_ATTEMPTS {
        // The mark that is found decides whether this one rises, so the commit depends on it.
        let marked = Transaction::new(engine.clone());
        match marked.set_mark(mark).and_then(|()| marked.commit_with(writes, None)) {
            Err(Error::Conflict) => pause(attempt),
            done => return done.map(drop),
        }
    }
    Err(Error::Conflict)
}
