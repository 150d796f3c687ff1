//! Measures which selection is the fastest for given keys and operations. All candidates run the same operations in
//! turn, and each kind of operation is timed. The paper chose its levels by hand for one workload, and left this for
//! later.
//!
//! The result describes the machine in its current state. Rounds go over all candidates, so that a slow minute affects
//! all of them, and the median of the rounds counts. The keys alone determine the operations.

use crate::key::Key;
use crate::level::Selection;
use crate::map::Map;
use crate::presets::{Fast, FastNarrow, Paper, PaperAhead, SortedPages};
use std::fmt;
use std::time::{Duration, Instant};

/// Kinds of operations, in the order in which they run.
const KINDS: [&str; 7] = ["insert", "insert_many", "get", "get_many", "scan", "remove", "remove_many"];

/// The shares of the kinds of operations, relative to their sum. A kind with share 0 is not measured.
///
/// ```
/// use holm_map::Mix;
///
/// let mix = Mix { gets: 90, inserts: 9, scans: 1, scan_length: 20, ..Mix::default() };
/// # assert_eq!(mix.removes, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    /// Inserts one pair.
    pub inserts: u32,
    /// Inserts a pair as part of a batch.
    pub batched_inserts: u32,
    /// Looks up one value.
    pub gets: u32,
    /// Looks up a value as part of a batch.
    pub batched_gets: u32,
    /// Reads `scan_length` pairs from some key on.
    pub scans: u32,
    /// Removes one pair.
    pub removes: u32,
    /// Removes a pair as part of a batch.
    pub batched_removes: u32,
    /// Pairs that a scan reads: at least one, if scans have a share.
    pub scan_length: usize,
}

impl Mix {
    fn weights(&self) -> [u32; KINDS.len()] {
        let Mix { inserts, batched_inserts, gets, batched_gets, scans, removes, batched_removes, .. } = *self;
        [inserts, batched_inserts, gets, batched_gets, scans, removes, batched_removes]
    }
}

/// Why a tuner cannot measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TunerError {
    /// There are too few different keys for a result.
    TooFewKeys {
        /// Different keys that were given.
        found: usize,
        /// Different keys that the tuner needs.
        least: usize,
    },
    /// No kind of operation has a share in the mix.
    EmptyMix,
    /// Scans have a share in the mix, and their length is 0.
    EmptyScans,
}

impl fmt::Display for TunerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewKeys { found, least } => write!(out, "{found} different keys, and tuning takes {least}"),
            Self::EmptyMix => out.write_str("a mix of operations without any"),
            Self::EmptyScans => out.write_str("a mix with scans of no pairs: `scan_length` is 0"),
        }
    }
}

impl std::error::Error for TunerError {}

/// Different keys that a tuner needs.
const LEAST_KEYS: usize = 64;

/// The measurements of one selection.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its name.
    pub selection: &'static str,
    /// Nanoseconds per operation of the mix: the time of each kind, weighted by its share.
    pub nanoseconds: f64,
    /// Nanoseconds per operation of each kind that has a share, with the kind's name.
    pub kinds: Vec<(&'static str, f64)>,
    /// Bytes per pair when the map had the most pairs.
    pub bytes_per_pair: f64,
}

/// The measurements of all candidates, the fastest first. `Display` writes a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The candidates in ascending order of their nanoseconds.
    pub ranking: Vec<Measured>,
}

impl Tuned {
    /// Returns the fastest selection with its measurements.
    pub fn best(&self) -> &Measured {
        // A tuner always has candidates, so there is a first one.
        &self.ranking[0]
    }
}

impl fmt::Display for Tuned {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:<14} {:>8}", "ns", "mix")?;
        self.best().kinds.iter().try_for_each(|(kind, _)| write!(out, " {kind:>12}"))?;
        writeln!(out, " {:>14}", "bytes a pair")?;
        for measured in &self.ranking {
            write!(out, "{:<14} {:>8.1}", measured.selection, measured.nanoseconds)?;
            measured.kinds.iter().try_for_each(|(_, took)| write!(out, " {took:>12.1}"))?;
            writeln!(out, " {:>14.1}", measured.bytes_per_pair)?;
        }
        Ok(())
    }
}

