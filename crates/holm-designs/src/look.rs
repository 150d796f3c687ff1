//! How a leaf's search compares: the last parameter of designs that have both forms.

/// With vectors.
pub const VECTORS: usize = 0;
/// One by one, as in most papers.
pub const ONE_BY_ONE: usize = 1;
