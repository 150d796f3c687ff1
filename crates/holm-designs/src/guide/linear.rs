//! The papers' linear scan without signs: slot by slot from the lowest.

use super::{Board, Guide};
use crate::row::Row;
use holm_search::Search;
use holm_tree::keys::Keys;

/// Linear scan.
pub struct Linear;

impl Guide for Linear {
    type Inlaid = ();
    type Volatile = ();

    #[inline]
    fn rank<K: Keys>(_: Board<'_, Self>, row: Row<'_>, _: Search, head: u64) -> usize {
        let [front, rest] = row.parts();
        let scan = |part: &[super::Pair]| part.iter().position(|pair| pair.head.read() >= head);
        scan(front).or_else(|| scan(rest).map(|index| front.len() + index)).unwrap_or(row.count())
    }
}
