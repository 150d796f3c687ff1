//! Holm: an ordered key-value engine that a program embeds.
//!
//! Keys and values are byte strings, kept sorted in a crash-consistent B+-tree. It answers at memory speed, and after
//! any crash, power cut included, it opens with a consistent prefix of what was written. How much of the tail may be
//! missing is a choice with a name and a number: [`Durability`].
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("sea.holm");
//! use holm::{Database, Durability};
//! let db = Database::builder().durability(Durability::default()).open(&path)?;
//! let reefs = db.keyspace("reefs")?;
//! reefs.insert("north", "coral")?;
//! assert_eq!(reefs.get("north")?.as_deref(), Some(&b"coral"[..]));
//! db.batch().insert(&reefs, "a", "1").insert(&reefs, "b", "2").remove(&reefs, "north").commit()?; // all or nothing
//! for pair in reefs.range("a".."z").rev() {
//!     let (key, value) = pair?;
//!     println!("{} {}", String::from_utf8_lossy(&key), String::from_utf8_lossy(&value));
//! }
//! assert!(reefs.remove("a")? && !reefs.contains_key("a")?);
//! db.sync()?; // everything above now survives a power cut
//! assert!(db.check()?.faults.is_empty());
//! db.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Handles ([`Database`], [`Keyspace`], [`Iter`]) are owned, cheap to clone, `Send + Sync`, and carry no lifetimes. The
//! limits: a key has at most 64 KiB, a value at most 1 GiB; empty keys and values are legal.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod batch;
mod catalog;
mod check;
mod database;
mod designs;
mod durability;
mod engine;
mod error;
mod iter;
mod keys;
mod keyspace;
mod operation;
mod options;
mod read;
mod read_only;
mod record;
mod share;
mod slice;
mod stats;

pub use batch::Batch;
pub use check::Report;
pub use database::Database;
pub use durability::Durability;
pub use error::{Error, Result};
pub use holm_medium::{Found, Recovery, Tail};
pub use iter::Iter;
pub use keyspace::Keyspace;
pub use options::Builder;
pub use read_only::{ReadOnlyDatabase, ReadOnlyKeyspace};
pub use slice::Slice;
pub use stats::Stats;

/// For whoever measures designs: what a table of them is made of. Not part of the interface that versions promise.
#[doc(hidden)]
pub mod laboratory {
    pub use crate::designs::Table;
    pub use crate::keys::Records;
}

/// The longest key, in bytes.
pub const MAX_KEY: usize = 64 << 10;

/// The longest value, in bytes.
pub const MAX_VALUE: usize = 1 << 30;
