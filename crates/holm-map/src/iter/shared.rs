//! Iterators over shared references. They return keys by value, because keys are numbers. This is one of the files
//! where `unsafe` is allowed.

use super::Reading;
use crate::key::Key;
use crate::level::Selection;
use crate::presets::Fast;
use crate::tree::Tree;
use std::fmt;
use std::iter::FusedIterator;

/// The least and the greatest item, in O(log n), for iterators whose items are `by_key`: no two keys are equal.
macro_rules! ends_in_order {
    (by_key) => {
        /// In O(log n): items come in the order of their keys.
        fn min(mut self) -> Option<Self::Item>
        where
            Self::Item: Ord,
        {
            self.next()
        }

        /// In O(log n): items come in the order of their keys.
        fn max(mut self) -> Option<Self::Item>
        where
            Self::Item: Ord,
        {
            self.next_back()
        }
    };
    (by_value) => {};
}

pub(super) use ends_in_order;

/// An iterator over the pairs between two keys. [`crate::Map::range`] returns it.
pub struct Range<'a, K: Key, V, S: Selection = Fast> {
    pub(crate) tree: &'a Tree<K, V, S>,
    pub(crate) walk: Reading<K, V, S>,
}

/// An iterator over all pairs. [`crate::Map::iter`] returns it.
pub struct Iter<'a, K: Key, V, S: Selection = Fast> {
    pub(crate) range: Range<'a, K, V, S>,
    pub(crate) left: usize,
}

/// An iterator over all keys. [`crate::Map::keys`] returns it.
pub struct Keys<'a, K: Key, V, S: Selection = Fast>(pub(crate) Iter<'a, K, V, S>);

/// An iterator over all values, in the order of their keys. [`crate::Map::values`] returns it.
pub struct Values<'a, K: Key, V, S: Selection = Fast>(pub(crate) Iter<'a, K, V, S>);

impl<'a, K: Key, V, S: Selection> Iterator for Range<'a, K, V, S> {
    type Item = (K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: the walk reads this tree alone, which is borrowed while the walk exists.
        let (lane, place) = unsafe { self.walk.next(self.tree) }?;
        // SAFETY: the walk found the place just now.
        Some((K::of_lane(lane), unsafe { self.tree.value_found(place) }))
    }

    /// In O(log n), without the pairs before it.
    fn last(mut self) -> Option<Self::Item> {
        self.next_back()
    }

    ends_in_order!(by_key);
}

impl<K: Key, V, S: Selection> DoubleEndedIterator for Range<'_, K, V, S> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        // SAFETY: as above.
        let (lane, place) = unsafe { self.walk.next_back(self.tree) }?;
        // SAFETY: as above.
        Some((K::of_lane(lane), unsafe { self.tree.value_found(place) }))
    }
}

impl<K: Key, V, S: Selection> FusedIterator for Range<'_, K, V, S> {}

impl<K: Key, V, S: Selection> Clone for Range<'_, K, V, S> {
    fn clone(&self) -> Self {
        Self { tree: self.tree, walk: self.walk.clone() }
    }
}

impl<K: Key, V, S: Selection> Clone for Iter<'_, K, V, S> {
    fn clone(&self) -> Self {
        Self { range: self.range.clone(), left: self.left }
    }
}

impl<K: Key, V: fmt::Debug, S: Selection> fmt::Debug for Range<'_, K, V, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.clone()).finish()
    }
}

impl<K: Key, V: fmt::Debug, S: Selection> fmt::Debug for Iter<'_, K, V, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.range.fmt(out)
    }
}

/// `Clone` and `Debug` for iterators that wrap another iterator: they delegate to it.
macro_rules! cloned {
    ($name:ident) => {
        impl<K: Key, V, S: Selection> Clone for $name<'_, K, V, S> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl<K: Key, V: fmt::Debug, S: Selection> fmt::Debug for $name<'_, K, V, S> {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.debug_list().entries(self.clone()).finish()
            }
        }
    };
}

cloned!(Keys);
cloned!(Values);

/// Double-ended iterators of known length that wrap another iterator.
macro_rules! exact {
    ($name:ident => $item:ty, $ordered:ident, $self:ident: $inner:expr, $pair:pat => $value:expr, $len:expr) => {
        impl<'a, K: Key, V, S: Selection> Iterator for $name<'a, K, V, S> {
            type Item = $item;

            #[inline]
            fn next(&mut $self) -> Option<$item> {
                let $pair = $inner.next()?;
                Some($value)
            }

            fn size_hint(&$self) -> (usize, Option<usize>) {
                ($len, Some($len))
            }

            /// In O(1).
            fn count($self) -> usize {
                $len
            }

            /// In O(log n), without the pairs before it.
            fn last(mut $self) -> Option<$item> {
                $self.next_back()
            }

            ends_in_order!($ordered);
        }

        impl<K: Key, V, S: Selection> DoubleEndedIterator for $name<'_, K, V, S> {
            #[inline]
            fn next_back(&mut $self) -> Option<Self::Item> {
                let $pair = $inner.next_back()?;
                Some($value)
            }
        }

        impl<K: Key, V, S: Selection> ExactSizeIterator for $name<'_, K, V, S> {}
        impl<K: Key, V, S: Selection> FusedIterator for $name<'_, K, V, S> {}
    };
}

pub(super) use exact;

exact!(Iter => (K, &'a V), by_key, self: self.range, pair => { self.left -= 1; pair }, self.left);
exact!(Keys => K, by_key, self: self.0, (key, _) => key, self.0.left);
exact!(Values => &'a V, by_value, self: self.0, (_, value) => value, self.0.left);
