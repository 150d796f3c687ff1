//! Where Holm's bytes rest.
//!
//! The vocabulary: a [`Word`] is eight durable bytes; a [`Loc`] says where something lies; an [`Image`] is the cache's
//! view of it all; a [`Pen`] is the right to write; a [`Medium`] sees every write, flush and fence; the [`Clock`]
//! labels operations with epochs; a [`Pool`] is a medium with its clock and its free space. This crate knows nothing
//! of trees.
#![deny(unsafe_code)]

mod barrier;
mod burden;
mod counters;
mod dirty;
mod epoch;
pub mod error;
#[allow(unsafe_code, reason = "a room for it: flush instructions by address")]
mod flush;
mod ground;
#[allow(unsafe_code, reason = "a room for it: offsets become references here")]
mod image;
mod journaled;
mod loc;
pub mod log;
mod mapped;
mod medium;
mod metronome;
#[cfg(feature = "observed")]
pub mod observed;
mod pen;
#[allow(unsafe_code, reason = "a room for it: the claim that a type is made of words")]
mod persistent;
#[allow(unsafe_code, reason = "the macro writes one checked line of it")]
mod pool;
#[allow(unsafe_code, reason = "a room for it: memory is mapped here")]
mod region;
mod retention;
mod smaps;
mod space;
mod stuck;
pub mod superblock;
mod sync;
pub mod vfs;
mod word;

pub use counters::Counts;
pub use dirty::{MASK_BYTES, Marks};
pub use epoch::{Clock, Epoch, FIRST_EPOCH, Hold, LAST_EPOCH, Stay};
pub use error::{MediumError, Result};
pub use flush::Flush;
pub use ground::{Aside, Ground, Lay};
pub use image::Image;
pub use journaled::{
    Agrees, Found, Housekeeping, Journaled, JournaledOptions, Keeper, Logged, Opened, Pace, Recovery, Remains, Tail,
    open, open_read_only,
};
pub use loc::{Area, LINE, Loc, parts};
pub use mapped::{Mapped, MappedOptions};
pub use medium::Medium;
pub use metronome::{Beat, Metronome, Phase};
pub use pen::{Pen, Quill};
pub use persistent::Persistent;
pub use pool::{INTENTS, Pool, Root};
pub use region::{Backing, LARGE_PAGE, Region};
pub use retention::{Floor, Retained, Retention};
pub use smaps::Mapping;
pub use space::{BLOCK, Space};
pub use stuck::Stuck;
pub use word::{Scratch, Word, atomics, scratch_atomics};
