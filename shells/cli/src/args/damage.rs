//! The arguments of commands on a database that is damaged, or may be.

use std::path::PathBuf;

use clap::Args;

pub(super) const SCRUB: &str = "\
Reads every record, verifies its checksum and its place in its leaf, and prints each fault. `check` does more, as fast \
as it can. Exit code 0 if there is no fault, 2 otherwise.

Examples:
  holm scrub sea.holm
  holm scrub sea.holm --rate 20";

/// Arguments of `scrub`.
#[derive(Debug, Args)]
pub(crate) struct Scrubbed {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// Mebibytes of leaves and records to read in a second; 0 for no limit
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    pub(crate) rate: u64,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) const REPAIR: &str = "\
Never changes the damaged database. Each record is kept that a leaf names and whose checksum and key are right; \
keyspaces without a name are called `lost-7`. The new folder must not exist, or be empty. Exit code 0 if nothing is \
known to be lost, 2 otherwise.

A backup is better: it has everything. Copy the damaged folder before any other program opens it.

Examples:
  holm repair sea.holm saved.holm
  holm repair sea.holm saved.holm --orphans";

/// Arguments of `repair`.
#[derive(Debug, Args)]
pub(crate) struct Repaired {
    /// Path of the damaged database
    pub(crate) database: PathBuf,
    /// Path of the new database
    pub(crate) into: PathBuf,
    /// Keep records that no leaf names, too, in the keyspace `lost-records`: also values replaced or removed long ago
    #[arg(long)]
    pub(crate) orphans: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
