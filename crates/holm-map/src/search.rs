//! Searches of a sorted node: each is a type, chosen per level.
//!
//! Each search counts the keys of a node that are below a given key. Greatest lanes, which are below no key, fill the
//! node behind its used keys, so most searches need no length. A *segment* is a cache line.

use crate::key::Key;
use holm_search::{GUESSES, Lane, LaneKernels, Lines, halve, interpolate};
use std::marker::PhantomData;

/// A sorted node, borrowed for a search.
#[derive(Clone, Copy)]
pub struct Node<'a, L> {
    /// The room of the node's keys. Greatest lanes stand behind the used keys; there is at least one of them.
    pub keys: &'a [L],
    /// The used keys of each node of the level, and the number of this node: see [`Node::used`].
    pub(crate) counts: &'a [u32],
    pub(crate) number: usize,
}

impl<L> Node<'_, L> {
    /// Returns how many keys are used. The count lies in another area, so only searches that need it read it.
    #[inline(always)]
    pub fn used(&self) -> usize {
        self.counts[self.number] as usize
    }
}

/// A search of a sorted node.
pub trait Search: 'static {
    /// Returns how many keys are below `key`.
    fn below<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> usize;
}

/// Compares every segment with the tree's vectors. No branch depends on a key, so consecutive searches overlap.
pub struct Counting;

/// Compares segment after segment with the tree's vectors, up to the first one that is not wholly below the key: the
/// paper's linear search.
pub struct Examining;

/// Compares vector after vector of `BYTES` bytes, up to the first one that is not wholly below the key, whatever wider
/// ones the tree has: the paper's linear searches with SSE, 16, and with AVX, 32. A tree without AVX2 compares key
/// after key, and so does any tree of keys of sixteen bytes.
///
/// ```
/// use holm_map::{Inner, Leaves, Map, Sorted, Stepping, Three};
///
/// type Sse = Three<Leaves<Sorted<Stepping<16>>, 256>, Inner<Stepping<16>, 256>, Inner<Stepping<16>, 256>>;
/// let mut map = Map::<i32, (), Sse>::selected();
/// map.insert(7, ());
/// assert!(map.contains_key(&7));
/// ```
pub struct Stepping<const BYTES: usize>;

/// Compares key after key, without vectors.
pub struct Scalar;

/// Binary search over the keys.
pub struct Binary;

/// Binary search over the segments, then vectors in the remaining one.
pub struct HybridBinary;

/// Interpolation search over the segments, then vectors in the remaining one.
///
/// With `GUARDED` it guesses three times and then halves. So keys of any distribution cost at most a [`HybridBinary`]
/// search and three guesses. Without it, the search guesses on, as the paper's does: it walks through the node if the
/// distribution of the keys is far from linear.
pub struct HybridInterpolation<const GUARDED: bool = true>;

impl Search for Counting {
    #[inline(always)]
    fn below<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> usize {
        x.below(node.keys, key)
    }
}

impl Search for Examining {
    #[inline(always)]
    fn below<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> usize {
        let mut count = 0;
        for segment in node.keys.chunks_exact(K::Lane::PER_LINE) {
            let below = x.below(segment, key);
            count += below;
            if below < K::Lane::PER_LINE {
                break;
            }
        }
        count
    }
}

impl<const BYTES: usize> Search for Stepping<BYTES> {
    #[inline(always)]
    fn below<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> usize {
        x.below_by::<BYTES, _>(node.keys, key)
    }
}

impl Search for Scalar {
    #[inline(always)]
    fn below<K: Key, X: LaneKernels>(_: X, node: Node<'_, K::Lane>, key: K::Lane) -> usize {
        node.keys.iter().position(|lane| *lane >= key).unwrap_or(node.keys.len())
    }
}

impl Search for Binary {
    #[inline(always)]
    fn below<K: Key, X: LaneKernels>(_: X, node: Node<'_, K::Lane>, key: K::Lane) -> usize {
        node.keys[..node.used()].partition_point(|lane| *lane < key)
    }
}

/// A node's keys and the key that is searched for: the keys below it precede.
struct Row<'a, K: Key, X> {
    x: X,
    keys: &'a [K::Lane],
    key: K::Lane,
    of: PhantomData<K>,
}

