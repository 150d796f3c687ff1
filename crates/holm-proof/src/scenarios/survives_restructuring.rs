//! Crashes within each change of structure: a leaf splits, merges, is rewritten, takes a released block, and the levels
//! above grow.

use super::{Verdict, all_owed};
use crate::crashes::{Bounds, Persistency};
use crate::explore::Plan;
use crate::script::{
    come_along, descent, empty, ends, grow_root, hand_left, hand_right, inherit, merge, merge_left, refresh, regrow,
    split, split_within,
};
use crate::subject::Subject;

/// A leaf splits.
///
/// # Errors
/// The violation.
pub fn survives_splits(subject: &'static Subject) -> Verdict {
    let capacity = subject.capacity;
    all_owed(subject, &[split(capacity), split_within(capacity), ends(), descent(capacity)], Plan::suite)
}

/// Two leaves become one.
///
/// # Errors
/// The violation.
pub fn survives_merges(subject: &'static Subject) -> Verdict {
    let capacity = subject.capacity;
    all_owed(subject, &[merge(capacity), come_along(capacity), empty(capacity)], Plan::suite)
}

/// A leaf merges with its left neighbour, and an empty leaf is removed, whose range a neighbour takes over.
///
/// # Errors
/// The violation.
pub fn survives_emptied_leaves(subject: &'static Subject) -> Verdict {
    let capacity = subject.capacity;
    all_owed(subject, &[merge_left(capacity), hand_left(capacity), hand_right(capacity)], Plan::suite)
}

/// Old versions fill a leaf.
///
/// # Errors
/// The violation.
pub fn survives_refreshes(subject: &'static Subject) -> Verdict {
    all_owed(subject, &[refresh()], Plan::suite)
}

/// Blocks are reused.
///
/// # Errors
/// The violation.
pub fn survives_reuse(subject: &'static Subject) -> Verdict {
    all_owed(subject, &[regrow(subject.capacity), inherit(subject.capacity)], Plan::suite)
}

/// More leaves than a leaf parent has children.
///
/// # Errors
/// The violation.
pub fn survives_root_growth(subject: &'static Subject) -> Verdict {
    // Each image has two hundred leaves, and a few images of each moment suffice for what is volatile anyway.
    let few = |persistency: Persistency| {
        let bounds = Bounds { exhaustive: 12, pairs: 2, random: 2 };
        Plan { bounds, ..Plan::suite(persistency) }
    };
    all_owed(subject, &[grow_root(subject.capacity)], few)
}
