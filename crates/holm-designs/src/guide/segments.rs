//! Circ-Tree's search by segments, without signs. If a row continues from place 0, one read there decides which of the
//! two segments to scan.

use super::{Board, Guide};
use crate::row::Row;
use holm_search::Search;
use holm_tree::keys::Keys;

/// Linear scan of the one segment that can hold the key.
pub struct Segments;

impl Guide for Segments {
    type Inlaid = ();
    type Volatile = ();

    #[inline]
    fn rank<K: Keys>(_: Board<'_, Self>, row: Row<'_>, _: Search, head: u64) -> usize {
        let [front, rest] = row.parts();
        let scan = |part: &[super::Pair]| part.iter().position(|pair| pair.head.read() >= head).unwrap_or(part.len());
        // If the second segment's first head is not less than the search key's, the search starts in the first segment.
        match rest.first().filter(|pair| pair.head.read() < head) {
            Some(_) => front.len() + scan(rest),
            None => scan(front),
        }
    }
}
