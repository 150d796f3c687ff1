//! MULTI, EXEC and WATCH: commands of one connection that take effect at one instant.
//!
//! A client that watches keys holds a transaction that has read them. EXEC runs the queued commands in it, and its
//! commit fails if the keys have changed. Without watched keys, the queued commands run until a transaction commits.

use crate::session::{Found, Queue, Ran, Session, Watched};
use crate::shared::Shared;
use holm_commands::{Arguments, Context, Effects, Outcome, OwnedArguments, Refusal, Reply, TWO, parse_integer, run};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub(super) fn multi(session: &mut Session, _: &Shared, _: &Arguments<'_>) -> Outcome<Reply> {
    if session.queue.is_some() {
        return Err(Refusal::text("ERR MULTI calls can not be nested"));
    }
    session.queue = Some(Queue::default());
    Ok(Reply::OK)
}

pub(super) fn discard(session: &mut Session, _: &Shared, _: &Arguments<'_>) -> Outcome<Reply> {
    session.queue.take().ok_or(Refusal::text("ERR DISCARD without MULTI"))?;
    session.watched = None;
    Ok(Reply::OK)
}

pub(super) fn watch(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    if session.queue.is_some() {
        return Err(Refusal::text("ERR WATCH inside MULTI is not allowed"));
    }
    let at = session.at(shared);
    let databases = shared.databases();
    let mut watched = session.watched.take();
    let watching = watched.get_or_insert_with(|| Watched {
        transaction: databases.begin(),
        keys: Vec::new(),
        order: databases.order().to_vec(),
    });
    for key in arguments.from(1) {
        // A conflict shows at EXEC.
        let is_present = match databases.watch(&watching.transaction, at, key) {
            Err(Refusal::Store(holm::Error::Conflict | holm::Error::Dropped { .. })) => false,
            other => other?,
        };
        watching.keys.push(((at.database, key.to_vec()), is_present));
    }
    session.watched = watched;
    Ok(Reply::OK)
}

pub(super) fn unwatch(session: &mut Session, _: &Shared, _: &Arguments<'_>) -> Outcome<Reply> {
    session.watched = None;
    Ok(Reply::OK)
}

/// Queued commands that the user may not run any more, by their place.
type Denials = BTreeMap<usize, Refusal>;

/// Checks the queued commands: what the user may do can have changed since they were queued.
fn denials(session: &Session, shared: &Shared, queue: &Queue) -> Denials {
    if session.account.may_do_all() {
        return Denials::new();
    }
    let refusal = |(index, (found, arguments)): (usize, &(Found, OwnedArguments))| {
        session.check(shared, &found.about(), &arguments.lend(), "multi").err().map(|refusal| (index, refusal))
    };
    queue.commands.iter().enumerate().filter_map(refusal).collect()
}

/// The reply of a queued command, if it has one already, and the time that it took.
type Answer = (Option<Reply>, Duration);

/// Runs the queued commands that are about keys. Others are answered once the transaction has committed.
fn run_queue<'c>(context: &'c Context<'c>, queue: &Queue, denied: &Denials) -> Outcome<Vec<Answer>> {
    let mut replies = Vec::with_capacity(queue.commands.len());
    for (index, (found, arguments)) in queue.commands.iter().enumerate() {
        if let Some(refusal) = denied.get(&index) {
            replies.push((Some(Reply::Error(refusal.clone().into_text())), Duration::ZERO));
            continue;
        }
        let (arguments, started) = (arguments.lend(), Instant::now());
        let reply = match found {
            Found::Data(command) => Some(match run(context, command, &arguments) {
                // Within a transaction nobody waits. What moves one element answers it alone.
                Ok(Reply::Wait(_)) if command.keys == TWO => Reply::Null,
                Ok(Reply::Wait(_)) => Reply::NullArray,
                Ok(reply) => reply,
                Err(refusal @ (Refusal::Text(_) | Refusal::TooMany { .. })) => Reply::Error(refusal.into_text()),
                Err(refusal) => return Err(refusal),
            }),
            Found::Own(command) => {
                let selected = parse_integer(arguments.at(1)).and_then(|number| u32::try_from(number).ok());
                if let Some(number) = selected.filter(|number| command.name == "select" && *number < context.databases)
                {
                    context.database.set(number);
                }
                None
            }
        };
        replies.push((reply, started.elapsed()));
    }
    Ok(replies)
}

