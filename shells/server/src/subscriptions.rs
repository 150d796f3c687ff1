//! What one connection has subscribed to.

use crate::mail::ConnectionPlace;
use crate::topics::{TopicKind, Topics};
use std::collections::BTreeSet;

/// The names that a connection has subscribed to, by kind.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions([BTreeSet<Vec<u8>>; TopicKind::ALL.len()]);

impl Subscriptions {
    pub(crate) fn of(&self, kind: TopicKind) -> &BTreeSet<Vec<u8>> {
        &self.0[kind as usize]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(BTreeSet::is_empty)
    }

    /// Returns what a client is sent as the count behind a change: channels and patterns count together.
    pub(crate) fn count_with(&self, kind: TopicKind) -> usize {
        match kind {
            TopicKind::Shard => self.of(kind).len(),
            _ => self.of(TopicKind::Channel).len() + self.of(TopicKind::Pattern).len(),
        }
    }

    pub(crate) fn begin(&mut self, topics: &Topics, kind: TopicKind, name: &[u8], place: ConnectionPlace) {
        if self.0[kind as usize].insert(name.to_vec()) {
            topics.subscribe(kind, name, place);
        }
    }

    pub(crate) fn end(&mut self, topics: &Topics, kind: TopicKind, name: &[u8], place: ConnectionPlace) {
        if self.0[kind as usize].remove(name) {
            topics.unsubscribe(kind, name, place);
        }
    }

    pub(crate) fn end_all(&mut self, topics: &Topics, place: ConnectionPlace) {
        for kind in TopicKind::ALL {
            let names = std::mem::take(&mut self.0[kind as usize]);
            names.iter().for_each(|name| topics.unsubscribe(kind, name, place));
        }
    }
}
