//! An ordered map in memory: the modular B+-tree, for programs whose maps are too large for the standard library's.
//!
//! The design is by Sasaki and Araki, "Modularizing B+-Trees: Three-Level B+-Trees Work Fine". The lower a level, the
//! more often it is written. So leaves are built for writes, the root is built for reads, and each level has its own
//! node size and search. All choices are types: a [`Selection`] is compiled as one unit, and no operation tests the
//! kind of a node. Two selections are recommended, [`Fast`] and [`Paper`]. `docs/map.md` says when to use which, and
//! how to write another.
//!
//! Keys are numbers or tuples of them, of sixteen bytes at most ([`Key`]); values have any type. In addition to the
//! usual methods of an ordered map there are batches: [`Map::get_many`], [`Map::insert_many`] and [`Map::remove_many`].
//! A batch overlaps the cache misses of many searches, where a single operation waits for each miss.
//!
//! The map does not support concurrent writers. It is `Send` and `Sync` if its values are, and a writer excludes
//! readers.

#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "it maps memory and hands out places in it")]
mod area;
mod bulk;
mod copy;
mod entry;
#[allow(
    unsafe_code,
    reason = "it lends several values mutably at a time, and reads the slots that it sorted unchecked"
)]
mod iter;
mod key;
#[allow(unsafe_code, reason = "it manages pairs in memory that has no other owner")]
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
#[allow(unsafe_code, reason = "it turns slots into references")]
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
pub use search::{Binary, Counting, Examining, HybridBinary, HybridInterpolation, Node, Scalar, Search, Stepping};
pub use tuner::{Measured, Mix, Tuned, Tuner, TunerError};
pub use variants::{Inner, Leaves, Three};
