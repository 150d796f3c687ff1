//! A crash does not contradict what a completed read has returned, whatever operation was in progress.
//!
//! A reader gets every key after each store, flush and fence. So the scenario detects a latch that is released before
//! the last fence of what it covers. It also detects a leaf that reports an earlier epoch than that of its change.

use super::{Verdict, all_owed};
use crate::explore::Plan;
use crate::reader::Reader;
use crate::script::{change, hand_left, hand_right, merge, overflow, random, regrow};
use crate::subject::Subject;

/// With a reader beside the writer.
///
/// # Errors
/// The violation.
pub fn survives_its_readers(subject: &'static Subject) -> Verdict {
    let capacity = subject.capacity;
    let named = [change(), overflow(capacity), merge(capacity), hand_left(capacity), hand_right(capacity)];
    let scripts: Vec<_> = named.into_iter().chain([regrow(capacity), random(4, capacity)]).collect();
    all_owed(subject, &scripts, |persistency| Plan { reader: Some(Reader::Careful), ..Plan::suite(persistency) })
}
