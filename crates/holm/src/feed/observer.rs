//! The group-commit thread's side of feeds: reads each epoch that has become durable, once for all feeds.

use super::difference::{Difference, Unknown};
use super::queue::End;
use super::subscribers::Subscribers;
use crate::error::Error;
use crate::keys::Records;
use holm_medium::sync::Instant;
use holm_medium::sync::Mutex;
use holm_medium::sync::atomic::Ordering::Relaxed;
use holm_medium::{Epoch, EpochObserver, MediumError};
use holm_tree::ReadDifference;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// Gives the changes of epochs to the feeds.
pub(crate) struct FeedObserver {
    subscribers: Arc<Subscribers>,
    folder: PathBuf,
    /// Only the group-commit thread takes it.
    difference: Mutex<Difference>,
}

impl FeedObserver {
    pub(crate) fn new(
        subscribers: Arc<Subscribers>,
        folder: &Path,
        read: ReadDifference,
        keys: Records,
        block_bytes: u64,
    ) -> FeedObserver {
        let difference = Mutex::new(Difference::new(read, keys, block_bytes));
        FeedObserver { subscribers, folder: folder.into(), difference }
    }
}

impl EpochObserver for FeedObserver {
    fn is_listening(&self) -> bool {
        self.subscribers.is_listening()
    }

    fn epoch_durable(&self, epoch: Epoch, lines: &mut dyn Iterator<Item = (u64, u64)>) {
        let queues = self.subscribers.wanting(epoch);
        let Some(most) = queues.iter().filter_map(|queue| queue.room(epoch)).max() else { return };
        let (started, counters) = (Instant::now(), &self.subscribers.counters);
        let mut difference = self.difference.lock().unwrap_or_else(PoisonError::into_inner);
        if !difference.follows(epoch) {
            // No feed wanted the epoch before, so all of these begin with this one.
            difference.forget();
            if let Some(names) = queues.iter().find_map(|queue| queue.take_names(epoch)) {
                difference.continue_after(epoch - 1, names);
            }
        }
        let mut lagged = 0;
        match difference.of(epoch, lines, most) {
            Ok(changes) => {
                lagged = queues.iter().filter(|queue| !queue.offer(epoch, changes.as_ref())).count();
                counters.epochs.fetch_add(u64::from(changes.is_some()), Relaxed);
                counters.changes.fetch_add(changes.map_or(0, |changes| changes.len() as u64), Relaxed);
            }
            Err(unknown) => {
                let end = match unknown {
                    Unknown::TooMany => End::Lagged,
                    Unknown::Damaged(error) => End::Failed(error.within(&self.folder)),
                };
                lagged += if matches!(end, End::Lagged) { queues.len() } else { 0 };
                queues.iter().for_each(|queue| queue.end(end.clone()));
                difference.forget();
            }
        }
        self.subscribers.remove_ended();
        if !self.subscribers.is_listening() {
            difference.forget();
        }
        counters.lagged.fetch_add(lagged as u64, Relaxed);
        counters.read_ns.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
    }

    fn ended(&self, why: Option<&MediumError>) {
        let end = match why {
            None => End::Closed,
            Some(why) => End::Failed(Error::Poisoned { reason: why.to_string() }),
        };
        self.subscribers.end(&end);
        self.difference.lock().unwrap_or_else(PoisonError::into_inner).forget();
    }
}
