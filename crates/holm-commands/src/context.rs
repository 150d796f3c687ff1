//! What a command runs in: a store, a time, and the database that the client has selected.

use crate::cursors::Cursors;
use crate::edition::Edition;
use crate::events::Effects;
use crate::random::Random;
use crate::refusal::{Outcome, Refusal};
use crate::store::{Area, Range, Store, Visitor};
use crate::unwritten::Unwritten;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

/// Milliseconds since 1970.
pub type Millis = u64;

/// A key of a numbered database to which elements have come that somebody may wait for.
pub type Signal = (u32, Vec<u8>);

/// The surroundings of the commands of one transaction.
pub struct Context<'s> {
    /// What commands read and write.
    pub store: &'s dyn Store,
    /// The time, the same for all commands of a transaction.
    pub now: Millis,
    /// The selected database.
    pub database: Cell<u32>,
    /// The number of databases.
    pub databases: u32,
    /// What the commands mean.
    pub edition: Edition,
    /// Where scans go on.
    pub cursors: &'s Cursors,
    /// The name of the running command, for error texts.
    pub command: Cell<&'static str>,
    random: Cell<Random>,
    /// How many pairs the command may visit yet.
    budget: Cell<u64>,
    pub(crate) effects: RefCell<Effects>,
    /// The classes of events that are noted.
    pub(crate) wanted_events: u32,
    /// The event that the next change of a key is, if not that of the command.
    pub(crate) event: Cell<Option<&'static str>>,
    /// The running command counts the keys that it looks up.
    pub(crate) counts_lookups: Cell<bool>,
    /// Changes are parts of another one, and no events.
    pub(crate) is_quiet: Cell<bool>,
    /// What a command has changed in memory, if further commands of the same transaction may change it once more.
    pub(crate) unwritten: Unwritten,
}

impl<'s> Context<'s> {
    /// Returns a context. The seed decides what commands choose at random.
    pub fn new(store: &'s dyn Store, cursors: &'s Cursors, now: Millis, seed: u64) -> Self {
        Context {
            store,
            now,
            database: Cell::new(0),
            databases: 16,
            edition: Edition::default(),
            cursors,
            command: Cell::new(""),
            random: Cell::new(Random::new(seed)),
            budget: Cell::new(u64::MAX),
            effects: RefCell::default(),
            wanted_events: 0,
            event: Cell::new(None),
            counts_lookups: Cell::new(false),
            is_quiet: Cell::new(false),
            unwritten: Unwritten::default(),
        }
    }

    /// Selects a database.
    pub fn select(self, database: u32) -> Self {
        self.database.set(database);
        self
    }

    /// Returns a number below a bound, by chance; 0 for a bound of 0.
    pub fn random_below(&self, bound: u64) -> u64 {
        let mut random = self.random.get();
        let below = random.below(bound);
        self.random.set(random);
        below
    }

    /// Sets how many pairs the command may visit.
    pub(crate) fn limit(&self, budget: u64) {
        self.budget.set(budget);
    }

    /// Visits the pairs of a range, as [`Store::scan`].
    ///
    /// # Errors
    /// As [`Store::scan`]; [`Refusal::TooLong`] if the command has visited more pairs than it may.
    pub(crate) fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        if area == Area::Keys {
            self.settle()?;
        }
        self.store.scan(database, area, range, &mut |key, value| {
            if self.budget.get() == 0 {
                return ControlFlow::Break(());
            }
            self.spend(1);
            visit(key, value)
        })?;
        if self.budget.get() == 0 { Err(Refusal::TooLong) } else { Ok(()) }
    }

    /// Counts pairs that a visitor passes beside the one that it was given.
    pub(crate) fn spend(&self, pairs: u64) {
        self.budget.set(self.budget.get().saturating_sub(pairs));
    }

    /// Notes that a key has elements that somebody may wait for.
    pub fn signal(&self, key: &[u8]) {
        self.signal_in(self.database.get(), key);
    }

    /// As [`Context::signal`], for a key of any database.
    pub(crate) fn signal_in(&self, database: u32, key: &[u8]) {
        let signals = &mut self.effects.borrow_mut().signals;
        if signals.last().is_none_or(|last| last.0 != database || last.1 != key) {
            signals.push((database, key.to_vec()));
        }
    }

    /// States which event the next change of a key is.
    pub(crate) fn next_event(&self, name: &'static str) {
        self.event.set(Some(name));
    }

    /// Returns what was noted.
    pub fn into_effects(self) -> Effects {
        self.effects.into_inner()
    }
}
