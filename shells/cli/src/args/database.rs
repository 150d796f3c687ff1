//! The arguments of commands on a whole database.

use std::path::PathBuf;

use clap::Args;

use super::target::Writing;
use super::units::seconds;
use crate::bench::{Choice, Companions};

pub(super) const KEYSPACES: &str = "\
With --records, expired records count until they are removed: see `holm help sweep`.

Examples:
  holm keyspaces sea.holm
  holm keyspaces sea.holm --records
  holm keyspaces sea.holm --expiry";

/// Arguments of `keyspaces`.
#[derive(Debug, Args)]
pub(crate) struct Keyspaces {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// Print a tab and the number of records after each name
    #[arg(long)]
    pub(crate) records: bool,
    /// Print a tab and `expires` or `stays` after each name
    #[arg(long)]
    pub(crate) expiry: bool,
}

pub(super) const DROP: &str = "\
Prints how many records were removed. A keyspace that has records is dropped only with --yes. Records that have \
expired do not count here. `default` always exists: `holm clear` removes its records. Exit code 1 if there is no such \
keyspace. The removal is durable when the command returns.

Examples:
  holm drop sea.holm reefs
  holm drop sea.holm reefs --yes";

/// Arguments of `drop`.
#[derive(Debug, Args)]
pub(crate) struct Dropped {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// Keyspace to drop
    pub(crate) keyspace: String,
    /// Drop the keyspace although it has records
    #[arg(long)]
    pub(crate) yes: bool,
}

pub(super) const STAT: &str = "\
Examples:
  holm stat sea.holm
  holm stat sea.holm --json";

pub(super) const CHECK: &str = "\
Prints the numbers of verified items and each fault. Exit code 0 if there is no fault, 2 otherwise.

Examples:
  holm check sea.holm
  holm check sea.holm --json";

pub(super) const SWEEP: &str = "\
Prints how many records were removed. Readers see no difference: a key that has expired is absent at once. A database \
that a program has open is swept in the background. After a sweep, no incremental backup can be applied to a restored \
database.

Examples:
  holm sweep sea.holm";

/// Arguments of `sweep`.
#[derive(Debug, Args)]
pub(crate) struct Swept {
    /// Path of the database
    pub(crate) database: PathBuf,
}

pub(super) const COMPACT: &str = "\
Moves records from the end of the file `records` into free space before it, and leaves likewise in the file `leaves`, \
and cuts both files. Prints what was moved and how many bytes the database has on the disk, before and after. Needs no \
free space beside the database. After a compaction, no incremental backup can be applied to a restored database, so \
such a database is left alone.

With --in-key-order it lays records together in the order of their keys instead, which makes scans of data larger than \
memory faster. That needs free space on the disk for as many bytes as are moved.

Examples:
  holm compact sea.holm
  holm compact sea.holm --rate 20
  holm compact sea.holm --in-key-order";

/// Arguments of `compact`.
#[derive(Debug, Args)]
pub(crate) struct Compacted {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// Mebibytes of records to move in a second; 0 for no limit
    #[arg(long, value_name = "MIB", default_value_t = 0)]
    pub(crate) rate: u64,
    /// Lay records together in the order of their keys
    #[arg(long)]
    pub(crate) in_key_order: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) const BENCH: &str = "\
The records are written to a separate keyspace, which must not exist and is dropped at the end. The database is \
created if it is absent. With --durability strict the load also ends after --seconds; batches then insert the other \
records, unmeasured.

Workloads after the load:
  a        50% reads, 50% updates
  b        95% reads, 5% updates
  c        reads
  d        95% reads of the latest, 5% inserts
  e        95% scans of 1 to 100 records, 5% inserts
  f        50% reads, 50% read-modify-writes
  updates  updates alone
  batches  new records in atomic batches of 1000

Examples:
  holm bench /tmp/bench.holm
  holm bench /tmp/bench.holm --records 1000000 --threads 2 --seconds 10 --durability onsync
  holm bench /tmp/bench.holm --workloads updates,batches --threads 8 --durability strict
  holm bench /tmp/bench.holm --workloads a,c --json
  holm bench /tmp/bench.holm --workloads a --beside snapshot,backup,feed --rounds 5";

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// Keyspace for the measurement; must not exist
    #[arg(long, value_name = "NAME", default_value = "bench")]
    pub(crate) keyspace: String,
    /// Records to load
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) records: u64,
    /// Bytes of each value
    #[arg(long, value_name = "SIZE", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    pub(crate) value_bytes: u32,
    /// Number of threads
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// Seconds per workload after the load
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Seed of the keys and of the order of operations
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Workloads to measure after the load
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        hide_possible_values = true,
        value_delimiter = ',',
        default_value = "a,b,c,d,e,f"
    )]
    pub(crate) workloads: Vec<Choice>,
    /// Measure each workload alone and beside these, in place of the table: an open snapshot, backups, a feed
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub(crate) beside: Vec<Companions>,
    /// Rounds of --beside
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Print one JSON object per workload
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}
