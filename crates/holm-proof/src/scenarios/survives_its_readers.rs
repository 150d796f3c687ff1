//! What a completed read has told somebody is not undone by the crash, whatever was still under way.
//!
//! A reader asks for every key after each store, flush and fence. So a latch that is let go before the last fence of
//! what it covers is seen here, and so is a leaf that says of a change that it is of an earlier epoch.

use super::{Verdict, all_owed};
use crate::explore::Plan;
use crate::reader::Reader;
use crate::script::{change, merge, overflow, random, regrow};
use crate::subject::Subject;

/// A reader looks on.
///
/// # Errors
/// The violation.
pub fn survives_its_readers(subject: &'static Subject) -> Verdict {
    let capacity = subject.capacity;
    let scripts = [change(), overflow(capacity), merge(capacity), regrow(capacity), random(4, capacity)];
    all_owed(subject, &scripts, |persistency| Plan { reader: Some(Reader::Careful), ..Plan::suite(persistency) })
}
