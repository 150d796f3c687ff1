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
