//! The numbers of epochs.

#![forbid(unsafe_code)]

/// A number that the clock shows. 36 bits of it fit the tag of a leaf: 10.9 years at 5 ms per epoch.
pub type Epoch = u64;

/// The greatest epoch: a greater one does not fit a tag.
pub const LAST_EPOCH: Epoch = (1 << 36) - 1;

/// The first epoch of a new storage: greater than 2, so that `epoch - 2` never wraps.
pub const FIRST_EPOCH: Epoch = 4;
