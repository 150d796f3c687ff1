//! The command line: every command, its arguments, and examples.
//!
//! This file only parses. Each command's own file implements it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use holm::Durability;

use crate::bench::Choice;
use crate::escape::unescape;
use crate::formats::Format;

/// An ordered key-value store that is never corrupt.
#[derive(Debug, Parser)]
#[command(name = "holm", version, after_help = GENERAL)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const GENERAL: &str = "\
A database is a folder; `load`, `put`, `cas --absent`, `incr`, `restore` and `bench` create it. It contains keyspaces; \
`default` always exists.

Exit codes: 0 found or done, 1 no such key or keyspace or another value than `cas` expected, 2 an error, or faults \
found by `check`.

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
    #[command(after_help = LOAD)]
    Load(Load),
    /// Store records as `load` does, and print each change once it is durable
    #[command(after_help = WATCH)]
    Watch(Load),
    /// Print the value of a key
    #[command(after_help = GET)]
    Get(Get),
    /// Store one record
    #[command(after_help = PUT)]
    Put(Put),
    /// Remove one record
    #[command(after_help = DEL)]
    Del(Record),
    /// Replace the value of a key if it is the expected one
    #[command(after_help = CAS)]
    Cas(Cas),
    /// Add to the number under a key and print the sum
    #[command(after_help = INCR)]
    Incr(Incr),
    /// Print the first or the last record and remove it
    #[command(after_help = POP)]
    Pop(Pop),
    /// Print records in the order of their keys
    #[command(after_help = SCAN)]
    Scan(Scan),
    /// Write a whole keyspace so that `load` reads it back exactly
    #[command(after_help = EXPORT)]
    Export(Export),
    /// Write a backup of the whole database
    #[command(after_help = BACKUP)]
    Backup(Backup),
    /// Make a database of a whole backup
    #[command(after_help = RESTORE)]
    Restore(FromBackup),
    /// Bring a restored database to a later backup
    #[command(after_help = APPLY)]
    Apply(FromBackup),
    /// Read a backup to its end and print what it contains
    #[command(after_help = VERIFY)]
    Verify(Verify),
    /// Print the names of the keyspaces
    #[command(after_help = KEYSPACES)]
    Keyspaces(Keyspaces),
    /// Print numbers about the database
    #[command(after_help = STAT)]
    Stat(Told),
    /// Verify the whole database and print each fault
    #[command(after_help = CHECK)]
    Check(Told),
    /// Measure the YCSB workloads, in this process
    #[command(after_help = BENCH)]
    Bench(Bench),
}

/// The records that a command works on.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// Keyspace within the database
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) keyspace: String,
}

/// The record that a command works on.
#[derive(Debug, Args)]
pub(crate) struct Record {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Key of the record
    pub(crate) key: OsString,
    /// Use escapes such as \xHH in the key, and in values given or printed; see `holm --help`
    #[arg(long)]
    pub(crate) escaped: bool,
}

impl Record {
    /// Returns the bytes of the key.
    pub(crate) fn key(&self) -> anyhow::Result<Vec<u8>> {
        bytes(&self.key, self.escaped)
    }
}

/// Returns the bytes that an argument denotes.
pub(crate) fn bytes(argument: &OsStr, escaped: bool) -> anyhow::Result<Vec<u8>> {
    let argument = argument.as_encoded_bytes();
    if !escaped {
        return Ok(argument.to_vec());
    }
    let mut bytes = Vec::new();
    unescape(argument, &mut bytes)?;
    Ok(bytes)
}

