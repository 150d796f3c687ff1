//! What threads tell each other: new connections, messages of channels, keys with new elements, the stop.

use crate::late_reply::LateReply;
use crate::stream::Stream;
use crate::topics::TopicKind;
use crate::tracking::Invalid;
use holm_commands::{Reply, Signal};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A connection of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionPlace {
    pub(crate) worker: usize,
    pub(crate) id: u64,
}

/// A message of a channel.
#[derive(Debug)]
pub(crate) struct Message {
    /// The kind of the subscription by which the subscriber has it.
    pub(crate) kind: TopicKind,
    /// The pattern, if it is by one.
    pub(crate) pattern: Vec<u8>,
    pub(crate) channel: Vec<u8>,
    pub(crate) content: Vec<u8>,
}

/// Something for a worker.
pub(crate) enum Mail {
    Connection {
        id: u64,
        stream: Stream,
        address: String,
    },
    Message {
        to: u64,
        message: Arc<Message>,
    },
    /// What a feed has given that this connection follows.
    Changes {
        to: u64,
        name: Vec<u8>,
        message: Box<Reply>,
        /// The connection follows the feed no more.
        is_last: bool,
    },
    /// A client must not hold what keys had.
    Invalid {
        to: u64,
        invalid: Invalid,
        /// It is about keys that another connection has read.
        is_redirected: bool,
    },
    /// The connection that hears of changes in its place has left.
    BrokenRedirect {
        to: u64,
        redirect: u64,
    },
    /// A key that this connection waits for has elements.
    TryAgain {
        id: u64,
        key: Signal,
    },
    /// A blocked connection is to go on as if its time were over, or with an error.
    Unblock {
        id: u64,
        with_error: bool,
    },
    /// The reply to a command that another thread has carried out.
    Answer {
        id: u64,
        bytes: Vec<u8>,
    },
    /// A reply of another connection that waits until this worker has carried out what it has begun.
    Pass(Arc<LateReply>),
    /// The pause is over.
    Resume,
    /// A connection is to be closed.
    Close {
        id: u64,
    },
}

/// The mail of one worker.
pub(crate) struct Mailbox {
    mail: Mutex<Vec<Mail>>,
    waker: mio::Waker,
    /// The worker holds replies until a sync is done.
    pub(crate) awaits_sync: AtomicBool,
}

impl Mailbox {
    pub(crate) fn new(waker: mio::Waker) -> Self {
        Mailbox { mail: Mutex::default(), waker, awaits_sync: AtomicBool::new(false) }
    }

    pub(crate) fn send(&self, mail: Mail) {
        let mut box_of_mail = self.mail.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = box_of_mail.is_empty();
        box_of_mail.push(mail);
        drop(box_of_mail);
        if is_first {
            self.wake();
        }
    }

    pub(crate) fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            tracing::error!(%error, "a worker cannot be woken");
        }
    }

    /// Wakes the worker if it waits for a sync.
    pub(crate) fn ring(&self) {
        if self.awaits_sync.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    pub(crate) fn take(&self) -> Vec<Mail> {
        std::mem::take(&mut *self.mail.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Makes a waker for a poll.
pub(crate) fn waker(poll: &mio::Poll, token: mio::Token) -> io::Result<mio::Waker> {
    mio::Waker::new(poll.registry(), token)
}
