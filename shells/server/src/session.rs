//! A client's session: what it has said so far, and how its commands are carried out.

use crate::acl::Account;
use crate::clients::{Client, ClientKind};
use crate::commands::{MEMORY, Mode, OwnFunction, is_about_server, unfollow_all};
use crate::late_reply;
use crate::long::{BUDGET, LongCommand};
use crate::mail::ConnectionPlace;
use crate::rereads::Rereads;
use crate::settings::Acknowledge;
use crate::shared::{Shared, now_millis};
use crate::statistics::Costs;
use crate::subscriptions::Subscriptions;
use crate::topics::TopicKind;
use crate::waits::Blocked;
use holm::{Snapshot, Transaction};
use holm_accounts::Denied;
use holm_commands::{
    ALONE, Arguments, At, BLOCKING, Command, Effects, FAST, Function, Lookups, NO_AUTH, Outcome, OwnedArguments,
    Protocol, READ_ONLY, Refusal, Reply, RequestLimits, SERVED, Signal, TWO, UNQUEUED, WRITE, is_of_http,
    unknown_command,
};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A command, of either table.
#[derive(Clone, Copy)]
pub(crate) enum Found {
    /// About keys.
    Data(&'static Command<Function>),
    /// About the connection or the server.
    Own(&'static Command<OwnFunction>),
}

impl Found {
    pub(crate) fn about(self) -> Command<()> {
        match self {
            Found::Data(command) => command.about(),
            Found::Own(command) => command.about(),
        }
    }
}

/// The commands between MULTI and EXEC.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) commands: Vec<(Found, OwnedArguments)>,
    /// A command was refused, so EXEC will be.
    pub(crate) broken: bool,
    pub(crate) bytes: usize,
}

/// The keys that a client watches.
pub(crate) struct Watched {
    pub(crate) transaction: Transaction,
    /// Each key, and whether it was present.
    pub(crate) keys: Vec<(Signal, bool)>,
    /// The order of the databases: one that changes places with another has other keys.
    pub(crate) order: Vec<u32>,
}

/// A command that another one has run.
pub(crate) struct Ran {
    pub(crate) name: &'static str,
    pub(crate) nanos: u64,
    pub(crate) is_failed: bool,
}

/// Which replies a client wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReplyMode {
    #[default]
    On,
    Off,
    /// The reply to this command is left out.
    Skip,
    /// The reply to the next command is left out.
    SkipNext,
}

/// A client's session.
pub(crate) struct Session {
    pub(crate) place: ConnectionPlace,
    pub(crate) client: Arc<Client>,
    pub(crate) protocol: Protocol,
    pub(crate) database: u32,
    pub(crate) is_authenticated: bool,
    /// The user.
    pub(crate) account: Arc<Account>,
    pub(crate) queue: Option<Queue>,
    pub(crate) watched: Option<Watched>,
    pub(crate) subscriptions: Subscriptions,
    /// The feeds that it follows.
    pub(crate) followed: BTreeSet<Vec<u8>>,
    pub(crate) blocked: Option<Blocked>,
    /// Another thread carries out the command, or its reply waits for what others have begun.
    is_away: bool,
    /// What it asks for if its client holds keys in memory of its own.
    pub(crate) tracking: Option<Mode>,
    /// It may begin to track once it runs what is queued.
    pub(crate) expects_tracking: bool,
    /// The next command waits until a pause is over.
    pub(crate) is_parked: bool,
    /// It is in the worker's list of those.
    pub(crate) is_listed: bool,
    /// The reply waits until what others have begun is done.
    pub(crate) is_late: bool,
    /// What its commands have looked up, and nobody has counted yet.
    pub(crate) lookups: Lookups,
    pub(crate) reply_mode: ReplyMode,
    /// What the client wants beyond the server's setting.
    pub(crate) acknowledge: Option<Acknowledge>,
    /// Where the client reads, if not at the present.
    pub(crate) snapshot: Option<Snapshot>,
    /// The replies of this wake-up wait for a sync.
    pub(crate) wants_sync: bool,
    /// The reply is larger than the limit of what may wait: the connection ends without it.
    pub(crate) is_overflowing: bool,
    /// The connection ends once its replies are sent.
    pub(crate) is_closing: bool,
    pub(crate) last_command: &'static str,
    /// It was refused before it ran.
    is_rejected: bool,
    /// The commands that EXEC has run, which are counted as if each had come alone.
    pub(crate) ran: Vec<Ran>,
    /// The number of requests so far: with the connection's id, it names one in the log.
    pub(crate) requests: u64,
    now: u64,
    seed: u64,
}

