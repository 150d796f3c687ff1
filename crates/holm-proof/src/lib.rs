//! holm-proof.
