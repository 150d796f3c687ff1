//! What the map costs beside the standard library's: every operation on both, by turns, in one run.
//!
//! `prices [KEYS [PAIRS [ROUNDS [SELECTION [MEMORY]]]]]`: `u64` (values of 8 bytes) or `f32` (values of 28), the number
//! of pairs loaded, of which a third as many are timed, the number of rounds, `fast` or `paper`, and `reserved`, if the
//! map's memory is to be there before anything is timed (the standard library's map knows no such thing).
//!
//! Prints the median of each operation in nanoseconds and the rounds' extremes, for both maps, and how many times as
//! fast the map is. Times are of the thread, not of the wall.

use holm_map::{Fast, Key, Map, Paper, Real, Selection};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

/// A value of `BYTES`, of which the first eight say what it is.
type Value<const BYTES: usize> = [u8; BYTES];

fn value<const BYTES: usize>(number: u64) -> Value<BYTES> {
    std::array::from_fn(|at| if at < 8 { number.to_le_bytes()[at] } else { 7 })
}

fn number<const BYTES: usize>(value: &Value<BYTES>) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|at| value[at]))
}

fn mixed(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The time that this thread has run.
fn clock() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Operations under test; the same for both maps.
trait Subject<K: Copy, const BYTES: usize>: Sized {
    fn empty(reserve: usize) -> Self;
    fn put(&mut self, key: K, value: Value<BYTES>);
    fn get(&self, key: K) -> u64;
    fn get_many(&self, keys: &[K]) -> u64;
    fn put_many(&mut self, pairs: &[(K, Value<BYTES>)]);
    fn remove(&mut self, key: K) -> bool;
    fn remove_many(&mut self, keys: &[K]) -> usize;
    fn scan(&self, from: K, count: usize) -> u64;
}

impl<K: Key, S: Selection, const BYTES: usize> Subject<K, BYTES> for Map<K, Value<BYTES>, S> {
    fn empty(reserve: usize) -> Self {
        let mut map = Self::selected();
        map.reserve(reserve);
        map
    }

    fn put(&mut self, key: K, value: Value<BYTES>) {
        self.insert(key, value);
    }

    fn get(&self, key: K) -> u64 {
        self.get(&key).map_or(0, number)
    }

    fn get_many(&self, keys: &[K]) -> u64 {
        let mut sum = 0_u64;
        self.get_many_with(keys, |_, value| sum = sum.wrapping_add(value.map_or(0, number)));
        sum
    }

    fn put_many(&mut self, pairs: &[(K, Value<BYTES>)]) {
        self.insert_many(pairs.iter().copied());
    }

    fn remove(&mut self, key: K) -> bool {
        self.remove(&key).is_some()
    }

    fn remove_many(&mut self, keys: &[K]) -> usize {
        self.remove_many(keys)
    }

    fn scan(&self, from: K, count: usize) -> u64 {
        self.range(from..).take(count).fold(0, |sum, (_, value)| sum.wrapping_add(number(value)))
    }
}

impl<K: Key, const BYTES: usize> Subject<K, BYTES> for BTreeMap<K, Value<BYTES>> {
    fn empty(_: usize) -> Self {
        Self::new()
    }

    fn put(&mut self, key: K, value: Value<BYTES>) {
        self.insert(key, value);
    }

    fn get(&self, key: K) -> u64 {
        self.get(&key).map_or(0, number)
    }

    fn get_many(&self, keys: &[K]) -> u64 {
        keys.iter().fold(0, |sum, key| sum.wrapping_add(Subject::get(self, *key)))
    }

    fn put_many(&mut self, pairs: &[(K, Value<BYTES>)]) {
        pairs.iter().for_each(|(key, value)| Subject::put(self, *key, *value));
    }

    fn remove(&mut self, key: K) -> bool {
        self.remove(&key).is_some()
    }

    fn remove_many(&mut self, keys: &[K]) -> usize {
        keys.iter().filter(|key| self.remove(key).is_some()).count()
    }

    fn scan(&self, from: K, count: usize) -> u64 {
        self.range(from..).take(count).fold(0, |sum, (_, value)| sum.wrapping_add(number(value)))
    }
}

const OPERATIONS: [&str; 9] =
    ["insert", "insert_many", "get", "get dependent", "get_many", "scan of 100", "remove", "remove_many", "load"];

/// What to do it with: pairs to load, and what is timed on top of them.
struct Plan<K, const BYTES: usize> {
    loaded: Vec<K>,
    singly: Vec<(K, Value<BYTES>)>,
    batched: Vec<(K, Value<BYTES>)>,
    /// Keys that are there, in no order.
    asked: Vec<K>,
    /// Whether the map is told how many pairs will come.
    reserves: bool,
}

impl<K: Key, const BYTES: usize> Plan<K, BYTES> {
    fn new(keys: impl Iterator<Item = K>, pairs: usize, reserves: bool) -> Self {
        let keys: Vec<K> = keys.take(pairs + pairs / 3 * 2).collect();
        let (loaded, rest) = keys.split_at(pairs);
        let (singly, batched) = rest.split_at(rest.len() / 2);
        let paired = |keys: &[K]| keys.iter().zip(1..).map(|(key, at)| (*key, value(mixed(at) | 1))).collect();
        let mut asked = singly.to_vec();
        (1..asked.len()).for_each(|at| asked.swap(at, (mixed(at as u64) % at as u64) as usize));
        Self { loaded: loaded.to_vec(), singly: paired(singly), batched: paired(batched), asked, reserves }
    }

    /// The time of each operation, in nanoseconds each; `full` is shown the map when it is largest.
    fn run<M: Subject<K, BYTES>>(&self, full: impl FnOnce(&M)) -> [f64; OPERATIONS.len()] {
        let mut map = M::empty(if self.reserves { self.loaded.len() + self.singly.len() * 2 } else { 0 });
        let mut times = [0.0; OPERATIONS.len()];
        let mut timed = |operation: &str, count: usize, work: &mut dyn FnMut()| {
            let start = clock();
            work();
            let at = OPERATIONS.iter().position(|name| *name == operation).unwrap_or(0);
            times[at] = (clock() - start).as_nanos() as f64 / count as f64;
        };
        timed("load", self.loaded.len(), &mut || {
            self.loaded.iter().zip(1..).for_each(|(key, at)| map.put(*key, value(mixed(at) | 1)));
        });
        timed("insert", self.singly.len(), &mut || {
            self.singly.iter().for_each(|(key, value)| map.put(*key, *value));
        });
        timed("insert_many", self.batched.len(), &mut || map.put_many(&self.batched));
        full(&map);
        timed("get", self.asked.len(), &mut || {
            black_box(self.asked.iter().fold(0_u64, |sum, key| sum.wrapping_add(map.get(*key))));
        });
        timed("get dependent", self.asked.len(), &mut || {
            // The next key's place hangs on the value before, of which one bit is set always.
            let mut odd = 1;
            (0..self.asked.len()).for_each(|at| odd = map.get(self.asked[at + 1 - odd as usize]) & 1);
            black_box(odd);
        });
        timed("get_many", self.asked.len(), &mut || {
            black_box(map.get_many(&self.asked));
        });
        let scans = self.asked.len() / 40;
        timed("scan of 100", scans, &mut || {
            black_box(self.asked[..scans].iter().fold(0_u64, |sum, key| sum.wrapping_add(map.scan(*key, 100))));
        });
        let (first, second) = self.asked.split_at(self.asked.len() / 2);
        timed("remove", first.len(), &mut || assert!(first.iter().all(|key| map.remove(*key))));
        timed("remove_many", second.len(), &mut || assert_eq!(map.remove_many(second), second.len()));
        times
    }

    fn compare<S: Selection>(&self, rounds: usize) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut bytes = 0.0;
        for _ in 0..rounds {
            let full = |map: &Map<K, Value<BYTES>, S>| bytes = map.memory_usage() as f64 / map.len() as f64;
            ours.push(self.run(full));
            theirs.push(self.run(|_: &BTreeMap<K, Value<BYTES>>| ()));
        }
        println!("{:<14} {:>24} {:>24} {:>6}", "ns", "map", "BTreeMap", "times");
        for (at, name) in OPERATIONS.iter().enumerate() {
            let (ours, theirs) = (median(&ours, at), median(&theirs, at));
            let show = |(low, middle, high): (f64, f64, f64)| format!("{middle:.1} ({low:.1} to {high:.1})");
            println!("{name:<14} {:>24} {:>24} {:>6.2}", show(ours), show(theirs), theirs.1 / ours.1);
        }
        println!("bytes per pair {bytes:.1}");
    }
}

