//! The names of what is wrong with a history: those of Adya's thesis (2000), where they fit.

use super::graph::{Edge, Edges};
use std::collections::VecDeque;
use std::fmt;

/// A kind of violation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Anomaly {
    /// Writes of two transactions are interleaved (dirty write): a cycle of ww.
    G0,
    /// A read of what was never committed (aborted read).
    G1a,
    /// A read of what its writer replaced before it committed (intermediate read).
    G1b,
    /// A cycle of ww and wr (circular information flow).
    G1c,
    /// A cycle with one rw: read skew, lost update.
    GSingle,
    /// A cycle with several rw, all of them on keys that were read: write skew.
    G2Item,
    /// A cycle with several rw, among them a phantom.
    G2,
    /// A transaction belongs to an earlier epoch than one that it depends on.
    Label,
    /// A transaction does not see its own writes.
    Internal,
    /// Two lists of a key, of which neither continues the other.
    Incompatible,
    /// Not a history of lists: an element that nobody appended, or that two have appended.
    Malformed,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Anomaly::G0 => "G0 (dirty write)",
            Anomaly::G1a => "G1a (aborted read)",
            Anomaly::G1b => "G1b (intermediate read)",
            Anomaly::G1c => "G1c (circular information flow)",
            Anomaly::GSingle => "G-single",
            Anomaly::G2Item => "G2-item (write skew)",
            Anomaly::G2 => "G2 (phantom)",
            Anomaly::Label => "labels fall along a dependency",
            Anomaly::Internal => "own writes are not seen",
            Anomaly::Incompatible => "incompatible lists",
            Anomaly::Malformed => "not a history of lists",
        })
    }
}

/// What is wrong with a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Its kind.
    pub anomaly: Anomaly,
    /// The indices of the transactions. Those of a cycle are in its order.
    pub transactions: Vec<usize>,
    /// For a cycle, the edge from each transaction to the next one, and from the last one to the first.
    pub edges: Vec<Edge>,
    /// What else is known of it.
    pub what: String,
}

impl Violation {
    /// Whether the cycle exists only because of the order in which transactions returned and began.
    pub fn needs_real_time(&self) -> bool {
        self.edges.contains(&Edge::RealTime)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}:", self.anomaly, if self.needs_real_time() { " in real time" } else { "" })?;
        for (at, transaction) in self.transactions.iter().enumerate() {
            write!(out, " T{transaction}")?;
            self.edges.get(at).map_or(Ok(()), |edge| write!(out, " -{edge}->"))?;
        }
        if let Some(first) = self.transactions.first().filter(|_| !self.edges.is_empty()) {
            write!(out, " T{first}")?;
        }
        write!(out, " {}", self.what)
    }
}

/// The shortest way from one transaction to another, over edges of these kinds and within a component. Returns each
/// transaction on it but the last, with its edge to the next.
fn way(edges: &Edges, component: &[usize], (from, to): (usize, usize), kinds: &[Edge]) -> Option<Vec<(usize, Edge)>> {
    let mut before: Vec<Option<(usize, Edge)>> = vec![None; component.len()];
    let mut queue = VecDeque::from([from]);
    let place = |node: usize| component.binary_search(&node).ok();
    while let Some(node) = queue.pop_front() {
        for (next, edge) in edges[node].iter().filter(|(_, edge)| kinds.contains(edge)) {
            let Some(at) = place(*next).filter(|at| before[*at].is_none()) else { continue };
            before[at] = Some((node, *edge));
            queue.push_back(*next);
        }
        if place(to).is_some_and(|at| before[at].is_some()) {
            break;
        }
    }
    let mut steps = Vec::new();
    let mut node = to;
    loop {
        let step = before[place(node)?]?;
        steps.push(step);
        node = step.0;
        if node == from {
            steps.reverse();
            return Some(steps);
        }
    }
}

/// The shortest cycle over edges of these kinds.
fn plain_cycle(edges: &Edges, component: &[usize], kinds: &[Edge]) -> Option<Vec<(usize, Edge)>> {
    component.iter().filter_map(|node| way(edges, component, (*node, *node), kinds)).min_by_key(Vec::len)
}

/// The shortest cycle of one rw, and otherwise edges of these kinds.
fn cycle_through_rw(edges: &Edges, component: &[usize], kinds: &[Edge]) -> Option<Vec<(usize, Edge)>> {
    let is_rw = |edge: Edge| matches!(edge, Edge::Rw | Edge::Phantom);
    let rw = component.iter().flat_map(|node| edges[*node].iter().map(move |(to, edge)| (*node, *to, *edge)));
    let inside = rw.filter(|(_, to, edge)| is_rw(*edge) && component.binary_search(to).is_ok());
    let cycle = |(node, to, edge)| Some([vec![(node, edge)], way(edges, component, (to, node), kinds)?].concat());
    inside.filter_map(cycle).min_by_key(Vec::len)
}

/// Finds and names the weakest cycle of a component; one that needs no real time goes first.
pub(super) fn name(edges: &Edges, component: &[usize]) -> Violation {
    use Edge::{Phantom, RealTime, Rw, Wr, Ww};
    for time in [&[][..], &[RealTime]] {
        let with_time = |kinds: &[Edge]| [kinds, time].concat();
        let search = |single: bool, kinds: &[Edge]| match single {
            false => plain_cycle(edges, component, &with_time(kinds)),
            true => cycle_through_rw(edges, component, &with_time(kinds)),
        };
        let found = search(false, &[Ww])
            .map(|cycle| (Anomaly::G0, cycle))
            .or_else(|| search(false, &[Ww, Wr]).map(|cycle| (Anomaly::G1c, cycle)))
            .or_else(|| search(true, &[Ww, Wr]).map(|cycle| (Anomaly::GSingle, cycle)))
            .or_else(|| search(true, &[Ww, Wr, Rw]).map(|cycle| (Anomaly::G2Item, cycle)))
            .or_else(|| search(true, &[Ww, Wr, Rw, Phantom]).map(|cycle| (Anomaly::G2, cycle)));
        if let Some((anomaly, cycle)) = found {
            let is_phantom = anomaly == Anomaly::G2Item && cycle.iter().any(|(_, edge)| *edge == Phantom);
            let anomaly = if is_phantom { Anomaly::G2 } else { anomaly };
            let (transactions, edges) = cycle.into_iter().unzip();
            return Violation { anomaly, transactions, edges, what: String::new() };
        }
    }
    unreachable!("a component of several transactions has a cycle of some kind")
}
