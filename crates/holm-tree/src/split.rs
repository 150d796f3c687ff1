//! A full leaf and its parent: split, an operation of its own under its own label.

use crate::design::{BerthOf, Design, LocksOf};
use crate::forest::{Forest, Put, Taken, back_off, wait};
use crate::index::{Root, Toward};
use crate::inner::Inner;
use crate::keys::Keys;
use crate::latch::{Held, Latch};
use crate::leaf::{Fresh, Leaf, Room};
use crate::locks::Locks;
use crate::spine::Path;
use holm_medium::{Medium, Result, Stay};

/// A fresh block; the latch of its own, if it has one, is held, so that a reader with a stale number of it can validate
/// nothing.
pub(crate) struct Raw<'a, D: Design> {
    pub(crate) number: u32,
    leaf: &'a D::Leaf,
    berth: &'a BerthOf<D>,
    held: Option<Held<'a>>,
}

/// A leaf under a twig, and its latch.
pub(crate) type Child<'a, D> = (u32, &'a <D as Design>::Leaf, &'a BerthOf<D>, &'a Latch);

/// The leaf before a full one, if there is one and it is needed, and its latch unless the full one's is the same.
type Before<'a, D> = (Option<&'a <D as Design>::Leaf>, Option<Held<'a>>);

/// The one that found no room; `None` where room alone is wanted.
type Pending = Option<Put>;

impl<D: Design> Raw<'_, D> {
    pub(crate) fn fresh(&self) -> Fresh<'_, D::Leaf> {
        Fresh { number: self.number, leaf: self.leaf, beside: &self.berth.beside }
    }
}

impl<M: Medium, D: Design, K: Keys> Forest<M, D, K> {
    /// Makes room in the probe's leaf, or finds that there is some by now; tells whether the pair has been put.
    pub(crate) fn make_room(
        &self,
        root: &Root,
        stay: &mut Stay<'_>,
        probe: K::Probe<'_>,
        pending: Pending,
    ) -> Result<bool> {
        let mut turn = 0;
        loop {
            // Before the label is validated: a tick in between could release a block that is too young for this label.
            let raws = self.raws(stay)?;
            if let Some(put) = self.try_split(root, stay, probe, pending, raws)? {
                return Ok(put);
            }
            if !stay.valid() {
                root.renew(stay)?;
            }
            back_off(&mut turn);
        }
    }

    /// The two blocks that a split of any design may use, and its design's spare ones: all, or none.
    fn raws(&self, stay: &Stay<'_>) -> Result<Vec<Raw<'_, D>>> {
        let mut taken = Vec::with_capacity(2 + D::Leaf::SPARE);
        for _ in 0..2 + D::Leaf::SPARE {
            match self.raw(stay) {
                Ok(raw) => taken.push(raw),
                Err(error) => {
                    taken.into_iter().for_each(|raw| self.unused(raw));
                    return Err(error);
                }
            }
        }
        Ok(taken)
    }

    /// Gives a block back that nothing was put into.
    pub(crate) fn unused(&self, raw: Raw<'_, D>) {
        let number = raw.number;
        raw.held.into_iter().for_each(Held::undo);
        self.quill.pool().space.return_block(number);
    }

    pub(crate) fn raw(&self, stay: &Stay<'_>) -> Result<Raw<'_, D>> {
        let pool = self.quill.pool();
        let number = pool.space.take_block(&pool.medium, stay)?;
        let (leaf, berth) = self.block(number)?;
        let Some(latch) = LocksOf::<D>::own(&berth.latch) else {
            return Ok(Raw { number, leaf, berth, held: None });
        };
        // Nobody writes to a free block; a holder can only be a merge that is just letting go of it.
        Ok(Raw { number, leaf, berth, held: Some(wait(latch)) })
    }

    /// The leaf at a position of the path's twig, whose latch is held.
    pub(crate) fn child<'a>(&'a self, path: &Path<'a, D, K>, position: usize) -> Option<Child<'a, D>> {
        let number = path.twig.node.child(position);
        let (leaf, berth) = self.leaf(number).zip(self.berths.get(number))?;
        Some((number, leaf, berth, path.twig.node.locks().of(&berth.latch, number)))
    }

    /// Latches it.
    pub(crate) fn take_at<'a>(&'a self, path: &Path<'a, D, K>, position: usize) -> Option<Taken<'a, D>> {
        let (number, leaf, berth, latch) = self.child(path, position)?;
        Some(Taken { number, leaf, berth, held: latch.hold(latch.read()?)? })
    }

    /// Latches the leaf before one that is taken, the path's, for designs that need it. `None`: somebody is at it, or
    /// another one has come between the two. Never waited for: whoever holds it may want the taken one.
    fn take_before<'a>(&'a self, root: &Root, path: &Path<'a, D, K>, taken: &Taken<'a, D>) -> Option<Before<'a, D>> {
        let Some(low) = path.leaf.0.as_ref().filter(|_| D::Leaf::NEEDS_BEFORE) else { return Some((None, None)) };
        if let Some(position) = path.twig.position.checked_sub(1) {
            // Under the same twig, whose latch is held.
            let (_, leaf, _, latch) = self.child(path, position)?;
            let shared = taken.held.holds(latch);
            let held = if shared { None } else { Some(latch.hold(latch.read()?)?) };
            return Some((Some(leaf), held));
        }
        let before = self.spine.walk::<K>(root, &Toward::Below(K::probe(low)))?;
        let (_, leaf, _, latch) = self.child(&before, before.twig.position)?;
        let version = latch.read()?;
        // As on any way down: the right leaf, if the twig still stands after the leaf's version was read.
        let still = before.leaf.1.as_ref() == Some(low) && before.twig.node.latch().still(before.twig.version);
        let held = latch.hold(version).filter(|_| still)?;
        Some((Some(leaf), Some(held)))
    }

