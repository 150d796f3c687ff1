//! Which steps exist, and which of them a database contains.
//!
//! A step's number determines its changes, so child and parent exchange only numbers. Each thread has keys of its own,
//! in two keyspaces; the last thread's steps are batches across both. A value contains the number of its step. It also
//! contains the number of the last step of the neighbouring thread that had returned before this step began. If the
//! value is found, that other step must be present too.
//!
//! The second keyspace has expiry. Some values are stored there whose time is over: no reader sees them, and the
//! sweeper removes them while the child runs. Now and then a step removes a range. A crash may leave a part of that
//! removed, from the low end on; the child then begins with that step again.

use super::preload::Preload;
use super::source::Source;

/// The number of writing threads.
pub const THREADS: usize = 4;

/// The number of keys per thread.
pub(super) const KEYS: usize = 600;

/// The keyspaces' names.
pub const NAMES: [&str; 2] = ["north", "south"];

/// What a step does to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Puts a value.
    Put,
    /// Puts a value whose time is over; only in the keyspace with expiry.
    PutExpired,
    /// Removes the key.
    Remove,
}

/// A key of a thread, and what happens to it.
pub type Change = (usize, Effect);

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// One operation.
    One(Change),
    /// A batch.
    Batch(Vec<Change>),
    /// A removal of the range from the first of these keys to the last one. They are all keys of the range, in order.
    RemoveRange(Vec<usize>),
}

/// One step of this number removes a range.
const RANGES: u64 = 48;

/// The most keys between the ends of a range.
const WIDEST: usize = 400;

/// A hash of the number: splitmix64.
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// What a thread's step does.
pub fn work(thread: usize, step: u64) -> Work {
    let seed = mixed((thread as u64) << 56 ^ step);
    if (seed >> 24).is_multiple_of(RANGES) {
        return Work::RemoveRange(range(seed as usize % KEYS, (seed >> 32) as usize % WIDEST));
    }
    // Puts and removals predominate in turn, so that leaves split and merge.
    let put_of_eight = if step / 1500 % 3 == 2 { 2 } else { 7 };
    let change = |index| {
        let chance = mixed(seed ^ index << 32);
        let key = chance as usize % KEYS;
        let effect = match (chance >> 40) % 8 {
            one if one >= put_of_eight => Effect::Remove,
            0 if expires(key) => Effect::PutExpired,
            _ => Effect::Put,
        };
        (key, effect)
    };
    match thread + 1 == THREADS {
        true => Work::Batch((0..2 + seed % 7).map(change).collect()),
        false => Work::One(change(0)),
    }
}

/// The keys of a range. Their names have one front, and they lie in one keyspace.
fn range(from: usize, width: usize) -> Vec<usize> {
    let first = if has_long_front(from) { from + 1 } else { from };
    (first..KEYS.min(first + width + 1)).filter(|key| key % 2 == first % 2 && !has_long_front(*key)).collect()
}

/// Whether a key lies in the keyspace with expiry.
fn expires(key: usize) -> bool {
    key % 2 == 1
}

fn has_long_front(key: usize) -> bool {
    key.is_multiple_of(3)
}

/// The key's name and its keyspace.
pub fn key(thread: usize, key: usize) -> (usize, String) {
    (key % 2, format!("{thread}/{}/{key:04}", if has_long_front(key) { "a longer front that many share" } else { "" }))
}

/// The value that a step puts under a key.
pub fn value(step: u64, seen: u64, key: usize) -> Vec<u8> {
    let chance = mixed(step ^ (key as u64) << 48);
    let len = if chance.is_multiple_of(64) { 4000 } else { chance % 150 };
    let mut value = [step.to_le_bytes(), seen.to_le_bytes()].concat();
    value.resize(16 + len as usize, chance as u8);
    value
}

/// The values of one thread's keys: the step that put each, and the neighbour's step that it had seen.
type Shown = Vec<Option<(u64, u64)>>;

/// What is known of each thread's steps.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The next step of each thread.
    pub next: [u64; THREADS],
    /// The step that last put each key, as of `next`.
    state: Vec<Vec<Option<u64>>>,
    /// What was there before all steps.
    pub preload: Preload,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger { next: [1; THREADS], state: vec![vec![None; KEYS]; THREADS], preload: Preload::default() }
    }
}

