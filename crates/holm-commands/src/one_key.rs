//! Commands that need a single key: they run without a transaction where its record suffices.
//!
//! A command that writes runs within an atomic update of the key's record. One that only reads looks at the record, and
//! at the rows of a large collection beside it. Each change of such a collection also changes its record, so if the
//! record is the same afterwards, the rows belong together. A command that turns out to need more is begun anew in a
//! transaction.

use crate::arguments::Arguments;
use crate::command::{BLOCKING, Command, DIRECT, ONE, READ};
use crate::events::Effects;
use crate::execute::{At, Function, run};
use crate::lookups::Lookups;
use crate::over_holm::Databases;
use crate::record::is_in_rows;
use crate::refusal::{Outcome, Refusal};
use crate::reply::Reply;
use crate::spaces::{Space, walk_lent};
use crate::store::{Area, Range, Store, Visitor};
use crate::window::{Window, walk_through};
use holm::{Slice, Update};
use std::cell::{Cell, RefCell};

/// How often a collection that changes meanwhile is read again before a transaction reads it.
const ATTEMPTS: usize = 3;

/// Ends a command that needs more than the key. No client sees it.
const BEYOND: Refusal = Refusal::Store(holm::Error::Conflict);

/// The record of one key, and what becomes of it.
struct OneRecord<'k> {
    database: u32,
    key: &'k [u8],
    old: Option<Slice>,
    new: RefCell<Option<Update>>,
    /// The command needs more than the record.
    needs_more: Cell<bool>,
}

impl OneRecord<'_> {
    fn check(&self, database: u32, area: Area, key: &[u8]) -> Outcome<()> {
        if area == Area::Keys && database == self.database && key == self.key { Ok(()) } else { self.give_up() }
    }

    fn give_up<T>(&self) -> Outcome<T> {
        self.needs_more.set(true);
        Err(BEYOND)
    }
}

impl Store for OneRecord<'_> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        self.check(database, area, key)?;
        Ok(match &*self.new.borrow() {
            None | Some(Update::Keep) => self.old.clone(),
            Some(Update::Put(value)) => Some(Slice::from(&value[..])),
            Some(Update::Remove) => None,
        })
    }

    fn insert(&self, database: u32, area: Area, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.insert_made(database, area, key, value.to_vec())
    }

    fn insert_made(&self, database: u32, area: Area, key: &[u8], value: Vec<u8>) -> Outcome<()> {
        self.check(database, area, key)?;
        *self.new.borrow_mut() = Some(Update::Put(value));
        Ok(())
    }

    fn remove(&self, database: u32, area: Area, key: &[u8]) -> Outcome<()> {
        self.check(database, area, key)?;
        *self.new.borrow_mut() = Some(Update::Remove);
        Ok(())
    }

    fn scan(&self, _: u32, _: Area, _: Range<'_>, _: &mut Visitor<'_>) -> Outcome<()> {
        self.give_up()
    }

    fn len(&self, _: u32) -> Outcome<u64> {
        self.give_up()
    }

    fn next_version(&self) -> u64 {
        // Only what becomes rows has a version, and rows are beyond a record.
        self.needs_more.set(true);
        0
    }
}

/// Reads of one key and of its rows, each at an instant of its own.
struct OneCollection<'k> {
    space: &'k Space,
    database: u32,
    key: &'k [u8],
    record: RefCell<Option<Option<Slice>>>,
    /// Rows were read, which belong together only if the record stays as it is.
    has_rows: Cell<bool>,
    needs_more: Cell<bool>,
    /// What a walk has passed, if further commands may walk there.
    window: Option<RefCell<Option<Window>>>,
}

impl<'k> OneCollection<'k> {
    fn new(space: &'k Space, database: u32, key: &'k [u8]) -> Self {
        let (record, has_rows, needs_more) = (RefCell::default(), Cell::new(false), Cell::new(false));
        OneCollection { space, database, key, record, has_rows, needs_more, window: None }
    }

    /// Returns whether all that was read is of one instant.
    fn is_one_instant(&self) -> Outcome<bool> {
        Ok(!self.has_rows.get() || *self.record.borrow() == Some(self.space.keys.get(self.key)?))
    }

