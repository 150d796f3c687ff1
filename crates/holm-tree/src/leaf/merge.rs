//! How two neighbouring leaves become one.

use super::{Leaf, LeafRef, MergeRequest, MergedInto, ReadContext, WriteContext};
use crate::keys::Keys;
use holm_medium::Medium;

/// Merges of a leaf with its right neighbour. The defaults merge nothing.
pub trait Merge: Leaf {
    /// Returns whether so few pairs remain that a merge is worth an attempt.
    fn sparse<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>) -> bool {
        let _ = context;
        false
    }

    /// Returns whether [`Merge::merge`] could make one leaf of this one and its right neighbour. The caller asks
    /// without a latch: the answer is a hint that saves latches.
    fn may_merge<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, right: LeafRef<'_, Self>) -> bool {
        let _ = (context, right);
        true
    }

    /// Makes one leaf of this one and its right neighbour, if the design can do so and the pairs fit well. A design
    /// refuses two leaves that would soon be split again.
    ///
    /// A leaf that takes over the range of an empty neighbour without any pair has this epoch as its stamp from now on:
    /// an answer about that range must be as late as the removals there.
    fn merge<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        request: MergeRequest<'_, Self, K::Separator>,
    ) -> MergedInto {
        let _ = (context, request);
        MergedInto::Neither
    }
}
