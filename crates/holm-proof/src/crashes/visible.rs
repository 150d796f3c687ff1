//! Only the process dies: the cache, or the page cache, keeps every store, so that a prefix of all of them is found.
//!
//! The same holds of the loss of power where caches are within the persistent domain. Between two events all earlier
//! stores are kept; only the words of one fill, which have no order among themselves, are found in part.

use holm_medium::LINE;

/// What persists together; matters for the words of one fill only.
pub(super) fn cell(loc: u64) -> u64 {
    loc / LINE
}
