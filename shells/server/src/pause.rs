//! CLIENT PAUSE: a time in which the commands of clients wait.
//!
//! A command that has to wait parks its connection: its worker reads the command again once the pause is over. Without
//! a pause, a command pays one relaxed load.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Which commands wait. The greater one includes the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paused {
    /// Those that change something, and messages.
    Writes = 1,
    All = 2,
}

/// The pause of a server.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// A [`Paused`]; 0 without a pause.
    paused: AtomicU8,
    /// When the pause ends: never without a time.
    until: Mutex<Option<Instant>>,
}

impl Pause {
    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a pause. One that is there already becomes no shorter and no weaker.
    pub(crate) fn begin(&self, paused: Paused, time: Duration) {
        let (mut until, end) = (self.lock(), Instant::now().checked_add(time));
        let is_on = self.is_on_until(*until);
        *until = if is_on { until.and_then(|old| end.map(|end| end.max(old))) } else { end };
        let before = if is_on { self.paused.load(Ordering::Relaxed) } else { 0 };
        self.paused.store(before.max(paused as u8), Ordering::SeqCst);
    }

    /// Ends the pause.
    pub(crate) fn end(&self) {
        let _until = self.lock();
        self.paused.store(0, Ordering::SeqCst);
    }

    fn is_on_until(&self, until: Option<Instant>) -> bool {
        self.paused.load(Ordering::SeqCst) != 0 && until.is_none_or(|until| until > Instant::now())
    }

    /// Returns whether some commands wait.
    pub(crate) fn is_on(&self) -> bool {
        self.paused.load(Ordering::Relaxed) != 0 && {
            let until = self.lock();
            let is_on = self.is_on_until(*until);
            if !is_on {
                // So that commands need not look at the time any more.
                self.paused.store(0, Ordering::SeqCst);
            }
            is_on
        }
    }

    /// Returns whether a command waits.
    pub(crate) fn holds(&self, does_write: impl FnOnce() -> bool) -> bool {
        let paused = self.paused.load(Ordering::Relaxed);
        paused != 0 && (paused == Paused::All as u8 || does_write()) && self.is_on()
    }

    /// Returns how long the pause lasts: no time without one, `None` for ever.
    pub(crate) fn left(&self) -> Option<Duration> {
        if !self.is_on() {
            return Some(Duration::ZERO);
        }
        self.lock().map(|until| until.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1_000);

    #[test]
    fn a_pause_becomes_no_shorter_and_no_weaker() {
        let pause = Pause::default();
        let holds = || (pause.holds(|| false), pause.holds(|| true));
        assert_eq!((holds(), pause.left()), ((false, false), Some(Duration::ZERO)));
        pause.begin(Paused::Writes, LONG);
        assert_eq!(holds(), (false, true));
        pause.begin(Paused::All, Duration::ZERO);
        assert_eq!(holds(), (true, true));
        pause.begin(Paused::Writes, Duration::ZERO);
        assert_eq!(holds(), (true, true));
        assert!(pause.left().unwrap() > LONG / 2);
        pause.begin(Paused::Writes, Duration::MAX);
        assert_eq!((holds(), pause.left()), ((true, true), None));
        pause.end();
        assert_eq!(holds(), (false, false));
    }

    #[test]
    fn one_that_is_over_does_not_strengthen_the_next_one() {
        let pause = Pause::default();
        pause.begin(Paused::All, Duration::ZERO);
        assert!(!pause.holds(|| true));
        pause.begin(Paused::All, Duration::ZERO);
        pause.begin(Paused::Writes, LONG);
        assert_eq!((pause.holds(|| false), pause.holds(|| true)), (false, true));
    }
}
