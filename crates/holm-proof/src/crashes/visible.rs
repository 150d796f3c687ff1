//! Only the process dies: the CPU cache, or the page cache, keeps every store, so a prefix of all stores is left.
//!
//! The same is true of a loss of power where caches are in the persistent domain. Between two events all earlier stores
//! are kept. Only the words of one fill, which have no order among themselves, may be left in part.

use holm_medium::LINE;

/// What persists together; matters only for the words of one fill.
pub(super) fn cell(loc: u64) -> u64 {
    loc / LINE
}
