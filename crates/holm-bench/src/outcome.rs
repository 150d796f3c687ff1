//! The result of a run, as numbers only. The names of the fields are those of the JSON.

use crate::Workload;

/// The result of one run.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// The workload that ran.
    pub workload: Workload,
    /// Operations that all threads completed; exact. For `Batches`: records.
    pub operations: u64,
    /// Seconds from the first thread's start to the last one's end.
    pub seconds: f64,
    /// `operations / seconds`.
    pub per_second: f64,
    /// Median latency of all operations, in nanoseconds. For `Batches`, here and below: of a whole batch.
    pub p50_ns: u64,
    /// Latency that 99 in 100 operations did not exceed.
    pub p99_ns: u64,
    /// Latency that 999 in 1000 operations did not exceed.
    pub p999_ns: u64,
    /// Latency of the slowest operation.
    pub max_ns: u64,
    /// Latencies of the writes alone (inserts, updates, reads followed by an update, batches); none if the workload has
    /// none.
    pub writes: Option<Percentiles>,
    /// Latencies of the reads and scans alone; none if the workload has none.
    pub reads: Option<Percentiles>,
    /// Every n-th operation was timed; always 1. The clock is read once between two operations. So a latency includes
    /// the choice of the operation and the formatting of its key (some 30 ns with the clock). Drawing the record does
    /// not count. Percentiles are rounded up, by less than 1 %.
    pub sampled_every: u32,
    /// Reads that found nothing, and scans that returned nothing. A few are normal: records of D that another thread
    /// has named and not inserted yet. More mean that the engine was not loaded with this plan.
    pub misses: u64,
}

/// The latencies of one kind of operation, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Percentiles {
    /// Operations that were timed.
    pub count: u64,
    /// Median.
    pub p50_ns: u64,
    /// Latency that 99 in 100 operations did not exceed.
    pub p99_ns: u64,
    /// Latency that 999 in 1000 operations did not exceed.
    pub p999_ns: u64,
    /// Latency that 9999 in 10,000 operations did not exceed.
    pub p9999_ns: u64,
    /// The slowest.
    pub max_ns: u64,
}
