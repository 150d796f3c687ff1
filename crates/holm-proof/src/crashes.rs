//! The images that a crash may leave, derived from a trace.
//!
//! A *cell* is what persists together: a line or a word, depending on the model. Each cell has the contents that a
//! crash may leave in it, its *takes*. An image is one take for each cell. After a flush followed by a fence of the
//! same thread, a cell has at least what it had at the flush. This module knows no trees, and recovers nothing.

mod classes;
mod known;
mod line;
mod visible;
mod window;
mod word;

pub(crate) use classes::Opener;
pub(crate) use known::Known;
pub use window::{Choice, Extent, Window};

use crate::snapshot::Snapshot;
use crate::trace::{Entry, Event};
use holm_medium::LINE;
use rand::Rng;
use std::collections::BTreeMap;
use std::fmt;

/// Which stores a crash may lose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Persistency {
    /// Of each line, a prefix of its stores persists: x86.
    Line,
    /// Each word persists separately.
    Word,
    /// Only the process dies: every store is present, in program order.
    Visible,
}

impl Persistency {
    /// All three models.
    pub const ALL: [Persistency; 3] = [Persistency::Line, Persistency::Word, Persistency::Visible];

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Persistency::Line => "line",
            Persistency::Word => "word",
            Persistency::Visible => "visible",
        }
    }

    fn cell(self, loc: u64) -> u64 {
        match self {
            Persistency::Line => line::cell(loc),
            Persistency::Word => word::cell(loc),
            Persistency::Visible => visible::cell(loc),
        }
    }
}

impl fmt::Display for Persistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How far a window is enumerated.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Visit all images if there are at most this many.
    pub exhaustive: usize,
    /// Otherwise visit the extremes, each cell alone, and at most this many pairs of cells,
    pub pairs: usize,
    /// and this many images at random.
    pub random: usize,
}

/// A store that a crash may still lose.
#[derive(Clone, Copy)]
struct Pending {
    event: usize,
    loc: u64,
    value: u64,
    filled: bool,
}

/// One content that a crash may leave in a cell.
struct Take {
    words: Vec<(u64, u64)>,
    change: u64,
    /// The first store to this cell that the take does not include.
    lost: Option<usize>,
}

/// What a crash may leave at one moment of a trace.
pub struct Crashes {
    persistency: Persistency,
    durable: Snapshot,
    content: u64,
    cells: BTreeMap<u64, Vec<Pending>>,
    flushed: BTreeMap<u32, BTreeMap<u64, usize>>,
}

