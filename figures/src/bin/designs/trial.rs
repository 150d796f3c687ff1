//! One fresh tree of one design: it is filled, searched, changed, and half of it removed. Each step is timed as a
//! whole.

use anyhow::Result;
use holm_lab::measured::{self, Measurable, MeasuredTree, TreeSetup, word};
use holm_medium::{Counts, Latency};
use rand::Rng;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The interval between ends of epochs, if the design is durable per epoch.
const EPOCH: Duration = Duration::from_millis(5);

/// Keys that are looked up together.
const TOGETHER: usize = 1024;

/// What payloads differ in from their keys, and what they differ in after an update.
const PAYLOAD: u64 = !0;
const OTHER_PAYLOAD: u64 = !1;

/// The conditions of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Setting {
    /// Nanoseconds added to each flushed line.
    pub(crate) flush_ns: u32,
    pub(crate) threads: usize,
    /// Inserts keys in ascending order instead of scattered.
    pub(crate) ascending: bool,
}

/// The timed steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Measure {
    Insert,
    Search,
    Dependent,
    Many,
    Update,
    Remove,
}

impl Measure {
    pub(crate) const ALL: [Measure; 6] =
        [Measure::Insert, Measure::Search, Measure::Dependent, Measure::Many, Measure::Update, Measure::Remove];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Measure::Insert => "insert",
            Measure::Search => "search",
            Measure::Dependent => "search, dependent",
            Measure::Many => "search, 1024 together",
            Measure::Update => "update",
            Measure::Remove => "remove",
        }
    }
}

/// Nanoseconds per operation, in the order of [`Measure::ALL`].
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Sample([f64; Measure::ALL.len()]);

impl Sample {
    pub(crate) fn of(&self, measure: Measure) -> f64 {
        self.0[measure as usize]
    }
}

/// Returns both lists, without designs that store nothing.
pub(crate) fn entries() -> Vec<Measurable> {
    let mut all = measured::all();
    all.retain(|design| design.capabilities.stores_pairs);
    all
}

/// A tree, and the number of pairs that it will hold.
struct Trial {
    tree: Box<dyn MeasuredTree>,
    pairs: u64,
    key: fn(u64) -> u64,
}

impl Trial {
    fn new(design: &Measurable, pairs: u64, ascending: bool, (flush_ns, count): (u32, bool)) -> Result<Self> {
        let tree = design.create(TreeSetup {
            pairs,
            latency: Latency::per_line(flush_ns),
            epoch: EPOCH,
            flush: !count,
            count,
        })?;
        Ok(Trial { tree, pairs, key: if ascending { |number| number } else { word } })
    }

    fn keys(&self, numbers: impl Iterator<Item = u64>) -> Vec<u64> {
        numbers.map(self.key).collect()
    }

    /// Returns the nanoseconds per key, where each thread works on its own list.
    fn timed(&self, lists: &[Vec<u64>], work: impl Fn(&dyn MeasuredTree, &[u64]) -> Result<()> + Sync) -> Result<f64> {
        let (work, tree) = (&work, &*self.tree);
        let began = Instant::now();
        let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
            let others: Vec<_> = lists[1..].iter().map(|keys| scope.spawn(move || work(tree, keys))).collect();
            let own = work(tree, &lists[0]);
            others.into_iter().map(|other| other.join().expect("no panic")).chain([own]).collect()
        });
        let taken = began.elapsed();
        outcomes.into_iter().collect::<Result<()>>()?;
        Ok(taken.as_nanos() as f64 / lists.iter().map(Vec::len).sum::<usize>().max(1) as f64)
    }

    /// Times all steps. Keys are drawn before a step begins.
    fn sample(&self, threads: usize) -> Result<Sample> {
        let (pairs, step) = (self.pairs, threads);
        let own = |thread: u64| (thread..pairs).step_by(step);
        let drawn = |thread: u64| {
            let mut random = Pcg64Mcg::new(u128::from(thread) << 64 | 0xB5);
            own(thread).map(move |_| random.random_range(0..pairs))
        };
        let half = |thread: u64| own(thread).filter(|number| number % (2 * step as u64) < step as u64);
        let threads = 0..threads as u64;
        let all: Vec<_> = threads.clone().map(|thread| self.keys(own(thread))).collect();
        let random: Vec<_> = threads.clone().map(|thread| self.keys(drawn(thread))).collect();
        let halves: Vec<_> = threads.map(|thread| self.keys(half(thread))).collect();
        Ok(Sample([
            self.timed(&all, |tree, keys| Ok(tree.put(keys, PAYLOAD)?))?,
            self.timed(&random, |tree, keys| {
                black_box(tree.get(keys));
                Ok(())
            })?,
            self.timed(&random, |tree, keys| {
                tree.get_dependent(keys, PAYLOAD);
                Ok(())
            })?,
            self.timed(&random, |tree, keys| {
                tree.get_many(keys, TOGETHER);
                Ok(())
            })?,
            self.timed(&random, |tree, keys| Ok(tree.put(keys, OTHER_PAYLOAD)?))?,
            self.timed(&halves, |tree, keys| Ok(tree.remove(keys)?))?,
        ]))
    }
}

/// Returns a sample of a design's fresh tree.
pub(crate) fn measure(design: &Measurable, pairs: u64, setting: Setting) -> Result<Sample> {
    Trial::new(design, pairs, setting.ascending, (setting.flush_ns, false))?.sample(setting.threads)
}

/// Returns the flushed lines and fences of insert, update and remove. They are exact and do not depend on the machine.
pub(crate) fn count(design: &Measurable, pairs: u64, ascending: bool) -> Result<[[f64; 2]; 3]> {
    let trial = Trial::new(design, pairs, ascending, (0, true))?;
    let tree = &*trial.tree;
    let each = |before: Counts, operations: u64| {
        let spent = tree.counts() - before;
        [spent.flushes, spent.fences].map(|count| count as f64 / operations as f64)
    };
    let keys = trial.keys(0..pairs);
    let before = tree.counts();
    tree.put(&keys, PAYLOAD)?;
    let insert = each(before, pairs);
    let before = tree.counts();
    tree.put(&keys, OTHER_PAYLOAD)?;
    let update = each(before, pairs);
    let before = tree.counts();
    tree.remove(&trial.keys((0..pairs).step_by(2)))?;
    Ok([insert, update, each(before, pairs.div_ceil(2))])
}
