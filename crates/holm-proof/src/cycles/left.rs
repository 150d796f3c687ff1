//! What a crash leaves of a history: whole transactions, and with each of them all that it depends on.

use super::graph::{Edge, Graph};
use super::{Lists, Outcome, Transaction, Violation};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// What is wrong with what a crash has left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Loss {
    /// A read is wrong, or the lists that were found contradict those that were read.
    Wrong(Violation),
    /// Only a part of a transaction is left.
    Part {
        /// The transaction.
        transaction: usize,
        /// The key and the element that are not left.
        lost: (u64, u64),
    },
    /// An element is left that nobody appended, or that was not committed.
    Strange {
        /// The key.
        key: u64,
        /// The element.
        element: u64,
    },
    /// A transaction is lost, and another is left that depends on it.
    Open {
        /// The lost transaction, those on the way, and the one that is left, each with its edge to the next.
        way: Vec<(usize, Edge)>,
        /// The one that is left.
        left: usize,
    },
    /// A transaction is lost that had to survive.
    Promised {
        /// The transaction.
        transaction: usize,
    },
}

impl fmt::Display for Loss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Wrong(violation) => write!(out, "{violation}"),
            Loss::Part { transaction, lost: (key, element) } => {
                write!(out, "T{transaction} is left in part: {element} of key {key} is lost")
            }
            Loss::Strange { key, element } => write!(out, "{element} of key {key} is left, which nobody committed"),
            Loss::Open { way, left } => {
                write!(out, "not closed:")?;
                way.iter().try_for_each(|(transaction, edge)| write!(out, " T{transaction} -{edge}->"))?;
                write!(out, " T{left}, of which the first is lost and the last is left")
            }
            Loss::Promised { transaction } => write!(out, "T{transaction} had to survive, and is lost"),
        }
    }
}

/// Checks what a crash has left of a history: `left` has all lists that were found after it. Transactions are left
/// whole or not at all. If one is left, so is every one that it depends on, along all edges: ww, wr, rw and real time.
/// What returned before the instant `floor` is left. The history may go on after the crash.
///
/// # Errors
/// The first fault.
pub fn check_left(history: &[Transaction], left: &Lists, floor: u64) -> Result<(), Loss> {
    let graph = Graph::of(history, Some(left));
    if let Some(wrong) = graph.wrong_reads.first() {
        return Err(Loss::Wrong(wrong.clone()));
    }
    let mut kept = BTreeSet::new();
    for (key, list) in left {
        for element in list {
            match graph.writer(*key, *element).filter(|writer| graph.is_effective(*writer)) {
                Some(writer) => kept.insert(writer),
                None => return Err(Loss::Strange { key: *key, element: *element }),
            };
        }
    }
    for transaction in &kept {
        let is_lost = |(key, element): &(u64, u64)| !left.get(key).is_some_and(|list| list.contains(element));
        if let Some(lost) = history[*transaction].appends().find(is_lost) {
            return Err(Loss::Part { transaction: *transaction, lost });
        }
    }
    let is_lost = |number: usize| {
        graph.is_effective(number) && history[number].appends().next().is_some() && !kept.contains(&number)
    };
    let had_to_survive =
        |number: &usize| matches!(history[*number].outcome, Outcome::Committed(at) if at < floor) && is_lost(*number);
    if let Some(transaction) = (0..history.len()).find(had_to_survive) {
        return Err(Loss::Promised { transaction });
    }
    closed(&graph, &kept, is_lost)
}

/// Checks only that what returned before the instant `floor` is left, of transactions that were committed.
///
/// # Errors
/// The first that is not.
pub fn check_promised(history: &[Transaction], left: &Lists, floor: u64) -> Result<(), Loss> {
    let is_left = |(key, element): (u64, u64)| left.get(&key).is_some_and(|list| list.contains(&element));
    let is_lost = |transaction: &Transaction| {
        matches!(transaction.outcome, Outcome::Committed(at) if at < floor) && !transaction.appends().all(is_left)
    };
    history.iter().position(is_lost).map_or(Ok(()), |transaction| Err(Loss::Promised { transaction }))
}

/// Walks from what is left to all that it depends on.
fn closed(graph: &Graph<'_>, kept: &BTreeSet<usize>, is_lost: impl Fn(usize) -> bool) -> Result<(), Loss> {
    let mut before: Vec<Vec<(usize, Edge)>> = vec![Vec::new(); graph.edges.len()];
    for (first, edges) in graph.edges.iter().enumerate() {
        edges.iter().for_each(|(then, edge)| before[*then].push((first, *edge)));
    }
    // For each transaction that was reached, the next one on the way to what is left.
    let mut next: BTreeMap<usize, Option<(usize, Edge)>> = kept.iter().map(|number| (*number, None)).collect();
    let mut queue: VecDeque<usize> = kept.iter().copied().collect();
    while let Some(then) = queue.pop_front() {
        for (first, edge) in &before[then] {
            if next.contains_key(first) {
                continue;
            }
            next.insert(*first, Some((then, *edge)));
            if !is_lost(*first) {
                queue.push_back(*first);
                continue;
            }
            let (mut way, mut at) = (Vec::new(), *first);
            while let Some(Some((then, edge))) = next.get(&at) {
                way.push((at, *edge));
                at = *then;
            }
            return Err(Loss::Open { way, left: at });
        }
    }
    Ok(())
}
