//! The levels above a run of leaves, made all at once: at open, and where a design makes them anew.

use crate::design::Design;
use crate::inner::{Inner, Station};
use crate::keys::Keys;
use crate::slab::Slab;
use crate::spine::Spine;
use holm_medium::{Medium, Pen};

/// A leaf or node and where its range starts.
pub(crate) type Placed<F> = (F, u32);

impl<D: Design> Spine<D> {
    /// Level and number of the top of a new tree over these leaves.
    pub(crate) fn load<M: Medium, K: Keys>(
        &self,
        pen: &mut Pen<'_, M>,
        keyspace: u32,
        leaves: &[Placed<K::Fence>],
    ) -> (u32, u32) {
        let mut level = 1;
        let mut nodes = self.load_twigs::<M, K>(pen, keyspace, leaves);
        while nodes.len() > 1 {
            level += 1;
            let station = Station { keyspace, level, first: true };
            nodes = self.layer::<_, M, K>(pen, &self.branches, station, D::Branch::CHILDREN * 7 / 8, &nodes);
        }
        (level, nodes[0].1)
    }

    /// The lowest level of them. Seven eighths full: room for what splits next, without another level for it; half
    /// full where the first twig to overflow has all of them made anew.
    pub(crate) fn load_twigs<M: Medium, K: Keys>(
        &self,
        pen: &mut Pen<'_, M>,
        keyspace: u32,
        leaves: &[Placed<K::Fence>],
    ) -> Vec<Placed<K::Fence>> {
        let most = if D::Branch::RENEWED { D::Twig::CHILDREN / 2 } else { D::Twig::CHILDREN * 7 / 8 };
        self.layer::<_, M, K>(pen, &self.twigs, Station { keyspace, level: 1, first: true }, most, leaves)
    }

    fn layer<I: Inner, M: Medium, K: Keys>(
        &self,
        pen: &mut Pen<'_, M>,
        slab: &Slab<I>,
        station: Station,
        most: usize,
        below: &[Placed<K::Fence>],
    ) -> Vec<Placed<K::Fence>> {
        let nodes = below.len().div_ceil(most.max(2));
        let mut above = Vec::with_capacity(nodes);
        let mut rest = below;
        for index in 0..nodes {
            let (part, tail) = rest.split_at(rest.len().div_ceil(nodes - index));
            rest = tail;
            let (number, node) = slab.take();
            let fences: Vec<_> = part[1..].iter().map(|child| child.0.clone()).collect();
            let children: Vec<_> = part.iter().map(|child| child.1).collect();
            let high = tail.first().map(|child| &child.0);
            node.fill::<M, K>(pen, &self.texts, station, (&part[0].0, high), &fences, &children);
            above.push((part[0].0.clone(), number));
        }
        above
    }
}
