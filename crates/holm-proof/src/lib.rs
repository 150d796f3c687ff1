//! holm-proof.

pub mod disk;
pub mod history;
