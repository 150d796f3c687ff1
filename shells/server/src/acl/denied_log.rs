//! ACL LOG: what users were refused.

use holm_accounts::Denied;
use holm_commands::Reply;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Equal refusals within this many seconds are one entry.
const TOGETHER: u64 = 60;

/// The most entries, unless CONFIG SET has another number.
const MOST: usize = 128;

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
