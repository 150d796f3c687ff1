//! Commands that write the same key, of one client or of several: one transaction carries out many of them.
//!
//! Begin and commit are paid once, and so are the read and the write of what several change. Each command sees what
//! those before it have written. One that is refused before it has written anything leaves the others as they are.
//! Whatever else goes wrong undoes the transaction, and each command then runs by itself, as if it had come alone.
//! Several transactions have one turn at the key.

use crate::arguments::Arguments;
use crate::command::{BLOCKING, Command, ONE, WRITE};
use crate::events::Effects;
use crate::execute::{At, Function, run};
use crate::look_ahead::RowsAhead;
use crate::over_holm::Databases;
use crate::refusal::{Outcome, Refusal};
use crate::reply::Reply;
use crate::spaces::Within;
use crate::store::{Area, Range, Store, Visitor};
use holm::Slice;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The most commands of one transaction.
const MOST_COMMANDS: usize = 256;

/// A transaction that has read rows this often takes no more commands, if they were not read ahead.
const MOST_ROWS: usize = 32;

/// Returns whether a command may share a transaction with others: it writes one key, and does not wait.
pub fn may_share(command: &Command<Function>) -> bool {
    command.flags & WRITE != 0 && command.flags & BLOCKING == 0 && command.keys == ONE
}

/// A command has reopened what an earlier one has left, and has not saved it. No client sees it.
const LOST: Refusal = Refusal::text("ERR an earlier change is lost");

/// What a key has after the commands so far. It is written to the transaction once no command is about it any more.
struct Kept {
    database: u32,
    key: Vec<u8>,
    value: Option<Slice>,
    is_changed: bool,
}

/// The transaction of several commands.
struct Shared<'d> {
    within: Within<'d, Databases>,
    /// The running command has written, or has tried to.
    has_written: Rc<Cell<bool>>,
    /// How often rows were read.
    rows_read: Cell<usize>,
    /// The record that was used last: mostly all commands change it.
    kept: RefCell<Option<Kept>>,
}

impl Shared<'_> {
    /// Writes the record that is kept.
    fn flush(&self) -> Outcome<()> {
        let Some(Kept { database, key, value, .. }) = self.kept.take().filter(|kept| kept.is_changed) else {
            return Ok(());
        };
        match value {
            Some(value) => self.within.insert(database, Area::Keys, &key, &value),
            None => self.within.remove(database, Area::Keys, &key),
        }
    }

    /// Keeps what a key has from now on.
    fn keep(&self, database: u32, key: &[u8], value: Option<Slice>, is_changed: bool) -> Outcome<()> {
        if let Some(kept) = &mut *self.kept.borrow_mut()
            && kept.key == key
            && kept.database == database
        {
            kept.value = value;
            kept.is_changed |= is_changed;
            return Ok(());
        }
        self.flush()?;
        *self.kept.borrow_mut() = Some(Kept { database, key: key.to_vec(), value, is_changed });
        Ok(())
    }
}

impl Store for Shared<'_> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        if area == Area::Rows {
            self.rows_read.update(|count| count + 1);
            return self.within.get(database, area, key);
        }
        if let Some(kept) = &*self.kept.borrow()
            && kept.key == key
            && kept.database == database
        {
            return Ok(kept.value.clone());
        }
        self.flush()?;
        let value = self.within.get(database, area, key)?;
        self.keep(database, key, value.clone(), false)?;
        Ok(value)
    }

    fn insert(&self, database: u32, area: Area, key: &[u8], value: &[u8]) -> Outcome<()> {
        self.has_written.set(true);
        match area {
            Area::Keys => self.keep(database, key, Some(Slice::from(value)), true),
            Area::Rows => self.within.insert(database, area, key, value),
        }
    }

    fn remove(&self, database: u32, area: Area, key: &[u8]) -> Outcome<()> {
        self.has_written.set(true);
        match area {
            Area::Keys => self.keep(database, key, None, true),
            Area::Rows => self.within.remove(database, area, key),
        }
    }

    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        match area {
            Area::Keys => self.flush()?,
            Area::Rows => self.rows_read.update(|count| count + 1),
        }
        self.within.scan(database, area, range, visit)
    }

    fn len(&self, database: u32) -> Outcome<u64> {
        self.within.len(database)
    }

    fn next_version(&self) -> u64 {
        self.within.next_version()
    }
}

