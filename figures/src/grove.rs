//! A tree of some design over plain memory, keys and values of a word: what most figures measure.
//!
//! One door is dynamic, and it is crossed once per trace, not per key: loops over keys are compiled with the design.

use crate::threads::together;
use crate::traces::part;
use anyhow::{Context, Result};
use holm_medium::{Area, Counts, FIRST_EPOCH, Flush, Ground, Mapped, MappedOptions, Medium, Pool, Quill, Stay};
use holm_search::Search;
use holm_tree::leaf::{Cut, Leaf};
use holm_tree::{Design, Forest, Index, Root, Words, designs, variants};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Operations of one stay, where the design is durable without epochs.
const STAY: usize = 256;

/// Bytes of leaves, for a pair, that are there before the first one: as many as leaves that are half full take.
const BORN: u64 = 96;

/// What a grove is planted in.
#[derive(Clone, Copy)]
pub(crate) struct Soil {
    /// Pairs that there will be.
    pub(crate) pairs: u64,
    /// Nanoseconds added to each flushed line.
    pub(crate) flush_ns: u32,
    /// How often epochs end, of designs that are durable by epochs.
    pub(crate) epoch: Duration,
    /// Counts, and flushes nothing.
    pub(crate) count: bool,
}

impl Soil {
    pub(crate) fn new(pairs: u64, flush_ns: u32) -> Self {
        Soil { pairs, flush_ns, epoch: Duration::from_millis(10), count: false }
    }
}

/// A tree that traces are run on. Times are for an operation, in nanoseconds of the wall's clock over all threads.
pub(crate) trait Grove: Sync {
    /// Puts each key.
    fn put(&self, keys: &[u64], threads: usize) -> Result<f64>;
    /// Searches each key.
    fn get(&self, keys: &[u64], threads: usize) -> Result<f64>;
    /// Puts and searches by turns.
    fn mix(&self, keys: &[u64], threads: usize) -> Result<f64>;
    /// Times each put: the part of all that was spent in those that split, in percent.
    fn split_share(&self, keys: &[u64]) -> Result<f64>;
    /// Ends an epoch, and how long that took, in nanoseconds.
    fn end_epoch(&self) -> Result<f64>;
    /// What the medium was asked for so far.
    fn counts(&self) -> Counts;
    /// Bytes of leaves in use for a pair.
    fn pair_bytes(&self) -> f64;
}

/// Plants one of the designs that figures show; each is compiled once more for it.
pub(crate) fn plant(design: &str, soil: Soil) -> Result<Box<dyn Grove>> {
    macro_rules! planted {
        ($($list:ident: $($name:ident)*;)*) => {
            match design {
                $($(stringify!($name) => Ok(Box::new(Own::<$list::$name>::new(soil)?)),)*)*
                _ => anyhow::bail!("no figure shows a design named {design}"),
            }
        };
    }
    planted! {
        designs: buffered fast_fair fast_fair_sentinels circ isle wb_tree fp_tree nv_tree;
        variants: fast_fair_1k fast_fair_2k fast_fair_4k fast_fair_halving fast_fair_halving_4k fast_fair_sentinels_4k
            fast_fair_fingerprints fast_fair_fingerprints_4k circ_linear circ_linear_4k circ_sentinels
            circ_sentinels_4k circ_fingerprints circ_fingerprints_4k fast_fair_all isle_all;
    }
}

/// Loads a tree and has everything volatile of it made anew; nanoseconds for a pair. Of few designs: what recovers is
/// most of what is compiled of one.
pub(crate) fn recovery(design: &str, keys: &[u64], threads: usize) -> Result<f64> {
    match design {
        "buffered" => recovered::<designs::buffered>(keys, threads),
        "fast_fair" => recovered::<designs::fast_fair>(keys, threads),
        "fp_tree" => recovered::<designs::fp_tree>(keys, threads),
        "isle" => recovered::<designs::isle>(keys, threads),
        _ => anyhow::bail!("no figure shows the recovery of {design}"),
    }
}

fn recovered<D: Design>(keys: &[u64], threads: usize) -> Result<f64> {
    let grove = Own::<D>::new(Soil { count: true, ..Soil::new(keys.len() as u64, 0) })?;
    grove.put(keys, 1)?;
    grove.end_epoch()?;
    let quill = &grove.quill;
    let forest = Forest::<Mapped, D, Words>::new(quill.clone(), Words, Search::detect());
    let (pairs, began) = (grove.root.pairs(), Instant::now());
    let found = forest.rebuild(Cut::Visible, quill.clock().active(), threads)?;
    let taken = began.elapsed();
    let root = found.roots.first().context("a tree that was there")?;
    anyhow::ensure!(root.pairs() == pairs, "{} pairs rebuilt of {pairs}", root.pairs());
    Ok(taken.as_nanos() as f64 / pairs.max(1) as f64)
}

struct Own<D: Design> {
    forest: Forest<Mapped, D, Words>,
    root: Root,
    quill: Arc<Quill<Mapped>>,
    ticker: Option<JoinHandle<()>>,
    over: Arc<AtomicBool>,
}

