//! CLIENT TRACKING, CACHING, TRACKINGINFO and GETREDIR: client-side caching.

use crate::rereads::Rereads;
use crate::session::{Found, Queue, Session};
use crate::shared::Shared;
use crate::tracking::{Tracker, Wishes};
use holm_commands::{Arguments, Command, Function, Outcome, READ, Refusal, Reply, SYNTAX, WRITE, integer};
use std::collections::BTreeMap;

/// Which keys a connection is noted at that it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Choice {
    #[default]
    All,
    /// Those of the commands that follow CLIENT CACHING YES.
    OptIn,
    /// All but those of the commands that follow CLIENT CACHING NO.
    OptOut,
}

/// What a session that tracks asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    is_broadcast: bool,
    choice: Choice,
    /// CLIENT CACHING came before this command.
    is_chosen: bool,
}

impl Mode {
    /// Returns whether the connection is noted at what it reads.
    fn notes(self) -> bool {
        !self.is_broadcast
            && match self.choice {
                Choice::All => true,
                Choice::OptIn => self.is_chosen,
                Choice::OptOut => !self.is_chosen,
            }
    }

    /// Notes the word of CLIENT CACHING.
    fn choose(&mut self, word: &[u8]) -> Outcome<()> {
        let (is_allowed, refusal) = match &word.to_ascii_lowercase()[..] {
            b"yes" => (self.choice == Choice::OptIn, "YES is only valid when tracking is enabled in OPTIN mode."),
            b"no" => (self.choice == Choice::OptOut, "NO is only valid when tracking is enabled in OPTOUT mode."),
            _ => return Err(SYNTAX),
        };
        if !is_allowed {
            return Err(Refusal::of(format!("ERR CLIENT CACHING {refusal}")));
        }
        self.is_chosen = true;
        Ok(())
    }
}

/// What EXEC has done about tracking before its transaction runs.
#[derive(Default)]
pub(crate) struct Prepared {
    /// The replies to queued commands about tracking, by their places.
    pub(crate) replies: BTreeMap<usize, Reply>,
    /// What the transaction does with keys that it reads.
    pub(crate) rereads: Rereads,
    before: Option<(Option<Mode>, Option<Tracker>)>,
}

/// Returns whether a command CLIENT is about tracking.
fn is_about_tracking(arguments: &Arguments<'_>) -> bool {
    ["tracking", "caching", "trackinginfo", "getredir"].iter().any(|name| arguments.is(1, name))
}

impl Session {
    /// Notes the keys that a command is about to read.
    pub(crate) fn note_reads(&self, shared: &Shared, command: &Command<Function>, arguments: &Arguments<'_>) {
        // What a snapshot has may have changed already.
        if self.tracking.is_some_and(Mode::notes) && command.flags & READ != 0 && self.snapshot.is_none() {
            shared.tracking.note(self.place.id, &command.keys_of(arguments), shared);
        }
    }

    /// Notes the keys that queued commands are about to read, and carries out those about tracking among them: what a
    /// connection begins to hold, it is noted at before the transaction reads it.
    pub(crate) fn prepare_tracking(
        &mut self,
        shared: &Shared,
        queue: &Queue,
        is_denied: impl Fn(usize) -> bool,
    ) -> Prepared {
        let mut prepared = Prepared::default();
        if self.tracking.is_none() && !self.expects_tracking {
            return prepared;
        }
        prepared.before = Some((self.tracking, shared.tracking.tracker(self.place.id)));
        for (index, (found, arguments)) in queue.commands.iter().enumerate().filter(|(index, _)| !is_denied(*index)) {
            let arguments = arguments.lend();
            match found {
                Found::Data(command) => self.note_course(shared, command, &arguments, &mut prepared.rereads),
                Found::Own(command) if command.name == "client" && is_about_tracking(&arguments) => {
                    let reply = (command.run)(self, shared, &arguments);
                    let reply = reply.unwrap_or_else(|refusal| Reply::Error(refusal.into_text()));
                    prepared.replies.insert(index, reply);
                }
                Found::Own(_) => {}
            }
        }
        prepared
    }

