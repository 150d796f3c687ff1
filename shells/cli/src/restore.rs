//! `restore`: a new database of a whole backup, or of the text of `dump`. It gets its name once it is complete.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use holm::{Database, Keyspace, KeyspaceOptions};

use crate::args::Restore;
use crate::backup::sync_folder_of;
use crate::dump::{Head, Tally, VERSION};
use crate::exit::Exit;
use crate::formats::{LIMITS, Pair, jsonl};
use crate::{opened, output, verify};

/// The first byte of a dump, which no backup begins with.
const DUMP: &[u8] = b"{";

pub(crate) fn run(args: &Restore) -> anyhow::Result<Exit> {
    let lines = verify::with_input(args.file.as_deref(), |stream| {
        let mut stream = BufReader::new(stream);
        if stream.fill_buf()?.starts_with(DUMP) {
            return Ok(of_dump(&mut stream, &args.database)?.lines());
        }
        let info = Database::restore(&mut stream, &args.database)?;
        verify::refuse_more(&mut stream)?;
        Ok(verify::lines(&info))
    })?;
    output::print(lines)?;
    Ok(Exit::Found)
}

/// Makes a database of a dump beside its place, and moves it there.
fn of_dump(text: &mut impl BufRead, database: &Path) -> anyhow::Result<Tally> {
    if fs::read_dir(database).map_or(database.exists(), |mut entries| entries.next().is_some()) {
        bail!("{} exists; `restore` replaces no database", database.display());
    }
    let unfinished = unfinished_of(database)?;
    fs::create_dir(&unfinished).with_context(|| {
        format!("cannot create {}, in which the database is made; remove what is there", unfinished.display())
    })?;
    let made = Database::builder().open(&unfinished).map_err(anyhow::Error::from);
    let made = made.and_then(|made| opened::closing(made, |made| fill(text, made)));
    let tally = made.inspect_err(|_| drop(fs::remove_dir_all(&unfinished)))?;
    fs::rename(&unfinished, database).with_context(|| format!("cannot create {}", database.display()))?;
    sync_folder_of(database)?;
    Ok(tally)
}

/// The folder's name until the database in it is complete.
fn unfinished_of(database: &Path) -> anyhow::Result<PathBuf> {
    let mut name = database.file_name().with_context(|| format!("{} names no folder", database.display()))?.to_owned();
    name.push(".restoring");
    Ok(database.with_file_name(name))
}

/// Stores what the lines of a dump say, up to its last line.
fn fill(text: &mut impl BufRead, database: &Database) -> anyhow::Result<Tally> {
    let (mut line, mut pair) = (Vec::new(), Pair::default());
    let (mut keyspace, mut tally) = (None::<Keyspace>, Tally::default());
    for number in 1_u64.. {
        line.clear();
        text.read_until(b'\n', &mut line).with_context(|| format!("reading line {number}"))?;
        if line.is_empty() {
            bail!("the dump ends at line {number}, without the line that has its counts");
        }
        let at = |error: anyhow::Error| error.context(format!("line {number}"));
        let record = jsonl::parse(&line, LIMITS, &mut pair);
        match (record, &keyspace) {
            (Ok(()), Some(keyspace)) => {
                insert(keyspace, &pair).map_err(|error| at(error.into()))?;
                tally.records += 1;
            }
            (Ok(()), None) => bail!("line {number}: a record without a keyspace"),
            (Err(fault), _) => match serde_json::from_slice(line.trim_ascii()) {
                Ok(Head::HolmDump(VERSION)) if number == 1 => {}
                Ok(Head::HolmDump(found)) => {
                    bail!("line {number}: found version {found}, expected {VERSION} in line 1")
                }
                Ok(Head::Keyspace { name, expires }) if number > 1 => {
                    keyspace = Some(create(database, &name, expires).map_err(at)?);
                    tally.keyspaces += 1;
                }
                Ok(Head::End(found)) if number > 1 => return end(text, database, found, tally),
                Ok(_) => bail!("line 1: expected the version of a dump"),
                Err(_) => return Err(at(anyhow!("{fault}"))),
            },
        }
    }
    bail!("a dump has fewer than 2^64 lines")
}

fn create(database: &Database, name: &str, expires: bool) -> anyhow::Result<Keyspace> {
    Ok(database.keyspace_with(name, &KeyspaceOptions::new().expires(expires))?)
}

fn insert(keyspace: &Keyspace, pair: &Pair) -> holm::Result<()> {
    match pair.expires_ms {
        Some(millis) => keyspace.insert_until(&pair.key, &pair.value, UNIX_EPOCH + Duration::from_millis(millis)),
        None => keyspace.insert(&pair.key, &pair.value),
    }
}

/// Compares the counts with those of the dump, and sets the mark.
fn end(text: &mut impl Read, database: &Database, said: Tally, mut found: Tally) -> anyhow::Result<Tally> {
    found.mark = said.mark;
    if found != said {
        let counts = |tally: Tally| format!("{} records in {} keyspaces", tally.records, tally.keyspaces);
        bail!("found {}, expected {}, as the last line says", counts(found), counts(said));
    }
    if text.read(&mut [0]).context("reading behind the dump")? > 0 {
        bail!("bytes follow the last line of the dump");
    }
    if let Some(mark) = said.mark {
        database.batch().set_mark(mark).commit().context("cannot set the mark")?;
    }
    Ok(found)
}
