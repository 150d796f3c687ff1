//! Counters of a server.

use crate::rates::Counts;
use holm_commands::Lookups;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What one command has cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) calls: u64,
    pub(crate) nanos: u64,
    pub(crate) failed: u64,
    /// Refused before it ran, and no call.
    pub(crate) rejected: u64,
    pub(crate) longest_nanos: u64,
    /// Calls by their time: up to 1 us, 2 us, 4 us and so on; the last has all that took longer.
    pub(crate) buckets: [u64; BUCKETS],
}

/// The number of buckets of a histogram of times: from 1 us to 8 s, and one for more.
pub(crate) const BUCKETS: usize = 25;

/// Returns the greatest time of a bucket, in microseconds; `None` for the last.
pub(crate) fn bucket_micros(index: usize) -> Option<u64> {
    (index + 1 < BUCKETS).then(|| 1 << index)
}

impl Cost {
    /// Counts a call.
    pub(crate) fn note(&mut self, nanos: u64, is_failed: bool) {
        self.note_several(1, nanos, u64::from(is_failed));
    }

    /// Counts calls that took the same time each, of which some have failed.
    pub(crate) fn note_several(&mut self, calls: u64, nanos: u64, failed: u64) {
        self.calls += calls;
        self.nanos += nanos * calls;
        self.failed += failed;
        self.longest_nanos = self.longest_nanos.max(nanos);
        let micros = nanos.div_ceil(1_000).max(1);
        let index = (u64::BITS - (micros - 1).leading_zeros()) as usize;
        self.buckets[index.min(BUCKETS - 1)] += calls;
    }

    fn add(&mut self, other: &Cost) {
        self.calls += other.calls;
        self.nanos += other.nanos;
        self.failed += other.failed;
        self.rejected += other.rejected;
        self.longest_nanos = self.longest_nanos.max(other.longest_nanos);
        self.buckets.iter_mut().zip(other.buckets).for_each(|(sum, more)| *sum += more);
    }

    /// Returns a time within which a part of the calls was done, in microseconds: the limit of a bucket, or the longest
    /// time of all.
    pub(crate) fn quantile_micros(&self, part: f64) -> f64 {
        let (wanted, mut sum) = (self.calls as f64 * part, 0);
        let reached = self.buckets.iter().position(|count| {
            sum += count;
            sum > 0 && sum as f64 >= wanted
        });
        let longest = self.longest_nanos as f64 / 1e3;
        reached.and_then(bucket_micros).map_or(longest, |micros| longest.min(micros as f64))
    }
}

/// Costs by name of the command.
pub(crate) type CostsByName = BTreeMap<&'static str, Cost>;

/// What a worker counts in a wake-up.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    by_command: Vec<(&'static str, Cost)>,
    pub(crate) lookups: Lookups,
    /// The command that was counted last, which is often that of the next call.
    last: usize,
}

impl Costs {
    /// Returns the costs of a command.
    pub(crate) fn of(&mut self, name: &'static str) -> &mut Cost {
        if self.by_command.get(self.last).is_none_or(|(last, _)| !std::ptr::eq(*last, name)) {
            self.last = self.by_command.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
                self.by_command.push((name, Cost::default()));
                self.by_command.len() - 1
            });
        }
        &mut self.by_command[self.last].1
    }
}

/// Counters of a server. Workers count for themselves, and add what they have counted after each wake-up.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) connections: AtomicU64,
    pub(crate) rejected_connections: AtomicU64,
    pub(crate) commands: AtomicU64,
    pub(crate) input_bytes: AtomicU64,
    pub(crate) output_bytes: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) expired: AtomicU64,
    /// Keys that commands have looked up and found.
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) syncs: AtomicU64,
    /// Commands that other threads than workers have carried out.
    pub(crate) long_commands: AtomicU64,
    /// Commands that were carried out together with those of other connections.
    pub(crate) joined_commands: AtomicU64,
    /// Clients that were disconnected because too much waited for them.
    pub(crate) output_disconnections: AtomicU64,
    /// What users were refused, wrong passwords among them.
    pub(crate) denied: AtomicU64,
    costs: Mutex<CostsByName>,
    /// Errors by the codes that they begin with.
    error_codes: Mutex<BTreeMap<String, u64>>,
}

