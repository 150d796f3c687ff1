//! Sentinels: for each line, the head of its first slot. They determine the line in which a key lies, and the search
//! reads only that line.
//!
//! `sign[j]` is the head at the first place of line `j`. It is all ones where that place is vacant: no search key has a
//! greater head, so a vacant line never counts as passed. In a row that wraps around the end, the sentinels ascend from
//! the line behind the base's line. The number of lesser sentinels is the number of lines to pass, in whichever order
//! they are counted.

use super::{Board, Guide, Signs, Sweep};
use crate::row::Row;
use holm_medium::{Medium, WriteHandle};
use holm_search::Search;
use holm_tree::keys::{Keys, Role};
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

/// A sentinel for each line: `S` determines where they lie, `W` how they are searched.
pub struct Sentinels<S, W>(PhantomData<(S, W)>);

/// The sentinel of a line without a pair in its first place.
const VACANT: u64 = u64::MAX;

impl<S: Signs, W: Sweep> Sentinels<S, W> {
    fn set<M: Medium>(
        board: Board<'_, Self>,
        handle: &mut WriteHandle<'_, M>,
        row: Row<'_>,
        at: usize,
        head: impl Fn() -> u64,
    ) {
        let line = row.line(at);
        if row.first(line) == at {
            S::set(board.inlaid, board.volatile, handle, line, head());
        }
    }
}

impl<S: Signs, W: Sweep> Guide for Sentinels<S, W> {
    type Inlaid = S::Inlaid;
    type Volatile = S::Volatile;
    const MOST_SLOTS: usize = S::WORDS * crate::row::LINE_SLOTS;

    #[inline]
    fn rank<K: Keys>(board: Board<'_, Self>, row: Row<'_>, search: Search, head: u64) -> usize {
        let words = &S::words(board.inlaid, board.volatile)[..row.lines()];
        // The first line whose first place is in use. It is the base's own line only if the base is that first place.
        let own = row.line(row.base());
        let start = if row.first(own) == row.base() { own } else { own + 1 };
        let around = |line: usize| if line < words.len() { line } else { line - words.len() };
        let passed = W::below(search, words, around(start), head).min(words.len());
        let boundary = |passed: usize| row.index(row.first(around(start + passed)));
        let next = if passed < words.len() { boundary(passed) } else { row.count() };
        // The answer is the next line's first slot, known without reading it: no other slot has the same head.
        if K::UNIQUE == Role::Head
            && passed < words.len()
            && next < row.count()
            && words[around(start + passed)].load(Relaxed) == head
        {
            return next;
        }
        let from = passed.checked_sub(1).map_or(0, boundary).min(row.count());
        // The row continues at its start after the last boundary.
        let to = if next > from { next.min(row.count()) } else { row.count() };
        row.scan(from, to, head)
    }

    #[inline]
    fn moved<M: Medium>(board: Board<'_, Self>, handle: &mut WriteHandle<'_, M>, row: Row<'_>, _: usize, to: usize) {
        Self::set(board, handle, row, to, || row.pair(to).head.read());
    }

    #[inline]
    fn placed<M: Medium>(board: Board<'_, Self>, handle: &mut WriteHandle<'_, M>, row: Row<'_>, at: usize, _: u8) {
        Self::set(board, handle, row, at, || row.pair(at).head.read());
    }

    #[inline]
    fn vacated<M: Medium>(board: Board<'_, Self>, handle: &mut WriteHandle<'_, M>, row: Row<'_>, at: usize) {
        Self::set(board, handle, row, at, || VACANT);
    }

    fn derive<M: Medium>(
        board: Board<'_, Self>,
        handle: &mut WriteHandle<'_, M>,
        row: Row<'_>,
        _: impl Fn(usize) -> u8,
    ) {
        for line in 0..row.lines() {
            let at = row.first(line);
            let head = if row.index(at) < row.count() { row.pair(at).head.read() } else { VACANT };
            S::set(board.inlaid, board.volatile, handle, line, head);
        }
    }
}
