//! All levels above the leaves made anew, where a twig is full: NV-Tree's way, which splits no inner node.
//!
//! Whoever is about to go down waits meanwhile, and whoever is in it starts over. Twigs are half full afterwards, so
//! the leaves have to grow by a part of their number before one of them is full again, unless they all grow in one
//! place.

use crate::design::Design;
use crate::forest::wait;
use crate::index::Root;
use crate::inner::{Inner, Station};
use crate::keys::Keys;
use crate::load::Placed;
use crate::locks::Locks;
use crate::spine::{Path, Spine};
use crate::sync::atomic::Ordering::Relaxed;
use holm_medium::{Medium, Pen};

impl<D: Design> Spine<D> {
    /// Makes all twigs anew and what is above them, unless the twig of the path has changed since.
    pub(crate) fn renew<M: Medium, K: Keys>(&self, pen: &mut Pen<'_, M>, root: &Root, path: &Path<'_, D, K>) {
        let Some(held_root) = root.latch.read().and_then(|version| root.latch.hold(version)) else { return };
        if !path.twig.node.latch().still(path.twig.version) {
            return held_root.undo();
        }
        let top = root.top.load(Relaxed) as u32;
        let above = path.branches.first().map(|_| self.branches.get(top).expect("the root's own"));
        // The one branch first, and then from left to right; nobody else takes more than a twig and its leaves, and of
        // whoever holds one below the root nobody waits for another.
        let mut held: Vec<_> = above.iter().map(|branch| wait(branch.latch())).collect();
        let numbers: Vec<u32> = match above {
            Some(branch) => (0..=branch.len()).map(|index| branch.child(index)).collect(),
            None => vec![top],
        };
        let twigs: Vec<_> = numbers.iter().map(|number| self.twigs.get(*number).expect("a branch's child")).collect();
        for twig in &twigs {
            held.push(wait(twig.latch()));
            held.extend(twig.locks().all().iter().map(wait));
        }
        let leaves = self.leaves::<K>(above, &twigs);
        let twigs = self.load_twigs::<M, K>(pen, root.keyspace(), &leaves);
        let (number, branch) = above.map_or_else(|| self.branches.take(), |branch| (top, branch));
        let (lows, children): (Vec<_>, Vec<_>) = twigs.into_iter().unzip();
        let station = Station { keyspace: root.keyspace(), level: 2, first: true };
        branch.fill::<M, K>(pen, &self.texts, station, (&lows[0], None), &lows[1..], &children);
        root.top.store(2 << 32 | u64::from(number), Relaxed);
        root.renewals.fetch_add(1, Relaxed);
        // Those who were in the old twigs know now that these have changed; only then may others use them.
        drop(held);
        numbers.into_iter().for_each(|number| self.twigs.give(number));
    }

    /// Every leaf and where its range starts; the nodes' texts are forgotten.
    fn leaves<K: Keys>(&self, above: Option<&D::Branch>, twigs: &[&D::Twig]) -> Vec<Placed<K::Fence>> {
        let lowest = K::Fence::default();
        let mut lows = vec![lowest.clone()];
        lows.extend(above.into_iter().flat_map(|branch| branch.take_apart::<K>(&self.texts, K::probe(&lowest)).0));
        let mut leaves = Vec::new();
        for (low, twig) in lows.into_iter().zip(twigs) {
            let (fences, children) = twig.take_apart::<K>(&self.texts, K::probe(&low));
            leaves.extend(std::iter::once(low).chain(fences).zip(children));
        }
        leaves
    }
}
