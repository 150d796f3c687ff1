//! The operations that figures run on a tree with keys of 8 bytes, whatever its design.
//!
//! The trees and the loops over keys are those of `holm-lab`, where every design is compiled once. This file gives each
//! thread its share of the keys, and makes figures of the times.

use crate::read_model::{ReadCosts, ReadModel};
use crate::reads::{lines_read, through};
use crate::rivals;
use crate::threads::together;
use crate::traces::part;
use anyhow::{Context, Result, ensure};
pub(crate) use holm_lab::measured::TreeSetup;
use holm_lab::measured::{self, Request, What};
use holm_medium::{Counts, Latency};
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The quantiles of a latency tail.
pub(crate) const TAIL: &[f64] = &[0.5, 0.9, 0.99, 0.999, 0.9999, 0.999_99];

/// The names of the quantiles.
pub(crate) const PERCENTILES: &[&str] = &["p50", "p90", "p99", "p99.9", "p99.99", "p99.999"];

/// The payload of a key is its complement.
const MASK: u64 = !0;

/// Returns the options of most figures: epochs of 10 ms, and no counting.
pub(crate) fn setup(pairs: u64, flush_ns: u32) -> TreeSetup {
    TreeSetup {
        pairs,
        latency: Latency::per_line(flush_ns),
        epoch: Duration::from_millis(10),
        flush: true,
        count: false,
    }
}

/// The price of write-backs that overlap: 300 ns a fence, and for each line before it what 2 GB a second take.
pub(crate) const BY_FENCE: Latency = Latency::Fence { fence_ns: 300, line_ns: 32 };

/// Returns the options of most figures, at a price for each fence in place of one for each line.
pub(crate) fn by_fence(pairs: u64) -> TreeSetup {
    TreeSetup { latency: BY_FENCE, ..setup(pairs, 0) }
}

/// Returns the options of a tree whose calls to the medium are counted.
pub(crate) fn counted(pairs: u64) -> TreeSetup {
    TreeSetup { count: true, ..unflushed(pairs) }
}

/// Returns the options of a tree without flushes: plain memory.
pub(crate) fn unflushed(pairs: u64) -> TreeSetup {
    TreeSetup { flush: false, ..setup(pairs, 0) }
}

/// A tree that runs traces. Times are nanoseconds per operation, of wall-clock time over all threads.
pub(crate) struct MeasuredTree(Box<dyn measured::MeasuredTree>);

/// Creates a tree of a design or a variant, or a rival.
pub(crate) fn create(design: &str, setup: TreeSetup) -> Result<MeasuredTree> {
    if let Some(rival) = rivals::create(design, setup) {
        return Ok(MeasuredTree(rival?));
    }
    let found = measured::all().into_iter().find(|measurable| measurable.name == design);
    Ok(MeasuredTree(found.with_context(|| format!("there is no design named {design}"))?.create(setup)?))
}

/// Loads a tree and rebuilds all its volatile state. Returns nanoseconds per pair.
pub(crate) fn recovery(design: &str, keys: &[u64], threads: usize) -> Result<f64> {
    let MeasuredTree(tree) = create(design, counted(keys.len() as u64))?;
    tree.put(keys, MASK)?;
    tree.end_epoch()?;
    let (pairs, began) = (tree.pairs(), Instant::now());
    let (mut found, mut taken) = (0, Duration::ZERO);
    tree.rebuild(threads, &mut |pairs| (found, taken) = (pairs, began.elapsed()))?;
    ensure!(found == pairs, "{found} pairs rebuilt of {pairs}");
    Ok(taken.as_nanos() as f64 / pairs.max(1) as f64)
}

/// Gives each thread its share of the items. Returns nanoseconds per item.
fn timed<T: Sync>(items: &[T], threads: usize, work: impl Fn(&[T]) -> Result<()> + Sync) -> Result<f64> {
    let taken = together(threads, |thread| work(part(items, thread, threads)))?;
    Ok(per_item(taken, items))
}

fn per_item<T>(taken: Duration, items: &[T]) -> f64 {
    taken.as_nanos() as f64 / items.len().max(1) as f64
}

impl MeasuredTree {
    /// Puts each key.
    pub(crate) fn put(&self, keys: &[u64], threads: usize) -> Result<f64> {
        timed(keys, threads, |keys| Ok(self.0.put(keys, MASK)?))
    }

    /// Looks up each key.
    pub(crate) fn get(&self, keys: &[u64], threads: usize) -> Result<f64> {
        timed(keys, threads, |keys| {
            black_box(self.0.get(keys));
            Ok(())
        })
    }

    /// Removes each key.
    pub(crate) fn remove(&self, keys: &[u64], threads: usize) -> Result<f64> {
        timed(keys, threads, |keys| Ok(self.0.remove(keys)?))
    }

    /// Scans `count` pairs from each key on. Returns nanoseconds per scan.
    pub(crate) fn scan(&self, keys: &[u64], count: usize, threads: usize) -> Result<f64> {
        timed(keys, threads, |keys| {
            black_box(self.0.scan(keys, count));
            Ok(())
        })
    }

    /// Puts and looks up in turns, and waits until all writes are durable.
    pub(crate) fn mix(&self, keys: &[u64], threads: usize) -> Result<f64> {
        let mixed = timed(keys, threads, |keys| Ok(self.0.mix(keys)?))?;
        Ok(mixed + self.settled(keys)?)
    }

    /// Runs the recorded requests, and waits until all writes are durable.
    pub(crate) fn replay(&self, requests: &[Request], threads: usize) -> Result<f64> {
        let done = timed(requests, threads, |requests| Ok(self.0.replay(requests)?))?;
        Ok(done + self.settled(requests)?)
    }

