//! A clock that tests move.

use holm::{Builder, Keyspace};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The hands of a clock, in milliseconds since 1970; clones move together.
#[derive(Clone)]
pub(crate) struct Hands(Arc<AtomicU64>);

impl Hands {
    pub(crate) fn at(millis: u64) -> Self {
        Hands(Arc::new(AtomicU64::new(millis)))
    }

    pub(crate) fn set(&self, millis: u64) {
        self.0.store(millis, SeqCst);
    }

    pub(crate) fn now(&self) -> u64 {
        self.0.load(SeqCst)
    }

    pub(crate) fn advance(&self, millis: u64) {
        self.0.fetch_add(millis, SeqCst);
    }

    /// Lets a database follow this clock.
    pub(crate) fn move_time_of(&self, builder: Builder) -> Builder {
        let hands = self.clone();
        builder.time_source(Arc::new(move || time(hands.now())))
    }
}

pub(crate) fn time(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

/// Stores a value that expires at a time in milliseconds.
pub(crate) fn put_until(space: &Keyspace, key: &str, value: &str, millis: u64) {
    space.insert_until(key, value, time(millis)).expect("room");
}
