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
}

/// All subscriptions of a server.
#[derive(Default)]
pub(crate) struct Topics {
    channels: Mutex<Subscribers>,
    patterns: Mutex<Subscribers>,
}

impl Topics {
    fn of(&self, kind: TopicKind) -> MutexGuard<'_, Subscribers> {
        let topics = if kind == TopicKind::Channel { &self.channels } else { &self.patterns };
        topics.lock().unwrap_or_else(PoisonError::into_inner)
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
        [of_kind(TopicKind::Channel), of_kind(TopicKind::Pattern)].concat()
    }

    /// Sends a message and returns the number of its receivers.
    pub(crate) fn publish(&self, channel: &[u8], content: &[u8], mailboxes: &[Mailbox]) -> usize {
        let mut count = 0;
        let mut send = |places: &[ConnectionPlace], pattern: Option<&Vec<u8>>| {
            let message = Message { pattern: pattern.cloned(), channel: channel.to_vec(), content: content.to_vec() };
            let message = Arc::new(message);
            for place in places {
                mailboxes[place.worker].send(Mail::Message { to: place.id, message: message.clone() });
            }
            count += places.len();
        };
        if let Some(places) = self.of(TopicKind::Channel).get(channel) {
            send(places, None);
        }
        for (pattern, places) in self.of(TopicKind::Pattern).iter().filter(|(pattern, _)| matches(pattern, channel)) {
            send(places, Some(pattern));
        }
        count
    }

    /// Returns the channels that match a pattern, with the numbers of their subscribers.
    pub(crate) fn channels(&self, pattern: Option<&[u8]>) -> Vec<(Vec<u8>, usize)> {
        let channels = self.of(TopicKind::Channel);
        let matching = channels.iter().filter(|(name, _)| pattern.is_none_or(|pattern| matches(pattern, name)));
        matching.map(|(name, places)| (name.clone(), places.len())).collect()
    }

    pub(crate) fn subscriber_count(&self, channel: &[u8]) -> usize {
        self.of(TopicKind::Channel).get(channel).map_or(0, Vec::len)
    }

    pub(crate) fn pattern_count(&self) -> usize {
        self.of(TopicKind::Pattern).len()
    }
}
