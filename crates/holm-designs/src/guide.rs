//! A guide: how a search finds its way in a sorted leaf, and what it keeps for that. A file in this folder is one
//! guide.
//!
//! A guide says which slot holds a key, or where it would go. Some keep signs, one for each line or slot, in DRAM
//! beside the leaf or inlaid behind its pairs (Ye and Wang, *Boosting the Search Performance of B+-tree for
//! Non-volatile Memory with Sentinels*, 2021). Signs mean nothing after a crash: they are never flushed, and every
//! recovery writes them anew from the pairs, so a guide adds no flush and no fence to any operation.
//!
//! Signs change under the leaf's latch, with the pairs. A reader that races may meet any of them, must end, and is not
//! believed; so a guide need not tell a true miss from a stale sign, and never does.

mod fingerprints;
mod halving;
mod linear;
mod segments;
mod sentinels;
mod signs;
mod sweep;

pub use fingerprints::Fingerprints;
pub use halving::Halving;
pub use linear::Linear;
pub use segments::Segments;
pub use sentinels::Sentinels;
pub use signs::{Aside, Inlaid, Signs};
pub use sweep::{Scalar, Sweep, Vector};

use crate::row::Row;
use holm_medium::{Medium, Pen, Persistent};
use holm_search::Search;
use holm_tree::keys::{Keys, Role};
use holm_tree::leaf::Lens;
use holm_tree::pair::Pair;
use std::cmp::Ordering;

/// What a guide keeps of one leaf.
pub struct Board<'a, G: Guide + ?Sized> {
    /// In the block, behind the pairs.
    pub inlaid: &'a G::Inlaid,
    /// Beside the block.
    pub beside: &'a G::Beside,
}

impl<G: Guide + ?Sized> Clone for Board<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<G: Guide + ?Sized> Copy for Board<'_, G> {}

/// One way to find a key among sorted slots.
pub trait Guide: Send + Sync + 'static {
    /// What lies in the block, behind the pairs: scratch words, or nothing.
    type Inlaid: Persistent;
    /// What lies beside the block.
    type Beside: Default + Send + Sync + 'static;
    /// Slots of which it can keep signs.
    const MOST_SLOTS: usize = usize::MAX;

    /// How many slots have lesser heads.
    fn rank<K: Keys>(board: Board<'_, Self>, row: Row<'_>, search: Search, head: u64) -> usize;

    /// The index of a key, or else the index where it would go.
    #[inline]
    fn find<K: Keys>(
        board: Board<'_, Self>,
        row: Row<'_>,
        lens: Lens<'_, K>,
        probe: K::Probe<'_>,
    ) -> Result<usize, usize> {
        let (mut low, mut high) = Self::ties::<K>(board, row, lens.search, K::head(probe, 0));
        while low < high {
            let middle = low.midpoint(high);
            match lens.keys.compare(row.slot(middle), 0, probe) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// The indices whose head is this one, from where to where.
    #[inline]
    fn ties<K: Keys>(board: Board<'_, Self>, row: Row<'_>, search: Search, head: u64) -> (usize, usize) {
        let low = Self::rank::<K>(board, row, search, head).min(row.count());
        // Where heads are unique the next one is not looked at: it may lie in another line.
        let most = if K::UNIQUE == Role::Head { 1 } else { row.count() };
        let same = (low..row.count()).take(most).take_while(|index| row.head(*index) == head).count();
        (low, low + same)
    }

    /// The index of a key that is there.
    #[inline]
    fn seek<K: Keys>(board: Board<'_, Self>, row: Row<'_>, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<usize> {
        Self::find(board, row, lens, probe).ok()
    }

    /// The index that [`Guide::seek`] will probably have to look at, found without looking at any record.
    #[inline]
    fn glance<K: Keys>(board: Board<'_, Self>, row: Row<'_>, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<usize> {
        let (low, high) = Self::ties::<K>(board, row, lens.search, K::head(probe, 0));
        (low < high).then(|| low.midpoint(high))
    }

    /// The pair at place `from` has been copied to place `to`.
    #[inline]
    fn moved<M: Medium>(board: Board<'_, Self>, pen: &mut Pen<'_, M>, row: Row<'_>, from: usize, to: usize) {
        let _ = (board, pen, row, from, to);
    }

    /// A pair with this fingerprint has come to a place.
    #[inline]
    fn placed<M: Medium>(board: Board<'_, Self>, pen: &mut Pen<'_, M>, row: Row<'_>, at: usize, print: u8) {
        let _ = (board, pen, row, at, print);
    }

    /// No pair is at a place any more.
    #[inline]
    fn vacated<M: Medium>(board: Board<'_, Self>, pen: &mut Pen<'_, M>, row: Row<'_>, at: usize) {
        let _ = (board, pen, row, at);
    }

    /// The fingerprint of the pair at a place, if the guide keeps such.
    fn print(board: Board<'_, Self>, at: usize) -> u8 {
        let _ = (board, at);
        0
    }

    /// Writes all signs anew; `print` gives the fingerprint of an index.
    fn derive<M: Medium>(board: Board<'_, Self>, pen: &mut Pen<'_, M>, row: Row<'_>, print: impl Fn(usize) -> u8) {
        let _ = (board, pen, row, print);
    }
}

/// The fingerprint of the pair at an index, from what its slot leads to; 0 where that is nothing.
pub(crate) fn print_of<K: Keys>(lens: Lens<'_, K>, row: Row<'_>, index: usize) -> u8 {
    lens.keys.key(row.slot(index)).map_or(0, |key| K::print(K::probe(&key)))
}
