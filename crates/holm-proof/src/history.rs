//! Histories of concurrent calls, and whether some order explains them.
//!
//! A history is linearizable if each call can be given an instant between its beginning and its end. In the order of
//! these instants, each call must have seen what a map would have shown it (Herlihy and Wing). Keys of a map do not
//! influence each other, so each key is checked separately, which keeps the search short. The search is Wing and
//! Gong's: choose a call that no unexplained call precedes, let the register answer it, and continue. Lowe's memory of
//! earlier attempts bounds the search.
//!
//! A call without an end is in progress when the history stops: it may have taken effect at any time, or not at all.
//! Scans are not checked here.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The largest number of calls of one key in a history.
pub const MOST_CALLS: usize = 128;

/// What a call asks of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Read its value.
    Get,
    /// Set this value.
    Put(u64),
    /// Remove its value.
    Remove,
    /// Set this value, or remove it, if its value is the expected one.
    Swap {
        /// The expected value; `None`: the key is absent.
        expected: Option<u64>,
        /// The new value; `None`: remove it.
        new: Option<u64>,
    },
    /// Add to its value; an absent one counts as 0.
    Add(u64),
}

impl Action {
    /// The value after the action, given the one before.
    pub fn after(self, before: Option<u64>) -> Option<u64> {
        match self {
            Action::Get => before,
            Action::Put(put) => Some(put),
            Action::Remove => None,
            Action::Swap { expected, new } => {
                if before == expected {
                    new
                } else {
                    before
                }
            }
            Action::Add(by) => Some(before.unwrap_or(0).wrapping_add(by)),
        }
    }
}

/// A call and its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The key.
    pub key: u64,
    /// The action.
    pub action: Action,
    /// The value that was there before; unknown for a call without an end.
    pub saw: Option<u64>,
    /// When it began.
    pub began: u64,
    /// When it ended, if it did.
    pub ended: Option<u64>,
}

/// Why no order explains a history.
#[derive(Clone, Debug)]
pub enum Fault {
    /// No order explains what calls saw of this key.
    Unexplained {
        /// The key.
        key: u64,
        /// The longest order that was found.
        explained: Vec<Call>,
        /// The calls that do not fit behind it.
        left: Vec<Call>,
    },
    /// More calls of this key than the checker supports.
    TooLong {
        /// The key.
        key: u64,
        /// Their number; the checker supports at most [`MOST_CALLS`].
        calls: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::TooLong { key, calls } => write!(out, "key {key}: {calls} calls, at most {MOST_CALLS} expected"),
            Fault::Unexplained { key, explained, left } => {
                writeln!(out, "key {key}: no order explains what was seen; the best one so far:")?;
                explained.iter().try_for_each(|call| writeln!(out, "  {call:?}"))?;
                writeln!(out, "behind it none of these fits:")?;
                left.iter().try_for_each(|call| writeln!(out, "  {call:?}"))
            }
        }
    }
}

/// Assigns the instants of a history, all different.
#[derive(Default)]
pub struct Recorder(AtomicU64);

impl Recorder {
    /// Makes a call and records when it began, when it ended and what it saw.
    pub fn call(&self, key: u64, action: Action, make: impl FnOnce() -> Option<u64>) -> Call {
        let began = self.0.fetch_add(1, SeqCst);
        let saw = make();
        Call { key, action, saw, began, ended: Some(self.0.fetch_add(1, SeqCst)) }
    }
}

/// Checks whether some order explains a history that began with an empty map. Exponential in the number of calls that
/// overlap each other, linear in the others. A read without an end explains nothing and is left out: after a failure
/// there can be dozens of them.
///
/// # Errors
/// The first [`Fault`], by key.
pub fn check(history: &[Call]) -> Result<(), Fault> {
    let mut keys: BTreeMap<u64, Vec<Call>> = BTreeMap::new();
    let counts = |call: &&Call| call.ended.is_some() || call.action != Action::Get;
    history.iter().filter(counts).for_each(|call| keys.entry(call.key).or_default().push(*call));
    for (key, mut calls) in keys {
        if calls.len() > MOST_CALLS {
            return Err(Fault::TooLong { key, calls: calls.len() });
        }
        calls.sort_unstable_by_key(|call| call.began);
        let mut search = Search { calls: &calls, tried: HashSet::new(), order: Vec::new(), best: Vec::new() };
        if !search.explain(0, None) {
            let left =
                (0..calls.len()).filter(|index| !search.best.contains(index)).map(|index| calls[index]).collect();
            return Err(Fault::Unexplained {
                key,
                explained: search.best.iter().map(|index| calls[*index]).collect(),
                left,
            });
        }
    }
    Ok(())
}

/// Checks whether some order explains a history that a crash cut off at an instant, and what was found after it:
/// durable linearizability. Calls that had ended by then have taken effect, with everything that their answers need.
/// Calls in progress may or may not have taken effect.
///
/// # Errors
/// The first [`Fault`], by key.
pub fn check_crash(history: &[Call], crash: u64, found: &[(u64, u64)]) -> Result<(), Fault> {
    let before = history.iter().filter(|call| call.began < crash);
    let ended = |call: &Call| call.ended.is_some_and(|ended| ended < crash);
    let mut cut: Vec<Call> = before.map(|call| if ended(call) { *call } else { under_way(call) }).collect();
    let found: BTreeMap<u64, u64> = found.iter().copied().collect();
    let keys: BTreeSet<u64> = cut.iter().map(|call| call.key).chain(found.keys().copied()).collect();
    let look = |key: u64| Call {
        key,
        action: Action::Get,
        saw: found.get(&key).copied(),
        began: crash,
        ended: Some(crash + 1),
    };
    cut.extend(keys.into_iter().map(look));
    check(&cut)
}

/// The call as it stands before it has ended.
fn under_way(call: &Call) -> Call {
    Call { saw: None, ended: None, ..*call }
}

/// The search over the calls of one key.
struct Search<'a> {
    calls: &'a [Call],
    /// Pairs of explained calls and register value that led nowhere.
    tried: HashSet<(u128, Option<u64>)>,
    order: Vec<usize>,
    best: Vec<usize>,
}

impl Search<'_> {
    /// Explains all calls that are not in `done`, starting with `value` in the register. Recurses once per call.
    fn explain(&mut self, done: u128, value: Option<u64>) -> bool {
        let calls = self.calls;
        let left = || calls.iter().enumerate().filter(move |(index, _)| done >> index & 1 == 0);
        // A call that begins after the first end of an unexplained call comes after that call.
        let Some(limit) = left().filter_map(|(_, call)| call.ended).min() else { return true };
        if !self.tried.insert((done, value)) {
            return false;
        }
        if self.order.len() > self.best.len() {
            self.best.clone_from(&self.order);
        }
        for (index, call) in left().take_while(|(_, call)| call.began < limit) {
            if call.ended.is_some() && call.saw != value {
                continue;
            }
            let next = call.action.after(value);
            self.order.push(index);
            if self.explain(done | 1 << index, next) {
                return true;
            }
            self.order.pop();
        }
        false
    }
}
