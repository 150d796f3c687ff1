//! The numbers of epochs.

#![forbid(unsafe_code)]

/// A number that the clock shows. 36 bits of it fit the tag of a leaf: 10.9 years at 5 ms per epoch.
pub type Epoch = u64;

/// The first and the last of some epochs.
///
/// ```
/// use holm_medium::EpochSpan;
/// let one = EpochSpan { first: 7, last: 8 };
/// assert_eq!(one.join(EpochSpan { first: 5, last: 7 }), EpochSpan { first: 5, last: 8 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochSpan {
    /// The first.
    pub first: Epoch,
    /// The last, at or after the first.
    pub last: Epoch,
}

impl EpochSpan {
    /// Returns the first and the last of the epochs of both.
    pub fn join(self, other: EpochSpan) -> EpochSpan {
        EpochSpan { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

/// The greatest epoch: a greater one does not fit a tag.
pub const LAST_EPOCH: Epoch = (1 << 36) - 1;

/// The first epoch of a new storage: greater than 2, so that `epoch - 2` never wraps.
pub const FIRST_EPOCH: Epoch = 4;
