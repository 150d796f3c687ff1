//! The direction of a scan.

/// From which end a scan goes through its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the least key to greater ones.
    Forward,
    /// From the greatest key to lesser ones.
    Backward,
}
