//! Running commands: each at one instant, several at one instant, or at a snapshot.

use crate::arguments::Arguments;
use crate::command::{BLOCKING, COUNTED, Command, DIRECT, READ, WRITE};
use crate::context::{Context, Millis};
use crate::cursors::Cursors;
use crate::events::Effects;
use crate::lookups::Lookups;
use crate::over_holm::{AtSnapshot, Databases};
use crate::refusal::{Outcome, Refusal};
use crate::reply::Reply;
use crate::spaces::{AtOneInstant, Direct, Within};
use holm::{Snapshot, Transaction};

/// A function that carries out a command.
pub type Function = for<'c, 'a> fn(&'c Context<'c>, &Arguments<'a>) -> Outcome<Reply>;

/// When and where commands run.
#[derive(Clone, Copy, Debug)]
pub struct At<'c> {
    /// The selected database.
    pub database: u32,
    /// The time.
    pub now: Millis,
    /// What decides choices by chance.
    pub seed: u64,
    /// Where scans go on.
    pub cursors: &'c Cursors,
}

impl<'c> At<'c> {
    pub(crate) fn context(self, store: &'c dyn crate::store::Store, databases: &Databases) -> Context<'c> {
        let mut context = Context::new(store, self.cursors, self.now, self.seed).select(self.database);
        context.databases = databases.count();
        context.wanted_events = databases.notifications().classes();
        context
    }
}

/// Runs a command within a context.
///
/// # Errors
/// As the command.
pub fn run<'c>(context: &'c Context<'c>, command: &Command<Function>, arguments: &Arguments<'_>) -> Outcome<Reply> {
    context.command.set(command.name);
    context.counts_lookups.set(command.flags & (READ | COUNTED) != 0);
    (command.run)(context, arguments)
}

impl Databases {
    /// Runs a command at one instant. Returns its reply, and what others may want to know.
    ///
    /// # Errors
    /// As the command; nothing has changed then.
    pub fn execute(
        &self,
        command: &Command<Function>,
        arguments: &Arguments<'_>,
        at: At<'_>,
    ) -> Outcome<(Reply, Effects)> {
        self.execute_within(command, arguments, at, u64::MAX)
    }

    /// As [`Databases::execute`], unless the command visits more pairs than the budget allows and does not wait.
    ///
    /// # Errors
    /// As the command; [`Refusal::TooLong`] if the budget does not suffice. Nothing has changed then.
    pub fn execute_within(
        &self,
        command: &Command<Function>,
        arguments: &Arguments<'_>,
        at: At<'_>,
        budget: u64,
    ) -> Outcome<(Reply, Effects)> {
        if command.flags & WRITE != 0 {
            if let Some(done) = self.update_one(command, arguments, at)? {
                return Ok(done);
            }
            return self.transact(at, |context| {
                context.limit(if command.flags & BLOCKING == 0 { budget } else { u64::MAX });
                run(context, command, arguments)
            });
        }
        if command.flags & DIRECT != 0 {
            let store = Direct(self);
            let context = at.context(&store, self);
            context.limit(budget);
            let reply = run(&context, command, arguments)?;
            return Ok((reply, context.into_effects()));
        }
        if let Some(done) = self.read_one(command, arguments, at, budget)? {
            return Ok(done);
        }
        self.db.read(|transaction| {
            let store = AtOneInstant { databases: self, transaction };
            let context = at.context(&store, self);
            context.limit(budget);
            let reply = run(&context, command, arguments)?;
            Ok((reply, context.into_effects()))
        })
    }

    /// Runs several commands at one instant; they are run again after each conflict.
    ///
    /// # Errors
    /// What the closure returns; nothing has changed then.
    pub fn transact<T>(
        &self,
        at: At<'_>,
        mut commands: impl for<'c> FnMut(&'c Context<'c>) -> Outcome<T>,
    ) -> Outcome<(T, Effects)> {
        let done = self.db.transact(|transaction| {
            let store = Within { databases: self, transaction };
            let context = at.context(&store, self);
            let answer = commands(&context)?;
            Outcome::Ok((answer, context.into_effects()))
        })?;
        self.add_expiring(&done.1.expiring);
        Ok(done)
    }

    /// Runs several commands on top of what a transaction has read, at one instant. `None` if that has changed.
    ///
    /// # Errors
    /// What the closure returns; nothing has changed then.
    pub fn commit<T>(
        &self,
        transaction: Transaction,
        at: At<'_>,
        commands: impl for<'c> FnOnce(&'c Context<'c>) -> Outcome<T>,
    ) -> Outcome<Option<(T, Effects)>> {
        let store = Within { databases: self, transaction: &transaction };
        let context = at.context(&store, self);
        let answer = commands(&context);
        let effects = context.into_effects();
        let is_conflict = |refusal: &Refusal| {
            matches!(refusal, Refusal::Store(holm::Error::Conflict | holm::Error::Dropped { .. } | holm::Error::Ended))
        };
        let answer = match answer {
            Err(refusal) if is_conflict(&refusal) => return Ok(None),
            answer => answer?,
        };
        match transaction.commit().map_err(Refusal::from) {
            Ok(_) => {
                self.add_expiring(&effects.expiring);
                Ok(Some((answer, effects)))
            }
            Err(refusal) if is_conflict(&refusal) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// Begins a transaction that a client watches keys with.
    pub fn begin(&self) -> Transaction {
        self.db.begin()
    }

    /// Reads a key in a transaction, so that the transaction conflicts if it changes. Returns whether the key is
    /// present. One that has expired is not read, because its removal changes nothing: the caller looks whether it is
    /// still absent when the transaction commits.
    ///
    /// # Errors
    /// Those of the store.
    pub fn watch(&self, transaction: &Transaction, at: At<'_>, key: &[u8]) -> Outcome<bool> {
        let now = Direct(self);
        let found = at.context(&now, self).entry(key)?;
        if found.is_stored() && found.live().is_none() {
            return Ok(false);
        }
        let store = Within { databases: self, transaction };
        Ok(at.context(&store, self).entry(key)?.live().is_some())
    }

    /// Runs a command that reads at a snapshot.
    ///
    /// # Errors
    /// As the command; a command that writes is refused.
    pub fn read_at(
        &self,
        snapshot: &Snapshot,
        command: &Command<Function>,
        arguments: &Arguments<'_>,
        at: At<'_>,
    ) -> Outcome<(Reply, Lookups)> {
        self.read_within(snapshot, command, arguments, at, u64::MAX)
    }

    /// As [`Databases::read_at`], unless the command visits more pairs than the budget allows.
    ///
    /// # Errors
    /// As [`Databases::read_at`]; [`Refusal::TooLong`] if the budget does not suffice.
    pub fn read_within(
        &self,
        snapshot: &Snapshot,
        command: &Command<Function>,
        arguments: &Arguments<'_>,
        at: At<'_>,
        budget: u64,
    ) -> Outcome<(Reply, Lookups)> {
        let store = AtSnapshot { snapshot };
        let context = at.context(&store, self);
        context.limit(budget);
        let reply = run(&context, command, arguments)?;
        Ok((reply, context.into_effects().lookups))
    }
}
