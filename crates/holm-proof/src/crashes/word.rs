//! Words persist separately: a crash may leave in each any value that it had since it was last durable. This is
//! stricter than any machine we know; a design that passes relies on no property of lines.

/// What persists together.
pub(super) fn cell(loc: u64) -> u64 {
    loc / 8
}
