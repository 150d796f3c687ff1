//! How to explore: models, bounds, depth, and what is left out.

use crate::crashes::{Bounds, Persistency};
use crate::grove::{Ticker, advance};
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
    /// How many images of each moment.
    pub bounds: Bounds,
    /// How many images of each trace are gone on from, to be crashed again.
    pub nested: usize,
    /// How often; 0 is a single crash.
    pub depth: usize,
    /// For all that is drawn.
    pub seed: u64,
    /// The epoch in which a script's past begins.
    pub first: Epoch,
    /// How epochs end.
    pub ticker: Ticker,
    /// Stores, flushes and fences that are left out.
    pub without: BTreeSet<Site>,
    /// Whether one image stands for all that differ from it only in words that nobody reads. Where a build does not see
    /// reads, none does.
    pub pruned: bool,
    /// Who reads while the script runs: what he was told must not be undone.
    pub reader: Option<Reader>,
    /// When to stop, with what has been seen until then.
    pub deadline: Option<Instant>,
}

impl Plan {
    /// For a test of a second or so.
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
            ticker: advance,
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
