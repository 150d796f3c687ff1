//! Fingerprints: one byte of each key's hash per slot. A search reads a key only where the byte matches.
//!
//! The byte lies at its slot's place and moves with the pair. If no byte matches, the key is absent. The place where an
//! absent key would go is then found by the linear scan, because hash bytes have no order.

use super::sweep::byte;
use super::{Board, Guide, Linear, Signs, Sweep};
use crate::row::Row;
use holm_medium::{Medium, Pen};
use holm_search::Search;
use holm_tree::keys::Keys;
use holm_tree::leaf::Lens;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::Relaxed;

/// One byte for each slot: `S` determines where the bytes lie, `W` how they are searched.
pub struct Fingerprints<S, W>(PhantomData<(S, W)>);

impl<S: Signs, W: Sweep> Fingerprints<S, W> {
    fn set<M: Medium>(board: Board<'_, Self>, pen: &mut Pen<'_, M>, at: usize, print: u8) {
        let word = S::words(board.inlaid, board.beside)[at / 8].load(Relaxed);
        let shift = at % 8 * 8;
        let word = word & !(0xff << shift) | u64::from(print) << shift;
        S::set(board.inlaid, board.beside, pen, at / 8, word);
    }
}

impl<S: Signs, W: Sweep> Guide for Fingerprints<S, W> {
    type Inlaid = S::Inlaid;
    type Beside = S::Beside;
    const MOST_SLOTS: usize = S::WORDS * 8;

    #[inline]
    fn rank<K: Keys>(_: Board<'_, Self>, row: Row<'_>, search: Search, head: u64) -> usize {
        Linear::rank::<K>(Board { inlaid: &(), beside: &() }, row, search, head)
    }

    #[inline]
    fn seek<K: Keys>(board: Board<'_, Self>, row: Row<'_>, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<usize> {
        let words = S::words(board.inlaid, board.beside);
        let take = |index: usize| lens.keys.is(row.slot(index), probe).then_some(index);
        W::first(lens.search, words, row, K::print(probe), take)
    }

    #[inline]
    fn find<K: Keys>(
        board: Board<'_, Self>,
        row: Row<'_>,
        lens: Lens<'_, K>,
        probe: K::Probe<'_>,
    ) -> Result<usize, usize> {
        match Self::seek(board, row, lens, probe) {
            Some(index) => Ok(index),
            None => Linear::find(Board { inlaid: &(), beside: &() }, row, lens, probe),
        }
    }

    #[inline]
    fn glance<K: Keys>(board: Board<'_, Self>, row: Row<'_>, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<usize> {
        W::first(lens.search, S::words(board.inlaid, board.beside), row, K::print(probe), Some)
    }

    #[inline]
    fn moved<M: Medium>(board: Board<'_, Self>, pen: &mut Pen<'_, M>, _: Row<'_>, from: usize, to: usize) {
        Self::set(board, pen, to, Self::print(board, from));
    }

    #[inline]
    fn placed<M: Medium>(board: Board<'_, Self>, pen: &mut Pen<'_, M>, _: Row<'_>, at: usize, print: u8) {
        Self::set(board, pen, at, print);
    }

    #[inline]
    fn print(board: Board<'_, Self>, at: usize) -> u8 {
        byte(S::words(board.inlaid, board.beside), at)
    }

    fn derive<M: Medium>(board: Board<'_, Self>, pen: &mut Pen<'_, M>, row: Row<'_>, print: impl Fn(usize) -> u8) {
        (0..row.count()).for_each(|index| Self::set(board, pen, row.place(index), print(index)));
    }
}
