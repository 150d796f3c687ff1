//! An ordered map in memory: the modular B+-tree, for those who have outgrown the standard library's.
//!
//! After Sasaki and Araki, "Modularizing B+-Trees: Three-Level B+-Trees Work Fine": the lower a level, the more often
//! it is written, so leaves are made for writing, the root for reading, and each level's nodes have the size and the
//! search that suit it. All choices are types: a [`Selection`] is compiled as one, and no node is asked what it is.
//! Two are ready to use, [`Fast`] and [`Paper`]; `docs/map.md` says when to take which and how to make another.
//!
//! Keys are numbers ([`Key`]), values are anything. Beside what an ordered map usually offers there are batches
//! ([`Map::get_many`], [`Map::insert_many`], [`Map::remove_many`]), which keep the memory busy where one operation
//! alone would wait for it.
//!
//! What is left out: threads. A map is `Send` and `Sync` as far as its values are, and one writer excludes readers.

#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "it maps memory and hands out places in it")]
mod area;
mod bulk;
mod entry;
#[allow(unsafe_code, reason = "values that are lent to be changed, several at a time")]
mod iter;
mod key;
#[allow(unsafe_code, reason = "pairs come and go in memory that nobody else drops")]
mod leaf;
mod level;
mod many;
mod map;
mod nodes;
mod presets;
mod search;
mod traits;
mod tree;
mod tuner;
#[allow(unsafe_code, reason = "the way from a slot to a reference")]
mod values;
mod variants;

pub use area::Pages;
pub use bulk::NotAscending;
pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use holm_search::{Hint, Vectors};
pub use iter::{ExtractIf, IntoIter, Iter, IterMut, Keys, Range, RangeMut, Values, ValuesMut};
pub use key::{Key, NotANumber, Real};
pub use leaf::{Fingerprinted, FingerprintedLevel, Order, Paged, PagedLevel, Sorted, Unsorted};
pub use level::{Level, Selection};
pub use map::Map;
pub use nodes::{Layout, Sampled};
pub use presets::{Fast, FastGlue, FastLeaf, FastRoot, Paper, PaperGlue, PaperLeaf, PaperRoot};
pub use presets::{FastNarrow, FastNarrowLeaf, PaperAhead, PaperAheadLeaf, SortedPages, SortedPagesLeaf};
pub use search::{Binary, Counting, Examining, HybridBinary, HybridInterpolation, Node, Scalar, Search};
pub use tuner::{Measured, Mix, Tuned, Tuner, TunerError};
pub use variants::{Inner, Leaves, Three};
