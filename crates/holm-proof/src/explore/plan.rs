//! How to explore: models, bounds, depth, and what is left out.

use crate::crashes::{Bounds, Persistency};
use crate::fixture::{EndEpoch, advance};
use crate::reader::Reader;
use crate::trace::Site;
use holm_medium::{Epoch, FIRST_EPOCH};
use std::collections::BTreeSet;
use std::time::Instant;

/// How to explore.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which stores the first crash may lose.
    pub persistency: Persistency,
    /// Which stores the crashes after it may lose.
    pub later: Persistency,
    /// The number of images of each moment.
    pub bounds: Bounds,
    /// The number of images of each trace from which to continue and crash again.
    pub nested: usize,
    /// The number of further crashes; 0 is a single crash.
    pub depth: usize,
    /// The seed of all random choices.
    pub seed: u64,
    /// The epoch in which a script's past begins.
    pub first: Epoch,
    /// How epochs end.
    pub end_epoch: EndEpoch,
    /// Stores, flushes and fences that are left out.
    pub without: BTreeSet<Site>,
    /// Whether one image represents all that differ from it only in words that nothing reads. Without effect in a build
    /// that does not observe reads.
    pub pruned: bool,
    /// Reads while the script runs: no crash may contradict what it has seen.
    pub reader: Option<Reader>,
    /// When to stop, with the results so far.
    pub deadline: Option<Instant>,
}

impl Plan {
    /// For a test of about a second.
    pub fn suite(persistency: Persistency) -> Self {
        let bounds = Bounds { exhaustive: 1_000, pairs: 40, random: 40 };
        let without = BTreeSet::new();
        Plan {
            persistency,
            later: persistency,
            bounds,
            nested: 0,
            depth: 0,
            seed: 1,
            first: FIRST_EPOCH,
            end_epoch: advance,
            without,
            pruned: true,
            reader: None,
            deadline: None,
        }
    }

    /// The same with a second crash, in recovery or after it.
    pub fn twice(persistency: Persistency) -> Self {
        let bounds = Bounds { exhaustive: 40, pairs: 6, random: 6 };
        Plan { bounds, nested: 10, depth: 1, ..Plan::suite(persistency) }
    }

    /// A crash of one kind and then of another.
    pub fn mixed(first: Persistency, later: Persistency) -> Self {
        Plan { later, ..Plan::twice(first) }
    }

    /// For a program that has time.
    pub fn thorough(persistency: Persistency, seed: u64) -> Self {
        let bounds = Bounds { exhaustive: 2_000, pairs: 100, random: 100 };
        Plan { bounds, nested: 8, depth: 2, seed, ..Plan::suite(persistency) }
    }
}
