//! How often epochs end without a request, for every thread that ends epochs.

#![forbid(unsafe_code)]

use std::time::Duration;

/// How often epochs end without a request. A thread that waits for an epoch never waits for the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time between ends; `None`: only on request.
    interval: Option<Duration>,
}

impl Pace {
    /// An epoch ends at each interval.
    pub const fn every(interval: Duration) -> Self {
        Pace { interval: Some(interval) }
    }

    /// An epoch ends only when a thread waits for it.
    pub const WHEN_ASKED: Pace = Pace { interval: None };

    pub(crate) fn interval(self) -> Option<Duration> {
        self.interval
    }
}
