//! What a run found, as numbers only. The names of the fields are those of the JSON.

use crate::Workload;

/// The result of one run.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// What was run.
    pub workload: Workload,
    /// Operations that all threads completed; exact. Of `Batches`: records.
    pub operations: u64,
    /// From the first thread's start to the last one's end.
    pub seconds: f64,
    /// `operations / seconds`.
    pub per_second: f64,
    /// Median latency of all operations, in nanoseconds. Of `Batches`, here and below: of a whole batch.
    pub p50_ns: u64,
    /// 99 in 100 were at least this fast.
    pub p99_ns: u64,
    /// 999 in 1000 were at least this fast.
    pub p999_ns: u64,
    /// The slowest operation.
    pub max_ns: u64,
    /// The writes alone (inserts, updates, reads followed by an update, batches); none if the workload has none.
    pub writes: Option<Percentiles>,
    /// The reads and scans alone; none if the workload has none.
    pub reads: Option<Percentiles>,
    /// Every this-many-th operation was timed: always 1. The clock is read once between two operations, so a latency
    /// includes choosing the operation and formatting its key (some 50 ns with the clock; drawing the record does not
    /// count). Percentiles are rounded up, by less than 1 %.
    pub sampled_every: u32,
    /// Reads that found nothing, and scans that showed nothing. More than a few (records of D that another thread has
    /// named and not yet inserted) mean that the engine was not loaded with this plan.
    pub misses: u64,
}

/// The latencies of one kind of operation, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Percentiles {
    /// How many were timed.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99 in 100 were at least this fast.
    pub p99_ns: u64,
    /// 999 in 1000 were at least this fast.
    pub p999_ns: u64,
    /// The slowest.
    pub max_ns: u64,
}
