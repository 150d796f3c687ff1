//! Keys that are strings, values of a kilobyte: the store over plain memory. Each record is flushed before a leaf
//! refers to it.

use anyhow::{Result, anyhow};
use holm::Durability;
use holm_bench::{Engine, Plan, Store, Workload, run};
use holm_lab::store::over_mapped;
use holm_medium::{FIRST_EPOCH, Latency, Mapped, MappedOptions, Storage};
use std::sync::Arc;

/// Returns 99th percentiles, in nanoseconds: inserts of the load, then reads and updates of YCSB's A.
pub(crate) fn percentiles(design: &str, flush_ns: u32, threads: usize, records: u64, seconds: f64) -> Result<Vec<f64>> {
    let options = MappedOptions { latency: Latency::per_line(flush_ns), ..MappedOptions::default() };
    let writer = Arc::new(Storage::open(Mapped::anonymous(options)?, FIRST_EPOCH)?);
    // Designs that are durable on return wait for no epoch, and no epoch ends.
    let database = over_mapped(writer, design, Durability::OnSync)?;
    let store = Store::new("holm", database, "figures")?;
    let plan = Plan { records, value_bytes: 1_000, threads, seconds, ..Plan::default() };
    let ran = |workload| run(&store as &dyn Engine, &plan, workload).map_err(|error| anyhow!("{workload}: {error}"));
    let loaded = ran(Workload::Load)?;
    let mixed = ran(Workload::A)?;
    let all = [loaded.writes, mixed.reads, mixed.writes];
    Ok(all.iter().map(|some| some.map_or(f64::NAN, |some| some.p99_ns as f64)).collect())
}

/// Returns the equivalent number of puts and gets of a word: a record takes sixteen flushed lines.
pub(crate) fn operations(records: u64, seconds: f64) -> u64 {
    8 * records + (seconds * 1e6) as u64
}