/// The most codes that are counted: a client may choose the text of an error, though not its code.
const MOST_CODES: usize = 128;

impl Statistics {
    /// Returns the counters whose growth INFO shows.
    pub(crate) fn growing(&self) -> Counts {
        [&self.commands, &self.input_bytes, &self.output_bytes].map(|counter| counter.load(Ordering::Relaxed))
    }

    /// Adds keys that were looked up.
    pub(crate) fn add_lookups(&self, lookups: Lookups) {
        // Mostly there are none of one kind, and all threads share the counters.
        for (counter, count) in [(&self.hits, lookups.hits), (&self.misses, lookups.misses)] {
            if count > 0 {
                counter.fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    /// Adds what a worker has counted.
    pub(crate) fn add_costs(&self, costs: &mut Costs) {
        self.add_lookups(std::mem::take(&mut costs.lookups));
        let mut all = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, cost) in costs.by_command.iter_mut().filter(|(_, cost)| cost.calls + cost.rejected > 0) {
            let sum = all.entry(name).or_default();
            sum.add(cost);
            self.commands.fetch_add(cost.calls, Ordering::Relaxed);
            self.errors.fetch_add(cost.failed + cost.rejected, Ordering::Relaxed);
            *cost = Cost::default();
        }
    }

    /// Counts that a command has failed that had waited: it was counted as a call when it began.
    pub(crate) fn note_late_failure(&self, name: &'static str, text: &str) {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default().failed += 1;
        self.errors.fetch_add(1, Ordering::Relaxed);
        self.note_error(text);
    }

    /// Counts an error by its code.
    pub(crate) fn note_error(&self, text: &str) {
        let code = text.split(' ').next().unwrap_or_default();
        let mut codes = self.error_codes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = codes.get_mut(code) {
            *count += 1;
        } else if codes.len() < MOST_CODES {
            codes.insert(code.to_owned(), 1);
        }
    }

    /// Returns how many errors there were of each code.
    pub(crate) fn error_codes(&self) -> BTreeMap<String, u64> {
        self.error_codes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn costs(&self) -> CostsByName {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins all counters anew.
    pub(crate) fn reset(&self) {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.error_codes.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let counters = [
            &self.connections,
            &self.rejected_connections,
            &self.commands,
            &self.input_bytes,
            &self.output_bytes,
            &self.errors,
            &self.expired,
            &self.hits,
            &self.misses,
            &self.syncs,
            &self.long_commands,
            &self.joined_commands,
            &self.output_disconnections,
            &self.denied,
        ];
        counters.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, Cost, bucket_micros};

    #[test]
    fn calls_lie_in_the_bucket_of_their_time() {
        for (nanos, limit) in
            [(0, 1), (1_000, 1), (1_001, 2), (2_000, 2), (2_001, 4), (4_000, 4), (8_388_608_000, 1 << 23)]
        {
            let mut cost = Cost::default();
            cost.note(nanos, false);
            let index = cost.buckets.iter().position(|count| *count > 0).unwrap();
            assert_eq!(bucket_micros(index), Some(limit), "{nanos}");
        }
        let mut cost = Cost::default();
        cost.note(u64::MAX, true);
        assert_eq!((cost.buckets[BUCKETS - 1], bucket_micros(BUCKETS - 1), cost.failed), (1, None, 1));
    }

    #[test]
    fn quantiles_are_limits_of_buckets_and_no_longer_than_the_longest() {
        let mut cost = Cost::default();
        assert_eq!(cost.quantile_micros(0.5), 0.0);
        (0..99).for_each(|_| cost.note(1_500, false));
        cost.note(3_000_000, false);
        assert_eq!([0.0, 0.5, 0.99].map(|part| cost.quantile_micros(part)), [2.0; 3]);
        assert_eq!([0.999, 1.0].map(|part| cost.quantile_micros(part)), [3_000.0; 2]);
    }
}
