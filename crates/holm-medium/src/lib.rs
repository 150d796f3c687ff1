//! The storage layer of Holm: mapped areas, the capability to write to them, epochs, and the epoch log.
//!
//! A [`Word`] is eight durable bytes. A [`Loc`] is a typed offset in an [`Image`], which is the cache's view of both
//! areas. A [`WriteHandle`] is the capability to write, lent for one call. A [`Medium`] sees each write, flush and
//! fence. The [`Clock`] labels operations with epochs. A [`Storage`] combines a medium with its clock and its free
//! space. This crate knows nothing of trees.
#![deny(unsafe_code)]

mod block_buffer;
mod copy;
mod counters;
mod epoch;
mod epoch_observer;
mod epoch_timer;
pub mod error;
#[allow(unsafe_code, reason = "a room for it: flush instructions by address")]
mod flush;
#[allow(unsafe_code, reason = "a room for it: offsets become references here")]
mod image;
mod journaled;
mod latency;
mod leaf_index;
mod loc;
pub mod log;
mod mapped;
mod medium;
#[cfg(feature = "observed")]
pub mod observed;
mod pace;
mod paging;
#[allow(unsafe_code, reason = "a room for it: the claim that a type is made of words")]
mod persistent;
#[allow(unsafe_code, reason = "a room for it: memory is mapped here")]
mod region;
mod retention;
mod space;
#[allow(unsafe_code, reason = "the macro writes one checked line of it")]
mod storage;
mod storage_ops;
pub mod superblock;
#[doc(hidden)]
pub mod sync;
#[allow(unsafe_code, reason = "a room for it: the operating system")]
mod sys;
pub mod vfs;
mod word;
mod writer;

pub use copy::copy_words;
pub use counters::Counts;
pub use epoch::{
    Clock, Epoch, EpochSpan, FIRST_EPOCH, Guard, Hold, LAST_EPOCH, LineSet, MASK_BYTES, Stuck, WantedEpoch,
};
pub use epoch_observer::EpochObserver;
pub use epoch_timer::{EpochTimer, Phase, TimerStats};
pub use error::{MediumError, Result};
pub use flush::Flush;
pub use image::Image;
pub use journaled::{
    Agrees, Background, CREATED_FILES, Found, INDEX_FILE, JournalCounters, Journaled, JournaledOptions, Logged,
    MakeIndex, Meter, NEW_INDEX_FILE, Opened, OpenedState, ReadOnlyLock, Recovery, Reserve, Tail, UNFINISHED_FILE,
    doubts, is_background_thread, open, open_read_only,
};
pub use latency::Latency;
pub use leaf_index::{EarlierIndex, IndexedLeaf, IndexedTree, LeafIndex, MakeEarlierIndex, RecordSpace, sum_words};
pub use loc::{Area, LINE, Loc, parts};
pub use mapped::{Mapped, MappedOptions};
pub use medium::Medium;
pub use pace::Pace;
pub use paging::{Paging, TimedRead};
pub use persistent::{Persistent, atomics, scratch_atomics, words};
pub use region::{Backing, LARGE_PAGE, Region};
pub use retention::{Floor, GRACE, Retention};
pub use space::{BLOCK, RecordRun, RecordUse, Space};
pub use storage::{INTENTS, Storage, StorageHeader};
pub use storage_ops::{Persistence, StorageOps};
pub use sys::{Mapping, prefer_large_pages, wall_clock_millis};
pub use word::{Scratch, Word};
pub use writer::{WriteHandle, Writer};
