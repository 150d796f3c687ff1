//! Commands that follow each other and write the same key: one transaction carries them all out.
//!
//! Begin and commit, and the read of a record that several change, are paid once. Each command sees what those before
//! it have written. One that is refused before it has written anything leaves the others as they are. Whatever else
//! goes wrong undoes the transaction, and each command then runs by itself, as if it had come alone.

use crate::arguments::Arguments;
use crate::command::{BLOCKING, Command, ONE, WRITE};
use crate::context::Signal;
use crate::execute::{At, Function, run};
use crate::over_holm::{Databases, Within};
use crate::refusal::{Outcome, Refusal};
use crate::reply::Reply;
use crate::store::{Area, Range, Store, Visitor};
use holm::Slice;
use std::cell::Cell;

/// Returns whether a command may share a transaction with others: it writes one key, and does not wait.
pub fn may_share(command: &Command<Function>) -> bool {
    command.flags & WRITE != 0 && command.flags & BLOCKING == 0 && command.keys == ONE
}

/// The transaction of several commands.
struct Shared<'d> {
    within: Within<'d>,
    /// The running command has written, or has tried to.
    has_written: Cell<bool>,
}

impl Store for Shared<'_> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        self.within.get(database, area, key)
    }

    fn insert(&self, database: u32, area: Area, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.has_written.set(true);
        self.within.insert(database, area, key, value)
    }

    fn remove(&self, database: u32, area: Area, key: &[u8]) -> Outcome<()> {
        self.has_written.set(true);
        self.within.remove(database, area, key)
    }

    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
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
    /// and the keys that have new elements. `None`: nothing has changed, and each command is to run by itself.
    pub fn execute_joined<'c, 'a>(
        &self,
        commands: impl Iterator<Item = (&'c Command<Function>, Arguments<'a>)> + Clone,
        at: At<'_>,
    ) -> Option<(Vec<Reply>, Vec<Signal>)> {
        let done = self.db.transact(|transaction| {
            let within = Within { databases: self, transaction };
            let store = Shared { within, has_written: Cell::new(false) };
            let context = at.context(&store, self);
            let replies = commands.clone().map(|(command, arguments)| {
                store.has_written.set(false);
                match run(&context, command, &arguments) {
                    Ok(reply) => Ok(reply),
                    Err(Refusal::Text(text)) if !store.has_written.get() => Ok(Reply::Error(text)),
                    Err(refusal) => Err(refusal),
                }
            });
            let replies = replies.collect::<Outcome<Vec<_>>>()?;
            Outcome::Ok((replies, context.into_signals()))
        });
        done.ok()
    }
}
