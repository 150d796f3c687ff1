//! HOLM.CHANGES: what has become durable since an epoch, key by key.
//!
//! Every change of a collection changes the record of its key. So a key is named whenever anything about it changes,
//! and its rows need not be shown. A client asks for the next epochs, or follows the feed and is sent them.

use crate::feeds::{Followed, NoFeed, lock};
use crate::followers;
use crate::session::Session;
use crate::shared::Shared;
use holm::{Change, Changes};
use holm_commands::{
    Arguments, Outcome, Refusal, Reply, SYNTAX, count, describe_record, flushed_database, parse_integer,
};
use std::sync::{Arc, Mutex};

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

/// Returns an epoch: its number and its changes.
pub(crate) fn epoch(changes: &Changes, order: &[u32]) -> Reply {
    // What a database had before it was flushed is in keyspaces that belong to none any more. What it has since comes
    // behind that.
    let all = changes.iter().filter_map(flush).chain(changes.iter().filter_map(|one| change(one, order))).collect();
    Reply::Array(vec![Reply::Integer(changes.epoch() as i64), Reply::Array(all)])
}

/// Returns what a client is answered when a feed gives no changes.
pub(crate) fn refusal(error: holm::Error) -> Refusal {
    match error {
        holm::Error::Lagged { .. } => Refusal::text(
            "LAGGED the reader was too slow, and changes are lost: close the feed, open it, and read all keys anew",
        ),
        error => Refusal::Store(error),
    }
}

/// Returns the feed of a name, and an epoch that it has not forgotten.
fn feed_and_epoch(shared: &Shared, arguments: &Arguments<'_>) -> Outcome<(Arc<Mutex<Followed>>, u64)> {
    let after = parse_integer(&arguments[3]).and_then(|epoch| u64::try_from(epoch).ok()).ok_or(SYNTAX)?;
    let feed = shared.feeds.find(&arguments[2]).ok_or(Refusal::text("NOFEED there is no such feed: open it"))?;
    let acknowledged = lock(&feed).acknowledged();
    if after < acknowledged {
        return Err(Refusal::text("NOFEED that epoch was acknowledged already: what came behind it is forgotten"));
    }
    // What the feed has given is durable, so it lies before the active epoch.
    if after > acknowledged && after >= shared.databases().holm().stats().epochs.active {
        return Err(Refusal::text("ERR that epoch is to come: acknowledge what the feed has given"));
    }
    Ok((feed, after))
}

fn read(shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let most = match arguments.len() {
        4 => 10,
        6 if arguments.is(4, "count") => count(&arguments[5])?.clamp(1, MOST_EPOCHS),
        _ => return Err(SYNTAX),
    };
    let (feed, after) = feed_and_epoch(shared, arguments)?;
    let (mut feed, databases) = (lock(&feed), shared.databases());
    let epochs = feed.read(after, most).map_err(refusal)?;
    Ok(Reply::Array(epochs.map(|changes| epoch(changes, databases.order())).collect()))
}

/// Lets the connection follow a feed. Another one that has followed it so far is sent a last message.
fn follow(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let (feed, after) = feed_and_epoch(shared, arguments)?;
    let name = &arguments[2];
    session.followed.insert(name.to_vec());
    if let Some(before) = lock(&feed).follow(after, session.place) {
        let why = Reply::error("TAKEN another connection follows the feed from now on");
        followers::send(shared, before, name, why, true);
    }
    shared.feeds.notify();
    Ok(Reply::OK)
}

fn unfollow(session: &mut Session, shared: &Shared, name: &[u8]) -> Reply {
    let was_followed = session.followed.remove(name);
    if let Some(feed) = shared.feeds.find(name).filter(|_| was_followed) {
        lock(&feed).leave(session.place);
    }
    Reply::flag(was_followed)
}

/// Ends the following of all feeds by a connection.
pub(crate) fn unfollow_all(session: &mut Session, shared: &Shared) {
    for name in std::mem::take(&mut session.followed) {
        if let Some(feed) = shared.feeds.find(&name) {
            lock(&feed).leave(session.place);
        }
    }
}

fn close(shared: &Shared, name: &[u8]) -> Reply {
    let closed = shared.feeds.close(name);
    if let Some(follower) = closed.as_ref().and_then(|feed| lock(feed).follower()) {
        followers::send(shared, follower.place, name, Reply::error("NOFEED the feed was closed"), true);
    }
    Reply::flag(closed.is_some())
}

pub(super) fn changes(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match (&arguments[1].to_ascii_lowercase()[..], arguments.len()) {
        (b"open", 3) => match shared.feeds.open(&arguments[2], shared.databases().holm()) {
            Ok(feed) => Ok(Reply::Integer(lock(&feed).acknowledged() as i64)),
            Err(NoFeed::TooMany) => Err(Refusal::text("ERR there are as many feeds as the server has room for")),
            Err(NoFeed::Store(error)) => Err(Refusal::Store(error)),
        },
        (b"read", 4..) => read(shared, arguments),
        (b"follow", 4) => follow(session, shared, arguments),
        (b"acknowledge", 4) => {
            let (feed, epoch) = feed_and_epoch(shared, arguments)?;
            lock(&feed).acknowledge(epoch);
            Ok(Reply::OK)
        }
        (b"unfollow", 3) => Ok(unfollow(session, shared, &arguments[2])),
        (b"close", 3) => Ok(close(shared, &arguments[2])),
        (b"list", 2) => {
            let all = shared.feeds.all().into_iter();
            Ok(Reply::Map(all.map(|(name, epoch)| (Reply::bulk(name), Reply::Integer(epoch as i64))).collect()))
        }
        _ => Err(SYNTAX),
    }
}
