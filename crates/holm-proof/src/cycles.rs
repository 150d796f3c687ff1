//! Histories of transactions over lists, and whether some order of the transactions explains them.
//!
//! This is Elle's method (Kingsbury and Alvaro, VLDB 2020). A transaction reads lists and appends elements to them,
//! each element once. So a list that was read shows every version before it, and the longest list of a key orders all
//! of them. From that order follow the dependencies between transactions: who overwrote whom (ww), who read from whom
//! (wr), and who overwrote what another had read (rw). A transaction that returned before another began precedes it,
//! too. A history is strictly serializable if these dependencies have no cycle. A cycle is named as Adya names it, by
//! its weakest kind.
//!
//! A key that was never appended to is absent, and its list is empty. A scan reads the absence of every key that it
//! passes. What a transaction read that did not commit must be explained as well. A transaction without an end (the
//! process died) counts as committed if anybody saw a part of it: then all of it must be there.

mod components;
mod graph;
mod labels;
mod left;
mod naming;

pub use graph::Edge;
pub use left::{Loss, check_left, check_promised};
pub use naming::{Anomaly, Violation};

use graph::Graph;
use std::collections::BTreeMap;
use std::ops::Range;

/// The lists of some keys; a key that is not among them has an empty list.
pub type Lists = BTreeMap<u64, Vec<u64>>;

/// A step of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Appends an element that no other step appends.
    Append {
        /// The key.
        key: u64,
        /// The element.
        element: u64,
    },
    /// Reads a list.
    Read {
        /// The key.
        key: u64,
        /// The list, with the transaction's own elements at its end.
        list: Vec<u64>,
    },
    /// Reads all lists of a range of keys.
    Scan {
        /// The range.
        keys: Range<u64>,
        /// The lists that were found; all other keys of the range were absent.
        found: Lists,
    },
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It committed, and its commit returned at this instant.
    Committed(u64),
    /// It was refused or given up at this instant: nobody sees what it appended.
    Aborted(u64),
    /// It was in progress when the history stopped: all of it has taken effect, or nothing.
    Unknown,
}

/// A transaction of a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// The instant before its first step.
    pub began: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The epoch that its commit belongs to, if that is known.
    pub label: Option<u64>,
    /// Its steps, in its own order.
    pub steps: Vec<Step>,
}

impl Transaction {
    /// What the transaction appended: key and element.
    pub fn appends(&self) -> impl Iterator<Item = (u64, u64)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Append { key, element } => Some((*key, *element)),
            _ => None,
        })
    }
}

/// Checks whether a history is strictly serializable, and whether labels rise along its dependencies. Linear in the
/// history, and in the number of transactions that overlap each other.
///
/// # Errors
/// What is wrong: every bad read, and one cycle of each group of transactions that depend on each other.
pub fn check(history: &[Transaction]) -> Result<(), Vec<Violation>> {
    let graph = Graph::of(history, None);
    let mut wrong = graph.wrong_reads.clone();
    wrong.extend(components::cyclic(&graph.edges).iter().map(|component| naming::name(&graph.edges, component)));
    if wrong.is_empty() {
        wrong.extend(labels::falling(history, &graph));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}