    fn give_up<T>(&self) -> Outcome<T> {
        self.needs_more.set(true);
        Err(BEYOND)
    }
}

impl Store for OneCollection<'_> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        if database != self.database || area == Area::Keys && key != self.key {
            return self.give_up();
        }
        if area == Area::Rows {
            self.has_rows.set(true);
            return Ok(self.space.rows.get(key)?);
        }
        if let Some(record) = &*self.record.borrow() {
            return Ok(record.clone());
        }
        let record = self.space.keys.get(key)?;
        *self.record.borrow_mut() = Some(record.clone());
        Ok(record)
    }

    fn insert(&self, _: u32, _: Area, _: &[u8], _: &[u8]) -> Outcome<()> {
        self.give_up()
    }

    fn remove(&self, _: u32, _: Area, _: &[u8]) -> Outcome<()> {
        self.give_up()
    }

    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        if database != self.database || area == Area::Keys {
            return self.give_up();
        }
        self.has_rows.set(true);
        let over_store = |range: Range<'_>, visit: &mut Visitor<'_>| {
            walk_lent(self.space.rows.range::<&[u8]>((range.low, range.high)), range.reverse, visit)
        };
        match &self.window {
            Some(window) => walk_through(window, range, visit, over_store),
            None => over_store(range, visit),
        }
    }

    fn len(&self, _: u32) -> Outcome<u64> {
        self.give_up()
    }

    fn next_version(&self) -> u64 {
        0
    }
}

/// Returns whether a command may be carried out together with others that read the same key.
pub fn may_share_reads(command: &Command<Function>) -> bool {
    command.flags & (READ | BLOCKING | DIRECT) == READ && command.keys == ONE
}

/// Returns the key of a command that has only one.
fn only_key<'a>(command: &Command<Function>, arguments: &Arguments<'a>) -> Option<&'a [u8]> {
    let has_one = command.keys == ONE && command.flags & BLOCKING == 0;
    arguments.get(1).filter(|key| has_one && key.len() <= crate::entry::MAX_NAME)
}

impl Databases {
    /// Runs a command that writes a single record; `None` if it needs more than that.
    pub(crate) fn update_one(
        &self,
        command: &Command<Function>,
        arguments: &Arguments<'_>,
        at: At<'_>,
    ) -> Outcome<Option<(Reply, Effects)>> {
        let Some(key) = only_key(command, arguments) else { return Ok(None) };
        let space = self.space(at.database)?;
        space.keys.update(key, |old| match self.decide(key, old, (command, arguments), at) {
            None => (Update::Keep, Ok(None)),
            Some((update, answer)) => (update, answer.map(Some)),
        })?
    }

