//! Changes that take effect only if a leaf is still as it was read: the base of every read-modify-write of one key.
//!
//! A reader has the version of the leaf that answered it. A writer that latches the leaf *at this version* knows that
//! neither its content nor its range has changed since: no second descent, no comparison, and no user code under a
//! latch. A reader that passed over other leaves, such as empty ones, names their versions too; they are validated
//! under the latch, after the label. So the whole change takes effect at one instant, and labels rise along the order
//! in which such changes follow each other.

use crate::design::{Design, LocksOf};
use crate::index::{LeafVersion, TreeRoot};
use crate::inner::Inner as _;
use crate::keys::Keys;
use crate::latch::{Latch, order_after_label};
use crate::leaf::{Full, Leaf as _};
use crate::locks::Locks;
use crate::superseded::Superseded;
use crate::tree_set::{LatchedLeaf, TreeSet};
use holm_medium::{Guard, Medium, Result};

/// What a reader saw, and what must still be so when a change takes effect.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The leaf that answered for the key.
    pub leaf: LeafVersion,
    /// Other leaves on which the answer depends.
    pub others: &'a [LeafVersion],
    /// What else must hold, such as that a time has not come; `None` for nothing. Called under the leaf's latch, so it
    /// must be quick and use no tree.
    pub holds: Option<&'a dyn Fn() -> bool>,
}

impl std::fmt::Debug for Seen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seen").field("leaf", &self.leaf).field("others", &self.others).finish_non_exhaustive()
    }
}

/// What became of a conditional change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditional {
    /// The change took effect. The payload that it replaced.
    Done(Option<Superseded>),
    /// Nothing has changed: a leaf is not as it was seen, or what else must hold does not. The caller reads again.
    Conflict,
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Returns the latch under which a leaf was read; `None` if no such leaf exists.
    #[inline]
    pub(crate) fn latch_of(&self, leaf_version: LeafVersion) -> Option<&Latch> {
        let descriptor = self.descriptors.get(leaf_version.leaf)?;
        let in_node = || {
            let leaf_parent = self.inner.leaf_parents.get(leaf_version.leaf_parent)?;
            Some(leaf_parent.locks().of(&descriptor.latch, leaf_version.leaf))
        };
        LocksOf::<D>::own(&descriptor.latch).or_else(in_node)
    }

    /// Latches a leaf at the version at which it was read, unless it has changed since or another writer has it. The
    /// leaf then holds the keys for which it answered, so no descent is needed.
    #[inline]
    pub(crate) fn try_take_at(&self, leaf_version: LeafVersion) -> Option<LatchedLeaf<'_, D>> {
        let number = leaf_version.leaf;
        // Number 0 is no leaf: a lookup in a dropped tree names it.
        let leaf = self.leaf(number).filter(|_| number != 0)?;
        let descriptor = self.descriptors.get(number)?;
        let held = self.latch_of(leaf_version)?.try_lock(leaf_version.version)?;
        Some(LatchedLeaf { number, leaf, descriptor, held })
    }

    /// The same for an operation whose label is then valid.
    fn take_seen(&self, root: &TreeRoot, guard: &mut Guard<'_>, seen: Seen<'_>) -> Result<Option<LatchedLeaf<'_, D>>> {
        loop {
            let Some(latched) = self.try_take_at(seen.leaf) else { return Ok(None) };
            if guard.valid() {
                // After the label: what replaces one of these leaves from now on has this label or a later one.
                order_after_label();
                let still = |other: &LeafVersion| match self.latch_of(*other) {
                    // The same leaf, or one that shares its latch.
                    Some(latch) if latched.held.holds(latch) => other.version == seen.leaf.version,
                    Some(latch) => latch.validate(other.version),
                    None => false,
                };
                if seen.others.iter().all(still) && seen.holds.is_none_or(|holds| holds()) {
                    return Ok(Some(latched));
                }
                latched.held.unlock_unchanged();
                return Ok(None);
            }
            latched.held.unlock_unchanged();
            root.repin(guard)?;
        }
    }

    /// Returns whether a leaf is unchanged.
    #[inline]
    pub(crate) fn validates(&self, leaf_version: LeafVersion) -> bool {
        self.latch_of(leaf_version).is_some_and(|latch| latch.validate(leaf_version.version))
    }

    /// See [`crate::Index::hold`].
    pub(crate) fn hold_at(&self, leaf_version: LeafVersion, read: &mut dyn FnMut()) -> bool {
        let Some(latched) = self.try_take_at(leaf_version) else { return false };
        read();
        latched.held.unlock_unchanged();
        true
    }

    /// See [`crate::Index::put_if_unchanged`].
    pub(crate) fn put_seen(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        seen: Seen<'_>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> Result<Conditional> {
        let Some(latched) = self.take_seen(root, guard, seen)? else { return Ok(Conditional::Conflict) };
        match self.put_latched(root, guard, latched, search_key, payload) {
            Ok(old) => Ok(Conditional::Done(old)),
            Err(Full) => {
                // A split changes the leaf's version, so the caller reads again in any case.
                self.make_room(root, guard, search_key, None)?;
                Ok(Conditional::Conflict)
            }
        }
    }

    /// See [`crate::Index::remove_if_unchanged`].
    pub(crate) fn remove_seen(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        seen: Seen<'_>,
        search_key: K::SearchKey<'_>,
    ) -> Result<Conditional> {
        let Some(latched) = self.take_seen(root, guard, seen)? else { return Ok(Conditional::Conflict) };
        if latched.leaf.crowded() {
            latched.held.unlock_unchanged();
            self.make_room(root, guard, search_key, None)?;
            return Ok(Conditional::Conflict);
        }
        Ok(Conditional::Done(self.remove_latched(root, guard, latched, search_key)))
    }
}
