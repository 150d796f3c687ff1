//! The time of the day, for the expiry of keys. It never goes back, whatever the system's clock does.

use crate::expiry::Millis;
use holm_medium::sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where the time comes from in place of the system's clock, in tests.
pub(crate) type TimeSource = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// A clock of milliseconds that only advances.
#[derive(Default)]
pub(crate) struct WallClock {
    source: Option<TimeSource>,
    /// The latest time that anybody was given. Written once for each tick of the system's coarse clock.
    latest: AtomicU64,
    /// Records that have expired by this time may have been removed.
    swept_by: AtomicU64,
}

impl WallClock {
    /// Sets where the time comes from.
    pub(crate) fn follow(&mut self, source: Option<TimeSource>) {
        self.source = source;
    }

    /// Returns the time. Some nanoseconds with the system's clock, whose coarse form advances every few milliseconds.
    pub(crate) fn now(&self) -> Millis {
        let now = match &self.source {
            None => holm_medium::wall_clock_millis(),
            Some(source) => millis_of(source()),
        };
        let latest = self.latest.load(Ordering::Relaxed);
        if now <= latest {
            return latest;
        }
        self.latest.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// Returns the latest time that anybody was given.
    pub(crate) fn latest(&self) -> Millis {
        self.latest.load(Ordering::Relaxed)
    }

    /// Makes sure that no later answer is before this time.
    pub(crate) fn advance_to(&self, time: Millis) {
        self.latest.fetch_max(time, Ordering::Relaxed);
    }

    /// Announces the removal of records that have expired by this time. The caller removes none before it returns.
    pub(crate) fn announce_sweep(&self, by: Millis) {
        self.swept_by.fetch_max(by, Ordering::Release);
    }

    /// Returns whether records may have been removed that somebody who reads as of a time should see. A reader asks
    /// *after* it has read: a reader that has seen a removal then sees its announcement, which came before.
    pub(crate) fn was_swept_after(&self, time: Millis) -> bool {
        self.swept_by.load(Ordering::Acquire) > time
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WallClock").field("latest", &self.latest).field("swept_by", &self.swept_by).finish()
    }
}

/// Converts a time; one before 1970 counts as 1970.
pub(crate) fn millis_of(time: SystemTime) -> Millis {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    since.as_millis().try_into().unwrap_or(Millis::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn time_never_goes_back() {
        let hands = Arc::new(Mutex::new(UNIX_EPOCH));
        let source = hands.clone();
        let mut clock = WallClock::default();
        clock.follow(Some(Arc::new(move || *source.lock().unwrap())));
        let at = |millis| {
            *hands.lock().unwrap() = UNIX_EPOCH + Duration::from_millis(millis);
            clock.now()
        };
        assert_eq!([at(5), at(7), at(6), at(0), at(8)], [5, 7, 7, 7, 8]);
        clock.advance_to(20);
        assert_eq!(clock.now(), 20);
    }

    #[test]
    fn the_systems_clock_is_past_the_year_2020() {
        assert!(WallClock::default().now() > 50 * 365 * 86_400_000);
    }
}