const BEFORE_AUTH: Refusal = Refusal::text("NOAUTH Authentication required.");

/// The most bytes of commands within MULTI.
const MOST_QUEUED: usize = 256 << 20;

impl Session {
    pub(crate) fn new(place: ConnectionPlace, client: Arc<Client>, shared: &Shared) -> Self {
        Session {
            place,
            client,
            protocol: Protocol::Resp2,
            database: 0,
            is_authenticated: !shared.acl.needs_password(),
            account: shared.acl.default_account(),
            queue: None,
            watched: None,
            subscriptions: Subscriptions::default(),
            followed: BTreeSet::new(),
            blocked: None,
            is_away: false,
            tracking: None,
            expects_tracking: false,
            is_parked: false,
            is_listed: false,
            lookups: Lookups::default(),
            is_late: false,
            reply_mode: ReplyMode::On,
            acknowledge: None,
            snapshot: None,
            wants_sync: false,
            is_overflowing: false,
            is_closing: false,
            last_command: "",
            is_rejected: false,
            ran: Vec::new(),
            requests: 0,
            now: 0,
            seed: RandomState::new().hash_one(place.id),
        }
    }

    /// Returns what the client may send.
    pub(crate) fn limits(&self, shared: &Shared) -> RequestLimits {
        if self.is_authenticated {
            RequestLimits { argument: shared.settings.max_request, ..RequestLimits::default() }
        } else {
            RequestLimits::UNAUTHENTICATED
        }
    }

