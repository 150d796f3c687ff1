//! The options of a log.

#![forbid(unsafe_code)]

use super::position::{FIRST_SEGMENTS, MOST_SEGMENTS};
use crate::vfs::FORMAT_PAGE;

/// The largest maximum of a segment, in bytes: pages are counted in 28 bits.
const LARGEST_SEGMENT: u64 = FORMAT_PAGE << 28;

/// The options of a log.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// Bytes of a segment at creation; rounded up to pages.
    pub initial: u64,
    /// Bytes that all segments together may have. A single record that is larger than a segment may be gets one to
    /// itself.
    pub total: u64,
    /// How many segments there may be: from 2 to 16. A database has two at its creation.
    pub segments: u8,
    /// Whether to bypass the page cache where the file system allows it.
    pub direct: bool,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions { initial: 128 << 10, total: 256 << 20, segments: MOST_SEGMENTS, direct: true }
    }
}

impl LogOptions {
    pub(super) fn rounded(self) -> LogOptions {
        let segments = self.segments.clamp(FIRST_SEGMENTS, MOST_SEGMENTS);
        let total = self.total.max(u64::from(segments) * FORMAT_PAGE);
        let maximum = LogOptions { total, segments, ..self }.maximum();
        let initial = self.initial.max(1).min(maximum).next_multiple_of(FORMAT_PAGE);
        LogOptions { initial, total, segments, direct: self.direct }
    }

    /// Bytes that a segment may grow to: a half of the log if there are two, else a quarter, which one needs when no
    /// other is free.
    pub(super) fn maximum(&self) -> u64 {
        let maximum = self.total / u64::from(self.segments).min(4);
        (maximum.min(LARGEST_SEGMENT) / FORMAT_PAGE * FORMAT_PAGE).max(FORMAT_PAGE)
    }
}
