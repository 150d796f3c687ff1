//! The arguments of commands on backups.

use std::path::PathBuf;

use clap::Args;

pub(super) const BACKUP: &str = "\
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

pub(super) const DUMP: &str = "\
JSON lines, for other programs and versions: all keyspaces with their options, all records with the times at which \
they expire, and the mark. `restore` makes a database of the text. A backup is smaller and faster, and can be followed \
by increments.

Examples:
  holm dump packages.holm packages.jsonl
  holm dump packages.holm | zstd > packages.jsonl.zst";

/// Arguments of `dump`.
#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// File to create; standard output if absent or -
    pub(crate) file: Option<PathBuf>,
}

pub(super) const RESTORE: &str = "\
The folder must not exist, or be empty. It gets its name once the database in it is complete. The input is a whole \
backup, or the text of `dump`.

Examples:
  holm restore packages.holm packages.jsonl
  holm restore packages.holm monday.backup
  ssh elsewhere 'cat packages.backup' | holm restore packages.holm";

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// Path of the new database
    pub(crate) database: PathBuf,
    /// File with the backup or the text; standard input if absent or -
    pub(crate) file: Option<PathBuf>,
}

pub(super) const APPLY: &str = "\
The database must stand at the backup's base: `restore` and each `apply` before lead there, and nothing else may have \
been written since. A crash leaves it at one backup or at the next.

Examples:
  holm apply packages.holm tuesday.backup";

/// Arguments of `apply`.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// Path of the database
    pub(crate) database: PathBuf,
    /// File with the backup; standard input if absent or -
    pub(crate) file: Option<PathBuf>,
}

pub(super) const VERIFY: &str = "\
Reads all of it: each flipped byte and a missing end are found.

Examples:
  holm verify monday.backup";

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// File with the backup; standard input if absent or -
    pub(crate) file: Option<PathBuf>,
}
