//! Why nothing is acknowledged any more: a failure, or an end without one. Each is set once and stays.

#![forbid(unsafe_code)]

use crate::error::{MediumError, Result};
use std::sync::OnceLock;

/// The end of a storage's writes, if it has come.
#[derive(Default)]
pub(super) struct Failure {
    /// The first failure.
    poison: OnceLock<MediumError>,
    /// Why no operation may pin any more, although nothing has failed.
    closed: OnceLock<MediumError>,
}

impl Failure {
    /// Records a failed write or sync. The first one counts.
    pub(super) fn poison(&self, why: &MediumError) {
        let _ = self.poison.set(MediumError::Poisoned { why: why.to_string() });
    }

    /// Sets the error for operations that come too late. The first one counts.
    pub(super) fn close(&self, why: MediumError) {
        let _ = self.closed.set(why);
    }

    /// The failure, if any.
    pub(super) fn poisoned(&self) -> Option<&MediumError> {
        self.poison.get()
    }

    /// Returns the failure, or the end, as an error.
    pub(super) fn refuse_if_ended(&self) -> Result<()> {
        self.poison.get().or_else(|| self.closed.get()).map_or(Ok(()), |error| Err(error.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_counts_before_an_end_and_the_first_of_each_counts() {
        let failure = Failure::default();
        assert!(failure.refuse_if_ended().is_ok());
        failure.close(MediumError::OutOfEpochs { last: 9 });
        failure.close(MediumError::Poisoned { why: "it was closed".into() });
        assert!(matches!(failure.refuse_if_ended(), Err(MediumError::OutOfEpochs { last: 9 })));
        assert!(failure.poisoned().is_none());
        failure.poison(&MediumError::OutOfEpochs { last: 1 });
        failure.poison(&MediumError::OutOfEpochs { last: 2 });
        let first = MediumError::OutOfEpochs { last: 1 }.to_string();
        assert!(matches!(failure.refuse_if_ended(), Err(MediumError::Poisoned { why }) if why == first));
    }
}
