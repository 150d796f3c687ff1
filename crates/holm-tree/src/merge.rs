//! Merges: a sparse leaf with a neighbour, and then the nodes above that have become sparse by it.
//!
//! A merge follows a removal and is an operation of its own under the removal's label. Two leaves merge under one twig
//! only: a leaf that is alone there waits for its twig to merge with a sibling, after which the leaves on both sides of
//! the seam are tried. Every latch is tried and none is waited for, the parent's first as in a split, so no two threads
//! can wait for each other. A merge that misses a latch is tried again a few times; then the next removal from either
//! leaf tries.
//!
//! Hysteresis: a merged leaf is at most half full, or keeps a quarter of its room where it takes over the range of an
//! empty one, so filling and emptying a leaf in turns does not split and merge each time. An empty leaf between two
//! full ones stays until one of them is sparse. So of a run of leaves that removals have emptied one is left, or two
//! where a twig ends within it.

use crate::design::Design;
use crate::forest::{Forest, Taken, back_off};
use crate::index::{Root, Toward};
use crate::inner::Inner;
use crate::keys::Keys;
use crate::latch::Held;
use crate::leaf::{Join, Leaf};
use crate::shrink::is_sparse;
use crate::spine::Path;
use crate::split::{Child, Raw};
use holm_medium::{Medium, Pen, Stay};

/// Further attempts of a merge that misses a latch.
const RETRIES: u32 = 4;

/// Merges that one removal tries, so that other threads cannot keep it busy for ever.
const MOST_MERGES: usize = 64;

/// What came of an attempt to merge.
pub(crate) enum Attempt<T> {
    /// Two have become one.
    Merged(T),
    /// There is no neighbour under the same parent.
    Alone,
    /// The two hold too much for one.
    Apart,
    /// Another thread holds a latch, or has changed something on the way down.
    Missed,
}

/// What two leaves have left of their blocks.
struct Merged {
    /// The leaves that are given up.
    given_up: [Option<u32>; 2],
    /// Whether the fresh block is the merged leaf.
    uses_fresh: bool,
    /// Whether the twig has few children now.
    sparse_twig: bool,
}

/// A leaf's place in a twig, and its right neighbour's: both latched, unless they share a latch.
struct Latched<'a, D: Design> {
    left: Taken<'a, D>,
    right: Child<'a, D>,
    right_held: Option<Held<'a>>,
}

impl<D: Design> Latched<'_, D> {
    /// Nothing has been written.
    fn undo(self) {
        self.right_held.into_iter().for_each(Held::undo);
        self.left.held.undo();
    }
}

/// Tries again where a latch is missed.
pub(crate) fn retried<T>(mut attempt: impl FnMut() -> Attempt<T>) -> Attempt<T> {
    let mut turn = 0;
    loop {
        match attempt() {
            Attempt::Missed if turn < RETRIES => back_off(&mut turn),
            outcome => return outcome,
        }
    }
}

/// The left one's position in each pair of neighbours that a child belongs to, the right neighbour's first.
pub(crate) fn pairs_with(position: usize, len: usize) -> impl Iterator<Item = usize> {
    let [right, left] = [Some(position).filter(|position| *position < len), position.checked_sub(1)];
    [right, left].into_iter().flatten().filter(move |left| *left < len)
}

impl<M: Medium, D: Design, K: Keys> Forest<M, D, K> {
    /// Merges the probe's leaf with a neighbour and then the nodes above, where they are sparse. Worth an attempt, not
    /// a wait, and no error: the removal before it is complete.
    pub(crate) fn merge(&self, root: &Root, stay: &Stay<'_>, probe: K::Probe<'_>) {
        match self.merge_leaf(root, stay, probe) {
            Attempt::Merged(true) | Attempt::Alone => {}
            Attempt::Merged(false) | Attempt::Apart | Attempt::Missed => return,
        }
        let mut pending = vec![(1, K::fence(probe))];
        for _ in 0..MOST_MERGES {
            let Some((level, key)) = pending.pop() else { return };
            let probe = K::probe(&key);
            if level == 0 {
                if let Attempt::Merged(true) = self.merge_leaf(root, stay, probe) {
                    pending.push((1, key));
                }
                continue;
            }
            match retried(|| self.spine.merge_node::<M, K>(&self.quill, root, stay, level, probe)) {
                Attempt::Merged(seam) => {
                    pending.extend([(level + 1, key.clone()), (level, key), (level - 1, seam)]);
                }
                Attempt::Alone => pending.push((level + 1, key)),
                Attempt::Apart | Attempt::Missed => {}
            }
        }
    }

    /// Merges the probe's leaf with its right neighbour or its left one. Tells whether the twig is sparse afterwards.
    fn merge_leaf(&self, root: &Root, stay: &Stay<'_>, probe: K::Probe<'_>) -> Attempt<bool> {
        retried(|| {
            let Some(path) = self.spine.walk::<K>(root, &Toward::Holding(probe)) else { return Attempt::Missed };
            if path.twig.node.is_empty() {
                return if path.branches.is_empty() { Attempt::Apart } else { Attempt::Alone };
            }
            let mut pairs = pairs_with(path.twig.position, path.twig.node.len());
            let merged = pairs.find_map(|left| match self.try_merge(stay, &path, left, probe) {
                Attempt::Apart => None,
                other => Some(other),
            });
            merged.unwrap_or(Attempt::Apart)
        })
    }

