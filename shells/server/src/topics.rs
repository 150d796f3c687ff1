//! Channels and patterns, and the connections that have subscribed to them.

use crate::mail::{ConnectionPlace, Mail, Mailbox, Message};
use holm_commands::matches;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Subscribers = BTreeMap<Vec<u8>, Vec<ConnectionPlace>>;

/// What a subscription is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TopicKind {
    Channel,
    Pattern,
    /// A channel of a shard: one that patterns do not match.
    Shard,
}

impl TopicKind {
    pub(crate) const ALL: [TopicKind; 3] = [TopicKind::Channel, TopicKind::Pattern, TopicKind::Shard];

    /// Returns the words that confirm the begin and the end of a subscription.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            TopicKind::Channel => ("subscribe", "unsubscribe"),
            TopicKind::Pattern => ("psubscribe", "punsubscribe"),
            TopicKind::Shard => ("ssubscribe", "sunsubscribe"),
        }
    }
}

/// Sends a message to connections, and returns how many they are.
fn send(message: Message, places: &[ConnectionPlace], mailboxes: &[Mailbox]) -> usize {
    let message = Arc::new(message);
    for place in places {
        mailboxes[place.worker].send(Mail::Message { to: place.id, message: message.clone() });
    }
    places.len()
}

/// All subscriptions of a server.
#[derive(Default)]
pub(crate) struct Topics([Mutex<Subscribers>; TopicKind::ALL.len()]);

impl Topics {
    fn of(&self, kind: TopicKind) -> MutexGuard<'_, Subscribers> {
        self.0[kind as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn subscribe(&self, kind: TopicKind, name: &[u8], place: ConnectionPlace) {
        self.of(kind).entry(name.to_vec()).or_default().push(place);
    }

    pub(crate) fn unsubscribe(&self, kind: TopicKind, name: &[u8], place: ConnectionPlace) {
        let mut topics = self.of(kind);
        if let Some(places) = topics.get_mut(name) {
            places.retain(|other| *other != place);
            if places.is_empty() {
                topics.remove(name);
            }
        }
    }

    /// Returns what a connection has subscribed to.
    pub(crate) fn of_client(&self, place: ConnectionPlace) -> Vec<(TopicKind, Vec<u8>)> {
        let of_kind = |kind| {
            let topics = self.of(kind);
            let own = topics.iter().filter(|(_, places)| places.contains(&place));
            own.map(|(name, _)| (kind, name.clone())).collect::<Vec<_>>()
        };
        TopicKind::ALL.into_iter().flat_map(of_kind).collect()
    }

    /// Sends a message to those who have subscribed to its channel or to a pattern of it. Returns how many they are.
    pub(crate) fn publish(&self, channel: &[u8], content: &[u8], mailboxes: &[Mailbox]) -> usize {
        let message = |kind, pattern: &[u8]| Message {
            kind,
            pattern: pattern.to_vec(),
            channel: channel.to_vec(),
            content: content.to_vec(),
        };
        let direct = |places: &Vec<_>| send(message(TopicKind::Channel, &[]), places, mailboxes);
        let direct = self.of(TopicKind::Channel).get(channel).map_or(0, direct);
        let patterns = self.of(TopicKind::Pattern);
        let matching = patterns.iter().filter(|(pattern, _)| matches(pattern, channel));
        direct
            + matching
                .map(|(pattern, places)| send(message(TopicKind::Pattern, pattern), places, mailboxes))
                .sum::<usize>()
    }

    /// Sends a message to those who have subscribed to the channel of a shard. Returns how many they are.
    pub(crate) fn publish_to_shard(&self, channel: &[u8], content: &[u8], mailboxes: &[Mailbox]) -> usize {
        let (kind, channel_of) = (TopicKind::Shard, channel.to_vec());
        let message = Message { kind, pattern: Vec::new(), channel: channel_of, content: content.to_vec() };
        self.of(kind).get(channel).map_or(0, |places| send(message, places, mailboxes))
    }

    /// Returns the channels of a kind that match a pattern, with the numbers of their subscribers.
    pub(crate) fn matching(&self, kind: TopicKind, pattern: Option<&[u8]>) -> Vec<(Vec<u8>, usize)> {
        let channels = self.of(kind);
        let matching = channels.iter().filter(|(name, _)| pattern.is_none_or(|pattern| matches(pattern, name)));
        matching.map(|(name, places)| (name.clone(), places.len())).collect()
    }

    pub(crate) fn subscriber_count(&self, kind: TopicKind, channel: &[u8]) -> usize {
        self.of(kind).get(channel).map_or(0, Vec::len)
    }

    pub(crate) fn pattern_count(&self) -> usize {
        self.of(TopicKind::Pattern).len()
    }
}