/// A whole database, and the form of the output.
#[derive(Debug, Args)]
pub(crate) struct Told {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The durability of writes.
#[derive(Debug, Default, Args)]
pub(crate) struct Writing {
    /// When a write survives a power failure: strict, buffered[:INTERVAL] or onsync [default: buffered:10ms]
    #[arg(long, value_name = "WHEN", value_parser = durability)]
    pub(crate) durability: Option<Durability>,
    /// Keep a private image: the data must fit in memory, and a killed process loses what a power failure would
    #[arg(long)]
    pub(crate) memory: bool,
}

const LOAD: &str = "\
Formats, by the file's extension or --format (standard input: tsv):
  tsv    key, tab, value; escapes \\t \\n \\r \\\\ \\xHH, any other backslash is a bad line
  csv    key,value; fields with commas, quotes or line ends in quotes, as RFC 4180 says
  jsonl  {\"key\": \"..\", \"value\": \"..\"}; bytes that are not UTF-8 as key_base16, value_base16

Records are stored in input order, so a killed load leaves a prefix of its input. \
A bad line stops the load; the records before it are stored. Keys have at most 64 KiB, values at most 1 GiB. \
With --skip-bad, reading of a CSV continues at the line after the bad one; an unclosed quote still stops the load.

Examples:
  holm load packages.holm packages.tsv
  holm load sea.holm reefs.csv --header --keyspace reefs --durability strict
  zcat dump.jsonl.gz | holm load sea.holm --format jsonl --skip-bad
  holm load words.holm paths.tsv --raw";

const WATCH: &str = "\
Prints a line for each change, once no crash can take it back: epoch, put or del, keyspace, key, value; or epoch, \
create or drop, keyspace. Fields are separated by tabs and escaped as in tsv. The changes of an epoch come together, \
and each key at most once.

Examples:
  tail -f readings.tsv | holm watch sea.holm --durability buffered:100ms > stored.tsv
  holm watch sea.holm reefs.csv --keyspace reefs | cut -f 4";

/// Arguments of `load` and `watch`.
#[derive(Debug, Args)]
pub(crate) struct Load {
    #[command(flatten)]
    pub(crate) target: Target,
    /// File to read; standard input if absent or -
    pub(crate) file: Option<PathBuf>,
    /// Format of the input: tsv, csv or jsonl
    #[arg(long, value_enum, hide_possible_values = true)]
    pub(crate) format: Option<Format>,
    /// Take TSV literally: no escapes, the value is everything after the first tab
    #[arg(long)]
    pub(crate) raw: bool,
    /// Skip the first record of a CSV, which names the columns
    #[arg(long)]
    pub(crate) header: bool,
    /// Count bad lines and continue
    #[arg(long)]
    pub(crate) skip_bad: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

const GET: &str = "\
The value is printed literally, followed by a line feed.

Examples:
  holm get packages.holm zlib1g
  holm get photos.holm north.jpg --no-newline > north.jpg
  holm get sea.holm --escaped 'a\\x00b'";

/// Arguments of `get`.
#[derive(Debug, Args)]
pub(crate) struct Get {
    #[command(flatten)]
    pub(crate) record: Record,
    /// Print only the value's bytes
    #[arg(long, short)]
    pub(crate) no_newline: bool,
}

const PUT: &str = "\
The database and the keyspace are created if they are absent. The record is durable when the command returns.

Examples:
  holm put sea.holm north coral
  holm put sea.holm north.jpg < north.jpg
  holm put sea.holm --escaped 'a\\x00b' 'two\\nlines'
  holm put sea.holm -- --key-with-dashes value";

/// Arguments of `put`.
#[derive(Debug, Args)]
pub(crate) struct Put {
    #[command(flatten)]
    pub(crate) record: Record,
    /// Value to store; if absent, all of standard input, literally
    pub(crate) value: Option<OsString>,
}

const DEL: &str = "\
Exit code 1 if the key is absent. The removal is durable when the command returns.

Examples:
  holm del sea.holm north
  holm del sea.holm --escaped 'a\\x00b' --keyspace reefs";

const CAS: &str = "\
If the key has another value than EXPECTED, nothing changes. That value is printed as by `get`, nothing if the key is \
absent, and the exit code is 1. With --absent there is only NEW, and the database and the keyspace are created if they \
are absent. With --remove there is only EXPECTED. The change is durable when the command returns.

Examples:
  holm cas sea.holm north coral sand
  holm cas sea.holm north --absent coral
  holm cas sea.holm north sand --remove
  holm cas sea.holm --escaped 'a\\x00b' 'old\\n' 'new\\n'";

/// Arguments of `cas`.
#[derive(Debug, Args)]
#[command(override_usage = "holm cas [OPTIONS] <DATABASE> <KEY> <EXPECTED> <NEW>\n       \
    holm cas [OPTIONS] <DATABASE> <KEY> --absent <NEW>\n       \
    holm cas [OPTIONS] <DATABASE> <KEY> <EXPECTED> --remove")]
pub(crate) struct Cas {
    #[command(flatten)]
    pub(crate) record: Record,
    /// The value that the key must have, and the value to store
    #[arg(value_name = "EXPECTED NEW", required = true, num_args = 1..=2)]
    pub(crate) values: Vec<OsString>,
    /// Expect that the key is absent
    #[arg(long, conflicts_with = "remove")]
    pub(crate) absent: bool,
    /// Remove the key
    #[arg(long)]
    pub(crate) remove: bool,
}

const INCR: &str = "\
The number is stored in eight bytes, the least significant first, from -2^63 to 2^63 - 1. An absent key counts as 0. \
The database and the keyspace are created if they are absent. The sum is durable when the command returns.

Examples:
  holm incr sea.holm visits
  holm incr sea.holm visits -5 --keyspace counters
  holm incr sea.holm visits 0";

/// Arguments of `incr`.
#[derive(Debug, Args)]
pub(crate) struct Incr {
    #[command(flatten)]
    pub(crate) record: Record,
    /// What to add; 0 prints the number
    #[arg(default_value_t = 1, allow_negative_numbers = true)]
    pub(crate) by: i64,
}

const POP: &str = "\
Exit code 1 if the keyspace is empty. The record is removed after it has been printed, so it stays if the output \
cannot be written. The removal is durable when the command returns. The output format is that of `export`.

Examples:
  holm pop jobs.holm
  holm pop jobs.holm --last --keyspace urgent
  holm pop jobs.holm --format jsonl";

/// Arguments of `pop`.
#[derive(Debug, Args)]
pub(crate) struct Pop {
    #[command(flatten)]
    pub(crate) target: Target,
    /// The record with the greatest key
    #[arg(long)]
    pub(crate) last: bool,
    /// Format of the output: tsv, csv or jsonl
    #[arg(long, value_enum, hide_possible_values = true, default_value = "tsv")]
    pub(crate) format: Format,
}

const SCAN: &str = "\
Keys are ordered byte by byte. Bounds and prefix may be combined. The output format is that of `export`.

Examples:
  holm scan packages.holm --prefix python3- --keys-only
  holm scan packages.holm --from a --to b --format jsonl
  holm scan packages.holm --reverse --limit 5
  holm scan sea.holm --escaped --from '\\x00' --to '\\xff'";

/// Arguments of `scan`.
#[derive(Debug, Args)]
pub(crate) struct Scan {
    #[command(flatten)]
    pub(crate) target: Target,
    /// First key, inclusive
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) from: Option<OsString>,
    /// Last key, exclusive
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) to: Option<OsString>,
    /// Only keys with this prefix
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) prefix: Option<OsString>,
    /// --from, --to and --prefix contain escapes
    #[arg(long)]
    pub(crate) escaped: bool,
    /// Greatest key first
    #[arg(long)]
    pub(crate) reverse: bool,
    /// The maximum number of records
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// Print no values
    #[arg(long)]
    pub(crate) keys_only: bool,
    /// Format of the output: tsv, csv or jsonl
    #[arg(long, value_enum, hide_possible_values = true, default_value = "tsv")]
    pub(crate) format: Format,
}

