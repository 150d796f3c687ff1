//! A range at one instant: every leaf of it, copied out, and nobody can tell that it was not all at once.
//!
//! First as readers do, without writing: each leaf is copied, and when the last one has been, all their latches are
//! asked whether they still show what they showed. If they do, there was an instant, after the last copy and before the
//! first question, at which every copy was the leaf; and the leaves were all of the range then, for whoever divides or
//! unites leaves takes their latches. Where writers are too many for that, the latches are taken, from left to right:
//! two who do so cannot wait for one another, and whoever takes latches otherwise lets go of what he has rather than
//! wait.

use crate::design::Design;
use crate::forest::{Forest, back_off};
use crate::index::{Glimpse, Index, Root, Toward, View};
use crate::inner::Inner;
use crate::keys::Keys;
use crate::latch::{Held, Version};
use crate::leaf::Leaf;

use holm_medium::Medium;

/// Attempts without latches.
const ATTEMPTS: u32 = 8;

/// The leaves of a range at one instant.
pub struct Snapshot {
    /// From left to right; the first and the last may hold keys beyond the range.
    pub leaves: Vec<Glimpse>,
    /// How often it was tried.
    pub attempts: u32,
    /// Whether latches had to be taken.
    pub latched: bool,
}

impl<M: Medium, D: Design, K: Keys> Forest<M, D, K> {
    /// See [`Index::snapshot`].
    pub(crate) fn take_snapshot(
        &self,
        root: &Root,
        range: (&K::Fence, Option<&K::Fence>),
        follow: &mut dyn FnMut(&[Glimpse]),
    ) -> Snapshot {
        for attempts in 1..=ATTEMPTS {
            let leaves = self.copy_out(root, range);
            follow(&leaves);
            if leaves.iter().all(|leaf| self.still(leaf.seen)) {
                return Snapshot { leaves, attempts, latched: false };
            }
        }
        let (leaves, held) = self.latch_all(root, range);
        follow(&leaves);
        held.into_iter().for_each(|(held, _)| held.undo());
        Snapshot { leaves, attempts: ATTEMPTS + 1, latched: true }
    }

    /// One leaf after the other.
    fn copy_out(&self, root: &Root, (low, high): (&K::Fence, Option<&K::Fence>)) -> Vec<Glimpse> {
        let (mut leaves, mut low) = (Vec::new(), low.clone());
        loop {
            let mut view = View::default();
            self.look(root, Toward::Holding(K::probe(&low)), 0, &mut view);
            leaves.push(view.here);
            match view.edge.filter(|edge| high.is_none_or(|high| edge < high) && !root.is_given_up()) {
                Some(edge) => low = edge,
                None => return leaves,
            }
        }
    }

    /// The same with the latches of all of them held.
    #[allow(clippy::type_complexity, reason = "copies, and the latches that vouch for them")]
    fn latch_all(
        &self,
        root: &Root,
        (low, high): (&K::Fence, Option<&K::Fence>),
    ) -> (Vec<Glimpse>, Vec<(Held<'_>, Version)>) {
        let (mut leaves, mut held, mut low, mut turn) = (Vec::new(), Vec::new(), low.clone(), 0);
        loop {
            let found = self.try_latch(root, &low, &mut held);
            if root.is_given_up() {
                return (leaves, held);
            }
            let Some((leaf, edge)) = found else {
                back_off(&mut turn);
                continue;
            };
            leaves.push(leaf);
            match edge.filter(|edge| high.is_none_or(|high| edge < high)) {
                Some(edge) => (low, turn) = (edge, 0),
                None => return (leaves, held),
            }
        }
    }

    /// Takes the latch of the leaf of a fence, unless it is one that is held already: some leaves share one.
    fn try_latch<'a>(
        &'a self,
        root: &Root,
        low: &K::Fence,
        held: &mut Vec<(Held<'a>, Version)>,
    ) -> Option<(Glimpse, Option<K::Fence>)> {
        let (at, edge) = self.spine.glide::<K>(root, &Toward::Holding(K::probe(low)))?;
        let (leaf, berth) = self.leaf(at.leaf).zip(self.berths.get(at.leaf))?;
        let latch = at.latch(at.leaf, berth);
        let own = held.iter().find(|(held, _)| held.holds(latch)).map(|(_, version)| *version);
        let version = own.or_else(|| latch.read())?;
        if !at.twig.latch().still(at.version) {
            return None;
        }
        if own.is_none() {
            held.push((latch.hold(version)?, version));
        }
        let mut copy = Glimpse::default();
        copy.pairs.begin(D::Leaf::CAPACITY);
        leaf.gather(&berth.beside, self.lens(), &mut copy.pairs);
        (copy.skip, copy.stamp) = (leaf.skip(), leaf.stamp(&berth.beside, self.lens()));
        copy.pairs.sort(&self.keys, self.spine.search, copy.skip);
        copy.seen = at.seen(at.leaf, version);
        Some((copy, edge))
    }
}
