//! The search over a node: which child has a key. All nodes share it.

use super::{Inner, NodePrefix, PREFIX_WORDS, Shape};
use crate::head::masked;
use crate::keys::Keys;
use crate::long_separators::LongSeparators;
use holm_search::Search;
use std::cmp::Ordering;

/// What every node can do because it is one.
pub trait Route: Inner {
    /// Returns the number of separators.
    #[inline]
    fn len(&self) -> usize {
        self.shape().len
    }

    /// Returns whether the node has only one child.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many of the first `len` heads are less than `head`.
    #[inline]
    fn rank_below(&self, search: Search, len: usize, head: u64) -> usize {
        head.checked_sub(1).map_or(0, |before| self.rank(search, len, before))
    }

    /// Returns what all separators begin with.
    fn prefix(&self) -> NodePrefix {
        let Shape { assured, extra, .. } = self.shape();
        NodePrefix { assured, extra, words: std::array::from_fn(|index| self.prefix_word(index)) }
    }

    /// Returns the first or the last child if the search key lies below or above every key with the node's prefix.
    #[inline]
    fn outermost<K: Keys>(&self, shape: Shape, search_key: K::SearchKey<'_>) -> Option<usize> {
        let Shape { len, assured, extra, .. } = shape;
        for index in 0..extra.div_ceil(8).min(PREFIX_WORDS) {
            // A search key that ends here reads as zeros. If those are equal, the separators end here too, or are long
            // ones.
            match masked(K::head(search_key, assured + index * 8), extra - index * 8).cmp(&self.prefix_word(index)) {
                Ordering::Less => return Some(0),
                Ordering::Greater => return Some(len),
                Ordering::Equal => {}
            }
        }
        None
    }

    /// Returns the child whose range holds the search key.
    #[inline]
    fn route<K: Keys>(&self, search: Search, long_separators: &LongSeparators, search_key: K::SearchKey<'_>) -> usize {
        let shape = self.shape();
        if shape.is_plain() {
            return self.rank(search, shape.len, K::head(search_key, shape.assured));
        }
        self.route_by_more::<K>(search, long_separators, search_key)
    }

    /// The same where heads alone do not determine all separators.
    #[inline(never)]
    fn route_by_more<K: Keys>(
        &self,
        search: Search,
        long_separators: &LongSeparators,
        search_key: K::SearchKey<'_>,
    ) -> usize {
        // The shape is loaded again: passed as an argument, it would be spilled to memory on the way that does not need
        // it.
        let shape = self.shape();
        if let Some(outermost) = self.outermost::<K>(shape, search_key) {
            return outermost;
        }
        let head = K::head(search_key, shape.skip());
        let index = self.rank(search, shape.len, head);
        if !shape.long {
            // The usual case; it avoids reading another line.
            return index;
        }
        match index.checked_sub(1).map(|last| self.entry(last)) {
            Some(last) if last.long != 0 && last.head == head => {
                let below = self.rank_below(search, shape.len, head);
                self.route_among::<K>(long_separators, search_key, below, index)
            }
            _ => index,
        }
    }

    /// Searches the separators whose heads equal the search key's, some of which are long ones. Under a long common
    /// prefix that may be all separators. A separator that its head determines stands before its equals.
    #[cold]
    fn route_among<K: Keys>(
        &self,
        long_separators: &LongSeparators,
        search_key: K::SearchKey<'_>,
        mut below: usize,
        mut above: usize,
    ) -> usize {
        while below < above {
            let middle = below + (above - below) / 2;
            let entry = self.entry(middle);
            if entry.long != 0 && K::compare_long(long_separators, entry.long, search_key) == Ordering::Greater {
                above = middle;
            } else {
                below = middle + 1;
            }
        }
        below
    }

    /// Returns the child whose range holds the greatest key below the search key.
    fn route_below<K: Keys>(
        &self,
        search: Search,
        long_separators: &LongSeparators,
        search_key: K::SearchKey<'_>,
    ) -> usize {
        let shape = self.shape();
        if let Some(outermost) = self.outermost::<K>(shape, search_key) {
            return outermost;
        }
        let head = K::head(search_key, shape.skip());
        let separator = K::to_separator(search_key);
        let (mut below, mut above) = (self.rank_below(search, shape.len, head), self.rank(search, shape.len, head));
        while below < above {
            let middle = below + (above - below) / 2;
            if self.separator::<K>(long_separators, middle, search_key) < separator {
                below = middle + 1;
            } else {
                above = middle;
            }
        }
        below
    }

    /// Returns the separators and children of a node that is about to be rewritten, and frees its long separators.
    fn unpack<K: Keys>(
        &self,
        long_separators: &LongSeparators,
        search_key: K::SearchKey<'_>,
    ) -> (Vec<K::Separator>, Vec<u32>) {
        let len = self.len();
        let separators = (0..len).map(|index| self.separator::<K>(long_separators, index, search_key)).collect();
        let children = (0..=len).map(|index| self.child(index)).collect();
        self.forget_long_separators(long_separators);
        (separators, children)
    }

    /// Frees the long separators of a node that is rewritten, or whose number is reused.
    fn forget_long_separators(&self, long_separators: &LongSeparators) {
        (0..self.len()).for_each(|index| long_separators.forget(self.entry(index).long));
    }

    /// Returns a separator as an owned key. The search key was routed here, so its first bytes are the separator's.
    fn separator<K: Keys>(
        &self,
        long_separators: &LongSeparators,
        index: usize,
        search_key: K::SearchKey<'_>,
    ) -> K::Separator {
        let entry = self.entry(index);
        if entry.long == 0 {
            return K::from_head(search_key, &self.prefix(), entry.head);
        }
        let mut long = Vec::new();
        long_separators.read(entry.long, &mut long);
        K::from_long(&long)
    }
}

impl<I: Inner> Route for I {}
