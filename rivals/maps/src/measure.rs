//! The run of one map: it is loaded, and each operation is timed by the thread's CPU time. Sums check the answers.

use crate::keys::{Spread, TestKey, asked, keys, mixed};
use crate::peer::{Peer, Value, value};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use std::time::Duration;

/// The timed operations, in this order. The last entry is no time.
pub(crate) const OPERATIONS: [&str; 10] = [
    "load",
    "insert",
    "insert_many",
    "get",
    "get dependent",
    "get_many",
    "scan of 100",
    "remove",
    "remove_many",
    "bytes a pair",
];

/// Nanoseconds per operation, and bytes.
pub(crate) type Figures = [f64; OPERATIONS.len()];

/// The work of a run.
pub(crate) struct Plan<K, const N: usize> {
    loaded: Vec<K>,
    singly: Vec<(K, Value<N>)>,
    batched: Vec<(K, Value<N>)>,
    asked: Vec<K>,
    removed: Vec<K>,
}

/// Returns the CPU time of this thread.
pub(crate) fn clock() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Returns the anonymous bytes of this process.
fn resident() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon in the status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? * 1024.0)
}

impl<K: TestKey, const N: usize> Plan<K, N> {
    /// Plans `loaded` pairs, and twice `timed` more, which are inserted, looked up and removed.
    pub(crate) fn new(loaded: usize, timed: usize, spread: Spread) -> Result<Self> {
        ensure!(timed >= 200 && loaded >= timed, "at least 200 timed, and as many loaded");
        let keys: Vec<K> = keys(loaded + 2 * timed, spread)?;
        let paired = |keys: &[K]| keys.iter().zip(1..).map(|(key, at)| (*key, value(mixed(at) | 1))).collect();
        let (first, rest) = keys.split_at(loaded);
        let (singly, batched) = rest.split_at(timed);
        let asked = asked(&keys[..loaded + timed], timed, spread);
        let mut removed = first[..timed].to_vec();
        crate::keys::shuffle(&mut removed);
        Ok(Self { loaded: first.to_vec(), singly: paired(singly), batched: paired(batched), asked, removed })
    }

    /// Runs all of it on a map of this type.
    pub(crate) fn run<M: Peer<K, N>>(&self) -> Result<Figures> {
        let mut figures = [0.0; OPERATIONS.len()];
        let pairs = self.loaded.len() + self.singly.len() + self.batched.len();
        let before = resident()?;
        let mut map = M::new(pairs);
        let mut timed = |operation: &str, count: usize, work: &mut dyn FnMut()| {
            let start = clock();
            work();
            let at = OPERATIONS.iter().position(|name| *name == operation);
            figures[at.unwrap_or(0)] = (clock() - start).as_nanos() as f64 / count as f64;
        };
        timed("load", self.loaded.len(), &mut || {
            self.loaded.iter().zip(1..).for_each(|(key, at)| map.insert(*key, value(mixed(at) | 1)));
        });
        timed("insert", self.singly.len(), &mut || {
            self.singly.iter().for_each(|(key, value)| map.insert(*key, *value));
        });
        timed("insert_many", self.batched.len(), &mut || map.insert_many(&self.batched));
        let bytes = (resident()? - before) / pairs as f64;
        let (mut singly, mut batched) = (0_u64, 0);
        timed("get", self.asked.len(), &mut || {
            singly = self.asked.iter().fold(0, |sum, key| sum.wrapping_add(map.get(*key)));
        });
        timed("get dependent", self.asked.len() - 1, &mut || {
            // The next key depends on the previous value, of which one bit is always set.
            let mut odd = 1;
            (1..self.asked.len()).for_each(|at| odd = map.get(self.asked[at + 1 - odd as usize]) & 1);
            assert_eq!(odd, 1, "a key is missing");
        });
        timed("get_many", self.asked.len(), &mut || batched = map.get_many(&self.asked));
        ensure!(singly == batched, "get_many returns other values than get");
        let scans = self.asked.len() / 40;
        timed("scan of 100", scans, &mut || {
            black_box(self.asked[..scans].iter().fold(0_u64, |sum, key| sum.wrapping_add(map.scan(*key, 100))));
        });
        let (first, second) = self.removed.split_at(self.removed.len() / 2);
        timed("remove", first.len(), &mut || assert!(first.iter().all(|key| map.remove(*key)), "a key is missing"));
        timed("remove_many", second.len(), &mut || assert_eq!(map.remove_many(second), second.len()));
        figures[OPERATIONS.len() - 1] = bytes;
        Ok(figures)
    }
}
