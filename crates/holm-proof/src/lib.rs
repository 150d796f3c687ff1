//! holm-proof.

pub mod disk;