impl<K: Key, X: Copy> Clone for Row<'_, K, X> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K: Key, X: Copy> Copy for Row<'_, K, X> {}

impl<K: Key, X: LaneKernels> Lines for Row<'_, K, X> {
    const PER_LINE: usize = K::Lane::PER_LINE;

    #[inline(always)]
    fn begins_before(self, line: usize) -> bool {
        self.keys[line * Self::PER_LINE] < self.key
    }

    #[inline(always)]
    fn preceding(self, line: usize) -> usize {
        self.x.below(&self.keys[line * Self::PER_LINE..][..Self::PER_LINE], self.key)
    }

    #[inline(always)]
    fn position(self, line: usize) -> f64 {
        K::position(self.keys[line * Self::PER_LINE])
    }

    #[inline(always)]
    fn sought(self) -> f64 {
        K::position(self.key)
    }
}

/// Returns how many segments have at least one used key; 1 if none has.
#[inline(always)]
fn used_segments<L: Lane>(node: Node<'_, L>) -> usize {
    node.used().div_ceil(L::PER_LINE).max(1)
}

impl Search for HybridBinary {
    #[inline(always)]
    fn below<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> usize {
        halve(Row::<K, X> { x, keys: node.keys, key, of: PhantomData }, 0, used_segments(node))
    }
}

impl<const GUARDED: bool> Search for HybridInterpolation<GUARDED> {
    #[inline(always)]
    fn below<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> usize {
        let row = Row::<K, X> { x, keys: node.keys, key, of: PhantomData };
        interpolate(row, used_segments(node), if GUARDED { GUESSES } else { usize::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Real;
    use holm_search::{Vectors, with_vectors};

    fn check<S: Search, K: Key>(sorted: &[K], capacity: usize) {
        let mut keys = vec![K::Lane::GREATEST; capacity];
        keys.iter_mut().zip(sorted).for_each(|(lane, key)| *lane = key.lane());
        let used = sorted.len() as u32;
        let ends = [K::Lane::LEAST, K::Lane::GREATEST];
        for key in keys[..sorted.len()].iter().copied().chain(ends) {
            let below = sorted.iter().filter(|other| other.lane() < key).count();
            for vectors in Vectors::all_available() {
                let node = Node { keys: &keys, counts: &[used], number: 0 };
                let found = with_vectors!(vectors, x => S::below::<K, _>(x, node, key));
                assert_eq!(found, below, "{key:?} among {used} of {capacity}, {}", vectors.name());
            }
        }
    }

    fn check_lengths<S: Search>() {
        let lengths: &[usize] = if cfg!(miri) { &[0, 7, 17] } else { &[0, 1, 7, 16, 17, 100, 255, 256] };
        for used in lengths.iter().copied() {
            let spread = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut uniform: Vec<u64> = (0..used).map(spread).collect();
            uniform.sort_unstable();
            check::<S, u64>(&uniform, 256);
            let logarithmic: Vec<u64> = (0..used).map(|at| 1 << (at / 5 % 64) | (at as u64 % 5)).collect();
            let mut logarithmic = logarithmic;
            logarithmic.sort_unstable();
            check::<S, u64>(&logarithmic, 512);
            let mut reals: Vec<_> =
                (0..used).filter_map(|at| Real::new(f32::from_bits(spread(at) as u32)).ok()).collect();
            reals.extend([f32::NEG_INFINITY, f32::INFINITY].map(|end| Real::new(end).unwrap()));
            reals.sort_unstable();
            check::<S, Real<f32>>(&reals[..reals.len().min(256)], 256);
        }
    }

    #[test]
    fn every_search_counts_the_lesser_keys() {
        check_lengths::<Counting>();
        check_lengths::<Examining>();
        check_lengths::<Stepping<16>>();
        check_lengths::<Stepping<32>>();
        check_lengths::<Scalar>();
        check_lengths::<Binary>();
        check_lengths::<HybridBinary>();
        check_lengths::<HybridInterpolation>();
        check_lengths::<HybridInterpolation<false>>();
    }
}
