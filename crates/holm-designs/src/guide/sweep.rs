//! How signs are searched: one by one, as the paper's loops do, or with vector instructions.

use crate::row::Row;
use holm_search::Search;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One way to search signs.
pub trait Sweep: Send + Sync + 'static {
    /// The number of words that are less than `head`. From `start` on, and around the end, the words ascend.
    fn below(search: Search, words: &[AtomicU64], start: usize, head: u64) -> usize;

    /// Calls `take` with the row's indices whose place has this byte, until it returns a result.
    fn first<T>(
        search: Search,
        words: &[AtomicU64],
        row: Row<'_>,
        byte: u8,
        take: impl FnMut(usize) -> Option<T>,
    ) -> Option<T>;
}

/// The byte of a place.
#[inline]
pub(super) fn byte(words: &[AtomicU64], place: usize) -> u8 {
    (words[place / 8].load(Relaxed) >> (place % 8 * 8)) as u8
}

/// Compares signs one by one.
pub struct Scalar;

impl Sweep for Scalar {
    #[inline]
    fn below(_: Search, words: &[AtomicU64], start: usize, head: u64) -> usize {
        let (rest, front) = words.split_at(start.min(words.len()));
        front.iter().chain(rest).take_while(|word| word.load(Relaxed) < head).count()
    }

    #[inline]
    fn first<T>(
        _: Search,
        words: &[AtomicU64],
        row: Row<'_>,
        wanted: u8,
        take: impl FnMut(usize) -> Option<T>,
    ) -> Option<T> {
        (0..row.count()).filter(|index| byte(words, row.place(*index)) == wanted).find_map(take)
    }
}

/// Compares whole lines at once.
pub struct Vector;

/// The number of bytes that one comparison covers.
const LOOK_BYTES: usize = 32;

impl Sweep for Vector {
    /// Compares all of these few words, in whatever order they lie.
    #[inline]
    fn below(search: Search, words: &[AtomicU64], _: usize, head: u64) -> usize {
        search.rank_below(words, words.len(), head)
    }

    #[inline]
    fn first<T>(
        search: Search,
        words: &[AtomicU64],
        row: Row<'_>,
        byte: u8,
        mut take: impl FnMut(usize) -> Option<T>,
    ) -> Option<T> {
        let (looks, _) = words.as_chunks();
        for (number, look) in looks.iter().enumerate() {
            let mut mask = search.bytes_equal(look, byte);
            while mask != 0 {
                let place = number * LOOK_BYTES + mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let index = row.index(place);
                if place < row.places()
                    && index < row.count()
                    && let Some(taken) = take(index)
                {
                    return Some(taken);
                }
            }
        }
        None
    }
}
