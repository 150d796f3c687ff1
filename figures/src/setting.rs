//! The conditions of all figures of a run.

use crate::recorded::Recorded;
use anyhow::{Result, ensure};
use std::sync::Arc;
use std::thread::available_parallelism;

/// The least number of keys and operations. With fewer, a tree is a leaf or two.
const LEAST: u64 = 1_000;

/// Bytes per pair of the largest of the trees, loaded and changed.
const PAIR_BYTES: u64 = 150;

#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) scale: f64,
    pub(crate) threads: usize,
    pub(crate) rounds: usize,
    /// Determines the order of the cells of each round. No exact count depends on it.
    pub(crate) seed: u64,
    /// A recorded trace, if there is one.
    pub(crate) trace: Option<Arc<Recorded>>,
    /// Bytes of memory that may be used.
    memory: u64,
}

impl Setting {
    pub(crate) fn new(scale: f64, threads: Option<usize>, rounds: usize) -> Result<Self> {
        let threads = threads.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
        ensure!(scale > 0.0 && scale <= 100.0, "a scale of {scale}: more than 0, and 1 for the paper's own numbers");
        ensure!((1..=1024).contains(&threads), "{threads} threads: 1 to 1024");
        ensure!(rounds >= 1, "rounds are 1 at least");
        Ok(Setting { scale, threads, rounds, seed: 0, trace: None, memory: available() / 2 })
    }

    pub(crate) fn with_seed(self, seed: u64) -> Self {
        Setting { seed, ..self }
    }

    /// Returns the paper's number of keys or operations, scaled.
    pub(crate) fn count(&self, full: u64) -> u64 {
        ((full as f64 * self.scale) as u64).max(LEAST)
    }

    /// Returns the millions of keys that the papers load, as far as they fit into memory when scaled. The greatest
    /// number is only used at the paper's own scale, because it takes longer than all else together.
    pub(crate) fn millions(&self) -> impl Iterator<Item = u64> + use<> {
        let (scale, memory) = (self.scale, self.memory);
        let bytes = move |millions: u64| (millions as f64 * scale * 1e6) as u64 * PAIR_BYTES;
        [1, 10, 100].into_iter().filter(move |millions| bytes(*millions) <= memory && (*millions < 100 || scale >= 1.0))
    }

    /// Returns the powers of two up to the maximum number of threads.
    pub(crate) fn threads(&self) -> impl Iterator<Item = usize> + use<> {
        let most = self.threads;
        (0..).map(|power| 1 << power).take_while(move |threads| *threads <= most)
    }

    /// Returns the seconds, scaled.
    pub(crate) fn seconds(&self, full: f64) -> f64 {
        (full * self.scale).max(0.01)
    }
}

/// Returns the bytes of memory that are available without paging; unlimited where the system does not report it.
fn available() -> u64 {
    let told = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib << 10)
}
