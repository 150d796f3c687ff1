//! The medium on ordinary files: an image of two data files, and an epoch log that survives the loss of power.
//!
//! *Shared* (the default): the image is a shared mapping. A store is in the page cache at once, so the death of the
//! process loses nothing. The kernel may write any page back at any time and evict cold ones, so data may exceed
//! memory. That is the model of persistent memory, and needs a design that is durable per epoch.
//!
//! *Private*: the image is anonymous memory, and only the log and the checkpoint write to the files. Every design is
//! crash-consistent on it. Data must fit into memory, and the death of the process costs what the loss of power costs.
//!
//! `data_files.rs` is the medium itself, and how it grows. `open.rs` and `recover.rs` decide what a crash has left,
//! with `map.rs`, `reserve.rs`, `logged.rs` and `checksum.rs`; `opened.rs`, `recovery.rs` and `opened_state.rs` are
//! what they hand on. `state.rs` is what the threads share and `background.rs` runs them: `group_commit.rs` ends
//! epochs, as `leader.rs` does in threads that wait, both by `committer.rs`; `commit_state.rs` is how far that is.
//! `written.rs` finds where what was ever written ends.
//! `append.rs` writes the log, to which `log_segment.rs` adds segments, `preallocate.rs` grows the files, `due.rs`
//! takes checkpoints (`checkpoint.rs`) by the sizes of `log_size.rs`.
//! `close.rs` ends it all. It leaves the leaf index in the file of `index_file.rs` for the next open, as checkpoints do
//! for an opening after a crash.

#![forbid(unsafe_code)]

mod allocated;
mod append;
mod background;
mod checkpoint;
mod checksum;
mod close;
mod commit_state;
mod committer;
mod counters;
mod data_files;
mod due;
mod group_commit;
mod index_file;
mod leader;
mod log_segment;
mod log_size;
mod logged;
mod map;
mod meter;
mod open;
mod opened;
mod opened_state;
mod preallocate;
mod recover;
mod recovery;
mod reserve;
mod state;
mod touched;
mod wakeup;
mod written;

pub use background::{Background, is_background_thread};
pub use close::MakeIndex;
pub use counters::JournalCounters;
pub use data_files::Journaled;
pub use index_file::{INDEX_FILE, NEW_INDEX_FILE};
pub use logged::Logged;
pub use meter::Meter;
pub use open::{CREATED_FILES, UNFINISHED_FILE, doubts, open, open_read_only};
pub use opened::{Agrees, JournaledOptions, Opened};
pub use opened_state::{OpenedState, ReadOnlyLock};
pub use recovery::{Found, Recovery, Tail};
pub use reserve::Reserve;
