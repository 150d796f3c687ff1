//! The operations that figures run on a tree with keys of 8 bytes, whatever its design.
//!
//! Calls through the trait are dynamic, once per trace and not per key: loops over keys are compiled with the design.

use crate::reads::lines_read;
use crate::threads::together;
use crate::traces::part;
use anyhow::{Context, Result, bail, ensure};
use holm_bench::tree_bench::TreeBench;
pub(crate) use holm_bench::tree_bench::TreeSetup;
use holm_designs::{designs, variants};
use holm_medium::Counts;
use holm_tree::Design;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Returns the options of most figures: epochs of 10 ms, and no counting.
pub(crate) fn setup(pairs: u64, flush_ns: u32) -> TreeSetup {
    TreeSetup { pairs, flush_ns, epoch: Duration::from_millis(10), flush: true, count: false }
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
pub(crate) trait MeasuredTree: Sync {
    /// Puts each key.
    fn put(&self, keys: &[u64], threads: usize) -> Result<f64>;
    /// Looks up each key.
    fn get(&self, keys: &[u64], threads: usize) -> Result<f64>;
    /// Puts and looks up in turns, and waits until all writes are durable.
    fn mix(&self, keys: &[u64], threads: usize) -> Result<f64>;
    /// Times each put. Returns the percentage of the total time that was spent in puts that split a leaf.
    fn split_share(&self, keys: &[u64]) -> Result<f64>;
    /// Waits until everything is durable.
    fn settle(&self) -> Result<()>;
    /// Ends an epoch of a tree whose calls are counted.
    fn end_epoch(&self) -> Result<()>;
    /// Returns the calls to the medium so far.
    fn counts(&self) -> Counts;
    /// Returns the bytes of leaves in use.
    fn leaf_bytes(&self) -> u64;
    /// Returns the bytes of memory that the tree uses in addition to its leaves.
    fn volatile_bytes(&self) -> u64;
    /// Returns the number of pairs.
    fn pairs(&self) -> u64;
    /// Returns the lines of leaves that a lookup of each key reads, on average, in a build that counts reads.
    fn lines_got(&self, keys: &[u64]) -> Result<f64>;
    /// Returns the lines of leaves that a put of each key reads, on average, in a build that counts reads.
    fn lines_put(&self, keys: &[u64]) -> Result<f64>;
}

/// Creates a tree of one of the designs of the figures. Each of them is compiled once more for this function.
pub(crate) fn create(design: &str, setup: TreeSetup) -> Result<Box<dyn MeasuredTree>> {
    macro_rules! planted {
        ($($list:ident: $($name:ident)*;)*) => {
            match design {
                $($(stringify!($name) => Ok(Box::new(TreeBench::<$list::$name>::new(setup)?)),)*)*
                _ => bail!("no figure shows a design named {design}"),
            }
        };
    }
    planted! {
        designs: buffered holm bd_tree bd_tree_literal fast_fair fast_fair_sentinels circ isle borders wb_tree fp_tree
            nv_tree lb_tree ss_tree holm_strict;
        variants: fast_fair_1k fast_fair_2k fast_fair_4k fast_fair_halving fast_fair_halving_4k
            fast_fair_sentinels_2k fast_fair_sentinels_4k fast_fair_fingerprints fast_fair_fingerprints_4k
            circ_linear circ_linear_2k circ_linear_4k circ_sentinels circ_sentinels_2k circ_sentinels_4k
            circ_fingerprints circ_fingerprints_4k fast_fair_all isle_all ss_tree_staying ss_tree_three
            ss_tree_four holm_three holm_four buffered_prints_aside holm_prints_aside buffered_wide
            buffered_wide_halved buffered_wide_interpolated;
    }
}

/// Loads a tree and rebuilds all its volatile state. Returns nanoseconds per pair. Only few designs support this,
/// because recovery is most of the code of a design.
pub(crate) fn recovery(design: &str, keys: &[u64], threads: usize) -> Result<f64> {
    match design {
        "buffered" => recovered::<designs::buffered>(keys, threads),
        "fast_fair" => recovered::<designs::fast_fair>(keys, threads),
        "lb_tree" => recovered::<designs::lb_tree>(keys, threads),
        "ss_tree" => recovered::<designs::ss_tree>(keys, threads),
        "isle" => recovered::<designs::isle>(keys, threads),
        "bd_tree" => recovered::<designs::bd_tree>(keys, threads),
        "bd_tree_chained" => recovered::<variants::bd_tree_chained>(keys, threads),
        _ => bail!("no figure shows the recovery of {design}"),
    }
}

fn recovered<D: Design>(keys: &[u64], threads: usize) -> Result<f64> {
    let tree = TreeBench::<D>::new(counted(keys.len() as u64))?;
    tree.put(keys.iter().map(|key| (*key, !key)))?;
    tree.end_epoch()?;
    let (pairs, began) = (tree.pairs(), Instant::now());
    let found = tree.rebuilt(threads)?;
    let taken = began.elapsed();
    let root = found.roots.first().context("a tree that was there")?;
    ensure!(root.pairs() == pairs, "{} pairs rebuilt of {pairs}", root.pairs());
    Ok(taken.as_nanos() as f64 / pairs.max(1) as f64)
}

/// Gives each thread its share of the keys. Returns nanoseconds per key.
pub(crate) fn timed<T: Sync>(keys: &[T], threads: usize, work: impl Fn(&[T]) -> Result<()> + Sync) -> Result<f64> {
    let taken = together(threads, |thread| work(part(keys, thread, threads)))?;
    Ok(taken.as_nanos() as f64 / keys.len().max(1) as f64)
}

impl<D: Design> MeasuredTree for TreeBench<D> {
    fn put(&self, keys: &[u64], threads: usize) -> Result<f64> {
        timed(keys, threads, |keys| Ok(self.put(keys.iter().map(|key| (*key, !key)))?))
    }

    fn get(&self, keys: &[u64], threads: usize) -> Result<f64> {
        timed(keys, threads, |keys| {
            let payload = |key: &u64| self.get(*key).unwrap_or_default();
            black_box(keys.iter().fold(0, |sum: u64, key| sum.wrapping_add(payload(key))));
            Ok(())
        })
    }

    fn mix(&self, keys: &[u64], threads: usize) -> Result<f64> {
        let mixed = timed(keys, threads, |keys| {
            // A lookup alone needs no epoch guard.
            let done = self.checked_in(keys.chunks(2).enumerate(), |guard, (index, keys)| {
                self.put_one(guard, keys[0], index as u64)?;
                black_box(keys.get(1).map_or(0, |key| self.get(*key).unwrap_or_default()));
                Ok(())
            });
            Ok(done?)
        })?;
        // Otherwise a run that is shorter than an epoch would pay for no flush at all.
        let began = Instant::now();
        self.settle()?;
        Ok(mixed + began.elapsed().as_nanos() as f64 / keys.len().max(1) as f64)
    }

    fn split_share(&self, keys: &[u64]) -> Result<f64> {
        let (mut all, mut splitting) = (Duration::ZERO, Duration::ZERO);
        let mut frontier = self.frontier();
        self.checked_in(keys.iter(), |guard, key| {
            let began = Instant::now();
            self.put_one(guard, *key, !key)?;
            let taken = began.elapsed();
            all += taken;
            if self.frontier() != frontier {
                splitting += taken;
            }
            frontier = self.frontier();
            Ok(())
        })?;
        Ok(100.0 * splitting.as_secs_f64() / all.as_secs_f64())
    }

    fn settle(&self) -> Result<()> {
        Ok(self.settle()?)
    }

    fn end_epoch(&self) -> Result<()> {
        Ok(self.end_epoch()?)
    }

    fn counts(&self) -> Counts {
        self.counts()
    }

    fn leaf_bytes(&self) -> u64 {
        self.leaf_bytes()
    }

    fn volatile_bytes(&self) -> u64 {
        self.volatile_bytes()
    }

    fn pairs(&self) -> u64 {
        self.pairs()
    }

    fn lines_got(&self, keys: &[u64]) -> Result<f64> {
        lines_read(self, keys, |key| {
            black_box(self.get(key));
            Ok(())
        })
    }

    fn lines_put(&self, keys: &[u64]) -> Result<f64> {
        lines_read(self, keys, |key| Ok(self.put(std::iter::once((key, !key)))?))
    }
}
