//! The bulk load of the levels above a run of leaves: at open, and where a design rebuilds these levels.

use crate::design::{Design, LevelsOf};
use crate::inner::{Inner, NodeContents, NodeHeader};
use crate::inner_levels::InnerLevels;
use crate::keys::Keys;
use crate::leaf::KeyRange;
use crate::levels::Levels;
use crate::slab::Slab;
use holm_medium::{Medium, WriteHandle};

/// A leaf or node in order.
pub(crate) struct LoadedChild<S> {
    /// Where its range starts.
    pub(crate) low: S,
    pub(crate) number: u32,
}

impl<D: Design> InnerLevels<D> {
    /// Builds the levels of a new tree over these leaves; returns the level and number of its top.
    pub(crate) fn load<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        keyspace: u32,
        leaves: impl ExactSizeIterator<Item = LoadedChild<K::Separator>>,
    ) -> (u32, u32) {
        let mut level = 1;
        let mut nodes = self.load_leaf_parents::<M, K>(handle, keyspace, leaves);
        while nodes.len() > 1 {
            level += 1;
            let header = NodeHeader { keyspace, level, first: true };
            nodes = self.layer::<_, M, K>(handle, &self.uppers, header, D::Upper::CHILDREN * 7 / 8, nodes.into_iter());
        }
        (level, nodes[0].number)
    }

    /// Builds the leaf parents. They are seven eighths full, which leaves room for the next splits without another
    /// level, or as full as [`Levels`] says.
    pub(crate) fn load_leaf_parents<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        keyspace: u32,
        leaves: impl ExactSizeIterator<Item = LoadedChild<K::Separator>>,
    ) -> Vec<LoadedChild<K::Separator>> {
        let header = NodeHeader { keyspace, level: 1, first: true };
        self.layer::<_, M, K>(handle, &self.leaf_parents, header, LevelsOf::<D>::loaded_children(), leaves)
    }

    /// Keeps no more of what is below than one node takes.
    fn layer<I: Inner, M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        slab: &Slab<I>,
        header: NodeHeader,
        most: usize,
        below: impl ExactSizeIterator<Item = LoadedChild<K::Separator>>,
    ) -> Vec<LoadedChild<K::Separator>> {
        let nodes = below.len().div_ceil(most.max(2));
        let mut above = Vec::with_capacity(nodes);
        let mut below = below.peekable();
        // Some designs have nodes for millions of children.
        let share = below.len().div_ceil(nodes.max(1));
        let (mut separators, mut children) = (Vec::with_capacity(share), Vec::with_capacity(share));
        for index in 0..nodes {
            let count = below.len().div_ceil(nodes - index);
            let Some(first) = below.next() else { break };
            separators.clear();
            children.clear();
            children.push(first.number);
            for child in below.by_ref().take(count - 1) {
                separators.push(child.low);
                children.push(child.number);
            }
            let (number, node) = slab.take();
            let range = KeyRange { low: &first.low, high: below.peek().map(|child| &child.low) };
            let contents = NodeContents { header, range, separators: &separators, children: &children };
            node.fill::<M, K>(&mut self.writing(handle), contents);
            above.push(LoadedChild { low: first.low, number });
        }
        above
    }
}