impl Ledger {
    /// The ledger of a database in which each thread has done its steps before the next one.
    pub fn before(next: [u64; THREADS]) -> Ledger {
        let mut ledger = Ledger::default();
        for (thread, next) in next.into_iter().enumerate() {
            let state = &mut ledger.state[thread];
            let mut set = |key: usize, step| {
                state[key] = step;
                0
            };
            for step in 1..next {
                match work(thread, step) {
                    Work::RemoveRange(keys) => {
                        keys.into_iter().for_each(|key| {
                            set(key, None);
                        });
                    }
                    Work::One(change) => apply(&mut set, change, step),
                    Work::Batch(changes) => changes.into_iter().for_each(|change| apply(&mut set, change, step)),
                }
            }
        }
        Ledger { next, ..ledger }
    }

    /// Compares a database or a snapshot with the steps of a round. Of each thread, the steps up to `least` must be
    /// present, and those up to `most` may be. Continues from what was found.
    ///
    /// # Errors
    /// A description of what does not fit.
    pub fn settle(&mut self, from: &impl Source, least: [u64; THREADS], most: [u64; THREADS]) -> Result<(), String> {
        let shown = shown(from)?;
        let mut lasts = [0; THREADS];
        for thread in 0..THREADS {
            // If a value proves that a step of this thread had returned before the value's step began, this step must
            // be present. Steps that change nothing leave no trace, so this is checked before a prefix is sought, not
            // after.
            let before = (thread + THREADS - 1) % THREADS;
            let seen = shown[before].iter().flatten().map(|pair| pair.1).max().unwrap_or(0);
            let least = least[thread].max(seen);
            lasts[thread] = self
                .settle_thread(thread, &shown[thread], least, most[thread])
                .map_err(|why| format!("{why} (thread {before} had seen {seen})"))?;
        }
        self.next = lasts.map(|last| last + 1);
        Ok(())
    }

    /// The last step of a thread that is present.
    fn settle_thread(&mut self, thread: usize, shown: &Shown, least: u64, most: u64) -> Result<u64, String> {
        let state = &mut self.state[thread];
        let mut last = self.next[thread] - 1;
        let fits =
            |state: &[Option<u64>]| state.iter().zip(shown).all(|(step, shown)| *step == shown.map(|pair| pair.0));
        let mut off = state.iter().zip(shown).filter(|(step, shown)| **step != shown.map(|pair| pair.0)).count();
        while last < least || off > 0 {
            if last >= most {
                let greatest = shown.iter().flatten().map(|pair| pair.0).max();
                return Err(format!(
                    "thread {thread}: no prefix between {least} and {most} steps; the greatest step shown is \
                     {greatest:?}, {off} keys differ after the last"
                ));
            }
            let mut set = |key: usize, step: Option<u64>| {
                let right = |step: Option<u64>| step == shown[key].map(|pair| pair.0);
                off += usize::from(right(state[key]));
                state[key] = step;
                off -= usize::from(right(step));
                off
            };
            match work(thread, last + 1) {
                Work::RemoveRange(keys) => {
                    // A part from the low end on.
                    if keys.iter().any(|key| set(*key, None) == 0 && last >= least) {
                        break;
                    }
                }
                Work::One(change) => apply(&mut set, change, last + 1),
                Work::Batch(changes) => changes.into_iter().for_each(|change| apply(&mut set, change, last + 1)),
            }
            last += 1;
        }
        debug_assert!(fits(state));
        Ok(last)
    }
}

fn apply(set: &mut impl FnMut(usize, Option<u64>) -> usize, (key, effect): Change, step: u64) {
    set(key, (effect == Effect::Put).then_some(step));
}

/// The step that a value contains, and the neighbour's step that it had seen.
///
/// # Errors
/// A description, if no step puts this value under this key.
pub fn steps_of(value: &[u8], name: &str, number: usize) -> Result<(u64, u64), String> {
    let word = |at: usize| value.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let (Some(step), Some(seen)) = (word(0), word(8)) else { return Err(format!("{name}: cut short")) };
    match *value == *self::value(step, seen, number) {
        true => Ok((step, seen)),
        false => Err(format!("{name}: not what step {step} put there")),
    }
}

fn shown(from: &impl Source) -> Result<Vec<Shown>, String> {
    let mut all = vec![vec![None; KEYS]; THREADS];
    for (thread, keys) in all.iter_mut().enumerate() {
        for (number, place) in keys.iter_mut().enumerate() {
            let (space, name) = key(thread, number);
            let found = from.get(NAMES[space], &name).map_err(|error| format!("getting {name}: {error}"))?;
            if let Some(found) = found {
                *place = Some(steps_of(&found, &name, number)?);
            }
        }
    }
    let listed = NAMES.iter().map(|name| from.count(name)).sum::<Result<u64, _>>();
    let listed = listed.map_err(|error| format!("scanning: {error}"))?;
    let got = all.iter().flatten().flatten().count() as u64;
    if listed != got { Err(format!("{listed} pairs by scan, {got} by lookup")) } else { Ok(all) }
}
