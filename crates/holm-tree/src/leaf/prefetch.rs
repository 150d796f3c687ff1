//! Which lines of a leaf a reader asks for before it needs them.

use super::{Leaf, ReadContext};
use crate::Slot;
use crate::keys::Keys;

/// Prefetches of a leaf. Every function is optional: [`Prefetch::prefetch_block`] serves single operations; the others
/// serve batched gets, in the order in which they stand here. A design implements them when a measurement shows waits.
pub trait Prefetch: Leaf {
    /// Prefetches the lines of the block that a single operation reads, before any of them has been read. The default
    /// prefetches all lines.
    #[inline]
    fn prefetch_block(&self) {
        holm_search::prefetch_lines(self);
    }

    /// Prefetches the first line of the block, which [`Prefetch::prefetch_pairs`] reads.
    #[inline]
    fn prefetch_header(&self) {
        holm_search::prefetch(self);
    }

    /// Prefetches the lines that [`Leaf::get`] will read; the first line has arrived. The default prefetches all lines.
    #[inline]
    fn prefetch_pairs<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, search_key: K::SearchKey<'_>) {
        let _ = (context, search_key);
        holm_search::prefetch_lines(self);
    }

    /// Returns a pair that is the answer of [`Leaf::get`] if it has the search key, found without reading any record.
    /// `None`: only `get` can tell, as the default has it. Both are of one version of the leaf.
    #[inline]
    fn candidate<K: Keys>(
        &self,
        context: ReadContext<'_, Self::Volatile, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Slot> {
        let _ = (context, search_key);
        None
    }

    /// Returns a payload that [`Leaf::get`] will probably compare, found without reading any record. The caller
    /// prefetches its record.
    #[inline]
    fn candidate_payload<K: Keys>(
        &self,
        context: ReadContext<'_, Self::Volatile, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64> {
        self.candidate(context, search_key).map(|slot| slot.payload)
    }
}
