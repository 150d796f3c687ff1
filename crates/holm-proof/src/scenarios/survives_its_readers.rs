//! What a completed read has told somebody is not undone by the crash, whatever was still under way.
//!
//! A reader asks for every key after each store, flush and fence. So a latch that is let go before the last fence of
//! what it covers is seen here, and so is a leaf that says of a change that it is of an earlier epoch.

use super::{Verdict, all_owed};
use crate::explore::Plan;
use crate::reader::Reader;
use crate::script::{change, hand_left, hand_right, merge, overflow, random, regrow};
use crate::subject::Subject;

/// A reader looks on.
///
/// # Errors
/// The violation.
pub fn survives_its_readers(subject: &'static Subject) -> Verdict {
    let capacity = subject.capacity;
    let named = [change(), overflow(capacity), merge(capacity), hand_left(capacity), hand_right(capacity)];
    let scripts: Vec<_> = named.into_iter().chain([regrow(capacity), random(4, capacity)]).collect();
    all_owed(subject, &scripts, |persistency| Plan { reader: Some(Reader::Careful), ..Plan::suite(persistency) })
}
