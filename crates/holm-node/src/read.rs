//! Parts that only read. They run beside entries that are applied, and take no lock.
//!
//! A read compares expiries with the time of the group, never with a clock: all replicas with the same entries answer
//! the same.

use crate::entry::{Input, Part, PartKind};
use crate::fault::{Fault, Result};
use crate::group::Group;
use crate::replies::{MOST_OF_ALL, MOST_OF_PART, Replies};
use crate::requests::{each_request, unknown, with_length};
use crate::slot::slot_of;
use crate::space::{READ_ONLY, Space};
use crate::state::{STATE, State};
use holm::Error;
use holm_commands::{
    Arguments, AtOneInstant, Command, Context, DIRECT, Direct, Function, OwnedArguments, Refusal, Reply, Store, WRITE,
    run,
};

/// How often a read is begun anew because the group's keyspaces were exchanged.
const MOST_ATTEMPTS: usize = 100;

/// A command with its words.
type Request = (Option<&'static Command<Function>>, OwnedArguments);

impl Group {
    /// Answers parts that only read: for each, 4 bytes with the length of its answer, and the answer. Commands of a
    /// pipeline each read at an instant of their own, those of a transaction at one. A command that writes is refused.
    ///
    /// # Errors
    /// The parts are malformed; those of the store.
    pub fn read(&self, parts: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for part in Part::read_all(parts)? {
            with_length(&mut out, |out| self.read_part(&part, out))?;
        }
        Ok(out)
    }

    fn read_part(&self, part: &Part<'_>, out: &mut Vec<u8>) -> Result<()> {
        let from = out.len();
        for _ in 0..MOST_ATTEMPTS {
            let space = self.space();
            match self.read_from(&space, part, out) {
                Err(Fault::Store(Error::Dropped { .. })) => out.truncate(from),
                done => return done,
            }
        }
        Err(Fault::Order { found: "the keyspaces of the group are exchanged again and again".into() })
    }

    fn read_from(&self, space: &Space, part: &Part<'_>, out: &mut Vec<u8>) -> Result<()> {
        match part.kind {
            PartKind::Due => {
                let by = Input(part.requests).number()?;
                let store = Direct(space);
                let is_due = answered(self.context(&store, self.time()).has_garbage(by))?;
                out.push(u8::from(is_due.unwrap_or(true)));
            }
            PartKind::Fingerprints => {
                let requests = self.requests(part.requests)?;
                let keys: Vec<_> = requests.iter().flat_map(|(_, words)| words.lend().from(1)).collect();
                let answers = self.at_one_instant(space, |context| {
                    keys.iter().map(|key| answered(context.fingerprint(key))).collect::<Result<Vec<_>>>()
                })?;
                // After the reads: a slot that is lost is lost before its keys are.
                let slots = self.slots();
                let refusal = |key: &&[u8]| slots.as_deref().and_then(|slots| slots.refusal(slot_of(key)));
                if let Some(words) = keys.iter().find_map(refusal) {
                    out.push(1);
                    out.extend(words.into_bytes());
                } else {
                    out.push(0);
                    out.extend(answers.into_iter().flat_map(|answer| answer.unwrap_or(0).to_le_bytes()));
                }
            }
            PartKind::Transaction => {
                let requests = self.requests(part.requests)?;
                if let Some(refusal) = self.elsewhere_any(&requests) {
                    refusal.encode(part.protocol, out);
                    return Ok(());
                }
                let replies = self.at_one_instant(space, |context| {
                    let replies = requests.iter().map(|(command, words)| carry_out(context, *command, &words.lend()));
                    replies.collect::<Result<Vec<_>>>()
                })?;
                if let Some(refusal) = self.elsewhere_any(&requests) {
                    refusal.encode(part.protocol, out);
                    return Ok(());
                }
                let mut shown = Replies::of_reads(out, part.protocol);
                shown.array(replies.len());
                replies.iter().for_each(|reply| shown.push(reply));
            }
            PartKind::Pipeline => {
                let from = out.len();
                for (command, words) in self.requests(part.requests)? {
                    let words = words.lend();
                    if (out.len() - from >= MOST_OF_PART || out.len() >= MOST_OF_ALL)
                        && let Some(refusal) = put_off(command, &words)
                    {
                        refusal.encode(part.protocol, out);
                        continue;
                    }
                    // Before it reads, for a slot that is gained then; and after, for one that is lost meanwhile.
                    let refusal = self.elsewhere(self.slots().as_deref(), &words);
                    let reply = refusal.map_or_else(|| self.read_one(space, command, &words), Ok)?;
                    let refusal = self.elsewhere(self.slots().as_deref(), &words);
                    Replies::of_reads(out, part.protocol).push(&refusal.unwrap_or(reply));
                }
            }
            PartKind::Export => self.export(space, part.requests, out)?,
        }
        Ok(())
    }

    fn read_one(
        &self,
        space: &Space,
        command: Option<&'static Command<Function>>,
        words: &Arguments<'_>,
    ) -> Result<Reply> {
        if command.is_some_and(|command| command.flags & DIRECT != 0) {
            let store = Direct(space);
            return carry_out(&self.context(&store, self.time()), command, words);
        }
        self.at_one_instant(space, |context| carry_out(context, command, words))
    }

    /// Returns the refusal of the first command that is about a slot of another group.
    fn elsewhere_any(&self, requests: &[Request]) -> Option<Reply> {
        let slots = self.slots();
        requests.iter().find_map(|(_, words)| self.elsewhere(slots.as_deref(), &words.lend()))
    }

    /// Reads at one instant: the keys, and the time that belongs to them.
    pub(crate) fn at_one_instant<T>(
        &self,
        space: &Space,
        mut work: impl for<'c> FnMut(&'c Context<'c>) -> Result<T>,
    ) -> Result<T> {
        self.shared.db.read(|transaction| {
            let time = State::read(transaction.get(&space.rows, STATE)?.as_deref())?.time;
            let store = AtOneInstant { databases: space, transaction };
            work(&self.context(&store, time))
        })
    }

    fn context<'c>(&'c self, store: &'c dyn Store, time: u64) -> Context<'c> {
        let mut context = Context::new(store, &self.cursors, time, time);
        context.databases = 1;
        context
    }

    /// Reads the commands of a part, each with its entry in the table.
    fn requests(&self, bytes: &[u8]) -> Result<Vec<Request>> {
        let mut found = Vec::new();
        each_request(bytes, |words| {
            found.push((self.find(&words), words.into()));
            Ok::<_, Fault>(())
        })?;
        Ok(found)
    }
}

/// Returns the refusal of a command that is to be asked for later, by its slot; nothing if it has no key.
fn put_off(command: Option<&'static Command<Function>>, words: &Arguments<'_>) -> Option<Reply> {
    let slot = slot_of(command?.keys_of(words).into_iter().next()?);
    Some(Reply::error(format!("TRYAGAIN slot {slot} is read later: the replies before it are large")))
}

/// Carries a command out. What the client did wrong is a reply.
fn carry_out<'c>(
    context: &'c Context<'c>,
    command: Option<&'static Command<Function>>,
    words: &Arguments<'_>,
) -> Result<Reply> {
    let Some(command) = command else { return Ok(unknown()) };
    if command.flags & WRITE != 0 {
        return Ok(Reply::Error(READ_ONLY.into_text()));
    }
    match answered(run(context, command, words))? {
        Ok(reply) => Ok(reply),
        Err(text) => Ok(Reply::Error(text)),
    }
}

/// Divides refusals into answers to the client, and faults of the store.
pub(crate) fn answered<T>(
    outcome: holm_commands::Outcome<T>,
) -> Result<std::result::Result<T, std::borrow::Cow<'static, str>>> {
    match outcome {
        Ok(done) => Ok(Ok(done)),
        Err(Refusal::Store(error)) => Err(error.into()),
        Err(refusal) => Ok(Err(refusal.into_text())),
    }
}
