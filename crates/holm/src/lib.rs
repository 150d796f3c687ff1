//! Holm is an ordered key-value store that a program embeds. Keys and values are byte strings.
//!
//! A database is a folder of ordinary files. Holm maps them into memory, so reads and writes make no system call. A log
//! makes writes durable, one *epoch* of some milliseconds at a time. After any crash, a power cut included, the
//! database opens with a consistent prefix of the writes. [`Durability`] states how many of the last writes may be
//! missing.
//!
//! Holm is not a server and has no query language.
//!
//! # Example
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("sea.holm");
//! use holm::Database;
//!
//! let db = Database::open(&path)?; // a folder, created if it is absent
//! let reefs = db.keyspace("reefs")?;
//! reefs.insert("north", "coral")?;
//! assert_eq!(reefs.get("north")?.as_deref(), Some(&b"coral"[..]));
//! assert_eq!(reefs.get("south")?, None); // absence is no error
//!
//! // All at once to every reader, and all or nothing after any crash.
//! db.batch().insert(&reefs, "east", "sand").insert(&reefs, "west", "kelp").remove(&reefs, "north").commit()?;
//!
//! // Reads and writes of any number of keys, as if nobody else were there; begun anew if somebody was.
//! db.transact(|transaction| {
//!     if let Some(east) = transaction.take(&reefs, "east")? {
//!         transaction.insert(&reefs, "far east", east)?;
//!     }
//!     Ok::<_, holm::Error>(())
//! })?;
//!
//! for pair in reefs.range("a".."g").rev() {
//!     let (key, value) = pair?;
//!     println!("{key:?} is {value:?}"); // b"far east" is b"sand"
//! }
//!
//! db.sync()?; // all of the above now survives a power cut
//! db.close()?; // the next open has nothing to recover
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The folder `examples` has five complete programs, a backup, a cache, a queue, a secondary index and a time series,
//! and programs that measure.
//!
//! # Durability
//!
//! | mode | a write returns | the process dies | the power fails |
//! |---|---|---|---|
//! | [`Strict`] | when it is synced; all threads share a sync | loses nothing | loses nothing |
//! | [`Buffered`], the default: 10 ms | at once | loses nothing | loses about max(interval, sync) + sync: see there |
//! | [`OnSync`] | at once | loses nothing | loses at most the writes after the last completed [`sync`] |
//!
//! A write is *lost* if it had returned and is missing afterwards. The writes that remain are a prefix: if a write is
//! there, so is every write that had returned before it began. The column *the process dies* holds for the default
//! [`ImageMode::Shared`].
//!
//! [`Strict`]: Durability::Strict
//! [`Buffered`]: Durability::Buffered
//! [`OnSync`]: Durability::OnSync
//! [`sync`]: Database::sync
//!
//! # Concepts
//!
//! | | |
//! |---|---|
//! | [`Database`] | an open folder; one process at a time, any number of threads |
//! | [`Keyspace`] | a named, ordered map of a database; `default` is always there |
//! | [`Slice`] | a key or value that a read returned: a copy, cheap to clone |
//! | [`Iter`] | a range of pairs, from both ends |
//! | [`typed::Table`] | a keyspace whose keys and values have types |
//! | [`Batch`] | writes to any keyspaces that take effect at one instant |
//! | [`Transaction`] | reads and writes of any keyspaces that take effect at one instant |
//! | [`Snapshot`] | the database as it was at one instant, for as long as it is held |
//! | mark | a number that is committed with its writes, such as a position in a log: [`Database::mark`] |
//! | expiry | in a keyspace made for it, keys are absent from a time on: [`KeyspaceOptions::expires`] |
//! | [`Feed`] | the changes of each epoch, once they are durable: for replicas and indexes elsewhere |
//! | epoch | the unit of durability: the writes of one interval become durable together |
//! | checkpoint | the moment at which the data files hold everything in the log, and the log shrinks |
//!
//! [`Database`] and [`Keyspace`] are owned handles: cheap to clone, `Send + Sync`, without lifetimes. [`Iter`],
//! [`Batch`] and [`Transaction`] are owned as well, but not `Clone`. The database stays locked until the last handle of
//! any kind is dropped.
//!
//! # Isolation
//!
//! - Each `get`, `insert` and `remove` is atomic: it takes effect at one instant between its call and its return. A
//!   read takes no lock, and begins anew where a writer changes its leaf; it waits only while a batch or transaction
//!   stores into that leaf. In [`Strict`], a read waits until its result is durable.
//! - A [`Batch`] takes effect at one instant: every reader sees all of its writes or none.
//! - Transactions are strictly serializable, ranges without phantoms included. [`Database::transact`] runs one until it
//!   commits, [`Database::read`] reads at one instant, [`Database::begin`] hands one out. What a transaction reads
//!   belongs together even if it conflicts later.
//! - A [`Snapshot`] is the database at one instant. Its reads never conflict, and no writer waits for them.
//! - [`Keyspace::remove_range`] and [`Keyspace::clear`] remove one leaf after the other, from the low end on. What
//!   others insert into the range after such a call has returned stays. [`Transaction::remove_range`] is atomic.
//! - An [`Iter`] of a keyspace is not a snapshot. It copies one leaf (some dozen neighbours) at one instant. A pair
//!   that is in the range throughout is returned exactly once. A pair that is inserted or removed meanwhile may be
//!   returned or not.
//! - Operations that read one key and write it are atomic too: [`Keyspace::compare_and_swap`],
//!   [`Keyspace::fetch_update`], [`Keyspace::increment`], [`Keyspace::pop_first`] and others beside them.
//!
//! # Backup
//!
//! [`Database::backup_to`] writes a stream, [`Database::backup_since`] only what has changed since an earlier backup,
//! and [`Database::backup`] makes a copy in a folder. Writers go on meanwhile. [`Database::restore`] and
//! [`Database::apply`] read streams. To copy the files of an open database is what a power cut does to it, at best.
//!
//! # Limits
//!
//! | | |
//! |---|---|
//! | key | 64 KiB ([`MAX_KEY`]), empty allowed |
//! | value | 1 GiB ([`MAX_VALUE`]), empty allowed |
//! | batch, writes of a transaction | 64 MiB of keys and values; each write counts 64 bytes more |
//! | keyspaces | 16 million, with names of 1 to 255 bytes; dropped ones can count: see [`Database::keyspace`] |
//! | database | [`Builder::capacity`]; data may exceed memory, inner nodes may not |
//! | open to write | after a close reads an index, but for the design `holm` |
//! | open otherwise | reads every leaf: about 0.3 s for a million small records |
//! | processes | one writer, or any number of readers of a database that was closed |
//!
//! Do not use a handle in the child of a `fork`. In the destructor of a thread-local value, do not write and drop no
//! snapshot: it panics, which ends the process there. Other handles may be dropped there, the last one too. A disk
//! sector that cannot be read ends the process with `SIGBUS`, as in every store that maps its files.
//!
//! # Platforms
//!
//! Holm is built and tested on Linux on x86-64. Other Unix systems on 64-bit little-endian processors are untried;
//! Windows is not supported. Holm needs a file system with shared mappings and `fallocate`, such as ext4, XFS or Btrfs.
//! It needs Rust 1.95 or later. Holm detects the processor's vector instructions at run time: no compiler flag is
//! needed.
//!
//! # Features
//!
//! | feature | default | |
//! |---|---|---|
//! | `serde` | off | [`Stats`], [`Report`] and [`Recovery`] implement `serde::Serialize` |
//! | `json` | off | `typed::Json`: values as JSON |
//! | `postcard` | off | `typed::Postcard`: values in the format of that crate |
//! | `uuid` | off | `uuid::Uuid` is a key of [`typed`] tables |
//! | `bytes` | off | [`Slice`] becomes a `bytes::Bytes`, long ones without a copy |
//!
//! # Build for speed
//!
//! A read crosses several crates, so link-time optimisation matters. Holm's own figures are measured with
//!
//! ```toml
//! [profile.release]
//! lto = "thin"
//! codegen-units = 4
//! ```
//!
//! # Logging
//!
//! Holm logs through the crate [`log`]: what recovery decided, and failures of its background threads.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod ahead;
mod atomic;
mod backup;
mod batch;
mod catalog;
mod check;
mod commit;
mod compact;
mod continuation;
mod copied_pairs;
mod database;
mod designs;
mod direction;
mod durability;
mod engine;
mod error;
mod expiring;
mod expiry;
mod feed;
mod generation;
mod increments;
mod insert_many;
mod intent;
mod iter;
mod kept_keyspaces;
mod keys;
mod keyspace;
mod keyspace_options;
mod keyspace_tree;
mod leaf_source;
mod mark;
mod opening;
mod operation;
mod options;
mod pace;
mod pending_sync;
mod read;
mod read_only;
mod record;
mod record_buffer;
mod recovery;
mod remove_range;
mod repair;
mod scrub;
mod scrub_stats;
mod slice;
mod snapshot;
mod stats;
mod store;
mod sweep;
mod sweeper;
mod sync_wakers;
mod transaction;
pub mod typed;
mod update;
mod update_many;
mod wall_clock;

