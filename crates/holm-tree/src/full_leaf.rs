//! Operations that find a full leaf: they make room and begin again.

use crate::design::Design;
use crate::index::TreeRoot;
use crate::keys::Keys;
use crate::leaf::{BlockByte, Leaf, damaged};
use crate::superseded::Superseded;
use crate::tree_set::{LatchedLeaf, TreeSet};
use holm_medium::{Guard, Medium, MediumError, Result};

/// A leaf that is full after this many splits is damaged; the bound keeps the writer from spinning for ever.
pub(crate) const MOST_SPLITS: usize = 64;

pub(crate) fn stays_full<L>() -> MediumError {
    damaged::<L>(BlockByte::first_of(0), "a leaf", "full however often it is split", "room after a split")
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Puts a payload into a full leaf: makes room first.
    #[cold]
    #[inline(never)]
    pub(crate) fn put_with_room(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> Result<Option<Superseded>> {
        for _ in 1..MOST_SPLITS {
            if self.make_room(root, guard, search_key, Some(payload))? {
                root.pairs.add(1);
                return Ok(None);
            }
            if let Ok(old) = self.try_put(root, guard, search_key, payload)? {
                return Ok(old);
            }
        }
        Err(stays_full::<D::Leaf>())
    }

    /// Latches the search key's leaf, with room to remove the key from it.
    pub(crate) fn take_uncrowded(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
    ) -> Result<LatchedLeaf<'_, D>> {
        for _ in 0..MOST_SPLITS {
            let latched = self.take(root, guard, search_key)?;
            if !latched.leaf.crowded()
                || latched.leaf.get(self.context(&latched.descriptor.volatile), search_key).is_none()
            {
                return Ok(latched);
            }
            latched.held.unlock_unchanged();
            self.make_room(root, guard, search_key, None)?;
        }
        Err(stays_full::<D::Leaf>())
    }
}
