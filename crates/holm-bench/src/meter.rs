//! Counts and latencies of one thread. Nothing is shared; the meters are merged when the threads have ended. The
//! histograms keep two digits (1 KiB for each doubling of latency). More digits would push the engine's data out of the
//! first-level cache.

use crate::{Outcome, Percentiles, Workload};
use hdrhistogram::Histogram;
use std::time::Instant;

/// The largest recorded latency. Slower operations are recorded as this.
const SLOWEST_NS: u64 = 86_400_000_000_000;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

pub(crate) struct Meter {
    reads: Histogram<u64>,
    writes: Histogram<u64>,
    operations: u64,
    misses: u64,
    span: Option<(Instant, Instant)>,
}

impl Meter {
    pub(crate) fn new() -> Self {
        let empty = || Histogram::new_with_bounds(1, SLOWEST_NS, 2).expect("the bounds are constants in range");
        Self { reads: empty(), writes: empty(), operations: 0, misses: 0, span: None }
    }

    /// Records a step that took some nanoseconds and completed `operations`.
    pub(crate) fn note(&mut self, kind: Kind, nanoseconds: u64, operations: u64) {
        match kind {
            Kind::Read => self.reads.saturating_record(nanoseconds),
            Kind::Write => self.writes.saturating_record(nanoseconds),
        }
        self.operations += operations;
    }

    pub(crate) fn note_misses(&mut self, misses: u64) {
        self.misses += misses;
    }

    /// Records when this thread's first step began and its last one ended.
    pub(crate) fn note_span(&mut self, began: Instant, ended: Instant) {
        self.span = Some((began, ended));
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.reads.add(&other.reads).expect("all meters have the same bounds");
        self.writes.add(&other.writes).expect("all meters have the same bounds");
        self.operations += other.operations;
        self.misses += other.misses;
        self.span = match (self.span, other.span) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }

    pub(crate) fn outcome(self, workload: Workload) -> Outcome {
        let seconds = self.span.map_or(0.0, |(began, ended)| (ended - began).as_secs_f64());
        let mut all = self.reads.clone();
        all.add(&self.writes).expect("all meters have the same bounds");
        Outcome {
            workload,
            operations: self.operations,
            seconds,
            per_second: if seconds > 0.0 { self.operations as f64 / seconds } else { 0.0 },
            p50_ns: all.value_at_quantile(0.5),
            p99_ns: all.value_at_quantile(0.99),
            p999_ns: all.value_at_quantile(0.999),
            max_ns: all.max(),
            writes: percentiles(&self.writes),
            reads: percentiles(&self.reads),
            sampled_every: 1,
            misses: self.misses,
        }
    }
}

fn percentiles(histogram: &Histogram<u64>) -> Option<Percentiles> {
    (!histogram.is_empty()).then(|| Percentiles {
        count: histogram.len(),
        p50_ns: histogram.value_at_quantile(0.5),
        p99_ns: histogram.value_at_quantile(0.99),
        p999_ns: histogram.value_at_quantile(0.999),
        p9999_ns: histogram.value_at_quantile(0.9999),
        max_ns: histogram.max(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn merged_meters_keep_counts_kinds_and_the_widest_span() {
        let began = Instant::now();
        let (mut one, mut two) = (Meter::new(), Meter::new());
        for microseconds in 1..=1000 {
            one.note(Kind::Read, microseconds * 1000, 1);
        }
        one.note_span(began + Duration::from_secs(1), began + Duration::from_secs(2));
        two.note(Kind::Write, 9_000_000_000, 1000);
        two.note_misses(3);
        two.note_span(began, began + Duration::from_secs(1));
        one.merge(&two);
        let outcome = one.outcome(Workload::A);
        assert_eq!((outcome.operations, outcome.misses, outcome.seconds), (2000, 3, 2.0));
        assert_eq!(outcome.per_second, 1000.0);
        let reads = outcome.reads.expect("reads were noted");
        assert_eq!(reads.count, 1000);
        assert!((500_000..505_000).contains(&reads.p50_ns), "{reads:?}");
        assert!((999_000..1_010_000).contains(&reads.p999_ns), "{reads:?}");
        assert_eq!(outcome.writes.map(|writes| writes.count), Some(1));
        assert!((9_000_000_000..9_100_000_000).contains(&outcome.max_ns), "{outcome:?}");
        assert_eq!(Meter::new().outcome(Workload::C).writes, None);
    }
}