    /// Merges the leaves at a position of the path's twig and to the right of it.
    fn try_merge(&self, stay: &Stay<'_>, path: &Path<'_, D, K>, position: usize, probe: K::Probe<'_>) -> Attempt<bool> {
        let Some((left, right)) = self.child(path, position).zip(self.child(path, position + 1)) else {
            return Attempt::Missed;
        };
        // A hint: most leaves are refused here, before any latch is taken and any reader disturbed.
        if left.1.join(&left.2.beside, (right.1, &right.2.beside), self.lens()) == Join::Apart {
            return Attempt::Apart;
        }
        // Before the label is validated: a tick in between could release a block that is too young for this label.
        let raw = self.raw(stay).ok();
        let merged = self.merge_latched(stay, path, position, probe, raw.as_ref());
        let uses_fresh = matches!(&merged, Attempt::Merged(merged) if merged.uses_fresh);
        raw.into_iter().filter(|_| !uses_fresh).for_each(|raw| self.unused(raw));
        match merged {
            Attempt::Merged(Merged { given_up, sparse_twig, .. }) => {
                let blocks = given_up.into_iter().flatten().flat_map(|number| self.blocks_of(number));
                blocks.for_each(|number| self.quill.pool().space.retire_block(stay.epoch(), number));
                Attempt::Merged(sparse_twig)
            }
            Attempt::Alone => Attempt::Alone,
            Attempt::Apart => Attempt::Apart,
            Attempt::Missed => Attempt::Missed,
        }
    }

    /// The same with the latches of the twig and of both leaves held. On anything but `Merged` all is as it was.
    fn merge_latched(
        &self,
        stay: &Stay<'_>,
        path: &Path<'_, D, K>,
        position: usize,
        probe: K::Probe<'_>,
        raw: Option<&Raw<'_, D>>,
    ) -> Attempt<Merged> {
        let twig = path.twig.node;
        let Some(twig_held) = twig.latch().hold(path.twig.version) else { return Attempt::Missed };
        let Some(two) = self.latch_two(path, position) else {
            twig_held.undo();
            return Attempt::Missed;
        };
        let (low, high) = self.spine.range_of_two::<_, K>(twig, &path.ranges[path.branches.len()], position, probe);
        let mut pen = self.quill.cut(stay);
        // The label is validated behind the latches: every change of either leaf has this label or an earlier one, so
        // no crash that a cut explains finds the merge without the removals before it.
        let joined = if stay.valid() { self.join(&two, &mut pen, raw, (&low, high.as_ref())) } else { None };
        let Some((child, given_up)) = joined else {
            drop(pen);
            two.undo();
            twig_held.undo();
            return Attempt::Apart;
        };
        self.spine.texts.forget(twig.mark(position).text);
        twig.disown(&mut pen, position);
        if child != two.left.number {
            twig.set_child(&mut pen, position, child);
        }
        let uses_fresh = raw.is_some_and(|raw| raw.number == child);
        Attempt::Merged(Merged { given_up, uses_fresh, sparse_twig: is_sparse(twig) })
    }

    /// The leaf at a position of the path's twig, whose latch is held, and the one to its right.
    fn latch_two<'a>(&'a self, path: &Path<'a, D, K>, position: usize) -> Option<Latched<'a, D>> {
        let left = self.take_at(path, position)?;
        let right = self.child(path, position + 1);
        let shared = right.as_ref().is_some_and(|right| left.held.holds(right.3));
        let right_held = right.as_ref().filter(|_| !shared).and_then(|right| right.3.hold(right.3.read()?));
        match right {
            Some(right) if shared || right_held.is_some() => Some(Latched { left, right, right_held }),
            _ => {
                left.held.undo();
                None
            }
        }
    }

    /// Makes one leaf of two, whose range is `range`: gives its number, and those of the leaves that are given up.
    fn join(
        &self,
        Latched { left, right, .. }: &Latched<'_, D>,
        pen: &mut Pen<'_, M>,
        raw: Option<&Raw<'_, D>>,
        range: (&K::Fence, Option<&K::Fence>),
    ) -> Option<(u32, [Option<u32>; 2])> {
        let (beside, theirs, lens) = (&left.berth.beside, &right.2.beside, self.lens());
        // A leaf that stays as it is has heads that leave out what its own range shares: the wider range must, too.
        let stays = |leaf: &D::Leaf| leaf.skip() <= K::common(range.0, range.1);
        match left.leaf.join(beside, (right.1, theirs), lens) {
            Join::Apart => return None,
            Join::KeepLeft if stays(left.leaf) => {
                left.leaf.take_over(beside, lens, pen);
                return Some((left.number, [Some(right.0), None]));
            }
            Join::KeepRight if stays(right.1) => {
                right.1.take_over(theirs, lens, pen);
                return Some((right.0, [Some(left.number), None]));
            }
            Join::KeepLeft | Join::KeepRight | Join::Move => {}
        }
        if left.leaf.absorb(beside, (right.1, theirs), lens, pen) {
            return Some((left.number, [Some(right.0), None]));
        }
        let own = [(left.number, beside), (right.0, theirs)];
        let merged = raw.filter(|raw| left.leaf.merge(own, right.1, lens, pen, raw.fresh(), range))?;
        Some((merged.number, own.map(|leaf| Some(leaf.0))))
    }
}