const EXPORT: &str = "\
The formats are those of `load`. An existing file is never overwritten.

Examples:
  holm export packages.holm packages.tsv
  holm export sea.holm --keyspace reefs --format csv --header > reefs.csv
  holm export old.holm | holm load new.holm";

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) target: Target,
    /// File to create; standard output if absent or -
    pub(crate) file: Option<PathBuf>,
    /// Format of the output: tsv, csv or jsonl; default: the file's extension, tsv on standard output
    #[arg(long, value_enum, hide_possible_values = true)]
    pub(crate) format: Option<Format>,
    /// Begin a CSV with a line that names the columns; `load --header` skips it
    #[arg(long)]
    pub(crate) header: bool,
}

const BACKUP: &str = "\
The backup has a checksum for each mebibyte and a hash of all of it. `restore` makes a database of a whole backup. \
`apply` brings that database to a later one. The epoch that is printed is the argument of the next --since; any \
earlier backup can be the base of one.

Examples:
  holm backup packages.holm monday.backup
  holm backup packages.holm tuesday.backup --since 412
  holm backup packages.holm | ssh elsewhere 'cat > packages.backup'";

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// File to create; standard output if absent or -
    pub(crate) file: Option<PathBuf>,
    /// Write only what has changed after the epoch that an earlier backup has printed
    #[arg(long, value_name = "EPOCH")]
    pub(crate) since: Option<u64>,
}

