//! Words persist on their own: each may be found with any value it had since it was last durable. Stricter than any
//! machine we know; a design that passes needs nothing of its lines.

/// What persists together.
pub(super) fn cell(loc: u64) -> u64 {
    loc / 8
}
