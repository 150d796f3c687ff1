//! Counts of operations on the medium, per thread and summed on demand: words written, lines flushed, fences.

use crate::sync::PerThread;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crossbeam_utils::CachePadded;

/// Sums over all threads since the medium was opened.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Durable words that write handles stored.
    pub writes: u64,
    /// Lines whose write-back was started.
    pub flushes: u64,
    /// Fences.
    pub fences: u64,
}

impl std::ops::Sub for Counts {
    type Output = Counts;
    fn sub(self, before: Counts) -> Counts {
        Counts {
            writes: self.writes - before.writes,
            flushes: self.flushes - before.flushes,
            fences: self.fences - before.fences,
        }
    }
}

/// The counters of one thread. Only that thread adds to them, by load and store, so that no locked instruction is
/// needed.
#[derive(Default)]
struct Cells {
    writes: AtomicU64,
    flushes: AtomicU64,
    fences: AtomicU64,
}

/// Per-thread counters of one medium, each in lines of its own. Otherwise each flush of one thread would wait for the
/// line that another has just written.
#[derive(Default)]
pub struct Counters(PerThread<CachePadded<Cells>>);

#[inline]
fn add(cell: &AtomicU64, count: u64) {
    cell.store(cell.load(Relaxed) + count, Relaxed);
}

/// These are calls that are not inlined: a medium that counts pays for them, and one that does not steps over a call.
impl Counters {
    #[cold]
    pub(crate) fn wrote(&self, words: u64) {
        add(&self.0.get_or_default().writes, words);
    }

    #[cold]
    pub(crate) fn flushed(&self) {
        add(&self.0.get_or_default().flushes, 1);
    }

    #[cold]
    pub(crate) fn fenced(&self) {
        add(&self.0.get_or_default().fences, 1);
    }

    /// The sum over all threads; exact while no thread uses the medium. O(threads).
    pub fn sum(&self) -> Counts {
        self.0.iter().fold(Counts::default(), |sum, cells| Counts {
            writes: sum.writes + cells.writes.load(Relaxed),
            flushes: sum.flushes + cells.flushes.load(Relaxed),
            fences: sum.fences + cells.fences.load(Relaxed),
        })
    }
}