fn median(rounds: &[[f64; OPERATIONS.len()]], at: usize) -> (f64, f64, f64) {
    let mut times: Vec<f64> = rounds.iter().map(|round| round[at]).collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2], times[times.len() - 1])
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let keys = arguments.next().unwrap_or("u64".into());
    let mut count = |default| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (pairs, rounds) = (count(12_000_000), count(3));
    let paper = arguments.next().is_some_and(|name| name == "paper");
    let reserves = arguments.next().is_some_and(|name| name == "reserved");
    let vectors = Map::<u64, ()>::new().vectors().name();
    println!("{keys}, {pairs} pairs, {rounds} rounds, {vectors}, {}", if paper { "paper" } else { "fast" });
    if keys == "f32" {
        let mut seen = std::collections::HashSet::new();
        let uniform = |at| ((mixed(at) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0) as f32;
        let fresh = (1..).map(uniform).filter(|float| seen.insert(float.to_bits()));
        let plan = Plan::<Real<f32>, 28>::new(fresh.filter_map(|float| Real::new(float).ok()), pairs, reserves);
        if paper { plan.compare::<Paper>(rounds) } else { plan.compare::<Fast>(rounds) }
    } else {
        let plan = Plan::<u64, 8>::new((1..).map(mixed), pairs, reserves);
        if paper { plan.compare::<Paper>(rounds) } else { plan.compare::<Fast>(rounds) }
    }
}