    /// Notes what a queued command is about to do with keys.
    fn note_course(
        &self,
        shared: &Shared,
        command: &Command<Function>,
        arguments: &Arguments<'_>,
        rereads: &mut Rereads,
    ) {
        if command.flags & WRITE != 0 {
            command.keys_of(arguments).iter().for_each(|key| rereads.write(key));
        } else if command.flags & READ != 0 && self.tracking.is_some_and(Mode::notes) {
            shared.tracking.note_within(self.place.id, &command.keys_of(arguments), rereads, shared);
        }
    }

    /// Undoes what was prepared for a transaction that was not committed.
    pub(crate) fn undo_tracking(&mut self, shared: &Shared, prepared: Prepared) {
        if let Some((mode, tracker)) = prepared.before.filter(|_| !prepared.replies.is_empty()) {
            self.tracking = mode;
            shared.tracking.restore(self.place.id, tracker, shared);
        }
    }

    /// Called when a command is queued. CLIENT TRACKING ON lets all others note what they change from now on, so that
    /// EXEC need not wait for those that have begun before.
    pub(crate) fn expect_tracking(&mut self, shared: &Shared, name: &str, arguments: &Arguments<'_>) {
        if name == "client" && arguments.is(1, "tracking") && arguments.is(2, "on") {
            shared.tracking.expect(self.place.id, true, shared);
            (self.expects_tracking, self.is_late) = (true, true);
        }
    }

    /// Called once nothing is queued any more.
    pub(crate) fn end_expectation(&mut self, shared: &Shared) {
        if std::mem::take(&mut self.expects_tracking) {
            shared.tracking.expect(self.place.id, false, shared);
        }
    }

    /// Called after each command: CLIENT CACHING is about the next one, or about a whole transaction.
    pub(crate) fn end_choice(&mut self, shared: &Shared, arguments: &Arguments<'_>) {
        if self.queue.is_none() {
            self.end_expectation(shared);
        }
        if self.queue.is_none()
            && !arguments.is(0, "client")
            && let Some(mode) = &mut self.tracking
        {
            mode.is_chosen = false;
        }
    }

    /// Ends tracking.
    pub(crate) fn end_tracking(&mut self, shared: &Shared) {
        if self.tracking.take().is_some() {
            shared.tracking.end(self.place.id, shared);
        }
    }
}

/// Returns whether one of two prefixes begins with the other.
fn overlap(one: &[u8], other: &[u8]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

fn check_prefixes(own: &[Vec<u8>], prefixes: &[&[u8]]) -> Outcome<()> {
    for (index, prefix) in prefixes.iter().enumerate() {
        let of_before = own.iter().map(|own| (&own[..], "an existing"));
        let of_others = prefixes[index + 1..].iter().map(|other| (*other, "another provided"));
        if let Some((other, which)) = of_before.chain(of_others).find(|(other, _)| overlap(prefix, other)) {
            return Err(Refusal::of(format!(
                "ERR Prefix '{}' overlaps with {which} prefix '{}'. Prefixes for a single client must not overlap.",
                prefix.escape_ascii(),
                other.escape_ascii()
            )));
        }
    }
    Ok(())
}

/// The options of CLIENT TRACKING.
#[derive(Default)]
struct Request<'a> {
    wishes: Wishes,
    prefixes: Vec<&'a [u8]>,
    opts_in: bool,
    opts_out: bool,
}

impl<'a> Request<'a> {
    fn read(shared: &Shared, arguments: &Arguments<'a>) -> Outcome<Self> {
        let mut request = Request::default();
        let mut options = arguments.options(3);
        while let Some(word) = options.keyword() {
            match &word[..] {
                b"REDIRECT" => {
                    let id = options.word().ok_or(SYNTAX)?;
                    if request.wishes.redirect != 0 {
                        return Err(Refusal::text("ERR A client can only redirect to a single other client"));
                    }
                    request.wishes.redirect = integer(id)? as u64;
                    if shared.clients.find(request.wishes.redirect).is_none() {
                        return Err(Refusal::text("ERR The client ID you want redirect to does not exist"));
                    }
                }
                b"BCAST" => request.wishes.is_broadcast = true,
                b"OPTIN" => request.opts_in = true,
                b"OPTOUT" => request.opts_out = true,
                b"NOLOOP" => request.wishes.spares_own = true,
                b"PREFIX" => request.prefixes.push(options.word().ok_or(SYNTAX)?),
                _ => return Err(SYNTAX),
            }
        }
        Ok(request)
    }

