//! Circ-Tree's search by segments with vector instructions: a lookup compares the heads of whole lines of the one
//! segment that can hold the key. Where a key goes is found one by one, as without vectors.

use super::segments::lies_in_rest;
use super::{Board, Guide, Segments};
use crate::heads::pairs_with_head;
use crate::row::Row;
use holm_medium::words;
use holm_search::Search;
use holm_tree::keys::Keys;
use holm_tree::leaf::ReadContext;
use holm_tree::pair::Pair;

/// Comparison of the one segment that can hold the key.
pub struct SegmentVectors;

/// The indices, from `first` on, of those of `PAIRS` pairs at a time whose head is `head`, and the pairs behind the
/// last whole group.
#[inline]
fn grouped<const PAIRS: usize>(
    search: Search,
    (first, part): (usize, &[Pair]),
    head: u64,
) -> (impl Iterator<Item = usize>, (usize, &[Pair])) {
    let (groups, rest) = part.as_chunks::<PAIRS>();
    let found = groups.iter().enumerate().flat_map(move |(group, pairs)| {
        pairs_with_head(search, words(pairs), head).map(move |pair| first + group * PAIRS + pair)
    });
    (found, (first + groups.len() * PAIRS, rest))
}

/// The indices of a part whose head is `head`, ascending: eight lines of pairs at once, and then what is left.
#[inline]
fn equal(search: Search, part: &[Pair], head: u64) -> impl Iterator<Item = usize> {
    let (eight_lines, rest) = grouped::<32>(search, (0, part), head);
    let (four_lines, rest) = grouped::<16>(search, rest, head);
    let (two_lines, rest) = grouped::<8>(search, rest, head);
    let (a_line, (first, rest)) = grouped::<4>(search, rest, head);
    let behind = rest.iter().enumerate().filter(move |(_, pair)| pair.head.read() == head);
    eight_lines.chain(four_lines).chain(two_lines).chain(a_line).chain(behind.map(move |(at, _)| first + at))
}

/// The indices of a row whose head is `head`. Equal heads may lie in both segments.
#[inline]
fn ties(search: Search, row: Row<'_>, head: u64) -> impl Iterator<Item = usize> {
    let [front, rest] = row.parts();
    let front_too = if lies_in_rest([front, rest], head) { &front[..0] } else { front };
    let rest_too = rest.first().filter(|pair| pair.head.read() <= head).map_or(&rest[..0], |_| rest);
    equal(search, front_too, head).chain(equal(search, rest_too, head).map(move |at| front.len() + at))
}

impl Guide for SegmentVectors {
    type Inlaid = ();
    type Volatile = ();

    #[inline]
    fn rank<K: Keys>(_: Board<'_, Self>, row: Row<'_>, search: Search, head: u64) -> usize {
        Segments::rank::<K>(Board { inlaid: &(), volatile: &() }, row, search, head)
    }

    #[inline]
    fn seek<V, K: Keys>(
        _: Board<'_, Self>,
        row: Row<'_>,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<usize> {
        let mut found = ties(context.search, row, K::head(search_key, 0));
        found.find(|index| context.keys.is(row.slot(*index), search_key))
    }

    #[inline]
    fn candidate<V, K: Keys>(
        _: Board<'_, Self>,
        row: Row<'_>,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<usize> {
        ties(context.search, row, K::head(search_key, 0)).next()
    }
}
