//! The state of history after open: what was found, and what lies behind the last whole record.

#![forbid(unsafe_code)]

use crate::epoch::{Epoch, EpochSpan};
use crate::log::{Position, Replayed};

/// What open found, in words that a user can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing: the database is new.
    New,
    /// A database that was closed.
    Clean,
    /// The process had died; everything that it had done is there.
    Kept,
    /// History was cut at the last synced epoch, for the given reason.
    Cut {
        /// Why the unlogged tail, if there was one, could not be kept.
        why: String,
    },
}

/// The state of history after open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// What open found.
    pub found: Found,
    /// The epoch of the last whole record, or of the checkpoint.
    pub epoch: Epoch,
    /// Epoch records read.
    pub records: u64,
    /// Bytes of lines in them.
    pub bytes: u64,
    /// What lies behind the last whole record of the log.
    pub tail: Tail,
    /// Damage to data that is not needed, in words. Opening for writing has repaired the superblock.
    pub damaged: Vec<String>,
}

/// What lies behind the last whole record of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tail {
    /// No part of a record.
    #[default]
    Empty,
    /// An incomplete record. A crash leaves this when the record was being written; nothing of its epoch had been
    /// acknowledged as durable. Damage to the last record looks the same.
    Torn {
        /// The segment: `log.0` or another one.
        file: String,
        /// Offset of the record's beginning, in bytes.
        offset: u64,
        /// Its epoch, according to its header.
        epoch: Epoch,
    },
    /// Records were durable once and are damaged or missing now. Leaves hold changes of epochs that began only once an
    /// earlier epoch was durable, and the log does not have that earlier epoch.
    Damaged {
        /// The segment: `log.0` or another one.
        file: String,
        /// Offset at which the first of these records began, in bytes; where the record before ended, if nothing of the
        /// first is left.
        offset: u64,
        /// The first epoch that is missing.
        epoch: Epoch,
    },
}

impl Tail {
    pub(super) fn of(replayed: &Replayed) -> Tail {
        match replayed.torn.zip(replayed.torn_epoch) {
            Some((offset, epoch)) => Tail::Torn { file: segment_name(replayed.next), offset, epoch },
            None => Tail::Empty,
        }
    }

    /// Classifies the tail, given the first and the last epoch after the log's last record in which a leaf changed. An
    /// epoch begins only once the second epoch before it is durable. If the two epochs are not adjacent, the first one
    /// therefore had its record, which would have been at this position.
    pub(super) fn judged(&self, at: Position, changes: EpochSpan) -> Tail {
        let EpochSpan { first, last } = changes;
        let (offset, epoch) = match self {
            Tail::Torn { offset, epoch, .. } => (*offset, (*epoch).min(first)),
            _ => (at.offset, first),
        };
        if last < epoch + 2 { self.clone() } else { Tail::Damaged { file: segment_name(at), offset, epoch } }
    }
}

fn segment_name(at: Position) -> String {
    format!("log.{}", at.segment)
}

impl Recovery {
    /// What is known without a log.
    pub fn of(found: Found, epoch: Epoch) -> Recovery {
        Recovery { found, epoch, records: 0, bytes: 0, tail: Tail::Empty, damaged: Vec::new() }
    }
}
