//! One fresh tree of one design: it is filled, searched, changed, and half of it removed. Each step is timed as a
//! whole.

use anyhow::Result;
use holm_bench::tree_bench::{TreeBench, TreeSetup, word};
use holm_designs::{designs, for_each_design, for_each_variant, variants};
use holm_medium::Counts;
use holm_tree::Design;
use rand::Rng;
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The interval between ends of epochs, if the design is durable per epoch.
const EPOCH: Duration = Duration::from_millis(5);

/// Keys that are looked up together.
const TOGETHER: usize = 1024;

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

/// A design that can be measured.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) is_variant: bool,
    pub(crate) measure: fn(u64, Setting) -> Result<Sample>,
    /// Flushed lines and fences of insert, update and remove.
    pub(crate) count: fn(u64, bool) -> Result<[[f64; 2]; 3]>,
}

/// Returns both lists, without designs that store nothing.
pub(crate) fn entries() -> Vec<Entry> {
    let mut all = Vec::new();
    macro_rules! listed {
        ($($name:ident)*) => { $(add::<designs::$name>(&mut all, false);)* };
    }
    macro_rules! varied {
        ($($name:ident)*) => { $(add::<variants::$name>(&mut all, true);)* };
    }
    for_each_design!(listed);
    for_each_variant!(varied);
    all
}

fn add<D: Design>(all: &mut Vec<Entry>, is_variant: bool) {
    if D::CAPABILITIES.stores_pairs {
        all.push(Entry { name: D::NAME, is_variant, measure: measure::<D>, count: count::<D> });
    }
}

/// A tree, and the number of pairs that it will hold.
struct Trial<D: Design> {
    tree: TreeBench<D>,
    pairs: u64,
    key: fn(u64) -> u64,
}

impl<D: Design> Trial<D> {
    fn new(pairs: u64, ascending: bool, flush_ns: u32, count: bool) -> Result<Self> {
        let tree = TreeBench::new(TreeSetup { pairs, flush_ns, epoch: EPOCH, flush: !count, count })?;
        Ok(Trial { tree, pairs, key: if ascending { |number| number } else { word } })
    }

    /// Puts the number plus `more` under each number's key.
    fn put(&self, numbers: impl Iterator<Item = u64>, more: u64) -> Result<()> {
        Ok(self.tree.put(numbers.map(|number| ((self.key)(number), number + more)))?)
    }

    fn remove(&self, numbers: impl Iterator<Item = u64>) -> Result<()> {
        Ok(self.tree.remove(numbers.map(self.key))?)
    }

    fn get(&self, number: u64) -> u64 {
        self.tree.get((self.key)(number)).unwrap_or_default()
    }

    /// Returns the nanoseconds per operation, where all threads together run `operations` operations. `work` gets the
    /// number of its thread.
    fn timed(&self, threads: usize, operations: u64, work: impl Fn(u64) -> Result<()> + Sync) -> Result<f64> {
        let began = Instant::now();
        let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads as u64)
                .map(|thread| {
                    scope.spawn({
                        let work = &work;
                        move || work(thread)
                    })
                })
                .collect();
            let own = work(0);
            others.into_iter().map(|other| other.join().expect("no panic")).chain([own]).collect()
        });
        let taken = began.elapsed();
        outcomes.into_iter().collect::<Result<()>>()?;
        Ok(taken.as_nanos() as f64 / operations as f64)
    }

    fn sample(&self, threads: usize) -> Result<Sample> {
        let (pairs, step) = (self.pairs, threads);
        let own = |thread: u64| (thread..pairs).step_by(step);
        let drawn = |thread: u64| {
            let mut random = Pcg64Mcg::new(u128::from(thread) << 64 | 0xB5);
            own(thread).map(move |_| random.random_range(0..pairs))
        };
        let insert = self.timed(threads, pairs, |thread| self.put(own(thread), 1))?;
        let search = self.timed(threads, pairs, |thread| {
            black_box(drawn(thread).fold(0u64, |sum, number| sum.wrapping_add(self.get(number))));
            Ok(())
        })?;
        let dependent = self.timed(threads, pairs, |thread| {
            // The payload is the number plus one: the next key depends on the previous payload.
            black_box(drawn(thread).fold(0, |last, number| self.get(number ^ last >> 63)));
            Ok(())
        })?;
        let many = self.timed(threads, pairs, |thread| {
            let keys: Vec<u64> = drawn(thread).map(self.key).collect();
            self.tree.get_many(&keys, TOGETHER);
            Ok(())
        })?;
        let update = self.timed(threads, pairs, |thread| self.put(drawn(thread), 2))?;
        let half = pairs.div_ceil(2);
        let remove = self.timed(threads, half, |thread| {
            self.remove(own(thread).filter(|number| number % (2 * step as u64) < step as u64))
        })?;
        Ok(Sample([insert, search, dependent, many, update, remove]))
    }
}

fn measure<D: Design>(pairs: u64, setting: Setting) -> Result<Sample> {
    Trial::<D>::new(pairs, setting.ascending, setting.flush_ns, false)?.sample(setting.threads)
}

/// Returns exact counts, which do not depend on the machine.
fn count<D: Design>(pairs: u64, ascending: bool) -> Result<[[f64; 2]; 3]> {
    let trial = Trial::<D>::new(pairs, ascending, 0, true)?;
    let counts = || trial.tree.counts();
    let each = |before: Counts, operations: u64| {
        let spent = counts() - before;
        [spent.flushes, spent.fences].map(|count| count as f64 / operations as f64)
    };
    let before = counts();
    trial.put(0..pairs, 1)?;
    let insert = each(before, pairs);
    let before = counts();
    trial.put(0..pairs, 2)?;
    let update = each(before, pairs);
    let before = counts();
    trial.remove((0..pairs).step_by(2))?;
    Ok([insert, update, each(before, pairs.div_ceil(2))])
}
