//! Parts of the paper's trees, each a type: levels by search, size, pages and prefetches; and trees.

use super::btree::BTree;
use holm_map::{
    Examining, Hint, HybridInterpolation, Key, Level, Map, Order, Paged, PagedLevel, Pages, Real, Scalar, Search,
    Selection, Sorted, Unsorted,
};
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// The values of most figures.
pub(super) type Value = [u8; 28];

/// The series of a B-tree with pairs in its nodes.
pub(super) const INSIDE: &str = "B-tree, values inside";

/// A B-tree with values in its nodes, of as many pairs and children.
pub(super) type Inside<const SLOTS: usize, const CHILDREN: usize> = BTree<Real<f32>, 28, SLOTS, CHILDREN>;

/// The standard library's map, with values of `BYTES` bytes.
pub(super) type Typical<const BYTES: usize> = BTreeMap<Real<f32>, [u8; BYTES]>;

/// The paper's tree with values of `BYTES` bytes, and with keys of another type.
pub(super) type Wide<const BYTES: usize> = Map<Real<f32>, [u8; BYTES], Single<Scalar, 256>>;
pub(super) type Keyed<K> = Map<K, Value, Single<Scalar, 256>>;

/// A level, leaf or inner, with nodes of `BYTES` bytes, searched by `S`.
pub(super) enum At<S, const BYTES: usize> {
    _Never(PhantomData<S>, std::convert::Infallible),
}

impl<S: Search, const BYTES: usize> Level for At<S, BYTES> {
    type Search = S;
    const BYTES: usize = BYTES;
    const PAGES: Pages = Pages::Small;
}

impl<S: Order, const BYTES: usize> PagedLevel for At<S, BYTES> {
    type Order = S;
    const BYTES: usize = BYTES;
    const PAGES: Pages = Pages::Small;
    const PAIR_PAGES: Pages = Pages::Small;
}

/// The same level with its areas on large pages.
pub(super) struct Large<L>(PhantomData<L>);

impl<L: Level> Level for Large<L> {
    type Search = L::Search;
    const BYTES: usize = L::BYTES;
    const IDENTIFIERS: Hint = L::IDENTIFIERS;
}

impl<L: PagedLevel> PagedLevel for Large<L> {
    type Order = L::Order;
    const BYTES: usize = L::BYTES;
    const IDENTIFIERS: Hint = L::IDENTIFIERS;
}

/// A hint, as a type.
pub(super) trait Hinted {
    const HINT: Hint;
}

macro_rules! hints {
    ($($name:ident)*) => { $(
        pub(super) enum $name {}

        impl Hinted for $name {
            const HINT: Hint = Hint::$name;
        }
    )* };
}

hints!(T0 T1 T2 NonTemporal);

/// The same level with its identifiers prefetched by a hint.
pub(super) struct Ahead<L, H = T0>(PhantomData<(L, H)>);

impl<L: Level, H: Hinted + 'static> Level for Ahead<L, H> {
    type Search = L::Search;
    const BYTES: usize = L::BYTES;
    const PAGES: Pages = L::PAGES;
    const IDENTIFIERS: Hint = H::HINT;
}

impl<L: PagedLevel, H: Hinted + 'static> PagedLevel for Ahead<L, H> {
    type Order = L::Order;
    const BYTES: usize = L::BYTES;
    const PAGES: Pages = L::PAGES;
    const PAIR_PAGES: Pages = L::PAIR_PAGES;
    const IDENTIFIERS: Hint = H::HINT;
}

/// A tree: its leaf, its level 1, and the levels above.
pub(super) struct Three<L, F, R>(PhantomData<(L, F, R)>);

impl<L: PagedLevel, F: Level, R: Level> Selection for Three<L, F, R> {
    type Leaf<K: Key, V> = Paged<K, V, L>;
    type First = F;
    type Second = R;
    type Above = R;
}

/// One type of node at all levels, sorted.
pub(super) type Single<S, const BYTES: usize> = Three<At<Sorted<S>, BYTES>, At<S, BYTES>, At<S, BYTES>>;
/// Inner nodes of 512 bytes over a given leaf.
pub(super) type Over<L> = Three<L, At<Examining, 512>, At<Examining, 512>>;
/// Unsorted leaves, level 1 of 512 bytes, and a given root.
pub(super) type Under<R> = Three<At<Unsorted, 512>, At<Examining, 512>, R>;
/// The last step of the paper's sequence, without pages and prefetches.
pub(super) type Root = At<HybridInterpolation, 32768>;
/// The same root, interpolated without a guard: the paper's.
pub(super) type Alone = At<HybridInterpolation<false>, 32768>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_that_of_its_level_whatever_its_pages() {
        type Inner<H> = Ahead<Large<At<Examining, 512>>, H>;
        type Leaf<H> = Large<Ahead<At<Unsorted, 512>, H>>;
        let hints = |inner: [Hint; 4], leaf: [Hint; 4]| {
            assert_eq!(inner, [Hint::T0, Hint::T1, Hint::T2, Hint::NonTemporal]);
            assert_eq!(leaf, inner);
        };
        hints(
            [
                <Inner<T0> as Level>::IDENTIFIERS,
                <Inner<T1> as Level>::IDENTIFIERS,
                <Inner<T2> as Level>::IDENTIFIERS,
                <Inner<NonTemporal> as Level>::IDENTIFIERS,
            ],
            [
                <Leaf<T0> as PagedLevel>::IDENTIFIERS,
                <Leaf<T1> as PagedLevel>::IDENTIFIERS,
                <Leaf<T2> as PagedLevel>::IDENTIFIERS,
                <Leaf<NonTemporal> as PagedLevel>::IDENTIFIERS,
            ],
        );
        assert_eq!(<Large<At<Examining, 512>> as Level>::IDENTIFIERS, Hint::None);
    }
}