/// Replies to commands, and what others may want to know of each transaction.
pub type RepliesAndEffects = (Vec<Reply>, Vec<Effects>);

impl Databases {
    /// Runs commands for which [`may_share`] holds and that write the same key, in their order and in few transactions.
    /// Returns a reply for each of those whose transactions have committed. The next one after them is to run by
    /// itself: a command of its transaction is refused late, or all of them together visit more pairs than the budget
    /// allows.
    pub fn execute_joined(
        &self,
        commands: &[(&Command<Function>, Arguments<'_>)],
        at: At<'_>,
        budget: u64,
    ) -> RepliesAndEffects {
        let (mut replies, mut effects) = (Vec::with_capacity(commands.len()), Vec::new());
        let Some((_, first)) = commands.first() else { return (replies, effects) };
        let mut turn = None;
        while replies.len() < commands.len() {
            let at = At { seed: at.seed.wrapping_add(replies.len() as u64), ..at };
            let rest = &commands[replies.len()..];
            let ahead = self.look_ahead(at.database, rest.iter().copied());
            let most = ahead.as_ref().map_or(MOST_COMMANDS, |ahead| ahead.commands);
            // One turn for all: to wait for the next one is to sleep. But others need not wait for rows that this
            // thread looks up.
            let waited = turn.take().unwrap_or_else(|| self.turns.wait(at.database, first.at(1)));
            let done = self.execute_part(&rest[..most.min(rest.len())], ahead.as_ref(), at, budget);
            turn = Some(waited).filter(|_| ahead.is_none());
            let Some((more, effect)) = done else { break };
            replies.extend(more);
            effects.push(effect);
        }
        (replies, effects)
    }

    /// Runs commands in one transaction: all, or as many as read a number of rows. `None`: nothing has changed.
    fn execute_part(
        &self,
        commands: &[(&Command<Function>, Arguments<'_>)],
        ahead: Option<&RowsAhead>,
        at: At<'_>,
        budget: u64,
    ) -> Option<(Vec<Reply>, Effects)> {
        let (_, first) = commands.first()?;
        let done = self.db.transact(|transaction| {
            let within = Within { databases: self, transaction };
            let store =
                Shared { within, has_written: Rc::default(), rows_read: Cell::new(0), kept: RefCell::default() };
            if let Some(ahead) = ahead {
                // The record first, at which the others may conflict: it is written last.
                store.get(at.database, Area::Keys, first.at(1))?;
                let rows = &self.space(at.database)?.rows;
                transaction.read_ahead(rows, &ahead.members)?;
                ahead.by_score.iter().try_for_each(|by_score| transaction.expect_writes(rows, by_score))?;
            }
            let context = at.context(&store, self);
            context.limit(budget);
            context.unwritten.share(store.has_written.clone());
            let mut replies = Vec::with_capacity(commands.len());
            for (command, arguments) in commands {
                if ahead.is_none() && store.rows_read.get() >= MOST_ROWS {
                    break;
                }
                store.has_written.set(false);
                replies.push(match run(&context, command, arguments) {
                    _ if context.unwritten.is_reopened() => return Err(LOST),
                    Ok(reply) => reply,
                    Err(Refusal::Text(text)) if !store.has_written.get() => Reply::Error(text),
                    Err(refusal) => return Err(refusal),
                });
            }
            context.settle()?;
            let effects = context.into_effects();
            store.flush()?;
            Outcome::Ok((replies, effects))
        });
        let (replies, effects) = done.ok()?;
        self.add_expiring(&effects.expiring);
        Some((replies, effects))
    }
}