    /// Waits until all writes are durable. Without it, a run that is shorter than an epoch would pay for no flush.
    fn settled<T>(&self, items: &[T]) -> Result<f64> {
        let began = Instant::now();
        self.0.settle()?;
        Ok(per_item(began.elapsed(), items))
    }

    /// Puts each key, and after every `every` puts waits until they are durable.
    pub(crate) fn put_and_wait(&self, keys: &[u64], every: usize) -> Result<f64> {
        let began = Instant::now();
        for keys in keys.chunks(every) {
            self.0.put(keys, MASK)?;
            self.0.settle()?;
        }
        Ok(per_item(began.elapsed(), keys))
    }

    /// Times each put. Returns the percentage of the total time that was spent in puts that split a leaf.
    pub(crate) fn split_share(&self, keys: &[u64]) -> Result<f64> {
        let (mut all, mut splitting) = (Duration::ZERO, Duration::ZERO);
        let mut frontier = self.0.frontier();
        self.0.put_timed(keys, MASK, &mut |taken| {
            all += taken;
            if self.0.frontier() != frontier {
                splitting += taken;
            }
            frontier = self.0.frontier();
        })?;
        Ok(100.0 * splitting.as_secs_f64() / all.as_secs_f64())
    }

    /// Puts each key and times each put. Returns nanoseconds at the quantiles of [`TAIL`].
    pub(crate) fn tail(&self, keys: &[u64], threads: usize) -> Result<Vec<f64>> {
        let all = Mutex::new(Vec::with_capacity(keys.len()));
        together(threads, |thread| {
            let keys = part(keys, thread, threads);
            let mut times: Vec<u32> = Vec::with_capacity(keys.len());
            self.0.put_timed(keys, MASK, &mut |taken| times.push(taken.as_nanos().try_into().unwrap_or(u32::MAX)))?;
            all.lock().expect("no panic").append(&mut times);
            Ok(())
        })?;
        let mut all = all.into_inner().expect("no panic");
        all.sort_unstable();
        let at =
            |part: &f64| all.get((all.len() as f64 * part) as usize).or(all.last()).map_or(0.0, |ns| f64::from(*ns));
        Ok(TAIL.iter().map(at).collect())
    }

    /// Waits until everything is durable.
    pub(crate) fn settle(&self) -> Result<()> {
        Ok(self.0.settle()?)
    }

    /// Ends an epoch of a tree whose calls are counted.
    pub(crate) fn end_epoch(&self) -> Result<()> {
        Ok(self.0.end_epoch()?)
    }

    /// Returns the calls to the medium so far.
    pub(crate) fn counts(&self) -> Counts {
        self.0.counts()
    }

    /// Returns the bytes of leaves in use.
    pub(crate) fn leaf_bytes(&self) -> u64 {
        self.0.leaf_bytes()
    }

    /// Returns the bytes of memory that the tree uses in addition to its leaves.
    pub(crate) fn volatile_bytes(&self) -> u64 {
        self.0.volatile_bytes()
    }

    /// Returns the number of pairs.
    pub(crate) fn pairs(&self) -> u64 {
        self.0.pairs()
    }

    /// Returns the lines of leaves that a lookup of each key reads, on average, in a build that counts reads.
    pub(crate) fn lines_got(&self, keys: &[u64]) -> Result<f64> {
        lines_read(&*self.0, keys, |key| {
            black_box(self.0.get(&[key]));
            Ok(())
        })
    }

    /// Returns the lines of leaves that a put of each key reads, on average, in a build that counts reads.
    pub(crate) fn lines_put(&self, keys: &[u64]) -> Result<f64> {
        lines_read(&*self.0, keys, |key| Ok(self.0.put(&[key], MASK)?))
    }

    /// Returns the lines of leaves that a removal of each key reads, on average, in a build that counts reads.
    pub(crate) fn lines_removed(&self, keys: &[u64]) -> Result<f64> {
        lines_read(&*self.0, keys, |key| Ok(self.0.remove(&[key])?))
    }

    /// Runs an operation on each key through a cache of as many bytes and the medium's buffer. The first half of the
    /// keys fills the cache, and the second half is measured. Returns for each of its operations the lines that are
    /// fetched, the blocks that the medium reads for them, the blocks that it reads in all because their writes are
    /// partial, the blocks that it writes, the nanoseconds if every line waits alone, and those if the lines of a block
    /// wait together. Only in a build that counts reads, and for a tree whose calls are counted.
    pub(crate) fn media_costs(&self, what: What, keys: &[u64], cache_bytes: u64) -> Result<Vec<f64>> {
        let mut model = ReadModel::new(cache_bytes);
        let work = |key| Ok(self.0.replay(&[Request { key, what }])?);
        let (first, second) = keys.split_at(keys.len() / 2);
        through(&mut model, &*self.0, first, work)?;
        self.end_epoch()?;
        model.take_costs();
        let before = self.counts();
        through(&mut model, &*self.0, second, work)?;
        self.end_epoch()?;
        let (spent, costs) = (self.counts() - before, model.take_costs());
        let ReadCosts { lines, blocks, alone_ns, together_ns } = costs;
        let sums = [lines, blocks, blocks + spent.partial_blocks, spent.blocks, alone_ns, together_ns];
        Ok(sums.map(|sum| sum as f64 / second.len() as f64).into())
    }
}

/// The indices of what [`MeasuredTree::media_costs`] returns.
pub(crate) mod media {
    pub(crate) const LINES: usize = 0;
    pub(crate) const BLOCKS_READ: usize = 2;
    pub(crate) const ALONE_NS: usize = 4;
    pub(crate) const TOGETHER_NS: usize = 5;
}
