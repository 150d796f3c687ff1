//! Selections that are ready to use: two recommended ones, and others that are faster for some keys. [`crate::Tuner`]
//! measures which one is. `docs/map.md` says which to use, and how to choose level by level.

use crate::area::Pages;
use crate::key::Key;
use crate::leaf::{Fingerprinted, FingerprintedLevel, Paged, PagedLevel, Sorted, Unsorted};
use crate::level::{Level, Selection};
use crate::nodes::Sampled;
use crate::search::{Examining, HybridBinary, HybridInterpolation};
use holm_search::Hint;

/// The selection for current processors: leaves of fingerprints, and nodes whose samples lead the search.
#[derive(Debug)]
pub enum Fast {}

impl Selection for Fast {
    type Leaf<K: Key, V> = Fingerprinted<K, V, FastLeaf>;
    type First = FastGlue;
    type Second = FastRoot;
    type Above = FastRoot;
}

/// The leaves of [`Fast`].
#[derive(Debug)]
pub enum FastLeaf {}

impl FingerprintedLevel for FastLeaf {
    const SLOTS: usize = 56;
}

/// Level 1 of [`Fast`].
#[derive(Debug)]
pub enum FastGlue {}

impl Level for FastGlue {
    type Search = Sampled;
    const BYTES: usize = 512;
    const WIDE_BYTES: usize = 1024;
}

/// Levels 2 and up of [`Fast`].
#[derive(Debug)]
pub enum FastRoot {}

impl Level for FastRoot {
    type Search = Sampled;
    const BYTES: usize = 32 << 10;
    const WIDE_BYTES: usize = 64 << 10;
}

/// The best selection of the paper, with its sizes: unsorted leaves of 512 bytes of keys below sorted nodes of 512
/// bytes. Both are searched line by line. Above them is a large sorted root with interpolation, here with a guard.
#[derive(Debug)]
pub enum Paper {}

impl Selection for Paper {
    type Leaf<K: Key, V> = Paged<K, V, PaperLeaf>;
    type First = PaperGlue;
    type Second = PaperRoot;
    type Above = PaperRoot;
}

/// The leaves of [`Paper`].
#[derive(Debug)]
pub enum PaperLeaf {}

impl PagedLevel for PaperLeaf {
    type Order = Unsorted;
    const BYTES: usize = 512;
    const PAIR_PAGES: Pages = Pages::Large;
}

/// Level 1 of [`Paper`].
#[derive(Debug)]
pub enum PaperGlue {}

impl Level for PaperGlue {
    type Search = Examining;
    const BYTES: usize = 512;
    const IDENTIFIERS: Hint = Hint::T0;
}

/// Levels 2 and up of [`Paper`].
#[derive(Debug)]
pub enum PaperRoot {}

impl Level for PaperRoot {
    type Search = HybridInterpolation;
    const BYTES: usize = 32 << 10;
    const WIDE_BYTES: usize = 128 << 10;
}

/// As [`Fast`], with leaves half as large: a split moves less and a scan sorts less, and there are more inner nodes.
#[derive(Debug)]
pub enum FastNarrow {}

impl Selection for FastNarrow {
    type Leaf<K: Key, V> = Fingerprinted<K, V, FastNarrowLeaf>;
    type First = FastGlue;
    type Second = FastRoot;
    type Above = FastRoot;
}

/// The leaves of [`FastNarrow`].
#[derive(Debug)]
pub enum FastNarrowLeaf {}

impl FingerprintedLevel for FastNarrowLeaf {
    const SLOTS: usize = 28;
}

/// The leaves of [`Paper`] below the nodes of [`Fast`]. A leaf's identifiers are prefetched when a search enters it.
/// The paper found that this does not pay; on later caches it does.
#[derive(Debug)]
pub enum PaperAhead {}

impl Selection for PaperAhead {
    type Leaf<K: Key, V> = Paged<K, V, PaperAheadLeaf>;
    type First = FastGlue;
    type Second = FastRoot;
    type Above = FastRoot;
}

/// The leaves of [`PaperAhead`].
#[derive(Debug)]
pub enum PaperAheadLeaf {}

impl PagedLevel for PaperAheadLeaf {
    type Order = Unsorted;
    const BYTES: usize = 512;
    const IDENTIFIERS: Hint = Hint::T0;
    const SHARING: usize = 40;
}

/// Sorted leaves below the nodes of [`Fast`]: a scan need not sort them.
#[derive(Debug)]
pub enum SortedPages {}

impl Selection for SortedPages {
    type Leaf<K: Key, V> = Paged<K, V, SortedPagesLeaf>;
    type First = FastGlue;
    type Second = FastRoot;
    type Above = FastRoot;
}

/// The leaves of [`SortedPages`].
#[derive(Debug)]
pub enum SortedPagesLeaf {}

impl PagedLevel for SortedPagesLeaf {
    type Order = Sorted<HybridBinary>;
    const BYTES: usize = 512;
    const IDENTIFIERS: Hint = Hint::T0;
    const SHARING: usize = 40;
}
