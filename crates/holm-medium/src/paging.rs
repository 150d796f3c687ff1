//! Whether reads of an image wait for the disk, as they do where the data are larger than memory.
//!
//! A page that is not in memory costs a read of tens of microseconds, and a fault waits for it alone. A disk serves
//! many reads at a time, so a reader that knows several pages announces all of them before it touches the first.
//! An announcement is a system call, though, and would cost more than the read itself where the page is in memory. So
//! readers of several records measure how long some of their reads take, and announce only after one that was long.

use crate::sync::Instant;
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// A read that takes longer than this has waited for the disk: the copy of a leaf's records takes one to two
/// microseconds from memory, and a page comes from a fast disk in twenty or more.
const LONG_READ: Duration = Duration::from_micros(25);

/// Bytes that a read copies from memory in a nanosecond, at the least.
const BYTES_PER_NANOSECOND: u64 = 2;

/// What the last measured read of an image has shown. Volatile, and a hint only: a wrong one costs time.
#[derive(Default)]
pub struct Paging {
    waits: AtomicBool,
}

impl Paging {
    /// Returns whether reads have waited for the disk lately.
    #[inline]
    pub fn waits(&self) -> bool {
        self.waits.load(Relaxed)
    }

    /// Notes that a read, which began at `begun` and copied `bytes` bytes, has ended now.
    #[inline]
    pub fn note(&self, begun: Instant, bytes: u64) {
        self.note_time(begun.elapsed(), bytes);
    }

    fn note_time(&self, took: Duration, bytes: u64) {
        let waits = took > LONG_READ + Duration::from_nanos(bytes / BYTES_PER_NANOSECOND);
        // Readers share the line: it changes only with the answer.
        if waits != self.waits() {
            self.waits.store(waits, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_read_that_is_long_for_its_bytes_has_waited() {
        let paging = Paging::default();
        assert!(!paging.waits());
        paging.note_time(Duration::from_micros(80), 4096);
        assert!(paging.waits(), "80 us for a page");
        paging.note_time(Duration::from_micros(2), 4096);
        assert!(!paging.waits(), "2 us for a page");
        paging.note_time(Duration::from_micros(80), 256 << 10);
        assert!(!paging.waits(), "80 us for 256 KiB");
    }
}
