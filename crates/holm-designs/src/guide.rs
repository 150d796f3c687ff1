//! A guide is a search strategy within a sorted leaf, and the data that it needs. Each file in this folder is one
//! guide.
//!
//! A guide finds the slot that holds a key, or the slot where the key would go. Some guides keep *signs*, one for each
//! line or slot. Signs lie in DRAM beside the leaf, or inlaid in the block behind its pairs (Ye and Wang, *Boosting the
//! Search Performance of B+-tree for Non-volatile Memory with Sentinels*, 2021). Signs mean nothing after a crash: they
//! are never flushed, and each recovery derives them from the pairs. So a guide adds no flush and no fence to any
//! operation.
//!
//! Signs change under the leaf's latch, together with the pairs. A racing reader may see any combination of them. Its
//! search must terminate, and its answer counts only after the latch is validated. So a guide need not distinguish a
//! true miss from a stale sign, and does not try to.

mod fingerprints;
mod halving;
mod linear;
mod segment_vectors;
mod segments;
mod sentinels;
mod signs;
mod sweep;

pub use fingerprints::Fingerprints;
pub use halving::Halving;
pub use linear::Linear;
pub use segment_vectors::SegmentVectors;
pub use segments::Segments;
pub use sentinels::Sentinels;
pub use signs::{Aside, Inlaid, Signs};
pub use sweep::{Scalar, Sweep, Vector};

use crate::row::Row;
use holm_medium::{Medium, Persistent, WriteHandle};
use holm_search::Search;
use holm_tree::keys::{Keys, Role};
use holm_tree::leaf::ReadContext;
use holm_tree::pair::Pair;
use std::cmp::Ordering;

/// What a guide keeps for one leaf.
pub struct Board<'a, G: Guide + ?Sized> {
    /// Data in the block, behind the pairs.
    pub inlaid: &'a G::Inlaid,
    /// Data outside the block, in DRAM.
    pub volatile: &'a G::Volatile,
}

impl<G: Guide + ?Sized> Clone for Board<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<G: Guide + ?Sized> Copy for Board<'_, G> {}

/// One way to find a key among sorted slots.
pub trait Guide: Send + Sync + 'static {
    /// The data in the block, behind the pairs: scratch words, or nothing.
    type Inlaid: Persistent;
    /// The data outside the block.
    type Volatile: Default + Send + Sync + 'static;
    /// The largest number of slots for which the guide can keep signs.
    const MOST_SLOTS: usize = usize::MAX;

    /// The number of slots whose heads are less than `head`.
    fn rank<K: Keys>(board: Board<'_, Self>, row: Row<'_>, search: Search, head: u64) -> usize;

    /// The index of a key, or the index where it would go.
    #[inline]
    fn find<V, K: Keys>(
        board: Board<'_, Self>,
        row: Row<'_>,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> Result<usize, usize> {
        let (mut low, mut high) = Self::ties::<K>(board, row, context.search, K::head(search_key, 0));
        while low < high {
            let middle = low.midpoint(high);
            match context.keys.compare(row.slot(middle), 0, search_key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// The range of indices whose head equals `head`, as start and end.
    #[inline]
    fn ties<K: Keys>(board: Board<'_, Self>, row: Row<'_>, search: Search, head: u64) -> (usize, usize) {
        let low = Self::rank::<K>(board, row, search, head).min(row.count());
        // Where heads are unique, one equal head is enough. The next slot may lie in another line, so it is not read.
        let most = if K::UNIQUE == Role::Head { 1 } else { row.count() };
        let same = (low..row.count()).take(most).take_while(|index| row.head(*index) == head).count();
        (low, low + same)
    }

    /// The index of a key that is present.
    #[inline]
    fn seek<V, K: Keys>(
        board: Board<'_, Self>,
        row: Row<'_>,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<usize> {
        Self::find(board, row, context, search_key).ok()
    }

    /// The index that [`Guide::seek`] will probably read, found without reading any record. The caller prefetches its
    /// record.
    #[inline]
    fn candidate<V, K: Keys>(
        board: Board<'_, Self>,
        row: Row<'_>,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<usize> {
        let (low, high) = Self::ties::<K>(board, row, context.search, K::head(search_key, 0));
        (low < high).then(|| low.midpoint(high))
    }

    /// Notes that the pair at place `from` has been copied to place `to`.
    #[inline]
    fn moved<M: Medium>(board: Board<'_, Self>, handle: &mut WriteHandle<'_, M>, row: Row<'_>, from: usize, to: usize) {
        let _ = (board, handle, row, from, to);
    }

    /// Notes that a pair with this fingerprint has been stored at a place.
    #[inline]
    fn placed<M: Medium>(
        board: Board<'_, Self>,
        handle: &mut WriteHandle<'_, M>,
        row: Row<'_>,
        at: usize,
        fingerprint: u8,
    ) {
        let _ = (board, handle, row, at, fingerprint);
    }

    /// Notes that a place no longer has a pair.
    #[inline]
    fn vacated<M: Medium>(board: Board<'_, Self>, handle: &mut WriteHandle<'_, M>, row: Row<'_>, at: usize) {
        let _ = (board, handle, row, at);
    }

    /// The fingerprint of the pair at a place, if the guide keeps fingerprints.
    fn fingerprint(board: Board<'_, Self>, at: usize) -> u8 {
        let _ = (board, at);
        0
    }

    /// Derives all signs from the pairs; `fingerprint` returns the fingerprint of the pair at an index.
    fn derive<M: Medium>(
        board: Board<'_, Self>,
        handle: &mut WriteHandle<'_, M>,
        row: Row<'_>,
        fingerprint: impl Fn(usize) -> u8,
    ) {
        let _ = (board, handle, row, fingerprint);
    }
}

/// Computes the fingerprint of the pair at an index from its key; 0 if its record does not exist.
pub(crate) fn fingerprint_of<V, K: Keys>(context: ReadContext<'_, V, K>, row: Row<'_>, index: usize) -> u8 {
    context.keys.key(row.slot(index)).map_or(0, |key| K::fingerprint(K::search_key(&key)))
}
