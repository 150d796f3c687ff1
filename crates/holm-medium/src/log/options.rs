//! The options of a log.

#![forbid(unsafe_code)]

use crate::vfs::FORMAT_PAGE;

/// The largest maximum of a half, in bytes: pages are counted in 31 bits.
const LARGEST_HALF: u64 = FORMAT_PAGE << 31;

/// The options of a log.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// Bytes of a half at creation; rounded up to pages.
    pub initial: u64,
    /// Bytes that a half may grow to; at most 8 TiB. A single record that is larger gets a half to itself.
    pub maximum: u64,
    /// Whether to bypass the page cache where the file system allows it.
    pub direct: bool,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions { initial: 128 << 10, maximum: 128 << 20, direct: true }
    }
}

impl LogOptions {
    pub(super) fn rounded(self) -> LogOptions {
        let maximum = (self.maximum.min(LARGEST_HALF) / FORMAT_PAGE * FORMAT_PAGE).max(FORMAT_PAGE);
        let initial = self.initial.max(1).min(maximum).next_multiple_of(FORMAT_PAGE);
        LogOptions { initial, maximum, direct: self.direct }
    }
}
