//! Replies that wait until all commands of others are done that had begun before.
//!
//! A command that changes what other commands must take notice of, such as a pause, sets a flag, and they read it
//! without a fence. Each worker and each long command that had begun holds the reply until it is done, and the last one
//! that lets it go sends it. So once a client has the reply, nothing runs that has not seen the flag.

use crate::mail::{ConnectionPlace, Mail, Mailbox};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A reply that is sent when it is dropped.
pub(crate) struct LateReply {
    place: ConnectionPlace,
    bytes: Vec<u8>,
    mailboxes: Arc<Vec<Mailbox>>,
}

impl Drop for LateReply {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        self.mailboxes[self.place.worker].send(Mail::Answer { id: self.place.id, bytes });
    }
}

/// Sends a reply once each worker has finished its wake-up, and each long command that has begun.
pub(crate) fn send(place: ConnectionPlace, bytes: Vec<u8>, mailboxes: &Arc<Vec<Mailbox>>, under_way: &UnderWay) {
    let late = Arc::new(LateReply { place, bytes, mailboxes: mailboxes.clone() });
    mailboxes.iter().for_each(|mailbox| mailbox.send(Mail::Pass(late.clone())));
    under_way.hold(late);
}

/// Long commands that are not done, by numbers in the order in which they began.
#[derive(Default)]
pub(crate) struct UnderWay(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    running: BTreeSet<u64>,
    /// Replies that wait for all commands below a number.
    held: Vec<(u64, Arc<LateReply>)>,
}

impl UnderWay {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a command begins, and returns its number.
    pub(crate) fn begin(&self) -> u64 {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.running.insert(number);
        number
    }

    /// Notes that a command is done.
    pub(crate) fn end(&self, number: u64) {
        let mut state = self.lock();
        state.running.remove(&number);
        let first = state.running.first().copied().unwrap_or(u64::MAX);
        let released: Vec<_> = state.held.extract_if(.., |(below, _)| *below <= first).collect();
        drop(state);
        drop(released);
    }

    /// Holds a reply until the commands are done that have begun.
    fn hold(&self, late: Arc<LateReply>) {
        let mut state = self.lock();
        let below = state.next;
        if !state.running.is_empty() {
            state.held.push((below, late));
        }
    }
}
