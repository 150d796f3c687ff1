//! Circ-Tree's search by segments, without signs. If a row continues from place 0, one read there decides which of the
//! two segments to scan.

use super::{Board, Guide};
use crate::row::Row;
use holm_search::Search;
use holm_tree::keys::Keys;
use holm_tree::pair::Pair;

/// Linear scan of the one segment that can hold the key.
pub struct Segments;

/// Whether a head can only be in the second segment: if that one's first head is not less, the search starts in the
/// first segment.
#[inline]
pub(super) fn lies_in_rest([_, rest]: [&[Pair]; 2], head: u64) -> bool {
    rest.first().is_some_and(|pair| pair.head.read() < head)
}

impl Guide for Segments {
    type Inlaid = ();
    type Volatile = ();

    #[inline]
    fn rank<K: Keys>(_: Board<'_, Self>, row: Row<'_>, _: Search, head: u64) -> usize {
        let [front, rest] = row.parts();
        let scan = |part: &[Pair]| part.iter().position(|pair| pair.head.read() >= head).unwrap_or(part.len());
        if lies_in_rest([front, rest], head) { front.len() + scan(rest) } else { scan(front) }
    }
}
