//! The pairs with a head, found with vectors.

use holm_medium::{Word, atomics};
use holm_search::Search;
use std::iter::from_fn;

/// Of the words of pairs, those with a head.
const HEADS: u64 = 0x5555_5555_5555_5555;

/// Returns those words of some pairs that are heads and equal `head`, as bits. The pairs fill as many lines as a kernel
/// compares at once.
#[inline]
pub(crate) fn words_with_head(search: Search, pairs: &[Word], head: u64) -> u64 {
    search.words_equal(atomics(pairs), head) & HEADS
}

/// Returns the indices of these pairs, ascending.
#[inline]
pub(crate) fn pairs_with_head(search: Search, pairs: &[Word], head: u64) -> impl Iterator<Item = usize> + use<> {
    let mut rest = words_with_head(search, pairs, head);
    from_fn(move || {
        let word = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(word / 2)
    })
}