/// Counts a queued command that was run, as if it had come alone.
fn note(
    session: &mut Session,
    shared: &Shared,
    (found, arguments): (&Found, &Arguments<'_>),
    reply: &Reply,
    nanos: u64,
) {
    let name = match found {
        Found::Data(command) => command.name,
        Found::Own(command) => shared.acl.catalog.name_of(command.name, arguments.get(1)),
    };
    if let Reply::Error(text) = reply {
        shared.statistics.note_error(text);
    }
    shared.note_slow(arguments, nanos, &session.client, session.requests);
    session.ran.push(Ran { name, nanos, is_failed: reply.is_error() });
}

/// Runs the queued commands and commits. `None` if a watched key has changed.
fn commit(
    session: &mut Session,
    shared: &Shared,
    queue: &Queue,
    denied: &Denials,
    watched: Option<Watched>,
) -> Outcome<Option<(Vec<Answer>, Effects)>> {
    let (at, databases) = (session.at(shared), shared.databases());
    let Some(watched) = watched else {
        return databases.transact(at, |context| run_queue(context, queue, denied)).map(Some);
    };
    let order = databases.order();
    databases.commit(watched.transaction, at, |context| {
        for ((database, key), was_present) in &watched.keys {
            // A key that has expired since has changed, although nobody wrote to it. One that had expired before was
            // not read, and has changed if it is there. In a database that has changed places since, a key is another
            // one.
            let is_present = context.is_present(*database, key)?;
            let has_moved = watched.order.get(*database as usize) != order.get(*database as usize);
            if *was_present != is_present || has_moved && is_present {
                return Err(Refusal::Store(holm::Error::Conflict));
            }
        }
        run_queue(context, queue, denied)
    })
}

pub(super) fn exec(session: &mut Session, shared: &Shared, _: &Arguments<'_>) -> Outcome<Reply> {
    let queue = session.queue.take().ok_or(Refusal::text("ERR EXEC without MULTI"))?;
    let watched = session.watched.take();
    if queue.broken {
        return Err(Refusal::text("EXECABORT Transaction discarded because of previous errors."));
    }
    if session.snapshot.is_some() {
        return Err(Refusal::text("READONLY the connection reads at a snapshot: end it before EXEC"));
    }
    let denied = denials(session, shared, &queue);
    session.before_write(shared);
    let mut prepared = session.prepare_tracking(shared, &queue, |index| denied.contains_key(&index));
    let committed = match commit(session, shared, &queue, &denied, watched) {
        Ok(Some(committed)) => committed,
        other => {
            session.undo_tracking(shared, prepared);
            return other.map(|_| Reply::NullArray);
        }
    };
    let (replies, effects) = committed;
    session.note_transaction(shared, &effects, &prepared.rereads);
    let mut answered = Vec::with_capacity(replies.len());
    for (index, ((reply, took), (found, arguments))) in replies.into_iter().zip(&queue.commands).enumerate() {
        let (arguments, started) = (arguments.lend(), Instant::now());
        let reply = match (reply.or_else(|| prepared.replies.remove(&index)), found) {
            (Some(reply), _) => reply,
            (None, Found::Own(command)) => {
                (command.run)(session, shared, &arguments).unwrap_or_else(|refusal| Reply::Error(refusal.into_text()))
            }
            (None, Found::Data(_)) => Reply::Null,
        };
        let took = if matches!(found, Found::Own(_)) { started.elapsed() } else { took };
        note(session, shared, (found, &arguments), &reply, took.as_nanos() as u64);
        answered.push(reply);
    }
    session.last_command = "exec";
    Ok(Reply::Array(answered))
}
