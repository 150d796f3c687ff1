//! The arguments of commands on one record, and of `del`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use super::target::{Bounds, Expiring, Record, Target};
use super::units::lifetime;
use crate::formats::Format;

pub(super) const GET: &str = "\
The value is printed literally, or with escapes if --escaped is given, and followed by a line feed. Of several keys, \
the records are printed as `export` prints them in tsv, those that are there, in the order of the arguments. Exit code \
1 if a key is absent.

Examples:
  holm get packages.holm zlib1g
  holm get packages.holm zlib1g zsh
  holm get photos.holm north.jpg --no-newline > north.jpg
  holm get sea.holm --escaped 'a\\x00b'";

/// Arguments of `get`.
#[derive(Debug, Args)]
pub(crate) struct Get {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Key of the record, or keys of several
    #[arg(required = true, value_name = "KEY")]
    pub(crate) keys: Vec<OsString>,
    /// Use escapes such as \xHH in the keys, and in a value printed; see `holm --help`
    #[arg(long)]
    pub(crate) escaped: bool,
    /// Print only the value's bytes, of one key
    #[arg(long, short)]
    pub(crate) no_newline: bool,
}

pub(super) const PUT: &str = "\
The database and the keyspace are created if they are absent. The record is durable when the command returns.

With --expires-in, a keyspace that is absent is created so that its keys may expire; no other keyspace, such as \
`default`, takes such a record. Without it, the record does not expire, also if the one before did.

Examples:
  holm put sea.holm north coral
  holm put sea.holm north.jpg < north.jpg
  holm put sea.holm --escaped 'a\\x00b' 'two\\nlines'
  holm put sea.holm session/17 open --keyspace sessions --expires-in 30m
  holm put sea.holm -- --key-with-dashes value";

/// Arguments of `put`.
#[derive(Debug, Args)]
pub(crate) struct Put {
    #[command(flatten)]
    pub(crate) record: Record,
    /// Value to store; if absent, all of standard input, literally
    pub(crate) value: Option<OsString>,
    #[command(flatten)]
    pub(crate) expiring: Expiring,
}

pub(super) const EXPIRE: &str = "\
Without --in and --never, prints when the key expires: a time such as 2026-01-31T12:00:00.000Z, or `never`. Exit \
code 1 if the key is absent, or has expired. The keyspace must be one whose keys may expire: see `holm help \
put`. A change is \
durable when the command returns.

Examples:
  holm expire sea.holm session/17 --keyspace sessions --in 30m
  holm expire sea.holm session/17 --keyspace sessions --never
  holm expire sea.holm session/17 --keyspace sessions";

/// Arguments of `expire`.
#[derive(Debug, Args)]
pub(crate) struct Expire {
    #[command(flatten)]
    pub(crate) record: Record,
    /// Let the key expire after this time, such as 500ms, 30s, 10m, 12h or 7d
    #[arg(long = "in", value_name = "DURATION", value_parser = lifetime, conflicts_with = "never")]
    pub(crate) after: Option<Duration>,
    /// Let the key stay
    #[arg(long)]
    pub(crate) never: bool,
}

pub(super) const DEL: &str = "\
With a key: exit code 1 if it is absent. With --prefix, --from or --to: prints how many records were removed; \
exit code 1 if there was none. A range is removed from its low end on, some dozen records at a time, so a \
command that is cut \
short leaves the rest of it. In a keyspace whose keys expire, expired records that are still stored count. The removal \
is durable when the command returns.

Examples:
  holm del sea.holm north
  holm del sea.holm --escaped 'a\\x00b' --keyspace reefs
  holm del sea.holm --prefix user/17/
  holm del log.holm --to 2026-01-01";

/// Arguments of `del`.
#[derive(Debug, Args)]
#[command(override_usage = "holm del [OPTIONS] <DATABASE> <KEY>\n       \
    holm del [OPTIONS] <DATABASE> --prefix <PREFIX>\n       \
    holm del [OPTIONS] <DATABASE> --from <KEY> --to <KEY>")]
pub(crate) struct Del {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Key of the record
    #[arg(conflicts_with_all = ["from", "to", "prefix"], required_unless_present_any = ["from", "to", "prefix"])]
    pub(crate) key: Option<OsString>,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
    /// Use escapes such as \xHH in the key and the bounds; see `holm --help`
    #[arg(long)]
    pub(crate) escaped: bool,
}

pub(super) const CAS: &str = "\
If the key has another value than EXPECTED, nothing changes. That value is printed as by `get`, nothing if the key is \
absent, and the exit code is 1. With --absent there is only NEW, and the database and the keyspace are created if they \
are absent. With --remove there is only EXPECTED. A key that expires keeps its time. The change is \
durable when the command returns.

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

pub(super) const INCR: &str = "\
The number is stored in eight bytes, the least significant first, from -2^63 to 2^63 - 1. An absent key counts as 0, \
and a key that expires keeps its time. The database and the keyspace are created if \
they are absent. The sum is durable when the command returns.

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

pub(super) const POP: &str = "\
Exit code 1 if the keyspace is empty. The record is removed after it has been printed, so it stays if the output \
cannot be written. Standard output that is closed is refused, and so is /dev/null if it is open for reading, \
too, which looks the same. The removal is durable when the command returns. The output format is that of `export`.

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
