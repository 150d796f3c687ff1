//! Counts of operations on the medium, per thread and summed on demand: words written, lines flushed, fences; and the
//! blocks of 256 bytes that a medium would write for these lines.

use crate::block_buffer::BlockBuffer;
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
    /// Blocks of 256 bytes that a medium of such blocks would write for the flushed lines, behind a buffer of sixteen
    /// of them that combines lines of one block.
    pub blocks: u64,
    /// Those of them that left the buffer without all of their four lines: the medium would read each first.
    pub partial_blocks: u64,
}

impl std::ops::Sub for Counts {
    type Output = Counts;
    fn sub(self, before: Counts) -> Counts {
        Counts {
            writes: self.writes - before.writes,
            flushes: self.flushes - before.flushes,
            fences: self.fences - before.fences,
            blocks: self.blocks - before.blocks,
            partial_blocks: self.partial_blocks - before.partial_blocks,
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
    /// Lines flushed since the last fence.
    pending: AtomicU64,
}

/// Per-thread counters of one medium, each in lines of its own. Otherwise each flush of one thread would wait for the
/// line that another has just written.
#[derive(Default)]
pub struct Counters {
    cells: PerThread<CachePadded<Cells>>,
    buffer: BlockBuffer,
}

#[inline]
fn add(cell: &AtomicU64, count: u64) {
    cell.store(cell.load(Relaxed) + count, Relaxed);
}

/// These are calls that are not inlined: a medium that counts pays for them, and one that does not steps over a call.
impl Counters {
    #[cold]
    pub(crate) fn wrote(&self, words: u64) {
        add(&self.cells.get_or_default().writes, words);
    }

    #[cold]
    pub(crate) fn flushed(&self, line: u64) {
        add(&self.cells.get_or_default().flushes, 1);
        self.buffer.flush(line);
    }

    /// Notes a flushed line for this thread's next fence.
    #[inline]
    pub(crate) fn pend(&self) {
        add(&self.cells.get_or_default().pending, 1);
    }

    /// Returns the lines that this thread has noted since it last asked.
    #[inline]
    pub(crate) fn take_pending(&self) -> u64 {
        let pending = &self.cells.get_or_default().pending;
        let lines = pending.load(Relaxed);
        pending.store(0, Relaxed);
        lines
    }

    #[cold]
    pub(crate) fn fenced(&self) {
        add(&self.cells.get_or_default().fences, 1);
    }

    /// The sum over all threads; exact while no thread uses the medium. O(threads).
    pub fn sum(&self) -> Counts {
        let (blocks, partial_blocks) = self.buffer.counts();
        self.cells.iter().fold(Counts { blocks, partial_blocks, ..Counts::default() }, |sum, cells| Counts {
            writes: sum.writes + cells.writes.load(Relaxed),
            flushes: sum.flushes + cells.flushes.load(Relaxed),
            fences: sum.fences + cells.fences.load(Relaxed),
            ..sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_waits_for_the_lines_of_its_own_thread_once() {
        let counters = Counters::default();
        (0..3).for_each(|_| counters.pend());
        std::thread::scope(|scope| scope.spawn(|| assert_eq!(counters.take_pending(), 0)).join().expect("no panic"));
        assert_eq!([counters.take_pending(), counters.take_pending()], [3, 0]);
    }
}
