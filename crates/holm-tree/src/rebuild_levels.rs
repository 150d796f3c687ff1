//! Rebuilds all levels above the leaves when a leaf parent is full. This is NV-Tree's way, which splits no inner node.
//!
//! A new descent waits meanwhile, and a descent in progress restarts. Leaf parents are half full afterwards. So the
//! number of leaves has to grow by a fraction before one of them is full again, unless all growth is in one place.

use crate::descent::Path;
use crate::design::Design;
use crate::index::TreeRoot;
use crate::inner::{Inner, NodeContents, NodeHeader, Route as _};
use crate::inner_levels::InnerLevels;
use crate::keys::Keys;
use crate::leaf::KeyRange;
use crate::load::LoadedChild;
use crate::locks::Locks;
use crate::sync::atomic::Ordering::Relaxed;
use crate::wait::wait;
use holm_medium::{Medium, WriteHandle};

impl<D: Design> InnerLevels<D> {
    /// Rebuilds all leaf parents and the levels above, unless the leaf parent of the path has changed since.
    pub(crate) fn rebuild_levels<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        root: &TreeRoot,
        path: &Path<'_, D, K>,
    ) {
        let Some(held_root) = root.latch.read().and_then(|version| root.latch.try_lock(version)) else { return };
        if !path.leaf_parent.node.latch().validate(path.leaf_parent.version) {
            return held_root.unlock_unchanged();
        }
        let top = root.top.load(Relaxed) as u32;
        let above = path.uppers.first().map(|_| self.uppers.get(top).expect("the root's own"));
        // Latches the one upper node first, then the leaf parents from left to right. Other threads take at most one
        // leaf parent and its leaves. A thread that holds a latch below the root waits for no other latch.
        let mut held: Vec<_> = above.iter().map(|upper| wait(upper.latch())).collect();
        let numbers: Vec<u32> = match above {
            Some(upper) => (0..=upper.len()).map(|index| upper.child(index)).collect(),
            None => vec![top],
        };
        let leaf_parents: Vec<_> =
            numbers.iter().map(|number| self.leaf_parents.get(*number).expect("an upper node's child")).collect();
        for leaf_parent in &leaf_parents {
            held.push(wait(leaf_parent.latch()));
            held.extend(leaf_parent.locks().all().iter().map(wait));
        }
        let leaves = self.leaves::<K>(above, &leaf_parents);
        let leaf_parents = self.load_leaf_parents::<M, K>(handle, root.keyspace(), leaves.into_iter());
        let (number, upper) = above.map_or_else(|| self.uppers.take(), |upper| (top, upper));
        let (lows, children): (Vec<_>, Vec<_>) =
            leaf_parents.into_iter().map(|child| (child.low, child.number)).unzip();
        let contents = NodeContents {
            header: NodeHeader { keyspace: root.keyspace(), level: 2, first: true },
            range: KeyRange { low: &lows[0], high: None },
            separators: &lows[1..],
            children: &children,
        };
        upper.fill::<M, K>(&mut self.writing(handle), contents);
        root.top.store(2 << 32 | u64::from(number), Relaxed);
        root.level_rebuilds.fetch_add(1, Relaxed);
        // Readers in the old leaf parents now see a new version; only then may the nodes be reused.
        drop(held);
        numbers.into_iter().for_each(|number| self.leaf_parents.give(number));
    }

    /// Returns every leaf and where its range starts; frees the nodes' long separators.
    fn leaves<K: Keys>(
        &self,
        above: Option<&D::Upper>,
        leaf_parents: &[&D::LeafParent],
    ) -> Vec<LoadedChild<K::Separator>> {
        let lowest = K::Separator::default();
        let mut lows = vec![lowest.clone()];
        lows.extend(
            above.into_iter().flat_map(|upper| upper.unpack::<K>(&self.long_separators, K::search_key(&lowest)).0),
        );
        let mut leaves = Vec::new();
        for (low, leaf_parent) in lows.into_iter().zip(leaf_parents) {
            let (separators, children) = leaf_parent.unpack::<K>(&self.long_separators, K::search_key(&low));
            let lows = std::iter::once(low).chain(separators);
            leaves.extend(lows.zip(children).map(|(low, number)| LoadedChild { low, number }));
        }
        leaves
    }
}
