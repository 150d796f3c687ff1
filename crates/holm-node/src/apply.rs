//! Entries of the log, applied: all entries of a call in one transaction, with the index of the last one in it.
//!
//! What an entry does depends on the entry and on the entries before it, and on nothing else. How the consensus engine
//! divides entries among calls must not show either. Two outcomes would depend on it, and are taken care of:
//!
//! - *A transaction that is too large.* It is divided, and each entry has a transaction of its own. If one entry alone
//!   is too large, the command that does not fit is refused, and an entry that removes garbage removes less of it. Room
//!   for the state is taken first: an entry that fills the transaction must not be one that no replica can apply.
//! - *A command that is refused after it has written.* The transaction begins anew without this command.

use crate::applying::Applying;
use crate::entry::{Entry, EntryKind, Input, Part, PartKind};
use crate::fault::{Fault, Result};
use crate::group::Group;
use crate::marks::Marks;
use crate::renew::renews;
use crate::replies::Replies;
use crate::requests::{each_request, unknown, with_length};
use crate::space::Space;
use crate::state::{STATE, State};
use holm::{Error, Transaction};
use holm_commands::{Arguments, Context, Outcome, Refusal, Reply, WRITE, Within, run};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many records a sweep entry removes of each kind, at most about.
const SWEPT: usize = 1_000;

/// By how much less an entry removes that did not fit.
const LESS: usize = 8;

/// Commands that are left out, by their count within the call, with what they answer.
pub(crate) type LeftOut = BTreeMap<usize, Cow<'static, str>>;

/// Why a transaction was not committed.
pub(crate) enum Stop {
    Fault(Fault),
    /// A command is to be left out.
    LeaveOut(usize, Cow<'static, str>),
    /// The entries do not fit into one transaction.
    TooLarge,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Fault(error.into())
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Fault(fault)
    }
}

impl Group {
    /// Applies entries in the order of their indices and returns a reply for each: those of its parts, each with its
    /// length, of 4 bytes, before it. A crash leaves all of them applied or none, and [`Group::applied`] says which.
    /// They are durable after the next [`Node::sync`](crate::Node::sync), or lost with all that came after them.
    ///
    /// # Errors
    /// An entry is malformed or of a later version; its index is not above the last one; those of the store. Nothing
    /// of the entries was applied then, unless one of them removes all keys: those before it are.
    pub fn apply(&self, entries: &[(u64, &[u8])]) -> Result<Vec<Vec<u8>>> {
        let mut held = self.lock();
        let mut last = held.applied;
        let mut read = Vec::with_capacity(entries.len());
        for (index, bytes) in entries {
            if *index <= last {
                return Err(Fault::Order { found: format!("entry {index} after entry {last}") });
            }
            last = *index;
            // An empty entry is the consensus engine's own.
            read.push((*index, if bytes.is_empty() { None } else { Some(Entry::read(bytes, self.shared.level)?) }));
        }
        let mut replies = Vec::with_capacity(read.len());
        for run in read.chunk_by(|(_, one), (_, other)| !renews(one) && !renews(other)) {
            match &run[0] {
                (index, Some(entry)) if renews(&run[0].1) => replies.push(self.renew(&mut held, *index, entry)?),
                _ => self.apply_run(&mut held, run, &mut replies)?,
            }
        }
        Ok(replies)
    }

