//! holm-proof.

pub mod death;
pub mod disk;
