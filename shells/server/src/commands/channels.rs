//! Messages between clients.

use crate::session::Session;
use crate::shared::Shared;
use crate::topics::TopicKind;
use holm_commands::{Arguments, Outcome, Refusal, Reply};

/// What a client is sent about a change of its subscriptions.
fn confirmation(kind: &'static str, name: Option<&[u8]>, count: usize) -> Reply {
    Reply::Push(vec![Reply::fixed(kind), Reply::bulk_or_null(name), Reply::count(count)])
}

fn begin(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>, kind: TopicKind) -> Reply {
    let word = if kind == TopicKind::Channel { "subscribe" } else { "psubscribe" };
    let mut replies = Vec::new();
    for name in arguments.from(1) {
        let names = if kind == TopicKind::Channel { &mut session.channels } else { &mut session.patterns };
        if names.insert(name.to_vec()) {
            shared.topics.subscribe(kind, name, session.place);
        }
        replies.push(confirmation(word, Some(name), session.channels.len() + session.patterns.len()));
    }
    Reply::Several(replies)
}

fn end(session: &mut Session, shared: &Shared, arguments: &Arguments<'_>, kind: TopicKind) -> Reply {
    let word = if kind == TopicKind::Channel { "unsubscribe" } else { "punsubscribe" };
    let names = if kind == TopicKind::Channel { &session.channels } else { &session.patterns };
    let chosen: Vec<Vec<u8>> = match arguments.len() {
        1 => names.iter().cloned().collect(),
        _ => arguments.from(1).map(<[u8]>::to_vec).collect(),
    };
    let mut replies = Vec::new();
    for name in &chosen {
        let names = if kind == TopicKind::Channel { &mut session.channels } else { &mut session.patterns };
        if names.remove(name) {
            shared.topics.unsubscribe(kind, name, session.place);
        }
        replies.push(confirmation(word, Some(name), session.channels.len() + session.patterns.len()));
    }
    if replies.is_empty() {
        replies.push(confirmation(word, None, session.channels.len() + session.patterns.len()));
    }
    Reply::Several(replies)
}

/// Ends all subscriptions of a connection.
pub(super) fn leave_all(session: &mut Session, shared: &Shared) {
    for (kind, names) in [(TopicKind::Channel, &mut session.channels), (TopicKind::Pattern, &mut session.patterns)] {
        std::mem::take(names).iter().for_each(|name| shared.topics.unsubscribe(kind, name, session.place));
    }
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

pub(super) fn publish(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    Ok(Reply::count(shared.topics.publish(&arguments[1], &arguments[2], &shared.mailboxes)))
}

pub(super) fn pubsub(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match (&arguments[1].to_ascii_lowercase()[..], arguments.len()) {
        (b"channels", 2 | 3) => {
            Ok(Reply::bulks(shared.topics.channels(arguments.get(2)).into_iter().map(|(name, _)| name)))
        }
        (b"numsub", _) => {
            let of = |name: &[u8]| (Reply::bulk(name), Reply::count(shared.topics.subscriber_count(name)));
            Ok(Reply::Map(arguments.from(2).map(of).collect()))
        }
        (b"numpat", 2) => Ok(Reply::count(shared.topics.pattern_count())),
        _ => Err(Refusal::text("ERR unknown subcommand or wrong number of arguments. Try PUBSUB CHANNELS.")),
    }
}
