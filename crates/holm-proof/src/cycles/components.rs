//! Strongly connected components: Tarjan's algorithm, with a stack of its own in place of recursion.

use super::graph::Edges;

const UNSEEN: usize = usize::MAX;

/// A search in progress.
struct Search {
    /// The order in which nodes were met.
    met: Vec<usize>,
    /// The earliest node that each node leads back to.
    low: Vec<usize>,
    /// Nodes whose component is not complete yet.
    open: Vec<usize>,
    is_open: Vec<bool>,
    next: usize,
}

impl Search {
    fn enter(&mut self, node: usize) {
        (self.met[node], self.low[node]) = (self.next, self.next);
        self.next += 1;
        self.open.push(node);
        self.is_open[node] = true;
    }

    /// Closes the component of a node that leads back to nothing earlier.
    fn close(&mut self, node: usize) -> Vec<usize> {
        let start = self.open.iter().rposition(|open| *open == node).unwrap_or(0);
        let component = self.open.split_off(start);
        component.iter().for_each(|closed| self.is_open[*closed] = false);
        component
    }
}

/// Returns the components that have a cycle, each in ascending order. No node has an edge to itself.
pub(super) fn cyclic(edges: &Edges) -> Vec<Vec<usize>> {
    let count = edges.len();
    let (met, low) = (vec![UNSEEN; count], vec![0; count]);
    let mut search = Search { met, low, open: Vec::new(), is_open: vec![false; count], next: 0 };
    let mut components = Vec::new();
    for root in 0..count {
        if search.met[root] != UNSEEN {
            continue;
        }
        search.enter(root);
        // The path from the root, with the next edge of each node on it.
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if let Some((target, _)) = edges[node].get(*next) {
                *next += 1;
                if search.met[*target] == UNSEEN {
                    search.enter(*target);
                    path.push((*target, 0));
                } else if search.is_open[*target] {
                    search.low[node] = search.low[node].min(search.met[*target]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                search.low[*parent] = search.low[*parent].min(search.low[node]);
            }
            if search.low[node] == search.met[node] {
                let mut component = search.close(node);
                component.sort_unstable();
                components.extend((component.len() > 1).then_some(component));
            }
        }
    }
    components
}