fn mix(loc: u64, value: u64) -> u64 {
    let mixed = (loc ^ value.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ value;
    (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ loc
}

impl Crashes {
    /// Before the first event of a trace, all of `base` is durable.
    pub fn new(persistency: Persistency, base: Snapshot) -> Self {
        Crashes { persistency, durable: base, content: 0, cells: BTreeMap::new(), flushed: BTreeMap::new() }
    }

    /// Which stores a crash may lose.
    pub fn persistency(&self) -> Persistency {
        self.persistency
    }

    /// Advances past the next event.
    pub fn pass(&mut self, event: usize, entry: &Entry) {
        if self.persistency == Persistency::Visible {
            // In program order: before the next event, all earlier stores are present.
            let cells = std::mem::take(&mut self.cells);
            cells.into_values().flatten().for_each(|pending| self.keep(pending));
        }
        match &entry.event {
            Event::Write { loc, value } => self.store(Pending { event, loc: *loc, value: *value, filled: false }),
            Event::Fill { loc, values } => {
                for (index, value) in values.iter().enumerate() {
                    self.store(Pending { event, loc: loc + index as u64 * 8, value: *value, filled: true });
                }
            }
            Event::Flush { line } => {
                self.flushed.entry(entry.thread).or_default().insert(*line, event);
            }
            Event::Fence => self.fence(entry.thread),
            Event::Scratch { .. } | Event::Mark(_) => {}
        }
    }

    fn store(&mut self, pending: Pending) {
        self.cells.entry(self.persistency.cell(pending.loc)).or_default().push(pending);
    }

    fn keep(&mut self, pending: Pending) {
        self.content ^= mix(pending.loc, self.durable.word(pending.loc)) ^ mix(pending.loc, pending.value);
        self.durable.set(pending.loc, pending.value);
    }

    /// A fence completes the flushes of its own thread only.
    fn fence(&mut self, thread: u32) {
        for (line, flushed) in self.flushed.remove(&thread).unwrap_or_default() {
            let (first, last) = (line * LINE, line * LINE + LINE - 8);
            for cell in self.persistency.cell(first)..=self.persistency.cell(last) {
                let Some(mut pending) = self.cells.remove(&cell) else { continue };
                let later = pending.split_off(pending.partition_point(|pending| pending.event < flushed));
                pending.into_iter().for_each(|pending| self.keep(pending));
                if !later.is_empty() {
                    self.cells.insert(cell, later);
                }
            }
        }
    }

    /// The stores of this cell in order. For words that one fill stored, also each word alone, and all but each.
    fn takes(&self, pending: &[Pending]) -> Vec<Take> {
        let mut now: BTreeMap<u64, u64> = BTreeMap::new();
        let mut takes = vec![self.take(&now, Some(pending[0].event))];
        for (group, next) in groups(pending) {
            let before = now.clone();
            now.extend(group.iter().map(|pending| (pending.loc, pending.value)));
            if group.len() > 1 {
                for one in group {
                    let mut alone = before.clone();
                    alone.insert(one.loc, one.value);
                    takes.push(self.take(&alone, Some(one.event)));
                    let mut without = now.clone();
                    match before.get(&one.loc) {
                        Some(value) => without.insert(one.loc, *value),
                        None => without.remove(&one.loc),
                    };
                    takes.push(self.take(&without, Some(one.event)));
                }
            }
            let take = self.take(&now, next);
            match takes.last_mut() {
                // The store changed nothing, so no image shows whether it happened.
                Some(last) if last.change == take.change => *last = take,
                _ => takes.push(take),
            }
        }
        takes
    }

    fn take(&self, words: &BTreeMap<u64, u64>, lost: Option<usize>) -> Take {
        let changes = words.iter().map(|(loc, value)| mix(*loc, self.durable.word(*loc)) ^ mix(*loc, *value));
        let change = changes.fold(0, |sum, change| sum ^ change);
        Take { words: words.iter().map(|(loc, value)| (*loc, *value)).collect(), change, lost }
    }

    /// What a crash may leave now.
    pub fn window(&self) -> Window<'_> {
        let places = self.cells.keys().copied().collect();
        let cells = self.cells.values().map(|pending| self.takes(pending)).collect();
        let Crashes { persistency, durable, content, .. } = self;
        Window { persistency: *persistency, durable, content: *content, places, cells }
    }

    /// Visits the images that a crash may leave now, as many as the bounds allow.
    ///
    /// # Errors
    /// The visitor's first error.
    pub fn visit<E>(
        &self,
        bounds: &Bounds,
        random: &mut impl Rng,
        visitor: impl FnMut(&Choice<'_>) -> Result<(), E>,
    ) -> Result<Extent, E> {
        self.window().visit(bounds, random, visitor)
    }
}

/// Runs of stores that persist in any order among themselves, each with the event that follows it.
fn groups(pending: &[Pending]) -> Vec<(&[Pending], Option<usize>)> {
    let runs: Vec<_> = pending.chunk_by(|a, b| a.filled && b.filled && a.event == b.event).collect();
    let next = runs.iter().skip(1).map(|run| Some(run[0].event)).chain([None]);
    runs.iter().copied().zip(next).collect()
}

#[cfg(test)]
mod tests;