    /// Refuses options that do not go together, or not with those that the session has.
    fn check(&self, before: Option<Mode>, own_prefixes: &[Vec<u8>]) -> Outcome<()> {
        let is_broadcast = self.wishes.is_broadcast;
        if !is_broadcast && !self.prefixes.is_empty() {
            return Err(Refusal::text("ERR PREFIX option requires BCAST mode to be enabled"));
        }
        if before.is_some_and(|before| before.is_broadcast != is_broadcast) {
            return Err(Refusal::text(
                "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then \
                 re-enabling it with a different mode.",
            ));
        }
        if is_broadcast && (self.opts_in || self.opts_out) {
            return Err(Refusal::text("ERR OPTIN and OPTOUT are not compatible with BCAST"));
        }
        if self.opts_in && self.opts_out {
            return Err(Refusal::text("ERR You can't use both OPTIN mode and OPTOUT mode"));
        }
        let choice = before.map(|before| before.choice).unwrap_or_default();
        if self.opts_in && choice == Choice::OptOut || self.opts_out && choice == Choice::OptIn {
            return Err(Refusal::text(
                "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then \
                 re-enabling it with a different mode.",
            ));
        }
        check_prefixes(own_prefixes, &self.prefixes)
    }
}

pub(super) fn tracking(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let request = Request::read(shared, arguments)?;
    if arguments.is(2, "off") {
        session.end_tracking(shared);
        return Ok(Reply::OK);
    }
    if !arguments.is(2, "on") {
        return Err(SYNTAX);
    }
    let (own_prefixes, _) = shared.tracking.of_client(session.place.id);
    request.check(session.tracking, &own_prefixes)?;
    let Request { wishes, mut prefixes, opts_in, opts_out } = request;
    let choice = match (opts_in, opts_out) {
        (true, _) => Choice::OptIn,
        (_, true) => Choice::OptOut,
        _ => Choice::All,
    };
    if wishes.is_broadcast && prefixes.is_empty() {
        prefixes.push(b"");
    }
    let is_chosen = session.tracking.is_some_and(|mode| mode.is_chosen);
    session.tracking = Some(Mode { is_broadcast: wishes.is_broadcast, choice, is_chosen });
    shared.tracking.begin(&session.client, wishes, &prefixes, shared);
    // Writers that have begun may not have noticed it.
    session.is_late = true;
    Ok(Reply::OK)
}

pub(super) fn caching(session: &mut Session, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let Some(mode) = &mut session.tracking else {
        return Err(Refusal::text(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode \
             enabled",
        ));
    };
    mode.choose(&arguments[2])?;
    Ok(Reply::OK)
}

/// Returns the connection that hears of changes in its place: 0 for none, -1 if this one does not track.
pub(super) fn redirect(session: &Session) -> Reply {
    let details = session.client.details();
    Reply::Integer(details.tracking.as_ref().map_or(-1, |tracking| tracking.redirect as i64))
}

pub(super) fn info(session: &Session, shared: &Shared) -> Reply {
    let (prefixes, spares_own) = shared.tracking.of_client(session.place.id);
    let is_broken = session.client.details().tracking.as_ref().is_some_and(|tracking| tracking.is_broken);
    let mode = session.tracking;
    let has = |choice| mode.is_some_and(|mode| mode.choice == choice);
    let is_chosen = mode.is_some_and(|mode| mode.is_chosen);
    let flags = [
        (mode.is_none(), "off"),
        (mode.is_some(), "on"),
        (mode.is_some_and(|mode| mode.is_broadcast), "bcast"),
        (has(Choice::OptIn), "optin"),
        (has(Choice::OptIn) && is_chosen, "caching-yes"),
        (has(Choice::OptOut), "optout"),
        (has(Choice::OptOut) && is_chosen, "caching-no"),
        (spares_own, "noloop"),
        (is_broken, "broken_redirect"),
    ];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| Reply::fixed(name));
    Reply::Map(vec![
        (Reply::fixed("flags"), Reply::Set(flags.collect())),
        (Reply::fixed("redirect"), redirect(session)),
        (Reply::fixed("prefixes"), Reply::bulks(prefixes)),
    ])
}
