//! Lines persist as prefixes of their stores, each line separately: x86, whose stores to one line stay in order.

use holm_medium::LINE;

/// What persists together.
pub(super) fn cell(loc: u64) -> u64 {
    loc / LINE
}
