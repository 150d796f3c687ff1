//! Moments at which something took long: the latest of each kind, one in a second.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most moments of a kind that are kept.
const MOST: usize = 160;

/// A second since 1970, and the longest time in it in milliseconds.
pub(crate) type Moment = (u64, u64);

/// What is known of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencyEvent {
    /// The oldest first.
    pub(crate) moments: VecDeque<Moment>,
    pub(crate) longest: u64,
}

type ByName = BTreeMap<&'static str, LatencyEvent>;

/// The percentiles of INFO, unless CONFIG SET has others.
const PERCENTILES: &[f64] = &[50.0, 99.0, 99.9];

/// All kinds by name. Without a threshold nothing is noted.
#[derive(Debug)]
pub(crate) struct Latency {
    threshold_millis: AtomicU64,
    events: Mutex<ByName>,
    /// Which percentiles INFO shows.
    percentiles: Mutex<Vec<f64>>,
    /// INFO shows percentiles.
    pub(crate) is_shown: AtomicBool,
}

impl Default for Latency {
    fn default() -> Self {
        Latency {
            threshold_millis: AtomicU64::new(0),
            events: Mutex::default(),
            percentiles: Mutex::new(PERCENTILES.to_vec()),
            is_shown: AtomicBool::new(true),
        }
    }
}

impl Latency {
    fn lock(&self) -> MutexGuard<'_, ByName> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn percentiles(&self) -> Vec<f64> {
        self.percentiles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_percentiles(&self, percentiles: Vec<f64>) {
        *self.percentiles.lock().unwrap_or_else(PoisonError::into_inner) = percentiles;
    }

    pub(crate) fn threshold(&self) -> u64 {
        self.threshold_millis.load(Ordering::Relaxed)
    }

    pub(crate) fn set_threshold(&self, millis: u64) {
        self.threshold_millis.store(millis, Ordering::Relaxed);
    }

    /// Notes how long something took, if that is long. The name is asked for only then.
    pub(crate) fn note(&self, took: Duration, second: impl FnOnce() -> u64, name: impl FnOnce() -> &'static str) {
        let threshold = self.threshold();
        // Each command comes here: nothing is computed unless somebody asked for it.
        if threshold == 0 || took < Duration::from_millis(threshold) {
            return;
        }
        let millis = took.as_millis() as u64;
        let second = second();
        let mut events = self.lock();
        let event = events.entry(name()).or_default();
        event.longest = event.longest.max(millis);
        match event.moments.back_mut() {
            Some((last, longest)) if *last == second => *longest = millis.max(*longest),
            _ => event.moments.push_back((second, millis)),
        }
        if event.moments.len() > MOST {
            event.moments.pop_front();
        }
    }

    pub(crate) fn all(&self) -> Vec<(&'static str, LatencyEvent)> {
        self.lock().iter().map(|(name, event)| (*name, event.clone())).collect()
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<LatencyEvent> {
        let events = self.lock();
        events.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name)).map(|(_, event)| event.clone())
    }

    /// Forgets the kinds that are meant. Returns their number.
    pub(crate) fn forget(&self, is_meant: impl Fn(&str) -> bool) -> usize {
        let mut events = self.lock();
        let before = events.len();
        events.retain(|name, _| !is_meant(name));
        before - events.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Latency, MOST};
    use std::time::Duration;

    #[test]
    fn moments_below_the_threshold_are_not_kept_and_those_of_a_second_are_one() {
        let latency = Latency::default();
        let note = |millis, second| latency.note(Duration::from_millis(millis), || second, || "command");
        note(900, 1);
        assert!(latency.all().is_empty(), "without a threshold nothing is kept");
        latency.set_threshold(100);
        [(99, 1), (100, 2), (300, 2), (200, 2), (150, 3)].into_iter().for_each(|(millis, second)| note(millis, second));
        let event = latency.find(b"COMMAND").unwrap();
        assert_eq!((event.moments.into_iter().collect::<Vec<_>>(), event.longest), (vec![(2, 300), (3, 150)], 300));
        (0..2 * MOST as u64).for_each(|second| note(100, 10 + second));
        let event = latency.find(b"command").unwrap();
        assert_eq!(
            (event.moments.len(), event.moments.back().unwrap().0, event.longest),
            (MOST, 9 + 2 * MOST as u64, 300)
        );
        assert_eq!((latency.forget(|name| name == "other"), latency.forget(|_| true), latency.all().len()), (0, 1, 0));
    }
}
