//! How a node's heads are searched: a type per way. All say how many are at most a given one, and read whole lines.

use crate::sync::atomic::AtomicU64;
use crate::sync::rank;
use holm_search::Search;

/// One way to search sorted heads in whole lines.
pub trait NodeSearch: Send + Sync + 'static {
    /// How many of the first `count` heads are at most `head`.
    fn rank(search: Search, heads: &[AtomicU64], count: usize, head: u64) -> usize;
}

/// All lines are compared, of long nodes eight.
pub struct Compared;

/// Halving over the lines, and vectors in the one that is left.
pub struct Halved;

/// Guessing the line from where the head lies between others, three times at most, and halving what is left then.
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
