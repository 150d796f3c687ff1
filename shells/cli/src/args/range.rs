//! The arguments of commands on many records: `load`, `scan`, `export` and `clear`.

use std::path::PathBuf;

use clap::Args;

use super::target::{Bounds, Expiring, Target, Writing};
use crate::formats::Format;

pub(super) const LOAD: &str = "\
Formats, by the file's extension or --format (standard input: tsv):
  tsv    key, tab, value; escapes \\t \\n \\r \\\\ \\xHH, any other backslash is a bad line
  csv    key,value; fields with commas, quotes or line ends in quotes, as RFC 4180 says
  jsonl  {\"key\": \"..\", \"value\": \"..\"}; bytes that are not UTF-8 as key_base16, value_base16

Records are stored in input order, so a killed load leaves a prefix of its input. \
^C ends it in order: what was read is stored, and the command says how much. \
A bad line stops the load; the records before it are stored. Keys have at most 64 KiB, values at most 1 GiB. \
With --skip-bad, reading of a CSV continues at the line after the bad one; an unclosed quote still stops the load.

With --key-column, a csv has any columns, which its first record names, and a jsonl any members. The value is that of \
--value-column, or else all of it: of a csv a JSON object of the other columns, of a jsonl the line. A column whose \
name is not its own is chosen by its number.

With --expires-in, a keyspace that is absent is created so that its keys may expire, and every record gets this \
lifetime. A record of jsonl may have a time of its own, \"expires_ms\": milliseconds since 1970. No other keyspace, \
such as `default`, takes records that expire.

Examples:
  holm load packages.holm packages.tsv
  holm load sea.holm reefs.csv --header --keyspace reefs --durability strict
  holm load sea.holm cities.csv --key-column name --value-column population
  holm load sea.holm events.jsonl --key-field id
  zcat dump.jsonl.gz | holm load sea.holm --format jsonl --skip-bad
  holm load words.holm paths.tsv --raw
  holm load sea.holm sessions.jsonl --keyspace sessions --expires-in never";

pub(super) const WATCH: &str = "\
Prints a line for each change, once no crash can take it back: epoch, put or del, keyspace, key, value; or epoch, \
create or drop, keyspace. A put of a key that expires ends with the time, such as 2026-01-31T12:00:00.000Z, and the \
creation of a keyspace for such keys with `expires`. Fields are separated by tabs and escaped as in tsv. The changes \
of an epoch come together, and each key at most once.

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
    /// The column or member that is the key: its name, or the number of a column from 1 on; for csv and jsonl
    #[arg(long, visible_alias = "key-field", value_name = "NAME", conflicts_with_all = ["raw", "header"])]
    pub(crate) key_column: Option<String>,
    /// The column or member that is the value; without it, the whole record as JSON
    #[arg(long, visible_alias = "value-field", value_name = "NAME", requires = "key_column")]
    pub(crate) value_column: Option<String>,
    /// Count bad lines and continue
    #[arg(long)]
    pub(crate) skip_bad: bool,
    #[command(flatten)]
    pub(crate) expiring: Expiring,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// The records of a range.
#[derive(Debug, Args)]
pub(crate) struct Ranged {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
    /// --from, --to and --prefix contain escapes
    #[arg(long)]
    pub(crate) escaped: bool,
}

pub(super) const SCAN: &str = "\
Keys are ordered byte by byte. Bounds and prefix may be combined. The output format is that of `export`. Keys that \
have expired are left out.

Examples:
  holm scan packages.holm --prefix python3- --keys-only
  holm scan packages.holm --from a --to b --format jsonl
  holm scan packages.holm --reverse --limit 5
  holm scan sea.holm --escaped --from '\\x00' --to '\\xff'";

/// Arguments of `scan`.
#[derive(Debug, Args)]
pub(crate) struct Scan {
    #[command(flatten)]
    pub(crate) records: Ranged,
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

pub(super) const COUNT: &str = "\
Without bounds, and where no key expires, the number is read and not counted. Keys that have expired are left out.

Examples:
  holm count packages.holm
  holm count packages.holm --prefix python3-
  holm count log.holm --from 2026-01-01 --to 2026-02-01 --keyspace events";

pub(super) const EXPORT: &str = "\
The formats are those of `load`. An existing file is never overwritten. Prints how many records a file has.

Keys that have expired are left out. Of the others, jsonl has the time at which they expire, as expires_ms; `load \
--expires-in never` reads it back. The other formats have no place for it. `backup` keeps all of it.

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

pub(super) const CLEAR: &str = "\
Prints how many records were removed. Records are removed from the low end on, some dozen at a time, so a command that \
is cut short leaves the rest. The keyspace stays. The removal is durable when the command returns.

Examples:
  holm clear sea.holm --keyspace reefs";
