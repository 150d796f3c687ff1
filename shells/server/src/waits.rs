//! What a session waits for: elements of a key, or the end of a pause.

use crate::session::Session;
use crate::shared::Shared;
use holm_commands::{At, Command, Function, OwnedArguments, Refusal, Reply, Signal};
use std::time::Instant;

/// A command that waits for elements.
pub(crate) struct Blocked {
    pub(crate) command: &'static Command<Function>,
    pub(crate) arguments: OwnedArguments,
    pub(crate) keys: Vec<Signal>,
    pub(crate) deadline: Option<Instant>,
}

impl Session {
    /// Parks the session until a pause is over, or lets it go on.
    pub(crate) fn park(&mut self, is_parked: bool) {
        (self.is_parked, self.is_listed) = (is_parked, false);
        self.client.details().is_parked = is_parked;
    }

    /// Returns whether a command waits that has done nothing yet, so that it ends with its connection.
    pub(crate) fn waits_for_others(&self) -> bool {
        self.blocked.is_some() || self.is_parked
    }

    /// Tries the command again that waits for elements of a key. Appends its reply if it has one.
    pub(crate) fn try_again(&mut self, shared: &Shared, key: &Signal, out: &mut Vec<u8>) {
        let Some(blocked) = self.blocked.take_if(|blocked| blocked.keys.contains(key)) else {
            // Its wait is over already: the elements are the next one's.
            shared.waiting.wake(std::slice::from_ref(key), &shared.mailboxes);
            return;
        };
        if shared.pause.is_on() {
            // The pop would change something. All keys are looked at once the pause is over.
            self.blocked = Some(blocked);
            return;
        }
        let started = Instant::now();
        match self.try_data(shared, blocked.command, &blocked.arguments.lend()) {
            // Somebody else has taken them: there is nothing to offer to others.
            Ok(Reply::Wait(_)) => self.blocked = Some(blocked),
            // The key has a value of another type than this client waits for: no error of this client.
            Err(Refusal::Text(text)) if text.starts_with("WRONGTYPE") && !self.waits_for(shared, key, &blocked) => {
                self.blocked = Some(blocked);
                shared.waiting.pass_on(key, self.place, &shared.mailboxes);
            }
            other => {
                let reply = other.unwrap_or_else(|refusal| Reply::Error(refusal.into_text()));
                let keys = blocked.keys.clone();
                let nanos = started.elapsed().as_nanos() as u64;
                shared.note_slow(&blocked.arguments.lend(), nanos, &self.client, self.requests);
                self.end_wait(shared, blocked, &reply, out);
                shared.waiting.wake(&keys, &shared.mailboxes);
            }
        }
    }

    /// Returns whether a key has what the command waits for, so that its error is about something else.
    fn waits_for(&mut self, shared: &Shared, (database, key): &Signal, blocked: &Blocked) -> bool {
        let Some(command) = shared.data.find(b"type") else { return false };
        let words: OwnedArguments = [b"type", &key[..]].into_iter().collect();
        let at = At { database: *database, ..self.at(shared) };
        let wanted = if blocked.command.name.starts_with("bz") { "zset" } else { "list" };
        let found = shared.databases().execute(command, &words.lend(), at);
        matches!(found, Ok((Reply::Status(kind), _)) if kind == wanted)
    }

    /// Ends a wait without elements.
    pub(crate) fn give_up(&mut self, shared: &Shared, with_error: bool, out: &mut Vec<u8>) {
        let Some(blocked) = self.blocked.take() else { return };
        let error = Reply::error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
        self.end_wait(shared, blocked, if with_error { &error } else { &Reply::NullArray }, out);
    }

    fn end_wait(&mut self, shared: &Shared, blocked: Blocked, reply: &Reply, out: &mut Vec<u8>) {
        shared.waiting.forget(&blocked.keys, self.place);
        self.client.details().is_blocked = false;
        if let Reply::Error(text) = reply {
            shared.statistics.note_late_failure(blocked.command.name, text);
        }
        self.answer(reply, out);
    }
}