/// Measures selections with the caller's keys and operations.
///
/// ```
/// use holm_map::{Mix, Tuner};
///
/// let mine = (0..5000_u64).map(|number| number * number);
/// let tuned = Tuner::new(mine, Mix { gets: 9, inserts: 1, ..Mix::default() })?.run(|key| [*key; 2]);
/// println!("{} at {} ns\n{tuned}", tuned.best().selection, tuned.best().nanoseconds);
/// # Ok::<(), holm_map::TunerError>(())
/// ```
pub struct Tuner<K> {
    /// Different keys in random order: first those that are loaded, then those that are inserted.
    keys: Vec<K>,
    loaded: usize,
    mix: Mix,
    rounds: usize,
}

/// The total time of each kind, the bytes per pair at the end, and the sum of the answers.
struct Run {
    times: [Duration; KINDS.len()],
    bytes_per_pair: f64,
    answers: usize,
}

impl<K: Key> Tuner<K> {
    /// Creates a tuner for these keys. It puts all of them into a map, a quarter of them while it measures.
    ///
    /// # Errors
    /// Returns [`TunerError`] if there is nothing to measure.
    pub fn new(keys: impl IntoIterator<Item = K>, mix: Mix) -> Result<Self, TunerError> {
        let mut keys: Vec<K> = keys.into_iter().collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.len() < LEAST_KEYS {
            return Err(TunerError::TooFewKeys { found: keys.len(), least: LEAST_KEYS });
        }
        if mix.weights().iter().all(|weight| *weight == 0) {
            return Err(TunerError::EmptyMix);
        }
        if mix.scans > 0 && mix.scan_length == 0 {
            return Err(TunerError::EmptyScans);
        }
        // A generator by Marsaglia with a fixed seed: equal keys give equal operations.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for at in (1..keys.len()).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            keys.swap(at, (state % (at as u64 + 1)) as usize);
        }
        let loaded = keys.len() - keys.len() / 4;
        Ok(Self { keys, loaded, mix, rounds: 3 })
    }

    /// Sets the number of rounds over all candidates, at least 1. The default is 3.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds.max(1);
        self
    }

    /// Measures the selections that are ready to use, with values that `make` makes of keys: [`Fast`], [`FastNarrow`],
    /// [`Paper`], [`PaperAhead`] and [`SortedPages`].
    pub fn run<V>(&self, make: impl Fn(&K) -> V) -> Tuned {
        let start = Instant::now();
        self.run_by(&make, &mut || start.elapsed())
    }

    /// Measures one selection, a preset or the caller's own.
    pub fn measure<V, S: Selection>(&self, name: &'static str, make: impl Fn(&K) -> V) -> Measured {
        let start = Instant::now();
        let runs = (0..self.rounds).map(|_| self.once::<V, S>(&make, &mut || start.elapsed())).collect();
        self.judge(name, runs)
    }

    /// As [`Tuner::run`], with the given clock.
    fn run_by<V>(&self, make: &dyn Fn(&K) -> V, clock: &mut dyn FnMut() -> Duration) -> Tuned {
        type Once<K, V> = fn(&Tuner<K>, &dyn Fn(&K) -> V, &mut dyn FnMut() -> Duration) -> Run;
        let candidates: [(&'static str, Once<K, V>); 5] = [
            ("Fast", Self::once::<V, Fast>),
            ("FastNarrow", Self::once::<V, FastNarrow>),
            ("Paper", Self::once::<V, Paper>),
            ("PaperAhead", Self::once::<V, PaperAhead>),
            ("SortedPages", Self::once::<V, SortedPages>),
        ];
        let mut runs = candidates.map(|(name, _)| (name, Vec::new()));
        for _ in 0..self.rounds {
            for ((_, once), (_, runs)) in candidates.iter().zip(&mut runs) {
                runs.push(once(self, make, clock));
            }
        }
        let mut ranking: Vec<Measured> = runs.into_iter().map(|(name, runs)| self.judge(name, runs)).collect();
        ranking.sort_by(|one, other| one.nanoseconds.total_cmp(&other.nanoseconds));
        Tuned { ranking }
    }

    /// Loads one map of one selection, and runs each kind of operation that has a share.
    fn once<V, S: Selection>(&self, make: &dyn Fn(&K) -> V, clock: &mut dyn FnMut() -> Duration) -> Run {
        let mut map = Map::<K, V, S>::selected();
        let (loaded, coming) = self.keys.split_at(self.loaded);
        loaded.iter().for_each(|key| drop(map.insert(*key, make(key))));
        let weights = self.mix.weights();
        let (singly, batched) = coming.split_at(coming.len() / 2);
        let (mut times, mut answers) = ([Duration::ZERO; KINDS.len()], 0);
        let mut timed = |kind: usize, work: &mut dyn FnMut() -> usize| {
            let start = clock();
            answers += work();
            times[kind] = clock().saturating_sub(start);
        };
        let mut put = |kind: usize, keys: &[K], work: &mut dyn FnMut(Vec<(K, V)>) -> usize| {
            let mut pairs = Some(keys.iter().map(|key| (*key, make(key))).collect());
            timed(kind, &mut || pairs.take().map_or(0, &mut *work));
        };
        put(0, singly, &mut |pairs| pairs.into_iter().filter_map(|(key, value)| map.insert(key, value)).count());
        put(1, batched, &mut |pairs| map.insert_many(pairs));
        let bytes_per_pair = map.memory_usage() as f64 / map.len() as f64;
        if weights[2] > 0 {
            timed(2, &mut || coming.iter().filter(|key| map.get(key).is_some()).count());
        }
        if weights[3] > 0 {
            let mut found = 0;
            timed(3, &mut || {
                map.get_many_with(coming, |_, value| found += usize::from(value.is_some()));
                found
            });
        }
        if weights[4] > 0 {
            let length = self.mix.scan_length;
            timed(4, &mut || self.scanned().iter().map(|key| map.range(*key..).take(length).count()).sum());
        }
        let (singly, batched) = self.removed();
        if weights[5] > 0 {
            timed(5, &mut || singly.iter().filter(|key| map.remove(key).is_some()).count());
        }
        if weights[6] > 0 {
            timed(6, &mut || map.remove_many(batched));
        }
        Run { times, bytes_per_pair, answers }
    }

    /// The keys at which scans begin.
    fn scanned(&self) -> &[K] {
        &self.keys[self.loaded..][..(self.keys.len() - self.loaded).div_ceil(8)]
    }

    /// The loaded keys that are removed one by one, and those that are removed in batches.
    fn removed(&self) -> (&[K], &[K]) {
        let coming = self.keys.len() - self.loaded;
        self.keys[..coming].split_at(coming / 2)
    }

    /// Returns the number of operations of each kind.
    fn counts(&self) -> [usize; KINDS.len()] {
        let coming = self.keys.len() - self.loaded;
        let (singly, batched) = self.removed();
        [coming / 2, coming - coming / 2, coming, coming, self.scanned().len(), singly.len(), batched.len()]
    }

    /// Computes the median of each kind's times, and their sum weighted by the mix.
    fn judge(&self, selection: &'static str, runs: Vec<Run>) -> Measured {
        debug_assert!(runs.iter().all(|run| run.answers == runs[0].answers), "the same operations, the same answers");
        let (weights, counts) = (self.mix.weights(), self.counts());
        let (mut kinds, mut sum) = (Vec::new(), 0.0);
        for kind in (0..KINDS.len()).filter(|kind| weights[*kind] > 0) {
            let mut times: Vec<Duration> = runs.iter().map(|run| run.times[kind]).collect();
            times.sort_unstable();
            let each = times[times.len() / 2].as_nanos() as f64 / counts[kind] as f64;
            sum += each * f64::from(weights[kind]);
            kinds.push((KINDS[kind], each));
        }
        let nanoseconds = sum / weights.iter().map(|weight| f64::from(*weight)).sum::<f64>();
        Measured { selection, nanoseconds, kinds, bytes_per_pair: runs[0].bytes_per_pair }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Mix = Mix {
        inserts: 1,
        batched_inserts: 2,
        gets: 3,
        batched_gets: 4,
        scans: 5,
        removes: 6,
        batched_removes: 7,
        scan_length: 7,
    };

    fn tuner(mix: Mix) -> Tuner<u64> {
        Tuner::new((0..400).map(|number| number * 7 % 1000), mix).unwrap().rounds(1)
    }

    #[test]
    fn nothing_to_measure_is_an_error() {
        let few = Tuner::new([1_u64, 2, 2, 1], ALL).err();
        assert_eq!(few, Some(TunerError::TooFewKeys { found: 2, least: LEAST_KEYS }));
        assert_eq!(Tuner::new(0..1000_u64, Mix::default()).err(), Some(TunerError::EmptyMix));
        assert_eq!(Tuner::new(0..1000_u64, Mix { scan_length: 0, ..ALL }).err(), Some(TunerError::EmptyScans));
    }

    #[test]
    fn every_candidate_gives_the_same_answers() {
        let tuner = tuner(ALL);
        let mut clock = || Duration::ZERO;
        let answers = tuner.once::<u64, Fast>(&|key| *key, &mut clock).answers;
        // There are a hundred keys. Half of them count when a batch inserts them, all count twice when they are found,
        // and as many are removed. Thirteen scans find seven pairs each, unless they begin near the end.
        assert!((50 + 200 + 100..=50 + 200 + 100 + 13 * 7).contains(&answers), "{answers}");
        for other in [
            tuner.once::<u64, FastNarrow>(&|key| *key, &mut clock),
            tuner.once::<u64, Paper>(&|key| *key, &mut clock),
            tuner.once::<u64, PaperAhead>(&|key| *key, &mut clock),
            tuner.once::<u64, SortedPages>(&|key| *key, &mut clock),
        ] {
            assert_eq!(other.answers, answers);
        }
    }

    /// The clock advances by one microsecond at each call, so each kind takes one microsecond.
    #[test]
    fn the_mix_weighs_the_kinds() {
        let tuner = tuner(ALL);
        let mut now = Duration::ZERO;
        let tuned = tuner.run_by(&|key| *key, &mut || {
            now += Duration::from_micros(1);
            now
        });
        let each = |count: f64| 1000.0 / count;
        let expected = [each(50.0), each(50.0), each(100.0), each(100.0), each(13.0), each(50.0), each(50.0)];
        let sum: f64 = expected.iter().zip(1..).map(|(each, weight)| each * f64::from(weight)).sum();
        assert_eq!(tuned.ranking.len(), 5);
        for measured in &tuned.ranking {
            assert!(measured.kinds.iter().map(|(_, took)| *took).eq(expected), "{measured:?}");
            assert!((measured.nanoseconds - sum / 28.0).abs() < 1e-9, "{measured:?}");
            assert!(measured.bytes_per_pair >= 16.0, "{measured:?}");
        }
    }

    #[test]
    fn the_fastest_is_the_best_and_what_has_no_part_is_not_measured() {
        let tuner = tuner(Mix { gets: 1, ..Mix::default() });
        // The clock slows down from call to call, so the first candidate's times are the longest.
        let (mut now, mut step) = (Duration::ZERO, Duration::from_millis(1));
        let tuned = tuner.run_by(&|key| *key, &mut || {
            step = step * 9 / 10;
            now += step;
            now
        });
        assert_eq!(tuned.best().selection, "SortedPages");
        assert_eq!(tuned.ranking.last().map(|measured| measured.selection), Some("Fast"));
        assert!(tuned.ranking.iter().all(|measured| measured.kinds.len() == 1 && measured.kinds[0].0 == "get"));
        let text = tuned.to_string();
        assert!(text.lines().count() == 6 && text.contains("bytes a pair") && !text.contains("scan"), "{text}");
    }

    #[test]
    fn a_selection_of_ones_own_is_measured_too() {
        let measured = tuner(ALL).measure::<u64, Paper>("my own", |key| *key);
        assert_eq!((measured.selection, measured.kinds.len()), ("my own", KINDS.len()));
    }
}
