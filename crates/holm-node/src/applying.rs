//! The store of commands that are applied: one transaction over a group's keyspaces.

use crate::slot::slot_of;
use crate::slot_entry::journal_row;
use crate::slots::Slots;
use crate::space::Space;
use crate::state::State;
use holm::Slice;
use holm_commands::{Area, Outcome, Range, Store, Visitor, Within};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Reads and writes of the entries of one call.
pub(crate) struct Applying<'t> {
    pub(crate) within: Within<'t, Space>,
    pub(crate) state: Cell<State>,
    /// The running command has written, or has tried to.
    pub(crate) has_written: Cell<bool>,
    /// The group's record of its slots, with the changes of these entries.
    pub(crate) slots: RefCell<Option<Arc<Slots>>>,
}

impl Applying<'_> {
    /// Notes that a key has changed, or may have, if its slot is being moved.
    pub(crate) fn journal(&self, key: &[u8]) -> Outcome<()> {
        let attempt = match &*self.slots.borrow() {
            Some(slots) if slots.notes(slot_of(key)) => slots.attempt,
            _ => return Ok(()),
        };
        self.insert(0, Area::Rows, &journal_row(attempt, key), &self.state.get().applied.to_le_bytes())
    }

    /// Adds a change to the hash of all changes.
    fn note(&self, area: Area, key: &[u8], value: Option<&[u8]>) {
        self.has_written.set(true);
        let mut state = self.state.get();
        let mut hash = Xxh3::with_seed(state.hash);
        hash.update(&[area as u8, u8::from(value.is_some())]);
        hash.update(&(key.len() as u64).to_le_bytes());
        hash.update(key);
        hash.update(&xxh3_64(value.unwrap_or_default()).to_le_bytes());
        state.hash = hash.digest();
        self.state.set(state);
    }
}

impl Store for Applying<'_> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        self.within.get(database, area, key)
    }

    fn insert(&self, database: u32, area: Area, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.note(area, key, Some(value));
        if area == Area::Keys {
            self.journal(key)?;
        }
        self.within.insert(database, area, key, value)
    }

    fn remove(&self, database: u32, area: Area, key: &[u8]) -> Outcome<()> {
        self.note(area, key, None);
        if area == Area::Keys {
            self.journal(key)?;
        }
        self.within.remove(database, area, key)
    }

    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        self.within.scan(database, area, range, visit)
    }

    fn len(&self, database: u32) -> Outcome<u64> {
        self.within.len(database)
    }

    fn next_version(&self) -> u64 {
        let mut state = self.state.get();
        state.version += 1;
        self.state.set(state);
        state.version
    }
}
