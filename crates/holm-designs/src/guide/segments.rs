//! No signs: of a row that goes on from place 0, one look there says which of its two segments to scan (Circ-Tree).

use super::{Board, Guide};
use crate::row::Row;
use holm_search::Search;
use holm_tree::keys::Keys;

/// The one segment that can hold the key, slot by slot.
pub struct Segments;

impl Guide for Segments {
    type Inlaid = ();
    type Beside = ();

    #[inline]
    fn rank<K: Keys>(_: Board<'_, Self>, row: Row<'_>, _: Search, head: u64) -> usize {
        let [front, rest] = row.parts();
        let scan = |part: &[super::Pair]| part.iter().position(|pair| pair.head.read() >= head).unwrap_or(part.len());
        // If the least of the second segment is as great, what is sought starts in the first one.
        match rest.first().filter(|pair| pair.head.read() < head) {
            Some(_) => front.len() + scan(rest),
            None => scan(front),
        }
    }
}