    /// Returns when and where the next command runs.
    pub(crate) fn at<'s>(&mut self, shared: &'s Shared) -> At<'s> {
        // The clock of the system may go back.
        self.now = now_millis().max(self.now);
        self.seed = self.seed.wrapping_add(1);
        At { database: self.database, now: self.now, seed: self.seed, cursors: &shared.cursors }
    }

    /// Notes the time of a command that ran with those of other clients.
    pub(crate) fn note_time(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Carries out a command and appends its reply.
    pub(crate) fn execute(&mut self, shared: &Shared, arguments: &Arguments<'_>, costs: &mut Costs, out: &mut Vec<u8>) {
        self.requests += 1;
        let (started, queued) = (Instant::now(), self.queued());
        let reply = self.reply_to(shared, arguments).unwrap_or_else(|refusal| {
            // Each member takes some bytes at least.
            let is_too_large = |members: usize| members > shared.output_limits.hard(self.kind());
            self.is_overflowing |= matches!(refusal, Refusal::TooMany { members } if is_too_large(members));
            Reply::Error(refusal.into_text())
        });
        if self.is_parked {
            // It has not begun.
            self.requests -= 1;
            return;
        }
        let took = started.elapsed();
        let nanos = took.as_nanos() as u64;
        if !self.is_waiting() {
            let is_fast = || shared.command(&arguments[0]).is_some_and(|found| found.about().flags & FAST != 0);
            let name = || if is_fast() { "fast-command" } else { "command" };
            shared.latency.note(took, || now_millis() / 1_000, name);
        }
        let is_rejected = std::mem::take(&mut self.is_rejected);
        let cost = costs.of(self.last_command);
        match is_rejected {
            true => cost.rejected += 1,
            // One that was queued is counted when it runs.
            false if self.queued().zip(queued).is_some_and(|(after, before)| after > before) => {}
            false => cost.note(nanos, reply.is_error()),
        }
        costs.lookups.add(std::mem::take(&mut self.lookups));
        self.end_choice(shared, arguments);
        self.ran.drain(..).for_each(|ran| costs.of(ran.name).note(ran.nanos, ran.is_failed));
        if let Reply::Error(text) = &reply {
            shared.statistics.note_error(text);
        }
        // Of EXEC, the commands that it has run are kept.
        if !self.is_waiting() && self.last_command != "exec" {
            shared.note_slow(arguments, nanos, &self.client, self.requests);
        }
        if std::mem::take(&mut self.is_late) {
            let mut bytes = Vec::new();
            reply.encode(self.protocol, &mut bytes);
            late_reply::send(self.place, bytes, &shared.mailboxes, &shared.long.under_way);
            self.is_away = true;
        }
        self.answer(&reply, out);
    }

    /// Returns how many commands are queued within MULTI.
    fn queued(&self) -> Option<usize> {
        self.queue.as_ref().map(|queue| queue.commands.len())
    }

    /// Returns the class of clients whose limits hold. What follows a feed is limited by the feed.
    pub(crate) fn kind(&self) -> ClientKind {
        if self.subscriptions.is_empty() { ClientKind::Normal } else { ClientKind::Subscriber }
    }

    /// Returns whether the reply to the last command comes later.
    pub(crate) fn is_waiting(&self) -> bool {
        self.blocked.is_some() || self.is_away || self.is_parked
    }

    /// Returns whether the reply to the last command comes by mail.
    pub(crate) fn is_away(&self) -> bool {
        self.is_away
    }

    /// Appends a reply, if the client wants it.
    pub(crate) fn answer(&mut self, reply: &Reply, out: &mut Vec<u8>) {
        if !self.is_waiting() && (self.is_reply_wanted() || is_pushed(reply)) {
            reply.encode(self.protocol, out);
        }
    }

    /// Appends the reply to a command that another thread has carried out.
    pub(crate) fn answer_long(&mut self, bytes: Vec<u8>, out: &mut Vec<u8>) {
        self.is_away = false;
        match self.is_reply_wanted() {
            // Millions of bytes are not copied once more.
            true if out.is_empty() => *out = bytes,
            true => out.extend_from_slice(&bytes),
            false => {}
        }
    }

    /// Returns whether the client wants the reply to this command, and goes on to the next one.
    fn is_reply_wanted(&mut self) -> bool {
        let is_wanted = self.reply_mode == ReplyMode::On;
        self.reply_mode = match self.reply_mode {
            ReplyMode::Skip => ReplyMode::On,
            ReplyMode::SkipNext => ReplyMode::Skip,
            mode => mode,
        };
        is_wanted
    }

    fn reply_to(&mut self, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
        let found = match self.find(shared, arguments) {
            Ok(found) => found,
            Err(refusal) => {
                self.is_rejected = true;
                return Err(self.give_up_transaction(refusal));
            }
        };
        let about = found.about();
        self.last_command = match found {
            // Those about keys have subcommands, too, and are too many to look for them.
            Found::Data(_) => about.name,
            Found::Own(_) => shared.acl.catalog.name_of(about.name, arguments.get(1)),
        };
        if shared.pause.holds(|| self.changes_something(found)) {
            self.park(true);
            return Ok(Reply::Null);
        }
        if let Some(queue) = self.queue.as_mut().filter(|_| about.flags & UNQUEUED == 0) {
            queue.bytes += OwnedArguments::from(*arguments).size();
            if about.flags & ALONE != 0 || queue.bytes > MOST_QUEUED {
                queue.broken = true;
                return Err(Refusal::of(format!("ERR Command not allowed inside a transaction: '{}'", about.name)));
            }
            queue.commands.push((found, (*arguments).into()));
            self.expect_tracking(shared, about.name, arguments);
            return Ok(Reply::Status("QUEUED".into()));
        }
        match found {
            Found::Data(command) => self.run_data(shared, command, arguments),
            Found::Own(command) => (command.run)(self, shared, arguments),
        }
    }

    /// Lets EXEC fail, because a command was refused. If that is EXEC itself, nothing is queued any more.
    fn give_up_transaction(&mut self, refusal: Refusal) -> Refusal {
        let Some(mut queue) = self.queue.take() else { return refusal };
        if self.last_command == "exec" {
            self.watched = None;
            let text = refusal.into_text();
            let why = text.strip_prefix("ERR ").unwrap_or(&text);
            return Refusal::of(format!("EXECABORT Transaction discarded because of: {why}"));
        }
        queue.broken = true;
        self.queue = Some(queue);
        refusal
    }

    /// Returns whether a command waits while writes are paused: one that may change keys, or sends messages.
    fn changes_something(&self, found: Found) -> bool {
        const OTHERS: [&str; 6] = ["pfcount", "publish", "spublish", "flushdb", "flushall", "swapdb"];
        let alone = |about: Command<()>| about.flags & WRITE != 0 || OTHERS.contains(&about.name);
        match &self.queue {
            Some(queue) if found.about().name == "exec" => queue.commands.iter().any(|(found, _)| alone(found.about())),
            _ => alone(found.about()),
        }
    }

    /// Finds a command, and refuses what the client may not do.
    pub(crate) fn find(&mut self, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Found> {
        let name = &arguments[0];
        let Some(found) = shared.command(name) else {
            self.last_command = "";
            if is_of_http(name) {
                tracing::warn!(client = self.place.id, "a request of HTTP came; its connection is closed");
                self.is_closing = true;
                return Err(Refusal::text("ERR this is no server of HTTP"));
            }
            if !self.is_authenticated {
                return Err(BEFORE_AUTH);
            }
            return Err(unknown_command(arguments, "holm-server"));
        };
        let about = found.about();
        self.last_command = about.name;
        about.check(arguments)?;
        let found = if about.flags & SERVED != 0 && is_about_server(arguments) { Found::Own(&MEMORY) } else { found };
        if !self.is_authenticated && about.flags & NO_AUTH == 0 {
            return Err(BEFORE_AUTH);
        }
        if !self.account.may_do_all() {
            let context = if self.queue.is_some() { "multi" } else { "toplevel" };
            self.check(shared, &about, arguments, context)?;
        }
        if self.protocol == Protocol::Resp2 && self.is_subscribed() && !is_for_subscribers(about.name) {
            return Err(Refusal::of(format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in \
                 this context",
                about.name
            )));
        }
        Ok(found)
    }

    /// Refuses what the user may not do.
    pub(crate) fn check(
        &self,
        shared: &Shared,
        command: &Command<()>,
        arguments: &Arguments<'_>,
        context: &'static str,
    ) -> Outcome<()> {
        shared.acl.check(&self.account.user(), command, arguments).map_err(|denied| {
            let refusal = denied.refusal();
            self.note_denied(shared, denied, context, &self.account.name);
            refusal
        })
    }

    /// Notes what a user was refused.
    pub(crate) fn note_denied(&self, shared: &Shared, denied: Denied, context: &'static str, user: &[u8]) {
        shared.statistics.denied.fetch_add(1, Ordering::Relaxed);
        self.note_details();
        shared.acl.note_denied(denied, context, user, self.client.line());
    }

    /// Becomes a user.
    pub(crate) fn enter(&mut self, account: Arc<Account>) {
        self.client.details().user.clone_from(&account.name);
        (self.account, self.is_authenticated) = (account, true);
    }

    pub(crate) fn is_subscribed(&self) -> bool {
        !self.subscriptions.is_empty() || !self.followed.is_empty()
    }

    /// Returns whether the user may follow a feed, as the rules are now.
    pub(crate) fn may_follow(&self, shared: &Shared, name: &[u8]) -> bool {
        let words: OwnedArguments = [&b"holm.changes"[..], b"follow", name, b"0"].into_iter().collect();
        let allows = |about: Command<()>| shared.acl.check(&self.account.user(), &about, &words.lend()).is_ok();
        self.account.may_do_all() || shared.command(b"holm.changes").is_some_and(|found| allows(found.about()))
    }

    /// Returns whether replies wait until what they tell is synced.
    pub(crate) fn is_synced(&self, shared: &Shared) -> bool {
        self.acknowledge.unwrap_or(shared.settings.acknowledge) == Acknowledge::Synced
    }

    /// Refuses what writes by itself if the client reads at a snapshot.
    pub(crate) fn refuse_at_snapshot(&self) -> Outcome<()> {
        if self.snapshot.is_some() { Err(READ_ONLY) } else { Ok(()) }
    }

    /// Called before a command that writes.
    pub(crate) fn before_write(&mut self, shared: &Shared) {
        if self.is_synced(shared) {
            self.wants_sync = true;
        }
        if shared.settings.acknowledge == Acknowledge::Synced {
            shared.note_write(self.place.worker);
        }
    }

    /// Called for a command that reads.
    pub(crate) fn before_read(&mut self) {
        self.wants_sync |= self.acknowledge == Some(Acknowledge::Synced);
    }

    fn run_data(
        &mut self,
        shared: &Shared,
        command: &'static Command<Function>,
        arguments: &Arguments<'_>,
    ) -> Outcome<Reply> {
        self.note_reads(shared, command, arguments);
        let reply = match self.try_data(shared, command, arguments) {
            Err(Refusal::TooLong) => return Ok(self.begin_long(shared, command, arguments)),
            reply => reply?,
        };
        let Reply::Wait(millis) = reply else { return Ok(reply) };
        // Of a source and a target, the source is waited for.
        let count = if command.keys == TWO { 1 } else { usize::MAX };
        let keys = command.keys_of(arguments).into_iter().take(count);
        let keys: Vec<Signal> = keys.map(|key| (self.database, key.to_vec())).collect();
        shared.waiting.register(&keys, self.place);
        // Once more, now that a writer would notice: elements may have come meanwhile.
        match self.try_data(shared, command, arguments) {
            Ok(Reply::Wait(_)) => {}
            other => {
                shared.waiting.forget(&keys, self.place);
                return other;
            }
        }
        let deadline = (millis > 0).then(|| Instant::now().checked_add(Duration::from_millis(millis))).flatten();
        self.blocked = Some(Blocked { command, arguments: (*arguments).into(), keys, deadline });
        self.client.details().is_blocked = true;
        Ok(reply)
    }

    pub(crate) fn try_data(
        &mut self,
        shared: &Shared,
        command: &Command<Function>,
        arguments: &Arguments<'_>,
    ) -> Outcome<Reply> {
        let at = self.at(shared);
        if arguments.len() as u64 > BUDGET && command.flags & BLOCKING == 0 {
            return Err(Refusal::TooLong);
        }
        if let Some(snapshot) = &self.snapshot {
            let (reply, lookups) = shared.databases().read_within(snapshot, command, arguments, at, BUDGET)?;
            self.lookups.add(lookups);
            return Ok(reply);
        }
        if command.flags & WRITE != 0 {
            self.before_write(shared);
        } else {
            self.before_read();
        }
        let (reply, effects) = shared.databases().execute_within(command, arguments, at, BUDGET)?;
        self.note_effects(shared, &effects);
        Ok(reply)
    }

    /// Counts what a command has looked up, and tells others what it has done.
    pub(crate) fn note_effects(&mut self, shared: &Shared, effects: &Effects) {
        self.note_transaction(shared, effects, &Rereads::default());
    }

    /// As [`Session::note_effects`], for commands of one transaction.
    pub(crate) fn note_transaction(&mut self, shared: &Shared, effects: &Effects, rereads: &Rereads) {
        self.lookups.add(effects.lookups);
        shared.publish_transaction(effects, self.place.id, rereads);
    }

    /// Lets another thread carry out a command, whose reply comes later.
    fn begin_long(&mut self, shared: &Shared, command: &'static Command<Function>, arguments: &Arguments<'_>) -> Reply {
        let At { database, now, seed, .. } = self.at(shared);
        let (snapshot, must_sync) = (self.snapshot.clone(), self.is_synced(shared));
        let arguments = OwnedArguments::from(*arguments);
        let (place, client, request, protocol) = (self.place, self.client.clone(), self.requests, self.protocol);
        let long = LongCommand {
            place,
            client,
            request,
            command,
            arguments,
            database,
            now,
            seed,
            snapshot,
            protocol,
            must_sync,
            number: shared.long.under_way.begin(),
        };
        shared.statistics.long_commands.fetch_add(1, Ordering::Relaxed);
        shared.long.begin(long);
        self.is_away = true;
        Reply::Null
    }

    /// Leaves everything that others know of the session.
    pub(crate) fn leave(&mut self, shared: &Shared) {
        if let Some(blocked) = self.blocked.take() {
            shared.waiting.forget(&blocked.keys, self.place);
        }
        self.subscriptions.end_all(&shared.topics, self.place);
        unfollow_all(self, shared);
        self.end_expectation(shared);
        self.end_tracking(shared);
        shared.clients.remove(self.place.id);
    }

    /// Tells others what has changed about the client, after its commands of one wake-up.
    pub(crate) fn note_details(&self) {
        let mut details = self.client.details();
        details.database = self.database;
        details.last_command = self.last_command;
        details.last_used = Some(Instant::now());
        details.is_new_protocol = self.protocol == Protocol::Resp3;
        details.subscriptions = TopicKind::ALL.map(|kind| self.subscriptions.of(kind).len());
        details.queued = self.queued();
        details.queued_bytes = self.queue.as_ref().map_or(0, |queue| queue.bytes);
    }
}

/// Returns whether a reply is a message about channels, which a client gets that wants no replies.
fn is_pushed(reply: &Reply) -> bool {
    match reply {
        Reply::Push(_) => true,
        Reply::Several(replies) => replies.iter().all(is_pushed),
        _ => false,
    }
}

fn is_for_subscribers(name: &str) -> bool {
    let is_change = TopicKind::ALL.iter().any(|kind| kind.words().0 == name || kind.words().1 == name);
    is_change || matches!(name, "ping" | "quit" | "reset" | "holm.changes")
}
