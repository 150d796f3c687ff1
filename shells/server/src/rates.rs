//! How much a server does at the moment: the mean of the last second and a half.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most samples, and the time between them: as Redis has them.
const SAMPLES: usize = 16;
const STEP: Duration = Duration::from_millis(100);

/// Counters that only grow: commands, bytes of input, bytes of output.
pub(crate) type Counts = [u64; 3];

/// Samples of counters, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Rates(Mutex<VecDeque<(Instant, Counts)>>);

impl Rates {
    /// Takes a sample, if the last one is old enough.
    pub(crate) fn sample(&self, now: Instant, counts: impl FnOnce() -> Counts) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.back().is_some_and(|(last, _)| now.saturating_duration_since(*last) < STEP) {
            return;
        }
        if samples.len() == SAMPLES {
            samples.pop_front();
        }
        samples.push_back((now, counts()));
    }

    /// Returns how much each counter grows in a second.
    pub(crate) fn per_second(&self) -> [f64; 3] {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some((first, before)), Some((last, after))) = (samples.front(), samples.back()) else { return [0.0; 3] };
        let seconds = last.saturating_duration_since(*first).as_secs_f64();
        std::array::from_fn(|index| match seconds > 0.0 {
            true => after[index].saturating_sub(before[index]) as f64 / seconds,
            false => 0.0,
        })
    }

    /// Forgets the samples: the counters begin anew.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_samples() {
        let (rates, begin) = (Rates::default(), Instant::now());
        assert_eq!(rates.per_second(), [0.0; 3]);
        for step in 0..40 {
            // Ten times as much from the 20th sample on.
            let count = if step < 20 { step } else { 20 + 10 * (step - 20) };
            rates.sample(begin + STEP * step as u32, || [count, 2 * count, 0]);
            rates.sample(begin + STEP * step as u32 + STEP / 2, || panic!("too early"));
        }
        assert_eq!(rates.per_second(), [100.0, 200.0, 0.0]);
        rates.clear();
        assert_eq!(rates.per_second(), [0.0; 3]);
    }
}
