//! How often commands that read have found their keys.
//!
//! As in Redis, commands count that return what keys have, those that also write among them, and commands that only
//! replace or change values do not. A key that is opened once more, or that is replaced, is not counted again.

use crate::context::Context;
use crate::entry::Entry;

/// Keys that were looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lookups {
    /// That were present.
    pub hits: u64,
    /// That were absent, or had expired.
    pub misses: u64,
}

impl Lookups {
    /// Adds others.
    pub fn add(&mut self, other: Lookups) {
        self.hits += other.hits;
        self.misses += other.misses;
    }

    pub(crate) fn note(&mut self, is_found: bool) {
        if is_found {
            self.hits += 1;
        } else {
            self.misses += 1;
        }
    }
}

impl Context<'_> {
    /// Counts that the running command has looked a key up.
    pub(crate) fn count_lookup(&self, entry: &Entry<'_>) {
        self.effects.borrow_mut().lookups.note(entry.live().is_some());
    }

    /// Opens a key that is counted already, or that is only replaced.
    pub(crate) fn uncounted<T>(&self, open: impl FnOnce() -> T) -> T {
        let before = self.counts_lookups.replace(false);
        let opened = open();
        self.counts_lookups.set(before);
        opened
    }
}