pub use ahead::Ahead;
pub use atomic::{CompareAndSwapError, Update};
pub use backup::{BackupInfo, verify_backup};
pub use batch::Batch;
pub use check::Report;
pub use compact::{Compact, CompactReport};
pub use database::Database;
pub use durability::{Durability, ImageMode};
pub use error::{Error, Result};
pub use expiry::Expiry;
pub use feed::{Change, Changes, Feed, FeedStats};
pub use iter::Iter;
pub use keyspace::Keyspace;
pub use keyspace_options::KeyspaceOptions;
pub use options::Builder;
pub use pace::PacedWriter;
pub use pending_sync::PendingSync;
pub use read_only::{ReadOnlyDatabase, ReadOnlyKeyspace};
pub use recovery::{LogTail, RecoveredFrom, Recovery};
pub use repair::{Repair, RepairReport};
pub use scrub::{Damage, DamagedPlace, Scrub, ScrubCursor, ScrubProgress, ScrubReport};
pub use scrub_stats::ScrubStats;
pub use slice::Slice;
pub use snapshot::{Snapshot, SnapshotKeyspace};
pub use stats::{EpochStats, LogStats, MemoryStats, SnapshotStats, SpaceStats, Stats, SweepStats};
pub use sweeper::Sweep;
pub use transaction::{ReadTransaction, Receipt, Transaction, TransactionRange};

/// For programs that measure designs: the types of a table of designs. Exempt from the promises of version numbers.
#[doc(hidden)]
pub mod laboratory {
    pub use crate::designs::Table;
    pub use crate::keys::Records;
}

/// The longest key, in bytes: 64 KiB.
pub const MAX_KEY: usize = 64 << 10;

/// The longest value, in bytes: 1 GiB.
pub const MAX_VALUE: usize = 1 << 30;
