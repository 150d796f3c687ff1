//! The number of pairs of a tree: a sharded counter. Each thread adds to its own count, and a reader sums the counts.
//!
//! With one shared count, threads that insert into different leaves compete for its cache line: two threads together
//! were no faster than one.

use crossbeam_utils::CachePadded;
use holm_medium::sync::PerThread;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// A number that many threads change and few read. Only its own thread stores to a count, so no locked instruction is
/// needed.
pub(crate) struct ShardedCounter {
    before: i64,
    own: PerThread<CachePadded<AtomicI64>>,
}

impl ShardedCounter {
    pub(crate) fn of(pairs: u64) -> Self {
        ShardedCounter { before: pairs as i64, own: PerThread::new() }
    }

    /// Not inlined: inlined, it would reserve stack for whole lines in each operation that might reach it.
    #[inline(never)]
    pub(crate) fn add(&self, change: i64) {
        let count = self.own.get_or_default();
        count.store(count.load(Relaxed) + change, Relaxed);
    }

    /// Returns the sum. O(threads that ever changed it); exact while no thread changes it.
    pub(crate) fn sum(&self) -> u64 {
        let changed: i64 = self.own.iter().map(|count| count.load(Relaxed)).sum();
        (self.before + changed).max(0) as u64
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn what_threads_that_are_gone_have_counted_stays() {
        let tally = ShardedCounter::of(5);
        std::thread::scope(|scope| {
            for change in [3, -2, 10] {
                let tally = &tally;
                scope.spawn(move || (0..1_000).for_each(|_| tally.add(change)));
            }
        });
        tally.add(-1);
        assert_eq!(tally.sum(), 5 + 11_000 - 1);
    }

    #[test]
    fn it_is_never_below_zero() {
        let tally = ShardedCounter::of(1);
        tally.add(-2);
        assert_eq!(tally.sum(), 0);
    }
}
