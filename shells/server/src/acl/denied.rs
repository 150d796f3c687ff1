//! What a user was refused: the reply, and ACL LOG.

use holm_commands::{Refusal, Reply};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Equal refusals within this many seconds are one entry.
const TOGETHER: u64 = 60;

/// The most entries, unless CONFIG SET has another number.
const MOST: usize = 128;

/// What a user may not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Run a command or subcommand.
    Command(&'static str),
    /// Use a key.
    Key(Vec<u8>),
    /// Use a channel.
    Channel(Vec<u8>),
    /// Let SORT read keys that it does not name.
    Option(&'static str),
    /// Be who it said it is, by this command.
    Password(&'static str),
}

impl Denied {
    fn reason(&self) -> &'static str {
        match self {
            Denied::Command(_) => "command",
            Denied::Key(_) | Denied::Option(_) => "key",
            Denied::Channel(_) => "channel",
            Denied::Password(_) => "auth",
        }
    }

    fn object(&self) -> Cow<'_, [u8]> {
        match self {
            Denied::Key(name) | Denied::Channel(name) => name.into(),
            Denied::Command(name) | Denied::Option(name) | Denied::Password(name) => name.as_bytes().into(),
        }
    }

    /// Returns the reply to a client.
    pub(crate) fn refusal(&self) -> Refusal {
        let what = match self {
            Denied::Command(name) => format!("run the '{name}' command"),
            Denied::Key(_) => "access one of the keys used as arguments".to_owned(),
            Denied::Channel(_) => "access one of the channels used as arguments".to_owned(),
            Denied::Option(name) => {
                return Refusal::of(format!("ERR {name} option of SORT denied due to insufficient ACL permissions."));
            }
            Denied::Password(_) => {
                return Refusal::text("WRONGPASS invalid username-password pair or user is disabled.");
            }
        };
        Refusal::of(format!("NOPERM this user has no permissions to {what}"))
    }

    /// Returns what ACL DRYRUN answers.
    pub(crate) fn explanation(&self) -> Vec<u8> {
        let (what, kind) = match self {
            Denied::Key(_) => ("access", "key"),
            Denied::Channel(_) => ("access", "channel"),
            Denied::Option(_) => ("use", "option"),
            Denied::Command(_) | Denied::Password(_) => ("run", "command"),
        };
        let begin = format!("This user has no permissions to {what} the '");
        [begin.as_bytes(), &self.object(), format!("' {kind}").as_bytes()].concat()
    }
}

struct Entry {
    count: i64,
    denied: Denied,
    context: &'static str,
    user: Vec<u8>,
    client: String,
    at: Instant,
}

struct Kept {
    entries: VecDeque<Entry>,
    most: usize,
}

/// The latest refusals, the last one first.
pub(crate) struct DeniedLog(Mutex<Kept>);

impl std::fmt::Debug for DeniedLog {
    fn fmt(&self, into: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(into, "DeniedLog({})", self.lock().entries.len())
    }
}

impl Default for DeniedLog {
    fn default() -> Self {
        DeniedLog(Mutex::new(Kept { entries: VecDeque::new(), most: MOST }))
    }
}

impl DeniedLog {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn most(&self) -> usize {
        self.lock().most
    }

    pub(crate) fn set_most(&self, most: usize) {
        let mut kept = self.lock();
        kept.most = most;
        kept.entries.truncate(most);
    }

    pub(crate) fn clear(&self) {
        self.lock().entries.clear();
    }

    /// Notes a refusal, in a context: alone, or within a transaction.
    pub(crate) fn add(&self, denied: Denied, context: &'static str, user: &[u8], client: String) {
        // A wrong name may be a password that was given in its place.
        let known = (!matches!(denied, Denied::Password(_))).then(|| tracing::field::display(user.escape_ascii()));
        let object = denied.object();
        tracing::info!(reason = denied.reason(), object = %object.escape_ascii(), user = known, "a user was refused");
        drop(object);
        let mut kept = self.lock();
        let is_same = |entry: &Entry| {
            entry.denied == denied
                && entry.context == context
                && entry.user == user
                && entry.at.elapsed().as_secs() <= TOGETHER
        };
        let known = kept.entries.iter().position(is_same);
        let count = known.and_then(|index| kept.entries.remove(index)).map_or(1, |entry| entry.count + 1);
        kept.entries.push_front(Entry { count, denied, context, user: user.to_vec(), client, at: Instant::now() });
        let most = kept.most;
        kept.entries.truncate(most);
    }

    /// Returns the latest refusals.
    pub(crate) fn latest(&self, count: usize) -> Reply {
        let describe = |entry: &Entry| {
            Reply::Map(vec![
                (Reply::fixed("count"), Reply::Integer(entry.count)),
                (Reply::fixed("reason"), Reply::fixed(entry.denied.reason())),
                (Reply::fixed("context"), Reply::fixed(entry.context)),
                (Reply::fixed("object"), Reply::bulk(entry.denied.object().into_owned())),
                (Reply::fixed("username"), Reply::bulk(entry.user.clone())),
                (Reply::fixed("age-seconds"), Reply::Double(entry.at.elapsed().as_secs_f64())),
                (Reply::fixed("client-info"), Reply::bulk(entry.client.clone())),
            ])
        };
        Reply::Array(self.lock().entries.iter().take(count).map(describe).collect())
    }
}