    /// Runs a command on a record. Returns what becomes of the record, and the answer; `None` if the command needs
    /// more.
    fn decide(
        &self,
        key: &[u8],
        old: Option<&Slice>,
        (command, arguments): (&Command<Function>, &Arguments<'_>),
        at: At<'_>,
    ) -> Option<(Update, Outcome<(Reply, Effects)>)> {
        if old.is_some_and(|old| is_in_rows(old)) {
            return None;
        }
        let (database, new, needs_more) = (at.database, RefCell::default(), Cell::new(false));
        let store = OneRecord { database, key, old: old.cloned(), new, needs_more };
        let (answer, effects) = {
            let context = at.context(&store, self);
            let answer = run(&context, command, arguments);
            (answer, context.into_effects())
        };
        if store.needs_more.get() {
            return None;
        }
        Some(match answer {
            Ok(reply) => (store.new.into_inner().unwrap_or(Update::Keep), Ok((reply, effects))),
            Err(refusal) => (Update::Keep, Err(refusal)),
        })
    }

    /// Runs commands for which [`crate::may_share`] holds, one after the other, each at an instant of its own: as
    /// [`Databases::execute_within`] does, but their keys are looked up together. Returns what became of each, up to
    /// and with the first one that the budget does not suffice for.
    pub fn execute_each(
        &self,
        commands: &[(&Command<Function>, Arguments<'_>)],
        at: At<'_>,
        budget: u64,
    ) -> Vec<Outcome<(Reply, Effects)>> {
        let at_index = |index: usize| At { seed: at.seed.wrapping_add(index as u64), ..at };
        let mut answers = Vec::with_capacity(commands.len());
        while answers.len() < commands.len() {
            let refused = match self.space(at.database) {
                Ok(space) => self.update_some(space, commands, &mut answers, at_index),
                Err(refusal) => Err(refusal),
            };
            let index = answers.len();
            match (refused, commands.get(index)) {
                (Err(refusal), _) => answers.push(Err(refusal)),
                (Ok(()), None) => break,
                // It needs more than its record.
                (Ok(()), Some((command, arguments))) => {
                    answers.push(self.execute_within(command, arguments, at_index(index), budget));
                }
            }
            if matches!(answers.last(), Some(Err(Refusal::TooLong))) {
                break;
            }
        }
        answers
    }

    /// Runs those commands, from the first one without an answer on, that need their records only.
    fn update_some<'s>(
        &self,
        space: &Space,
        commands: &[(&Command<Function>, Arguments<'_>)],
        answers: &mut Vec<Outcome<(Reply, Effects)>>,
        at_index: impl Fn(usize) -> At<'s>,
    ) -> Outcome<()> {
        let first = answers.len();
        let rest = &commands[first..];
        let keys: Vec<_> = rest.iter().map_while(|(command, arguments)| only_key(command, arguments)).collect();
        let (updated, outcome) = space.keys.update_many(&keys, |index, old| {
            let (command, arguments) = &rest[index];
            let at = at_index(first + index);
            let (update, answer) = self.decide(keys[index], old, (command, arguments), at)?;
            // It may be decided again.
            answers.truncate(first + index);
            answers.push(answer);
            Some(update)
        });
        answers.truncate(first + updated);
        Ok(outcome?)
    }

    /// Runs a command that reads a single key; `None` if it needs more than that, or if the key never stays the same.
    pub(crate) fn read_one(
        &self,
        command: &Command<Function>,
        arguments: &Arguments<'_>,
        at: At<'_>,
        budget: u64,
    ) -> Outcome<Option<(Reply, Effects)>> {
        let Some(key) = only_key(command, arguments) else { return Ok(None) };
        let Some(space) = self.existing(at.database)? else { return Ok(None) };
        for _ in 0..ATTEMPTS {
            let store = OneCollection::new(space, at.database, key);
            let (answer, effects) = {
                let context = at.context(&store, self);
                context.limit(budget);
                let answer = run(&context, command, arguments);
                (answer, context.into_effects())
            };
            if store.needs_more.get() {
                return Ok(None);
            }
            match answer {
                Err(Refusal::TooLong) => return Err(Refusal::TooLong),
                answer if store.is_one_instant()? => return answer.map(|reply| Some((reply, effects))),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Runs commands for which [`may_share_reads`] holds and that have the same key, at one instant: what one has read,
    /// the next ones need not look up. Returns a reply for each, and how often the key was found. `None`: each command
    /// is to run by itself.
    pub fn read_joined<'c, 'a>(
        &self,
        commands: impl Iterator<Item = (&'c Command<Function>, Arguments<'a>)> + Clone,
        at: At<'_>,
        budget: u64,
    ) -> Option<(Vec<Reply>, Lookups)> {
        let (first, arguments) = commands.clone().next()?;
        let key = only_key(first, &arguments)?;
        let space = self.existing(at.database).ok()??;
        for _ in 0..ATTEMPTS {
            let mut store = OneCollection::new(space, at.database, key);
            store.window = Some(RefCell::default());
            let context = at.context(&store, self);
            context.limit(budget);
            let replies = commands.clone().map(|(command, arguments)| match run(&context, command, &arguments) {
                Err(Refusal::Text(text)) => Some(Reply::Error(text)),
                answer => answer.ok(),
            });
            let replies = replies.collect::<Option<Vec<_>>>()?;
            if store.needs_more.get() {
                return None;
            }
            if store.is_one_instant().ok()? {
                return Some((replies, context.into_effects().lookups));
            }
        }
        None
    }
}
