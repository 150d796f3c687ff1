//! Operations that only some figures need, for few designs: each design is compiled once more for each operation.

use crate::measured_tree::{MeasuredTree, TreeSetup, timed};
use crate::reads::lines_read;
use crate::recorded::{Request, What};
use crate::threads::together;
use crate::traces::part;
use anyhow::{Result, bail};
use holm_bench::tree_bench::TreeBench as Planted;
use holm_designs::{designs, variants};
use holm_tree::{Design, LeafCursor};
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

/// The quantiles of a latency tail.
pub(crate) const TAIL: &[f64] = &[0.5, 0.9, 0.99, 0.999, 0.9999, 0.999_99];

/// The names of the quantiles.
pub(crate) const PERCENTILES: &[&str] = &["p50", "p90", "p99", "p99.9", "p99.99", "p99.999"];

/// A tree with the additional operations. Times are as those of a [`MeasuredTree`].
pub(crate) trait TracedTree: MeasuredTree {
    /// Removes each key.
    fn remove(&self, keys: &[u64], threads: usize) -> Result<f64>;
    /// Scans `count` pairs from each key on. Returns nanoseconds per scan.
    fn scan(&self, keys: &[u64], count: usize, threads: usize) -> Result<f64>;
    /// Puts each key and times each put. Returns nanoseconds at the quantiles of [`TAIL`].
    fn tail(&self, keys: &[u64], threads: usize) -> Result<Vec<f64>>;
    /// Puts each key, and after every `every` puts waits until they are durable.
    fn put_and_wait(&self, keys: &[u64], every: usize) -> Result<f64>;
    /// Runs the recorded requests, and waits until all writes are durable.
    fn replay(&self, requests: &[Request], threads: usize) -> Result<f64>;
    /// Returns the lines of leaves that a removal of each key reads, on average, in a build that counts reads.
    fn lines_removed(&self, keys: &[u64]) -> Result<f64>;
}

/// Creates a tree of one of these designs.
pub(crate) fn build_traced(design: &str, setup: TreeSetup) -> Result<Box<dyn TracedTree>> {
    macro_rules! tended {
        ($($list:ident: $($name:ident)*;)*) => {
            match design {
                $($(stringify!($name) => Ok(Box::new(Planted::<$list::$name>::new(setup)?)),)*)*
                _ => bail!("no figure runs these operations on a design named {design}"),
            }
        };
    }
    tended! {
        designs: buffered fast_fair isle lb_tree ss_tree holm;
        variants: buffered_unsorted;
    }
}

impl<D: Design> TracedTree for Planted<D> {
    fn remove(&self, keys: &[u64], threads: usize) -> Result<f64> {
        timed(keys, threads, |keys| Ok(self.remove(keys.iter().copied())?))
    }

    fn scan(&self, keys: &[u64], count: usize, threads: usize) -> Result<f64> {
        timed(keys, threads, |keys| {
            let mut cursor = LeafCursor::default();
            keys.iter().for_each(|key| {
                black_box(self.scan(*key, count, &mut cursor));
            });
            Ok(())
        })
    }

    fn tail(&self, keys: &[u64], threads: usize) -> Result<Vec<f64>> {
        let all = Mutex::new(Vec::with_capacity(keys.len()));
        together(threads, |thread| {
            let keys = part(keys, thread, threads);
            let mut times: Vec<u32> = Vec::with_capacity(keys.len());
            self.checked_in(keys.iter(), |guard, key| {
                let began = Instant::now();
                let done = self.put_one(guard, *key, !key);
                times.push(began.elapsed().as_nanos().try_into().unwrap_or(u32::MAX));
                done
            })?;
            all.lock().expect("no panic").append(&mut times);
            Ok(())
        })?;
        let mut all = all.into_inner().expect("no panic");
        all.sort_unstable();
        let at =
            |part: &f64| all.get((all.len() as f64 * part) as usize).or(all.last()).map_or(0.0, |ns| f64::from(*ns));
        Ok(TAIL.iter().map(at).collect())
    }

    fn put_and_wait(&self, keys: &[u64], every: usize) -> Result<f64> {
        let began = Instant::now();
        for keys in keys.chunks(every) {
            self.put(keys.iter().map(|key| (*key, !key)))?;
            self.settle()?;
        }
        Ok(began.elapsed().as_nanos() as f64 / keys.len().max(1) as f64)
    }

    fn replay(&self, requests: &[Request], threads: usize) -> Result<f64> {
        let done = timed(requests, threads, |requests| {
            let done = self.checked_in(requests.iter(), |guard, request| match request.what {
                What::Get => {
                    black_box(self.get(request.key));
                    Ok(())
                }
                What::Put => self.put_one(guard, request.key, !request.key),
                What::Remove => self.remove_one(guard, request.key),
            });
            Ok(done?)
        })?;
        // As in `MeasuredTree::mix`: the time includes making the writes durable.
        let began = Instant::now();
        self.settle()?;
        Ok(done + began.elapsed().as_nanos() as f64 / requests.len().max(1) as f64)
    }

    fn lines_removed(&self, keys: &[u64]) -> Result<f64> {
        lines_read(self, keys, |key| Ok(self.remove(std::iter::once(key))?))
    }
}
