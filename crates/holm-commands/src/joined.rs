//! Commands that follow each other and write the same key: one transaction carries them all out.
//!
//! Begin and commit are paid once, and so are the read and the write of what several change. Each command sees what
//! those before it have written. One that is refused before it has written anything leaves the others as they are.
//! Whatever else goes wrong undoes the transaction, and each command then runs by itself, as if it had come alone.

use crate::arguments::Arguments;
use crate::command::{BLOCKING, Command, ONE, WRITE};
use crate::events::Effects;
use crate::execute::{At, Function, run};
use crate::over_holm::{Databases, Within};
use crate::refusal::{Outcome, Refusal};
use crate::reply::Reply;
use crate::store::{Area, Range, Store, Visitor};
use holm::Slice;
use std::cell::{Cell, RefCell};

/// Returns whether a command may share a transaction with others: it writes one key, and does not wait.
pub fn may_share(command: &Command<Function>) -> bool {
    command.flags & WRITE != 0 && command.flags & BLOCKING == 0 && command.keys == ONE
}

/// What a key has after the commands so far. It is written to the transaction once no command is about it any more.
struct Kept {
    database: u32,
    key: Vec<u8>,
    value: Option<Slice>,
    is_changed: bool,
}

/// The transaction of several commands.
struct Shared<'d> {
    within: Within<'d>,
    /// The running command has written, or has tried to.
    has_written: Cell<bool>,
    /// The key of each area that was used last: the record that all commands change, and often the same row.
    kept: [RefCell<Option<Kept>>; 2],
}

impl Shared<'_> {
    /// Writes what is kept of an area.
    fn flush(&self, area: Area) -> Outcome<()> {
        let Some(Kept { database, key, value, .. }) = self.kept[area as usize].take().filter(|kept| kept.is_changed)
        else {
            return Ok(());
        };
        match value {
            Some(value) => self.within.insert(database, area, &key, &value),
            None => self.within.remove(database, area, &key),
        }
    }

    /// Keeps what a key has from now on.
    fn keep(&self, database: u32, area: Area, key: &[u8], value: Option<Slice>, is_changed: bool) -> Outcome<()> {
        if let Some(kept) = &mut *self.kept[area as usize].borrow_mut()
            && kept.key == key
            && kept.database == database
        {
            kept.value = value;
            kept.is_changed |= is_changed;
            return Ok(());
        }
        self.flush(area)?;
        *self.kept[area as usize].borrow_mut() = Some(Kept { database, key: key.to_vec(), value, is_changed });
        Ok(())
    }
}

impl Store for Shared<'_> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        if let Some(kept) = &*self.kept[area as usize].borrow()
            && kept.key == key
            && kept.database == database
        {
            return Ok(kept.value.clone());
        }
        self.flush(area)?;
        let value = self.within.get(database, area, key)?;
        self.keep(database, area, key, value.clone(), false)?;
        Ok(value)
    }

    fn insert(&self, database: u32, area: Area, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.has_written.set(true);
        self.keep(database, area, key, Some(Slice::from(value)), true)
    }

    fn remove(&self, database: u32, area: Area, key: &[u8]) -> Outcome<()> {
        self.has_written.set(true);
        self.keep(database, area, key, None, true)
    }

    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        self.flush(area)?;
        self.within.scan(database, area, range, visit)
    }

    fn len(&self, database: u32) -> Outcome<u64> {
        self.within.len(database)
    }

    fn next_version(&self) -> u64 {
        self.within.next_version()
    }
}

impl Databases {
    /// Runs commands for which [`may_share`] holds, in their order and in one transaction. Returns a reply for each,
    /// and what others may want to know. `None`: nothing has changed, and each command is to run by itself, because
    /// one is refused late, or because all together visit more pairs than the budget allows.
    pub fn execute_joined<'c, 'a>(
        &self,
        commands: impl Iterator<Item = (&'c Command<Function>, Arguments<'a>)> + Clone,
        at: At<'_>,
        budget: u64,
    ) -> Option<(Vec<Reply>, Effects)> {
        let done = self.db.transact(|transaction| {
            let within = Within { databases: self, transaction };
            let store = Shared { within, has_written: Cell::new(false), kept: Default::default() };
            let context = at.context(&store, self);
            context.limit(budget);
            let replies = commands.clone().map(|(command, arguments)| {
                store.has_written.set(false);
                match run(&context, command, &arguments) {
                    Ok(reply) => Ok(reply),
                    Err(Refusal::Text(text)) if !store.has_written.get() => Ok(Reply::Error(text)),
                    Err(refusal) => Err(refusal),
                }
            });
            let replies = replies.collect::<Outcome<Vec<_>>>()?;
            let effects = context.into_effects();
            [Area::Keys, Area::Rows].into_iter().try_for_each(|area| store.flush(area))?;
            Outcome::Ok((replies, effects))
        });
        done.ok()
    }
}
