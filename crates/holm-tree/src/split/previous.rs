//! What a split latches besides its own leaf.

use super::PreviousLeaf;
use crate::descent::Path;
use crate::design::Design;
use crate::index::{SeekTarget, TreeRoot};
use crate::inner::Inner;
use crate::keys::Keys;
use crate::tree_set::{LatchedLeaf, TreeSet};
use holm_medium::Medium;

/// What a split latches besides its own leaf: [`Unlatched`] or [`Latched`].
pub trait Previous: 'static {
    /// Latches the leaf before the path's latched leaf, if the design needs it; the default latches none. `None`:
    /// another thread holds it, or a leaf has come between the two. The latch is tried and not awaited: its holder may
    /// wait for the latched leaf.
    #[doc(hidden)]
    fn take<'a, M: Medium, D: Design, K: Keys>(
        tree_set: &'a TreeSet<M, D, K>,
        root: &TreeRoot,
        path: &Path<'a, D, K>,
        latched: &LatchedLeaf<'a, D>,
    ) -> Option<PreviousLeaf<'a, D>> {
        let _ = (tree_set, root, path, latched);
        Some(PreviousLeaf::none())
    }
}

/// A split changes its own leaf alone.
pub struct Unlatched;

/// A split may change the previous leaf, so it latches that one as well.
pub struct Latched;

impl Previous for Unlatched {}

impl Previous for Latched {
    fn take<'a, M: Medium, D: Design, K: Keys>(
        tree_set: &'a TreeSet<M, D, K>,
        root: &TreeRoot,
        path: &Path<'a, D, K>,
        latched: &LatchedLeaf<'a, D>,
    ) -> Option<PreviousLeaf<'a, D>> {
        // The first leaf of a tree has none before it.
        let Some(low) = path.leaf.low.as_ref() else { return Some(PreviousLeaf::none()) };
        if let Some(position) = path.leaf_parent.position.checked_sub(1) {
            // It is below the same leaf parent, whose latch is held.
            let child = tree_set.child(path, position)?;
            let shared = latched.held.holds(child.latch);
            let held = if shared { None } else { Some(child.latch.try_lock(child.latch.read()?)?) };
            return Some(PreviousLeaf { leaf: Some(child.leaf), held });
        }
        let before = tree_set.inner.walk::<K>(root, &SeekTarget::Below(K::search_key(low)))?;
        let child = tree_set.child(&before, before.leaf_parent.position)?;
        let version = child.latch.read()?;
        // As in every descent: the leaf is the right one if the leaf parent validates after the leaf's version was
        // read.
        let still = before.leaf.high.as_ref() == Some(low)
            && before.leaf_parent.node.latch().validate(before.leaf_parent.version);
        let held = child.latch.try_lock(version).filter(|_| still)?;
        Some(PreviousLeaf { leaf: Some(child.leaf), held: Some(held) })
    }
}
