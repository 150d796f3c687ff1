//! The store of commands that are applied: one transaction over a group's keyspaces.

use crate::slot::slot_of;
use crate::slot_entry::journal_row;
use crate::slots::Slots;
use crate::space::Space;
use crate::state::State;
use holm::{Slice, Transaction};
use holm_commands::{Area, Outcome, Range, Store, Visitor};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::Arc;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Reads and writes of the entries of one call.
pub(crate) struct Within<'t> {
    pub(crate) space: &'t Space,
    pub(crate) transaction: &'t Transaction,
    pub(crate) state: Cell<State>,
    /// The running command has written, or has tried to.
    pub(crate) has_written: Cell<bool>,
    /// The group's record of its slots, with the changes of these entries.
    pub(crate) slots: RefCell<Option<Arc<Slots>>>,
}

impl Within<'_> {
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

/// Walks over pairs of a transaction.
pub(crate) fn walk<I>(mut pairs: I, reverse: bool, visit: &mut Visitor<'_>) -> Outcome<()>
where
    I: DoubleEndedIterator<Item = holm::Result<(Slice, Slice)>>,
{
    while let Some(pair) = if reverse { pairs.next_back() } else { pairs.next() } {
        let (key, value) = pair?;
        if visit(&key, &value) == ControlFlow::Break(()) {
            break;
        }
    }
    Ok(())
}

impl Store for Within<'_> {
    fn get(&self, _: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        Ok(self.transaction.get(self.space.area(area), key)?)
    }

    fn insert(&self, _: u32, area: Area, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.note(area, key, Some(value));
        if area == Area::Keys {
            self.journal(key)?;
        }
        Ok(self.transaction.insert(self.space.area(area), key, value)?)
    }

    fn remove(&self, _: u32, area: Area, key: &[u8]) -> Outcome<()> {
        self.note(area, key, None);
        if area == Area::Keys {
            self.journal(key)?;
        }
        Ok(self.transaction.remove(self.space.area(area), key)?)
    }

    fn scan(&self, _: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        let pairs = self.transaction.range::<&[u8]>(self.space.area(area), (range.low, range.high))?;
        walk(pairs, range.reverse, visit)
    }

    fn len(&self, _: u32) -> Outcome<u64> {
        // Its own writes are not among them, so no command that is applied may depend on it.
        Ok(self.space.keys.len()?)
    }

    fn next_version(&self) -> u64 {
        let mut state = self.state.get();
        state.version += 1;
        self.state.set(state);
        state.version
    }
}
