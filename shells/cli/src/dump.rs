//! `dump`: a whole database as text that `restore` reads back: each keyspace with its options, its records with the
//! times at which they expire, and the mark.
//!
//! The text is JSON lines. The first says that it is a dump, a line that names a keyspace begins its records, and the
//! last one has the counts, so that a text that is cut off is found. Records are those of `export --format jsonl`.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, bail};
use holm::{ReadOnlyDatabase, ReadOnlyKeyspace};
use serde::{Deserialize, Serialize};

use crate::args::Dump;
use crate::exit::{Exit, note};
use crate::formats::{Format, Writer};
use crate::{expiring, opened, output};

/// The version of the text.
pub(crate) const VERSION: u32 = 1;

/// A line of a dump that is no record.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(crate) enum Head {
    /// The first line: the version.
    HolmDump(u32),
    /// A keyspace, whose records follow.
    Keyspace { name: String, expires: bool },
    /// The last line.
    End(Tally),
}

/// What a dump contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tally {
    pub(crate) keyspaces: u64,
    pub(crate) records: u64,
    /// The database's mark, if it has one.
    pub(crate) mark: Option<u64>,
}

impl Tally {
    /// Returns the counts as lines for people and scripts.
    pub(crate) fn lines(&self) -> String {
        format!("keyspaces  {}\nrecords    {}\n", self.keyspaces, self.records)
    }
}

pub(crate) fn run(args: &Dump) -> anyhow::Result<Exit> {
    let database = opened::readable(&args.database)?;
    match args.file.as_deref().filter(|file| *file != Path::new("-")) {
        None => {
            let mut out = output::standard();
            let written = write(&database, &mut out);
            output::whole(written.and_then(|_| output::finish(out)))?;
        }
        Some(path) => {
            let tally = output::to_new_file(path, |file| {
                let mut out = BufWriter::new(file);
                let tally = write(&database, &mut out)?;
                output::finish(out).map(|()| tally)
            })?;
            output::print(tally.lines())?;
        }
    }
    // A user who keeps the text must not take it for complete.
    let faults = database.check()?.faults;
    faults.first().inspect(|fault| note(&format!("the database is damaged, see `check`: {fault}")));
    Ok(if faults.is_empty() { Exit::Found } else { Exit::Faulty })
}

fn write(database: &ReadOnlyDatabase, out: &mut impl Write) -> anyhow::Result<Tally> {
    let mut tally = Tally { mark: database.mark()?, ..Tally::default() };
    head(out, &Head::HolmDump(VERSION))?;
    for name in database.keyspaces()? {
        let Some(keyspace) = database.existing_keyspace(&name)? else { bail!("the keyspace {name:?} is not there") };
        head(out, &Head::Keyspace { name, expires: keyspace.options().has_expiry() })?;
        tally.keyspaces += 1;
        tally.records += records(&keyspace, out)?;
    }
    head(out, &Head::End(tally))?;
    Ok(tally)
}

fn head(out: &mut impl Write, head: &Head) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(head).context("writing the output")?;
    line.push(b'\n');
    out.write_all(&line).context("writing the output")
}

fn records(keyspace: &ReadOnlyKeyspace, out: &mut impl Write) -> anyhow::Result<u64> {
    let (mut writer, mut count) = (Writer::new(Format::Jsonl, out), 0);
    for record in keyspace.iter() {
        let (key, value) = record?;
        count += u64::from(expiring::write(&mut writer, (&key, &value), keyspace.options(), || keyspace.expiry(&key))?);
    }
    Ok(count)
}
