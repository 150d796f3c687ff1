//! Whether reads of an image wait for the disk, as they do where the data are larger than memory.
//!
//! A page that is not in memory costs a read of tens of microseconds, and a fault waits for it alone. A disk serves
//! many reads at a time, so a reader that knows several pages announces all of them before it touches the first. An
//! announcement is a system call, though, and would cost more than the read itself where the page is in memory. So
//! readers of several records measure how long some of their reads take, and announce only after one that was long.
//! What the announcements of a read take does not count: otherwise the first long one, of a thread that had lost its
//! processor, would make all later ones long.

use crate::sync::Instant;
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::cell::Cell;
use std::time::Duration;

/// A read that takes longer than this has waited for the disk: the copy of a leaf's records takes one to two
/// microseconds from memory, and a page comes from a fast disk in twenty or more.
const LONG_READ: Duration = Duration::from_micros(25);

/// The time of an announcement of a page that is in memory. One that begins a read takes several times as long.
const ANNOUNCEMENT: Duration = Duration::from_micros(2);

/// Bytes that a read copies from memory in a nanosecond, at the least.
const BYTES_PER_NANOSECOND: u64 = 2;

thread_local! {
    /// The announcements of this thread.
    static ANNOUNCED: Cell<u32> = const { Cell::new(0) };
}

/// Notes that this thread has announced a page.
pub(crate) fn announced() {
    ANNOUNCED.set(ANNOUNCED.get().wrapping_add(1));
}

/// A read that is measured.
pub struct TimedRead {
    begun: Instant,
    announced: u32,
}

impl TimedRead {
    /// Begins to measure a read of this thread, with what it announces.
    #[inline]
    pub fn begin() -> Self {
        TimedRead { begun: Instant::now(), announced: ANNOUNCED.get() }
    }
}

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

    /// Notes that a read, which copied `bytes` bytes, has ended now.
    #[inline]
    pub fn note(&self, read: TimedRead, bytes: u64) {
        self.note_time(read.begun.elapsed(), bytes, ANNOUNCED.get().wrapping_sub(read.announced));
    }

    fn note_time(&self, took: Duration, bytes: u64, announced: u32) {
        let allowed = LONG_READ + Duration::from_nanos(bytes / BYTES_PER_NANOSECOND) + ANNOUNCEMENT * announced;
        let waits = took > allowed;
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
        paging.note_time(Duration::from_micros(80), 4096, 0);
        assert!(paging.waits(), "80 us for a page");
        paging.note_time(Duration::from_micros(2), 4096, 0);
        assert!(!paging.waits(), "2 us for a page");
        paging.note_time(Duration::from_micros(80), 256 << 10, 0);
        assert!(!paging.waits(), "80 us for 256 KiB");
    }

    /// Otherwise a process in whose memory everything is announces every page for ever, once one read was long.
    #[test]
    fn what_announcements_take_is_no_wait() {
        let paging = Paging::default();
        paging.note_time(Duration::from_micros(80), 4096, 32);
        assert!(!paging.waits(), "80 us for a page and 32 announcements");
        paging.note_time(Duration::from_micros(200), 4096, 32);
        assert!(paging.waits(), "200 us for them");
        // The announcements of a read are those of its thread since it began.
        let read = TimedRead::begin();
        announced();
        assert_eq!(ANNOUNCED.get().wrapping_sub(read.announced), 1);
    }
}
