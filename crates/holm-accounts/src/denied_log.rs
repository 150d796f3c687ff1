//! ACL LOG: what users were refused, in memory, wherever users are kept.

use crate::denied::Denied;
use holm_commands::{Arguments, Outcome, Reply, integer};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Equal refusals within this many seconds are one entry.
const TOGETHER: u64 = 60;

/// The most entries, unless CONFIG SET has another number.
const MOST: usize = 128;

/// Entries that ACL LOG answers without a count.
const SHOWN: i64 = 10;

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

/// The latest refusals, the last one first. Many threads may share it.
pub struct DeniedLog(Mutex<Kept>);

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

    /// Returns the most entries that are kept.
    pub fn most(&self) -> usize {
        self.lock().most
    }

    /// Sets the most entries that are kept.
    pub fn set_most(&self, most: usize) {
        let mut kept = self.lock();
        kept.most = most;
        kept.entries.truncate(most);
    }

    /// Notes a refusal, in a context: alone (`toplevel`), or within a transaction (`multi`). The client is a line that
    /// describes it. A name that was given with a wrong password may be a password itself, and is kept all the same.
    pub fn add(&self, denied: Denied, context: &'static str, user: &[u8], client: String) {
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

    /// Answers ACL LOG, with a count or RESET.
    ///
    /// # Errors
    /// The count is no number.
    pub fn answer(&self, arguments: &Arguments<'_>) -> Outcome<Reply> {
        if arguments.is(2, "reset") {
            self.lock().entries.clear();
            return Ok(Reply::OK);
        }
        let count = arguments.get(2).map_or(Ok(SHOWN), integer)?;
        Ok(self.latest(usize::try_from(count).unwrap_or(0)))
    }

    fn latest(&self, count: usize) -> Reply {
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
