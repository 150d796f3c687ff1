//! How a node's heads are searched: one type per method. All of them count the heads that are at most a given one, and
//! read whole lines.

use crate::sync::atomic::AtomicU64;
use crate::sync::rank;
use holm_search::Search;

/// One method to search sorted heads in whole lines.
pub trait NodeSearch: Send + Sync + 'static {
    /// Returns how many of the first `count` heads are at most `head`.
    fn rank(search: Search, heads: &[AtomicU64], count: usize, head: u64) -> usize;
}

/// Compares all lines; in long nodes, eight.
pub struct Compared;

/// Halves the lines, then compares the remaining line by vector instructions.
pub struct Halved;

/// Guesses the line by interpolation, three times at most, and then halves the rest.
pub struct Interpolated;

impl NodeSearch for Compared {
    #[inline(always)]
    fn rank(search: Search, heads: &[AtomicU64], count: usize, head: u64) -> usize {
        rank(Search::rank, search, heads, count, head)
    }
}

impl NodeSearch for Halved {
    #[inline(always)]
    fn rank(search: Search, heads: &[AtomicU64], count: usize, head: u64) -> usize {
        rank(Search::rank_halving, search, heads, count, head)
    }
}

impl NodeSearch for Interpolated {
    #[inline(always)]
    fn rank(search: Search, heads: &[AtomicU64], count: usize, head: u64) -> usize {
        rank(Search::rank_interpolating, search, heads, count, head)
    }
}
