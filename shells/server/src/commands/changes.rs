//! HOLM.CHANGES: what has become durable since an epoch, key by key.
//!
//! Every change of a collection changes the record of its key. So a key is named whenever anything about it changes,
//! and its rows need not be shown.

use crate::feeds::NoFeed;
use crate::session::Session;
use crate::shared::Shared;
use holm::{Change, Changes};
use holm_commands::{
    Arguments, Outcome, Refusal, Reply, SYNTAX, count, describe_record, flushed_database, parse_integer,
};
use std::sync::PoisonError;

/// The most epochs of one answer.
const MOST_EPOCHS: usize = 1_000;

/// Returns the number of the database that a keyspace has the keys of.
fn database(keyspace: &str, order: &[u32]) -> Option<i64> {
    let number: u32 = keyspace.strip_prefix("db")?.parse().ok()?;
    order.iter().position(|other| *other == number).map(|number| number as i64)
}

fn change(change: Change<'_>, order: &[u32]) -> Option<Reply> {
    Some(Reply::Array(match change {
        Change::Put { keyspace, key, value, .. } => {
            let database = Reply::Integer(database(keyspace, order)?);
            let (kind, string) = describe_record(value)?;
            vec![Reply::fixed("set"), database, Reply::bulk(key), Reply::fixed(kind), Reply::bulk_or_null(string)]
        }
        Change::Remove { keyspace, key } => {
            vec![Reply::fixed("del"), Reply::Integer(database(keyspace, order)?), Reply::bulk(key)]
        }
        _ => return None,
    }))
}

/// Returns that a database was flushed, if that is what has changed.
fn flush(change: Change<'_>) -> Option<Reply> {
    let Change::Put { keyspace, key, .. } = change else { return None };
    let database = flushed_database(keyspace, key)?;
    Some(Reply::Array(vec![Reply::fixed("flush"), Reply::Integer(database.into())]))
}

fn epoch(changes: &Changes, order: &[u32]) -> Reply {
    // What a database had before it was flushed is in keyspaces that belong to none any more. What it has since comes
    // behind that.
    let all = changes.iter().filter_map(flush).chain(changes.iter().filter_map(|one| change(one, order))).collect();
    Reply::Array(vec![Reply::Integer(changes.epoch() as i64), Reply::Array(all)])
}

fn read(shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let after = parse_integer(&arguments[3]).and_then(|epoch| u64::try_from(epoch).ok()).ok_or(SYNTAX)?;
    let most = match arguments.len() {
        4 => 10,
        6 if arguments.is(4, "count") => count(&arguments[5])?.clamp(1, MOST_EPOCHS),
        _ => return Err(SYNTAX),
    };
    let feed = shared.feeds.find(&arguments[2]).ok_or(Refusal::text("NOFEED there is no such feed: open it"))?;
    let mut feed = feed.lock().unwrap_or_else(PoisonError::into_inner);
    if after < feed.acknowledged() {
        return Err(Refusal::text("NOFEED that epoch was acknowledged already: what came behind it is forgotten"));
    }
    let databases = shared.databases();
    match feed.read(after, most) {
        Ok(epochs) => Ok(Reply::Array(epochs.map(|changes| epoch(changes, databases.order())).collect())),
        Err(holm::Error::Lagged { .. }) => Err(Refusal::text(
            "LAGGED the reader was too slow, and changes are lost: close the feed, open it, and read all keys anew",
        )),
        Err(error) => Err(Refusal::Store(error)),
    }
}

pub(super) fn changes(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match (&arguments[1].to_ascii_lowercase()[..], arguments.len()) {
        (b"open", 3) => match shared.feeds.open(&arguments[2], shared.databases().holm()) {
            Ok(feed) => {
                let epoch = feed.lock().unwrap_or_else(PoisonError::into_inner).acknowledged();
                Ok(Reply::Integer(epoch as i64))
            }
            Err(NoFeed::TooMany) => Err(Refusal::text("ERR there are as many feeds as the server has room for")),
            Err(NoFeed::Store(error)) => Err(Refusal::Store(error)),
        },
        (b"read", 4..) => read(shared, arguments),
        (b"close", 3) => Ok(Reply::flag(shared.feeds.close(&arguments[2]))),
        (b"list", 2) => {
            let all = shared.feeds.all().into_iter();
            Ok(Reply::Map(all.map(|(name, epoch)| (Reply::bulk(name), Reply::Integer(epoch as i64))).collect()))
        }
        _ => Err(SYNTAX),
    }
}
