//! Runs of GETs in a pipeline: one lookup of many keys answers them all.

use crate::session::{ReplyMode, Session};
use crate::settings::Acknowledge;
use crate::shared::Shared;
use crate::statistics::Costs;
use holm_commands::{Arguments, Place};
use std::time::Instant;

impl Session {
    /// Returns whether a command is a GET that may be carried out together with others.
    pub(crate) fn may_join(&self, arguments: &Arguments<'_>) -> bool {
        arguments.is(0, "get")
            && arguments[1].len() <= holm_commands::MAX_NAME
            && self.queue.is_none()
            && self.snapshot.is_none()
            && self.reply_mode == ReplyMode::On
    }

    /// Carries out GETs whose words lie at places of the input, and forgets the places.
    pub(crate) fn execute_gets(
        &mut self,
        shared: &Shared,
        input: &[u8],
        gets: &mut Vec<[Place; 2]>,
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) {
        match &gets[..] {
            [] => return,
            [get] => self.execute(shared, &Arguments::new(input, get), costs, out),
            all => {
                // Each is refused or not, as if it came alone.
                // Each look is noted where it refuses, so a user with rules is looked at once, command by command.
                let may_do_all = self.account.may_do_all();
                let is_allowed =
                    may_do_all && all.iter().all(|get| self.find(shared, &Arguments::new(input, get)).is_ok());
                if !is_allowed || !self.run_gets(shared, input, all, costs, out) {
                    all.iter().for_each(|get| self.execute(shared, &Arguments::new(input, get), costs, out));
                }
            }
        }
        gets.clear();
    }

    /// Returns false if the store has failed: each command then finds out for itself.
    fn run_gets(
        &mut self,
        shared: &Shared,
        input: &[u8],
        gets: &[[Place; 2]],
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) -> bool {
        let started = Instant::now();
        let keys: Vec<&[u8]> = gets.iter().map(|[_, (from, to)]| &input[*from..*to]).collect();
        let at = self.at(shared);
        let Ok(replies) = shared.databases().get_each(at.database, at.now, &keys) else { return false };
        if self.acknowledge == Some(Acknowledge::Synced) {
            self.wants_sync = true;
        }
        // Each takes its share of the time.
        let nanos = started.elapsed().as_nanos() as u64 / gets.len() as u64;
        let cost = costs.entry("get").or_default();
        self.last_command = "get";
        for (reply, get) in replies.iter().zip(gets) {
            self.requests += 1;
            cost.note(nanos, reply.is_error());
            shared.note_slow(&Arguments::new(input, get), nanos, &self.client, self.requests);
            self.answer(reply, out);
        }
        true
    }
}
