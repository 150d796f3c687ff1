//! Binary search without signs. The sentinel paper compares the scan with it.

use super::{Board, Guide};
use crate::row::Row;
use holm_search::Search;
use holm_tree::keys::Keys;

/// Binary search.
pub struct Halving;

impl Guide for Halving {
    type Inlaid = ();
    type Volatile = ();

    #[inline]
    fn rank<K: Keys>(_: Board<'_, Self>, row: Row<'_>, _: Search, head: u64) -> usize {
        let (mut low, mut high) = (0, row.count());
        while low < high {
            let middle = low.midpoint(high);
            if row.head(middle) < head { low = middle + 1 } else { high = middle }
        }
        low
    }
}
