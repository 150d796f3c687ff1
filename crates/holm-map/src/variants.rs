//! Selections assembled from parts, for experiments: each of the paper's switches is a type parameter or a constant.
//!
//! `Three<Leaves<Unsorted, 512>, Inner<Examining, 512>, Inner<HybridInterpolation, 16384>>` is a tree of the paper's
//! three levels. `docs/map.md` lists which parts reproduce which of its figures.

use crate::area::Pages;
use crate::key::Key;
use crate::leaf::{Order, Paged, PagedLevel};
use crate::level::{Level, Selection};
use crate::nodes::Layout;
use holm_search::Hint;
use std::marker::PhantomData;

/// How identifiers are prefetched, as a constant can express it: 0 is no prefetch, 1 to 3 prefetch into that level of
/// the cache and those behind it, 4 prefetches past the caches.
const fn hint(ahead: u8) -> Hint {
    match ahead {
        0 => Hint::None,
        1 => Hint::T0,
        2 => Hint::T1,
        3 => Hint::T2,
        4 => Hint::NonTemporal,
        _ => panic!("hints are numbered from 0 to 4"),
    }
}

const fn pages(large: bool) -> Pages {
    if large { Pages::Large } else { Pages::Small }
}

/// Inner nodes of `BYTES` of keys, searched by `Q`, on large or small pages, with identifiers prefetched as `AHEAD`
/// says.
pub struct Inner<Q, const BYTES: usize, const LARGE: bool = false, const AHEAD: u8 = 0>(PhantomData<Q>);

impl<Q: Layout, const BYTES: usize, const LARGE: bool, const AHEAD: u8> Level for Inner<Q, BYTES, LARGE, AHEAD> {
    type Search = Q;
    const BYTES: usize = BYTES;
    const PAGES: Pages = pages(LARGE);
    const IDENTIFIERS: Hint = hint(AHEAD);
}

/// Leaves of `BYTES` of keys in the order `O`, with pairs in the pair area, on large or small pages, with identifiers
/// prefetched as `AHEAD` says.
pub struct Leaves<O, const BYTES: usize, const LARGE: bool = false, const AHEAD: u8 = 0>(PhantomData<O>);

impl<O: Order, const BYTES: usize, const LARGE: bool, const AHEAD: u8> PagedLevel for Leaves<O, BYTES, LARGE, AHEAD> {
    type Order = O;
    const BYTES: usize = BYTES;
    const PAGES: Pages = pages(LARGE);
    const PAIR_PAGES: Pages = pages(LARGE);
    const IDENTIFIERS: Hint = hint(AHEAD);
}

/// Leaves `L`, level 1 `First`, and all levels above `Second`.
pub struct Three<L, First, Second>(PhantomData<(L, First, Second)>);

impl<L: PagedLevel, First: Level, Second: Level> Selection for Three<L, First, Second> {
    type Leaf<K: Key, V> = Paged<K, V, L>;
    type First = First;
    type Second = Second;
    type Above = Second;
}
