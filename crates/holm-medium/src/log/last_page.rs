//! The page in which the last record ends: the next record goes into it, if there is room.
//!
//! A commit of a few lines is far smaller than a page, which is the least that a direct write can write. If each record
//! began a page, most of the log would be padding. So the page is written again with each record that it takes, and its
//! earlier bytes stay as they are. A write that is cut short leaves each sector old or new, and either has the records
//! before.

#![forbid(unsafe_code)]

use super::epoch_record::LINE;
use crate::vfs::{AlignedBytes, FORMAT_PAGE};

/// Where a record of `bytes` bytes begins, if the one before ends at `offset`: right there if the rest of the page has
/// room for all of it, else at the next page.
pub(super) fn begin(offset: u64, bytes: u64) -> u64 {
    let fits = offset % FORMAT_PAGE + bytes <= FORMAT_PAGE;
    if fits { offset } else { next_page(offset) }
}

/// The first beginning of a page at or behind an offset.
pub(super) fn next_page(offset: u64) -> u64 {
    offset.next_multiple_of(FORMAT_PAGE)
}

/// What the last page has, in memory for direct writes.
pub(super) struct LastPage(AlignedBytes);

impl LastPage {
    pub(super) fn new() -> LastPage {
        LastPage(AlignedBytes::zeroed(FORMAT_PAGE as usize))
    }

    /// Returns the page with a record behind its first `filled` bytes, and zeros behind that.
    pub(super) fn with(&mut self, filled: usize, record: &[u8]) -> &[u8] {
        let page = self.0.as_mut_slice();
        let end = filled + record.len();
        page[filled..end].copy_from_slice(record);
        page[end..].fill(0);
        page
    }

    /// Takes over the last page of a record that began a page, and is now in the log.
    pub(super) fn take(&mut self, record: &[u8]) {
        debug_assert!(record.len().is_multiple_of(LINE));
        let last = record.len() / FORMAT_PAGE as usize * FORMAT_PAGE as usize;
        self.with(0, &record[last..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_begins_where_the_one_before_ends_if_it_fits_in_the_page() {
        assert_eq!([begin(0, 64), begin(0, 9000), begin(64, 4032), begin(64, 4096)], [0, 0, 64, 4096]);
        assert_eq!([begin(8192, 4096), begin(8128, 64), begin(8128, 128)], [8192, 8128, 8192]);
    }

    #[test]
    fn the_page_keeps_what_it_has_and_ends_with_zeros() {
        let mut page = LastPage::new();
        page.take(&[1; 4096 + 128]);
        let bytes = page.with(128, &[2; 64]);
        assert!(bytes[..128].iter().all(|byte| *byte == 1) && bytes[128..192].iter().all(|byte| *byte == 2));
        assert!(bytes[192..].iter().all(|byte| *byte == 0) && bytes.len() == 4096);
        page.take(&[3; 4096]);
        assert!(page.with(0, &[]).iter().all(|byte| *byte == 0));
    }
}
