//! Epochs rise along dependencies: so each recovery point, which is the end of an epoch, is closed under them.

use super::graph::Graph;
use super::naming::{Anomaly, Violation};
use super::{Outcome, Transaction};

/// The label of a transaction that has written. That of one that only read says when what it read was written.
fn label(transaction: &Transaction) -> Option<u64> {
    let wrote = matches!(transaction.outcome, Outcome::Committed(_)) && transaction.appends().next().is_some();
    transaction.label.filter(|_| wrote)
}

/// Finds a transaction whose label is less than that of one before it. There is no cycle.
pub(super) fn falling(history: &[Transaction], graph: &Graph<'_>) -> Option<Violation> {
    let mut waits = vec![0; history.len()];
    graph.edges.iter().flatten().for_each(|(then, _)| waits[*then] += 1);
    let mut ready: Vec<usize> = (0..history.len()).filter(|number| waits[*number] == 0).collect();
    // The greatest label before each transaction, and whose it is.
    let mut greatest: Vec<Option<(u64, usize)>> = vec![None; history.len()];
    while let Some(first) = ready.pop() {
        if let Some(own) = label(&history[first]) {
            if let Some((before, whose)) = greatest[first].filter(|(before, _)| *before > own) {
                let what = format!("the first has label {before}, and the second has label {own}");
                let transactions = vec![whose, first];
                return Some(Violation { anomaly: Anomaly::Label, transactions, edges: Vec::new(), what });
            }
            greatest[first] = Some((own, first));
        }
        for (then, _) in &graph.edges[first] {
            greatest[*then] = greatest[*then].max(greatest[first]);
            waits[*then] -= 1;
            if waits[*then] == 0 {
                ready.push(*then);
            }
        }
    }
    None
}
