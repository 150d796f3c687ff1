//! The request for a snapshot that begins when the active epoch ends.
//!
//! The generation gets its number when it begins, and not with the request: snapshots that begin in between come before
//! it, and none of them waits for the end of the epoch.

#![forbid(unsafe_code)]

use super::label::Epoch;

/// Gets the generation before any operation can see it.
pub(super) type BeginSnapshot = Box<dyn FnOnce(u64) + Send>;

/// A request, and what has become of it.
#[derive(Default)]
pub(super) enum Boundary {
    #[default]
    Unwanted,
    Requested(BeginSnapshot),
    /// The generation, and the epoch with whose end it has begun.
    Begun(u64, Epoch),
}

impl Boundary {
    /// Takes the request, if it pends.
    pub(super) fn take_request(&mut self) -> Option<BeginSnapshot> {
        match std::mem::take(self) {
            Boundary::Requested(begin) => Some(begin),
            other => {
                *self = other;
                None
            }
        }
    }
}