    fn apply_run(
        &self,
        held: &mut State,
        entries: &[(u64, Option<Entry<'_>>)],
        replies: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        let space = self.space();
        if self.shared.index_apart {
            let applied = entries.last().map_or(held.applied, |(index, _)| *index);
            space.rows.insert(STATE, State { applied, ..*held }.to_bytes())?;
            self.shared.db.sync()?;
        }
        let (mut left_out, mut share, before) = (LeftOut::new(), 1, self.slots());
        loop {
            let done = self.shared.db.transact(|transaction| {
                transaction.insert(&space.rows, STATE, [0; State::MOST_BYTES])?;
                let attempt = Attempt::new(self, &space, transaction, *held, &left_out, (entries.len() == 1, share));
                attempt.store.slots.replace(before.clone());
                let answers = attempt.all(entries)?;
                let state = attempt.store.state.get();
                transaction.insert(&space.rows, STATE, state.to_bytes())?;
                let slots = attempt.store.slots.take();
                if let (Some(before), Some(after)) = (&before, &slots)
                    && before != after
                {
                    self.publish_slots(Some(Arc::new(before.common(after))));
                }
                Ok((answers, state, slots, attempt.marks.into_inner()))
            });
            if done.is_err() {
                // Nothing was committed, and what is to be lost is not lost.
                self.publish_slots(before.clone());
            }
            match done {
                Ok((answers, state, slots, marks)) => {
                    if slots != before {
                        self.publish_slots(slots);
                    }
                    self.publish(held, state);
                    *self.marks() = marks;
                    replies.extend(answers);
                    return Ok(());
                }
                Err(Stop::LeaveOut(command, text)) => drop(left_out.insert(command, text)),
                Err(Stop::TooLarge | Stop::Fault(Fault::Store(Error::TooLarge { .. }))) if entries.len() > 1 => {
                    return entries
                        .iter()
                        .try_for_each(|entry| self.apply_run(held, std::slice::from_ref(entry), replies));
                }
                Err(Stop::TooLarge) if share < SWEPT => share *= LESS,
                Err(Stop::TooLarge) => {
                    return Err(Fault::malformed("an entry that fits into a transaction", "a larger one"));
                }
                Err(Stop::Fault(fault)) => return Err(fault),
            }
        }
    }
}

/// One attempt to apply entries in a transaction.
pub(crate) struct Attempt<'t> {
    group: &'t Group,
    pub(crate) store: Applying<'t>,
    pub(crate) left_out: &'t LeftOut,
    is_alone: bool,
    /// By which factor the portions are smaller in which garbage is removed.
    share: usize,
    /// How many commands, and steps of moves of slots, have run.
    pub(crate) count: Cell<usize>,
    /// The marks of the group, and those that the entries pass.
    marks: RefCell<Marks>,
}

impl<'t> Attempt<'t> {
    fn new(
        group: &'t Group,
        space: &'t Space,
        transaction: &'t Transaction,
        state: State,
        left_out: &'t LeftOut,
        (is_alone, share): (bool, usize),
    ) -> Self {
        let (state, has_written) = (Cell::new(state), Cell::new(false));
        let within = Within { databases: space, transaction };
        let store = Applying { within, state, has_written, slots: RefCell::default() };
        let marks = RefCell::new(group.marks().clone());
        Attempt { group, store, left_out, is_alone, share, count: Cell::new(0), marks }
    }

