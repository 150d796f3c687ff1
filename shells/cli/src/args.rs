//! The command line: every command, its arguments, and examples.
//!
//! This file only parses. Each command's own file implements it.

mod backup;
mod damage;
mod database;
mod program;
mod range;
mod record;
mod target;
mod units;

use clap::{Parser, Subcommand};

pub(crate) use backup::{Apply, Backup, Dump, Restore, Verify};
pub(crate) use damage::{Repaired, Scrubbed};
pub(crate) use database::{Bench, Compacted, Dropped, Keyspaces, Swept};
pub(crate) use program::{Completions, Manual};
pub(crate) use range::{Export, Load, Ranged, Scan};
pub(crate) use record::{Cas, Del, Expire, Get, Incr, Pop, Put};
pub(crate) use target::{Bounds, Expiring, Target, Told, Writing, bytes};
pub(crate) use units::Lifetime;

/// An ordered key-value store that is never corrupt.
#[derive(Debug, Parser)]
#[command(name = "holm", version, after_help = GENERAL)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const GENERAL: &str = "\
A database is a folder; `load`, `put`, `cas --absent`, `incr`, `restore` and `bench` create it. It contains keyspaces; \
`default` always exists. Keys expire only in keyspaces that --expires-in creates.

Exit codes: 0 found or done, 1 no such key or keyspace or another value than `cas` expected, 2 an error, or faults: \
found by `check` or `scrub`, or in a database of which a command has shown or written what is left.

Escapes, in TSV always and in arguments with --escaped:
  \\t tab   \\n line feed   \\r carriage return   \\\\ backslash   \\xHH the byte HH

Examples:
  holm load packages.holm packages.tsv
  holm get packages.holm zlib1g
  holm scan packages.holm --prefix python3- --limit 10
  holm export packages.holm | gzip > packages.tsv.gz
  holm backup packages.holm monday.backup

`holm help COMMAND` describes one command.";

/// The command.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Store the records of a file or of standard input
    #[command(after_help = range::LOAD)]
    Load(Load),
    /// Store records as `load` does, and print each change once it is durable
    #[command(after_help = range::WATCH)]
    Watch(Load),
    /// Print the value of a key, or the records of several
    #[command(after_help = record::GET)]
    Get(Get),
    /// Store one record
    #[command(after_help = record::PUT)]
    Put(Put),
    /// Remove one record, or a range
    #[command(after_help = record::DEL)]
    Del(Del),
    /// Print or change when a key expires
    #[command(after_help = record::EXPIRE)]
    Expire(Expire),
    /// Replace the value of a key if it is the expected one
    #[command(after_help = record::CAS)]
    Cas(Cas),
    /// Add to the number under a key and print the sum
    #[command(after_help = record::INCR)]
    Incr(Incr),
    /// Print the first or the last record and remove it
    #[command(after_help = record::POP)]
    Pop(Pop),
    /// Print records in the order of their keys
    #[command(after_help = range::SCAN)]
    Scan(Scan),
    /// Print the number of records
    #[command(after_help = range::COUNT)]
    Count(Ranged),
    /// Write a whole keyspace so that `load` reads it back exactly
    #[command(after_help = range::EXPORT)]
    Export(Export),
    /// Remove all records of a keyspace
    #[command(after_help = range::CLEAR)]
    Clear(Target),
    /// Write a backup of the whole database
    #[command(after_help = backup::BACKUP)]
    Backup(Backup),
    /// Write the whole database as text
    #[command(after_help = backup::DUMP)]
    Dump(Dump),
    /// Make a database of a whole backup, or of the text of `dump`
    #[command(after_help = backup::RESTORE)]
    Restore(Restore),
    /// Bring a restored database to a later backup
    #[command(after_help = backup::APPLY)]
    Apply(Apply),
    /// Read a backup to its end and print what it contains
    #[command(after_help = backup::VERIFY)]
    Verify(Verify),
    /// Print the names of the keyspaces
    #[command(after_help = database::KEYSPACES)]
    Keyspaces(Keyspaces),
    /// Remove a keyspace with all its records
    #[command(after_help = database::DROP)]
    Drop(Dropped),
    /// Print numbers about the database
    #[command(after_help = database::STAT)]
    Stat(Told),
    /// Verify the whole database and print each fault
    #[command(after_help = database::CHECK)]
    Check(Told),
    /// Verify the records at a bounded rate
    #[command(after_help = damage::SCRUB)]
    Scrub(Scrubbed),
    /// Write what can be believed of a damaged database to a new one
    #[command(after_help = damage::REPAIR)]
    Repair(Repaired),
    /// Remove the records that have expired
    #[command(after_help = database::SWEEP)]
    Sweep(Swept),
    /// Give free space back to the file system
    #[command(after_help = database::COMPACT)]
    Compact(Compacted),
    /// Measure the YCSB workloads, in this process
    #[command(after_help = database::BENCH)]
    Bench(Bench),
    /// Print the script by which a shell completes commands
    #[command(after_help = program::COMPLETIONS)]
    Completions(Completions),
    /// Write manual pages
    #[command(after_help = program::MANUAL)]
    Man(Manual),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_words_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }
}