    /// Tells whether the pair that found no room has been put; on `None` all leaves are as they were, and the blocks
    /// are free again.
    fn try_split(
        &self,
        root: &Root,
        stay: &Stay<'_>,
        probe: K::Probe<'_>,
        pending: Pending,
        raws: Vec<Raw<'_, D>>,
    ) -> Result<Option<bool>> {
        let all_unused = |raws: Vec<_>| raws.into_iter().for_each(|raw| self.unused(raw));
        let path = self.spine.walk::<K>(root, &Toward::Holding(probe));
        let full = path.as_ref().map_or(Ok(true), |path| self.spine.split_full(&self.quill, root, stay, path, probe));
        let (Some(path), Ok(false)) = (path, &full) else {
            all_unused(raws);
            return full.map(|_| None);
        };
        let held = path.twig.node.latch().hold(path.twig.version);
        let taken = held.is_some().then(|| self.take_at(&path, path.twig.position)).flatten();
        let (Some(twig_held), Some(taken)) = (held, taken) else {
            all_unused(raws);
            return Ok(None);
        };
        let (before, _before_held) = match self.take_before(root, &path, &taken) {
            Some(both) if stay.valid() => both,
            other => {
                other.and_then(|(_, held)| held).into_iter().for_each(Held::undo);
                taken.held.undo();
                twig_held.undo();
                all_unused(raws);
                return Ok(None);
            }
        };
        let low = path.leaf.0.clone().unwrap_or_default();
        let fresh = [raws[0].fresh(), raws[1].fresh()];
        let more: Vec<_> = raws[2..].iter().map(Raw::fresh).collect();
        let mut pen = self.quill.cut(stay);
        let room = Room { own: taken.number, fresh, spare: &more, range: (&low, path.leaf.1.as_ref()), before };
        let beside = &taken.berth.beside;
        let (split, put) = match pending {
            Some((payload, _)) => taken.leaf.split_and_put(beside, self.lens(), &mut pen, room, probe, payload),
            None => (taken.leaf.split(room.own, beside, self.lens(), &mut pen, room.fresh, room.range), false),
        };
        if let Some((_, seal)) = pending.filter(|_| put) {
            self.seal(&mut pen, seal);
        }
        let (twig, position) = (path.twig.node, path.twig.position);
        if split.left != taken.number {
            twig.set_child(&mut pen, position, split.left);
        }
        if let Some((separator, right)) = &split.right {
            let range = path.ranges.last().expect("the twig's own");
            twig.adopt::<M, K>(&mut pen, &self.spine.texts, range, (position, separator, *right), probe);
        }
        let is_used = |number: u32| {
            let mut leaves = std::iter::once(split.left).chain(split.right.as_ref().map(|(_, right)| *right));
            leaves.any(|leaf| self.blocks_of(leaf).any(|block| block == number))
        };
        // What it wrote to a block that nobody uses is marked while the block is still ours.
        drop(pen);
        raws.into_iter().filter(|raw| !is_used(raw.number)).for_each(|raw| self.unused(raw));
        let given_up = self.blocks_of(taken.number).filter(|number| !is_used(*number));
        given_up.for_each(|number| self.quill.pool().space.retire_block(stay.epoch(), number));
        Ok(Some(put))
    }
}
