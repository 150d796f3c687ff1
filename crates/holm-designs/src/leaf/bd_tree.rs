//! Variations of BD+Tree's leaf, [`holm_tree::leaf::buffered`]: the paper's own fields for the versions, a chain of
//! leaves, fingerprints in a copy beside the block, and a known bug.

pub mod chained;
pub mod forgetful;
pub mod literal;
pub mod mirrored;

pub use chained::Chained;
pub use forgetful::Forgetful;
pub use literal::Literal;
pub use mirrored::Mirrored;
