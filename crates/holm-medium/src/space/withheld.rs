//! Free space that is withheld until what recovery found is durable.

#![forbid(unsafe_code)]

/// While free space is withheld: where the withheld part ends, and where the frontier would be otherwise.
#[derive(Clone, Copy)]
pub(super) struct Withheld {
    pub(super) upto: u64,
    pub(super) frontier: u64,
}
