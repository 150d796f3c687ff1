//! Backups: a database at one instant, as a stream of bytes or as a folder; whole, or what has changed since an earlier
//! backup.
//!
//! ```text
//!  snapshot --source--> writer ===stream===> reader --restore--> a new folder
//!                                                   --apply----> a database that stands at the stream's base
//! ```
//!
//! Streams are logical: they have names, keys and values, and no place in a file. So any design and any later version
//! restores them, and a restored database is compact. An incremental stream needs no log and no map of changes: leaves
//! have the epoch of their last change.

mod apply;
mod base;
mod format;
mod info;
mod kept;
mod methods;
mod pipe;
mod reader;
mod restore;
mod source;
mod staged;
mod writer;

pub(crate) use apply::complete;
pub(crate) use base::{awaits_increment, is_untouched_copy};
pub(crate) use restore::{build, keyspace_of, put, would_change};
pub(crate) use staged::is_staged;

use crate::error::{Error, Result};
use crate::store::{Files, Store};
use holm_medium::MediumError;
pub use info::BackupInfo;
pub use methods::verify_backup;
use std::io;
use std::path::Path;

/// Returns the files of a store: a database over a medium without them has no backups.
fn files_of(store: &Store) -> Result<&Files> {
    let what = || Error::Unsupported { what: "backups of a database without files".into() };
    store.files.as_ref().ok_or_else(what)
}

/// Converts the error of an operation on a path.
fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| MediumError::io(operation, path, error).into()
}
