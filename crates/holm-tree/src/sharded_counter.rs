//! How many pairs a tree has: each thread adds to a count of its own, and the counts are summed when somebody asks.
//!
//! One count for all costs threads that insert into different leaves a cache line that each must have for itself: two
//! were together no faster than one.

use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use thread_local::ThreadLocal;

/// A number that many change and few ask for. Only its own thread stores to a count, so no bus lock is paid.
pub(crate) struct ShardedCounter {
    before: i64,
    own: ThreadLocal<CachePadded<AtomicI64>>,
}

impl ShardedCounter {
    pub(crate) fn of(pairs: u64) -> Self {
        ShardedCounter { before: pairs as i64, own: ThreadLocal::new() }
    }

    /// Not inlined: it would make room on the stack for whole lines in each operation that may come to it.
    #[inline(never)]
    pub(crate) fn add(&self, change: i64) {
        let count = self.own.get_or_default();
        count.store(count.load(Relaxed) + change, Relaxed);
    }

    /// O(threads that ever changed it); exact while nobody does.
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