impl<D: Design> Own<D> {
    fn new(soil: Soil) -> Result<Self> {
        let flush = if soil.count { Flush::Nothing } else { Flush::detect() };
        let options = MappedOptions { flush, flush_ns: soil.flush_ns, count: soil.count, ..MappedOptions::default() };
        let quill = Arc::new(Pool::open(Mapped::anonymous(options)?, FIRST_EPOCH)?);
        // Persistent memory is there before a tree is; that the kernel must first find plain memory is no tree's cost.
        let (medium, bytes) = (&quill.pool().medium, soil.pairs * BORN);
        medium.grow(Area::Leaves, bytes)?;
        medium.image().area(Area::Leaves).populate(0, bytes as usize);
        let forest = Forest::new(quill.clone(), Words, Search::detect());
        let root = forest.plant(&mut quill.clock().check_in()?, 1)?;
        let over = Arc::new(AtomicBool::new(false));
        let tick = |quill: Arc<Quill<Mapped>>, over: Arc<AtomicBool>| {
            move || {
                while !over.load(Relaxed) {
                    std::thread::park_timeout(soil.epoch);
                    if let Err(error) = quill.advance() {
                        return quill.clock().poison(&error);
                    }
                }
            }
        };
        let defers = <D::Leaf as Leaf>::CARD.defers;
        // What is counted must not depend on when an epoch happens to end: whoever counts ends them.
        let ticker = (defers && !soil.count).then(|| std::thread::spawn(tick(quill.clone(), over.clone())));
        Ok(Own { forest, root, quill, ticker, over })
    }

    /// Durable by epochs: each operation checks in to its own. Durable when it returns: the epoch only says when what
    /// it gave up is free again, and one stay will do for many.
    fn checked_in(
        &self,
        keys: &[u64],
        mut work: impl FnMut(&mut Stay<'_>, usize, u64) -> holm_medium::Result<()>,
    ) -> Result<()> {
        let most = if <D::Leaf as Leaf>::CARD.defers { 1 } else { STAY };
        for (first, keys) in keys.chunks(most).enumerate() {
            let mut stay = self.quill.clock().check_in()?;
            for (index, key) in keys.iter().enumerate() {
                work(&mut stay, first * most + index, *key)?;
            }
        }
        Ok(())
    }

    /// Compiled once: it is most of what there is of a design.
    #[inline(never)]
    fn put_one(&self, stay: &mut Stay<'_>, key: u64, payload: u64) -> holm_medium::Result<()> {
        self.forest.put(&self.root, stay, key, payload, None).map(drop)
    }

    fn timed(&self, keys: &[u64], threads: usize, work: impl Fn(&[u64]) -> Result<()> + Sync) -> Result<f64> {
        let taken = together(threads, |thread| work(part(keys, thread, threads)))?;
        Ok(taken.as_nanos() as f64 / keys.len().max(1) as f64)
    }
}

impl<D: Design> Grove for Own<D> {
    fn put(&self, keys: &[u64], threads: usize) -> Result<f64> {
        self.timed(keys, threads, |keys| self.checked_in(keys, |stay, _, key| self.put_one(stay, key, !key)))
    }

    fn get(&self, keys: &[u64], threads: usize) -> Result<f64> {
        self.timed(keys, threads, |keys| {
            let payload = |key: u64| self.forest.get(&self.root, key).payload.unwrap_or_default();
            black_box(keys.iter().fold(0, |sum: u64, key| sum.wrapping_add(payload(*key))));
            Ok(())
        })
    }

    fn mix(&self, keys: &[u64], threads: usize) -> Result<f64> {
        self.timed(keys, threads, |keys| {
            self.checked_in(keys, |stay, index, key| {
                if index % 2 == 0 {
                    return self.put_one(stay, key, index as u64);
                }
                black_box(self.forest.get(&self.root, key).payload);
                Ok(())
            })
        })
    }

    fn split_share(&self, keys: &[u64]) -> Result<f64> {
        let (mut all, mut splitting) = (Duration::ZERO, Duration::ZERO);
        let mut blocks = self.quill.space().block_frontier();
        self.checked_in(keys, |stay, _, key| {
            let began = Instant::now();
            self.put_one(stay, key, !key)?;
            let taken = began.elapsed();
            all += taken;
            let now = self.quill.space().block_frontier();
            if now != blocks {
                splitting += taken;
            }
            blocks = now;
            Ok(())
        })?;
        Ok(100.0 * splitting.as_secs_f64() / all.as_secs_f64())
    }

    fn end_epoch(&self) -> Result<f64> {
        let began = Instant::now();
        self.quill.advance()?;
        Ok(began.elapsed().as_nanos() as f64)
    }

    fn counts(&self) -> Counts {
        self.quill.pool().medium.counts()
    }

    fn pair_bytes(&self) -> f64 {
        let space = self.quill.space();
        let blocks = u64::from(space.block_frontier()) - space.free_blocks();
        (blocks * space.block_bytes()) as f64 / self.root.pairs().max(1) as f64
    }
}

impl<D: Design> Drop for Own<D> {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        if let Some(ticker) = self.ticker.take() {
            ticker.thread().unpark();
            let _ = ticker.join();
        }
    }
}
