//! Fingerprints: one byte of each key's hash per slot. A search reads a key only where the byte matches.
//!
//! The byte lies at its slot's place and moves with the pair. If no byte matches, the key is absent. The place where an
//! absent key would go is then found by the linear scan, because hash bytes have no order.

use super::sweep::byte;
use super::{Board, Guide, Linear, Signs, Sweep};
use crate::row::Row;
use holm_medium::{Medium, WriteHandle};
use holm_search::Search;
use holm_tree::keys::Keys;
use holm_tree::leaf::ReadContext;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

/// One byte for each slot: `S` determines where the bytes lie, `W` how they are searched.
pub struct Fingerprints<S, W>(PhantomData<(S, W)>);

impl<S: Signs, W: Sweep> Fingerprints<S, W> {
    fn set<M: Medium>(board: Board<'_, Self>, handle: &mut WriteHandle<'_, M>, at: usize, fingerprint: u8) {
        let word = S::words(board.inlaid, board.volatile)[at / 8].load(Relaxed);
        let shift = at % 8 * 8;
        let word = word & !(0xff << shift) | u64::from(fingerprint) << shift;
        S::set(board.inlaid, board.volatile, handle, at / 8, word);
    }
}

impl<S: Signs, W: Sweep> Guide for Fingerprints<S, W> {
    type Inlaid = S::Inlaid;
    type Volatile = S::Volatile;
    const MOST_SLOTS: usize = S::WORDS * 8;

    #[inline]
    fn rank<K: Keys>(_: Board<'_, Self>, row: Row<'_>, search: Search, head: u64) -> usize {
        Linear::rank::<K>(Board { inlaid: &(), volatile: &() }, row, search, head)
    }

    #[inline]
    fn seek<V, K: Keys>(
        board: Board<'_, Self>,
        row: Row<'_>,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<usize> {
        let words = S::words(board.inlaid, board.volatile);
        let take = |index: usize| context.keys.is(row.slot(index), search_key).then_some(index);
        W::first(context.search, words, row, K::fingerprint(search_key), take)
    }

    #[inline]
    fn find<V, K: Keys>(
        board: Board<'_, Self>,
        row: Row<'_>,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> Result<usize, usize> {
        match Self::seek(board, row, context, search_key) {
            Some(index) => Ok(index),
            None => Linear::find(Board { inlaid: &(), volatile: &() }, row, context, search_key),
        }
    }

    #[inline]
    fn candidate<V, K: Keys>(
        board: Board<'_, Self>,
        row: Row<'_>,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<usize> {
        W::first(context.search, S::words(board.inlaid, board.volatile), row, K::fingerprint(search_key), Some)
    }

    #[inline]
    fn moved<M: Medium>(board: Board<'_, Self>, handle: &mut WriteHandle<'_, M>, _: Row<'_>, from: usize, to: usize) {
        Self::set(board, handle, to, Self::fingerprint(board, from));
    }

    #[inline]
    fn placed<M: Medium>(
        board: Board<'_, Self>,
        handle: &mut WriteHandle<'_, M>,
        _: Row<'_>,
        at: usize,
        fingerprint: u8,
    ) {
        Self::set(board, handle, at, fingerprint);
    }

    #[inline]
    fn fingerprint(board: Board<'_, Self>, at: usize) -> u8 {
        byte(S::words(board.inlaid, board.volatile), at)
    }

    fn derive<M: Medium>(
        board: Board<'_, Self>,
        handle: &mut WriteHandle<'_, M>,
        row: Row<'_>,
        fingerprint: impl Fn(usize) -> u8,
    ) {
        (0..row.count()).for_each(|index| Self::set(board, handle, row.place(index), fingerprint(index)));
    }
}
