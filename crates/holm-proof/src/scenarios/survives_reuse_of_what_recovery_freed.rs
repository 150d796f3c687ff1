//! Blocks that recovery has removed from a tree are allocated again: crashes there, and in the recovery before.
//!
//! Only recovery frees blocks to which a tree at rest still links. If its writes were not durable before another
//! operation writes to such a block, the next crash would leave a link from the old place into the new leaf.

use super::{Verdict, all_owed};
use crate::crashes::{Bounds, Persistency};
use crate::explore::Plan;
use crate::script::hollow;
use crate::subject::Subject;

/// Three crashes: of a tree with empty leaves; of its recovery, or of what follows; and of what follows that.
pub(crate) fn thrice(persistency: Persistency) -> Plan {
    let bounds = Bounds { exhaustive: 12, pairs: 2, random: 2 };
    Plan { bounds, nested: 3, depth: 2, ..Plan::suite(persistency) }
}

/// Blocks that recovery freed are reused.
///
/// # Errors
/// The violation.
pub fn survives_reuse_of_what_recovery_freed(subject: &'static Subject) -> Verdict {
    all_owed(subject, &[hollow(subject.capacity)], |persistency| Plan { nested: 2, ..thrice(persistency) })
}
