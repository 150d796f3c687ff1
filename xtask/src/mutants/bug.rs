//! A bug that was seeded by hand.

/// A bug.
pub(super) struct Seeded {
    /// What it is, in the words of the table.
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    pub(super) before: &'static str,
    pub(super) after: &'static str,
}