    fn all(&self, entries: &[(u64, Option<Entry<'_>>)]) -> std::result::Result<Vec<Vec<u8>>, Stop> {
        entries.iter().map(|(index, entry)| self.entry(*index, entry.as_ref())).collect()
    }

    fn entry(&self, index: u64, entry: Option<&Entry<'_>>) -> std::result::Result<Vec<u8>, Stop> {
        let mut state = self.store.state.get();
        self.marks.borrow_mut().pass(state.applied, index, state.hash);
        state.applied = index;
        state.time = state.time.max(entry.map_or(0, |entry| entry.time));
        state.level = state.level.max(entry.map_or(0, |entry| entry.level));
        self.store.state.set(state);
        let mut out = Vec::new();
        let Some(entry) = entry else { return Ok(out) };
        let mut context = Context::new(&self.store, &self.group.cursors, state.time, entry.seed);
        context.databases = 1;
        context.edition = entry.edition();
        match entry.kind {
            // What is being loaded is not whole yet: garbage would be taken for gone that comes later.
            EntryKind::Sweep if self.is_loading() => {}
            EntryKind::Sweep => self.sweep(&context)?,
            EntryKind::Commands => {
                for part in Part::read_all(entry.parts)? {
                    with_length(&mut out, |out| self.part(&context, &part, out))?;
                }
            }
            EntryKind::Compare => {
                let mut input = Input(entry.parts);
                self.marks.borrow().compare(input.number()?, input.number()?)?;
            }
            EntryKind::Slots => out = self.slots(&context, entry.parts)?,
            EntryKind::Load => out = self.load(entry)?,
            // Has a transaction of its own.
            EntryKind::Flush => {}
        }
        Ok(out)
    }

    fn sweep(&self, context: &Context<'_>) -> std::result::Result<(), Stop> {
        self.fits(context.sweep_part(self.portion(SWEPT)), "rows that can be swept").map(drop)
    }

    /// Returns how many records are removed of those that would be if they were short.
    pub(crate) fn portion(&self, most: usize) -> usize {
        (most / self.share).max(1)
    }

    /// Returns what an entry has done that removes garbage. If it does not fit, even alone, it begins anew with less.
    pub(crate) fn fits<T>(&self, outcome: Outcome<T>, what: &'static str) -> std::result::Result<T, Stop> {
        match outcome {
            Ok(done) => Ok(done),
            Err(Refusal::Store(Error::TooLarge { .. })) => Err(Stop::TooLarge),
            Err(Refusal::Store(error)) => Err(error.into()),
            Err(refusal) => Err(Fault::malformed(what, refusal.into_text()).into()),
        }
    }

    /// Returns the number of commands of a transaction, or its refusal: then nothing of it is done.
    fn size(&self, part: &Part<'_>) -> std::result::Result<std::result::Result<usize, Reply>, Stop> {
        let (mut refusal, mut count) = (None, 0);
        each_request(part.requests, |words| {
            let slots = self.store.slots.borrow().clone();
            refusal = refusal.take().or_else(|| self.group.elsewhere(slots.as_deref(), &words));
            count += 1;
            Ok::<_, Stop>(())
        })?;
        Ok(refusal.map_or(Ok(count), Err))
    }

    fn part<'c>(&self, context: &'c Context<'c>, part: &Part<'_>, out: &mut Vec<u8>) -> std::result::Result<(), Stop> {
        let count = match part.kind {
            PartKind::Transaction => Some(self.size(part)?),
            _ => None,
        };
        if let Some(Err(refusal)) = &count {
            refusal.encode(part.protocol, out);
            return Ok(());
        }
        for watch in &part.watches {
            let found = self.known(context.fingerprint(watch.key))?;
            if found.ok() != Some(watch.fingerprint) {
                Reply::NullArray.encode(part.protocol, out);
                return Ok(());
            }
        }
        let mut replies = Replies::of_writes(out, part.protocol);
        if let Some(Ok(count)) = count {
            replies.array(count);
        }
        each_request(part.requests, |words| {
            replies.push(&self.command(context, &words)?);
            Ok(())
        })
    }

    fn command<'c>(&self, context: &'c Context<'c>, arguments: &Arguments<'_>) -> std::result::Result<Reply, Stop> {
        let number = self.count.replace(self.count.get() + 1);
        if let Some(text) = self.left_out.get(&number) {
            return Ok(Reply::Error(text.clone()));
        }
        let Some(command) = self.group.find(arguments) else { return Ok(unknown()) };
        let slots = self.store.slots.borrow().clone();
        if let Some(refusal) = self.group.elsewhere(slots.as_deref(), arguments) {
            return Ok(refusal);
        }
        if command.flags & WRITE != 0 && slots.is_some_and(|slots| slots.is_moving()) {
            // Some change members alone, and not the key's record.
            for key in command.keys_of(arguments) {
                if let Err(text) = self.known(self.store.journal(key))? {
                    return Err(Stop::LeaveOut(number, text));
                }
            }
        }
        self.store.has_written.set(false);
        match self.known(run(context, command, arguments))? {
            Ok(reply) => Ok(reply),
            Err(text) if self.store.has_written.get() => Err(Stop::LeaveOut(number, text)),
            Err(text) => Ok(Reply::Error(text)),
        }
    }

    /// Divides refusals into those that every replica meets, and those of this store.
    pub(crate) fn known<T>(
        &self,
        outcome: Outcome<T>,
    ) -> std::result::Result<std::result::Result<T, Cow<'static, str>>, Stop> {
        match outcome {
            Ok(done) => Ok(Ok(done)),
            Err(Refusal::Store(Error::TooLarge { .. })) if !self.is_alone => Err(Stop::TooLarge),
            Err(refusal @ Refusal::Store(Error::TooLarge { .. } | Error::Overflow { .. })) => {
                Ok(Err(refusal.into_text()))
            }
            Err(Refusal::Store(error)) => Err(error.into()),
            Err(refusal) => Ok(Err(refusal.into_text())),
        }
    }
}
