//! Crashed within each change of structure: a leaf splits, merges, is written anew, takes a block that was given up,
//! and the levels above grow.

use super::{Verdict, all_owed};
use crate::crashes::{Bounds, Persistency};
use crate::explore::Plan;
use crate::grove::capacity;
use crate::script::{descent, empty, ends, grow_root, inherit, merge, refresh, regrow, split, split_within};
use holm_tree::Design;

/// A leaf splits.
///
/// # Errors
/// The violation.
pub fn survives_splits<D: Design>() -> Verdict {
    let capacity = capacity::<D>();
    all_owed::<D>(&[split(capacity), split_within(capacity), ends(), descent(capacity)], Plan::suite)
}

/// Two leaves become one.
///
/// # Errors
/// The violation.
pub fn survives_merges<D: Design>() -> Verdict {
    all_owed::<D>(&[merge(capacity::<D>()), empty(capacity::<D>())], Plan::suite)
}

/// Old versions fill a leaf.
///
/// # Errors
/// The violation.
pub fn survives_refreshes<D: Design>() -> Verdict {
    all_owed::<D>(&[refresh()], Plan::suite)
}

/// Blocks are used again.
///
/// # Errors
/// The violation.
pub fn survives_reuse<D: Design>() -> Verdict {
    all_owed::<D>(&[regrow(capacity::<D>()), inherit(capacity::<D>())], Plan::suite)
}

/// More leaves than a twig has children.
///
/// # Errors
/// The violation.
pub fn survives_root_growth<D: Design>() -> Verdict {
    // Each image is two hundred leaves: few of each moment are enough for what is volatile anyway.
    let few = |persistency: Persistency| {
        let bounds = Bounds { exhaustive: 12, pairs: 2, random: 2 };
        Plan { bounds, ..Plan::suite(persistency) }
    };
    all_owed::<D>(&[grow_root(capacity::<D>())], few)
}
