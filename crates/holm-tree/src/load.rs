//! The levels above a run of leaves, made all at once: at open, and where a design makes them anew.

use crate::design::Design;
use crate::inner::{Inner, NodeHeader};
use crate::inner_levels::InnerLevels;
use crate::keys::Keys;
use crate::slab::Slab;
use holm_medium::{Medium, WriteHandle};

/// A leaf or node and where its range starts.
pub(crate) type Placed<F> = (F, u32);

impl<D: Design> InnerLevels<D> {
    /// Level and number of the top of a new tree over these leaves.
    pub(crate) fn load<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        keyspace: u32,
        leaves: &[Placed<K::Separator>],
    ) -> (u32, u32) {
        let mut level = 1;
        let mut nodes = self.load_leaf_parents::<M, K>(handle, keyspace, leaves);
        while nodes.len() > 1 {
            level += 1;
            let node_header = NodeHeader { keyspace, level, first: true };
            nodes = self.layer::<_, M, K>(handle, &self.uppers, node_header, D::Upper::CHILDREN * 7 / 8, &nodes);
        }
        (level, nodes[0].1)
    }

    /// The lowest level of them. Seven eighths full: room for what splits next, without another level for it; half
    /// full where the first leaf parent to overflow has all of them made anew.
    pub(crate) fn load_leaf_parents<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        keyspace: u32,
        leaves: &[Placed<K::Separator>],
    ) -> Vec<Placed<K::Separator>> {
        let most =
            if D::Upper::REBUILT_WHEN_FULL { D::LeafParent::CHILDREN / 2 } else { D::LeafParent::CHILDREN * 7 / 8 };
        self.layer::<_, M, K>(handle, &self.leaf_parents, NodeHeader { keyspace, level: 1, first: true }, most, leaves)
    }

    fn layer<I: Inner, M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        slab: &Slab<I>,
        node_header: NodeHeader,
        most: usize,
        below: &[Placed<K::Separator>],
    ) -> Vec<Placed<K::Separator>> {
        let nodes = below.len().div_ceil(most.max(2));
        let mut above = Vec::with_capacity(nodes);
        let mut rest = below;
        for index in 0..nodes {
            let (part, tail) = rest.split_at(rest.len().div_ceil(nodes - index));
            rest = tail;
            let (number, node) = slab.take();
            let separators: Vec<_> = part[1..].iter().map(|child| child.0.clone()).collect();
            let children: Vec<_> = part.iter().map(|child| child.1).collect();
            let high = tail.first().map(|child| &child.0);
            node.fill::<M, K>(handle, &self.long_separators, node_header, (&part[0].0, high), &separators, &children);
            above.push((part[0].0.clone(), number));
        }
        above
    }
}
