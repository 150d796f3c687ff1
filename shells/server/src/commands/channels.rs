//! Messages between clients. On a single node the channels of shards are channels of their own, without patterns.

use super::subcommands;
use crate::session::Session;
use crate::shared::Shared;
use crate::topics::TopicKind;
use holm_commands::{Arguments, Outcome, Reply, help, wrong_words};

/// What a client is sent about a change of its subscriptions.
fn confirmation(word: &'static str, name: Option<&[u8]>, count: usize) -> Reply {
    Reply::Push(vec![Reply::fixed(word), Reply::bulk_or_null(name), Reply::count(count)])
}

fn begin(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>, kind: TopicKind) -> Reply {
    let (word, _) = kind.words();
    let confirmed = |name: &[u8]| {
        session.subscriptions.begin(&shared.topics, kind, name, session.place);
        confirmation(word, Some(name), session.subscriptions.count_with(kind))
    };
    Reply::Several(arguments.from(1).map(confirmed).collect())
}

fn end(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>, kind: TopicKind) -> Reply {
    let (_, word) = kind.words();
    let chosen: Vec<Vec<u8>> = match arguments.len() {
        1 => session.subscriptions.of(kind).iter().cloned().collect(),
        _ => arguments.from(1).map(<[u8]>::to_vec).collect(),
    };
    if chosen.is_empty() {
        return Reply::Several(vec![confirmation(word, None, session.subscriptions.count_with(kind))]);
    }
    let confirmed = |name: &Vec<u8>| {
        session.subscriptions.end(&shared.topics, kind, name, session.place);
        confirmation(word, Some(name), session.subscriptions.count_with(kind))
    };
    Reply::Several(chosen.iter().map(confirmed).collect())
}

pub(super) fn subscribe(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(begin(session, shared, arguments, TopicKind::Channel))
}

pub(super) fn unsubscribe(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(end(session, shared, arguments, TopicKind::Channel))
}

pub(super) fn psubscribe(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(begin(session, shared, arguments, TopicKind::Pattern))
}

pub(super) fn punsubscribe(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(end(session, shared, arguments, TopicKind::Pattern))
}

pub(super) fn ssubscribe(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(begin(session, shared, arguments, TopicKind::Shard))
}

pub(super) fn sunsubscribe(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(end(session, shared, arguments, TopicKind::Shard))
}

pub(super) fn publish(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::count(shared.topics.publish(&arguments[1], &arguments[2], &shared.mailboxes)))
}

pub(super) fn spublish(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::count(shared.topics.publish_to_shard(&arguments[1], &arguments[2], &shared.mailboxes)))
}

pub(super) fn pubsub(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let names = |kind| {
        let topics = shared.topics.matching(kind, arguments.get(2));
        Reply::bulks(topics.into_iter().map(|(name, _)| name))
    };
    let counts = |kind| {
        // In both versions of the protocol this is an array, as clients expect.
        let of = |name: &[u8]| [Reply::bulk(name), Reply::count(shared.topics.subscriber_count(kind, name))];
        Reply::Array(arguments.from(2).flat_map(of).collect())
    };
    match (&arguments[1].to_ascii_lowercase()[..], arguments.len()) {
        (b"channels", 2 | 3) => Ok(names(TopicKind::Channel)),
        (b"shardchannels", 2 | 3) => Ok(names(TopicKind::Shard)),
        (b"numsub", _) => Ok(counts(TopicKind::Channel)),
        (b"shardnumsub", _) => Ok(counts(TopicKind::Shard)),
        (b"numpat", 2) => Ok(Reply::count(shared.topics.pattern_count())),
        (b"help", _) => Ok(help("pubsub", subcommands::PUBSUB)),
        _ => Err(wrong_words("pubsub", arguments)),
    }
}