const RESTORE: &str = "\
The folder must not exist, or be empty. It gets its name once the database in it is complete.

Examples:
  holm restore packages.holm monday.backup
  ssh elsewhere 'cat packages.backup' | holm restore packages.holm";

const APPLY: &str = "\
The database must stand at the backup's base: `restore` and each `apply` before lead there, and nothing else may have \
been written since. A crash leaves it at one backup or at the next.

Examples:
  holm apply packages.holm tuesday.backup";

/// Arguments of `restore` and `apply`.
#[derive(Debug, Args)]
pub(crate) struct FromBackup {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// File with the backup; standard input if absent or -
    pub(crate) file: Option<PathBuf>,
}

const VERIFY: &str = "\
Reads all of it: each flipped byte and a missing end are found.

Examples:
  holm verify monday.backup";

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// File with the backup; standard input if absent or -
    pub(crate) file: Option<PathBuf>,
}

const KEYSPACES: &str = "\
Examples:
  holm keyspaces sea.holm
  holm keyspaces sea.holm --records";

/// Arguments of `keyspaces`.
#[derive(Debug, Args)]
pub(crate) struct Keyspaces {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// Print a tab and the number of records after each name
    #[arg(long)]
    pub(crate) records: bool,
}

const STAT: &str = "\
Examples:
  holm stat sea.holm
  holm stat sea.holm --json";

const CHECK: &str = "\
Prints the numbers of verified items and each fault. Exit code 0 if there is no fault, 2 otherwise.

Examples:
  holm check sea.holm
  holm check sea.holm --json";

const BENCH: &str = "\
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
  holm bench /tmp/bench.holm --workloads a,c --json";

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
    /// Print one JSON object per workload
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// Parses `strict`, `onsync`, `buffered`, or `buffered:` and an interval.
fn durability(text: &str) -> Result<Durability, String> {
    match text.split_once(':') {
        None if text == "strict" => Ok(Durability::Strict),
        None if text == "onsync" => Ok(Durability::OnSync),
        None if text == "buffered" => Ok(Durability::Buffered { interval: Duration::from_millis(10) }),
        Some(("buffered", interval)) => Ok(Durability::Buffered { interval: duration(interval)? }),
        _ => Err("expected strict, buffered, buffered:10ms or onsync".into()),
    }
}

/// Parses a whole number with a unit: `500us`, `10ms`, `1s`.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let expected = || format!("found the interval {text:?}, expected a number from 1 with us, ms or s, such as 10ms");
    let number: u64 = number.parse().map_err(|_| expected())?;
    match unit {
        _ if number == 0 => Err(expected()),
        "us" => Ok(Duration::from_micros(number)),
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        _ => Err(expected()),
    }
}

/// Parses a positive number of seconds, at most a day.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("expected a number of seconds above 0 and up to 86400".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_words_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn durabilities() {
        assert_eq!(durability("strict"), Ok(Durability::Strict));
        assert_eq!(durability("onsync"), Ok(Durability::OnSync));
        for (text, micros) in [("buffered", 10_000), ("buffered:250us", 250), ("buffered:2s", 2_000_000)] {
            assert_eq!(
                durability(text),
                Ok(Durability::Buffered { interval: Duration::from_micros(micros) }),
                "{text}"
            );
        }
        for text in ["", "buffered:", "buffered:0ms", "buffered:10", "buffered:ms", "buffered:-1ms", "strict:1s"] {
            assert!(durability(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_are_above_nothing() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for text in ["0", "-1", "NaN", "inf", "x"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
