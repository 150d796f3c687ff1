//! `load`: stores the records of a file or of standard input in input order.
//!
//! The order is a guarantee: each record is acknowledged before the next is stored. In `Strict` mode, a group of
//! adjacent records is stored atomically instead. So a killed load leaves a prefix of its input. Memory holds one
//! record or one group, never the whole file. The records before a bad line are made durable before the error names the
//! line.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use holm::{Batch, Database, Durability, Keyspace};

use crate::args::Load;
use crate::exit::{Exit, note};
use crate::formats::tsv::Tsv;
use crate::formats::{Fault, Format, LIMITS, Next, Pair, Records};
use crate::progress::Progress;
use crate::{opened, output};

/// Bytes per read.
const READ_BYTES: usize = 256 * 1024;

/// A commit in `Strict` mode waits for the disk, so this number of records shares one wait.
const GROUP_RECORDS: usize = 512;

/// A group ends early when it holds this number of bytes.
const GROUP_BYTES: usize = 1 << 20;

pub(crate) fn run(args: &Load) -> anyhow::Result<Exit> {
    let file = args.file.as_deref().filter(|file| *file != Path::new("-"));
    // Opened before the database: a misspelt file name must not create a database.
    let source = Source::open(file)?;
    let format = Format::of(args.format, file)?;
    if args.raw && format != Format::Tsv {
        bail!("--raw is for tsv");
    }
    if args.header && format != Format::Csv {
        bail!("--header is for csv");
    }
    let progress = Progress::new(source.bytes);
    let input = BufReader::with_capacity(READ_BYTES, progress.watch(source.input));
    let mut records: Box<dyn Records + '_> =
        if args.raw { Box::new(Tsv::raw(input, LIMITS)) } else { format.records(input, LIMITS) };
    let begun = Instant::now();
    let database = opened::writable(&args.target.database, &args.writing, true)?;
    let tally = opened::closing(database, |database| {
        let mut tally = Tally::default();
        let loaded = load(args, &source.name, records.as_mut(), database, &mut tally);
        progress.finish();
        // Also after a bad line: the error will state that the records before it are stored.
        let synced = database.sync().context("cannot make the records durable");
        loaded.and(synced).map(|()| tally)
    })?;
    output::print(tally.summary(begun.elapsed().as_secs_f64()))?;
    Ok(Exit::Found)
}

/// The source of the records.
struct Source {
    name: String,
    input: Box<dyn Read>,
    /// Known for regular files.
    bytes: Option<u64>,
}

impl Source {
    fn open(file: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = file else {
            if io::stdin().is_terminal() {
                note("reading records from the terminal; end with Ctrl-D on a line of its own");
            }
            return Ok(Self { name: "standard input".into(), input: Box::new(io::stdin().lock()), bytes: None });
        };
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        let about = file.metadata().with_context(|| format!("cannot open {name}"))?;
        if about.is_dir() {
            bail!("cannot load {name}: found a directory, expected a file");
        }
        Ok(Self { name, input: Box::new(file), bytes: about.is_file().then_some(about.len()) })
    }
}

/// Counts of stored records and bad lines.
#[derive(Debug, Default)]
struct Tally {
    stored: u64,
    skipped: u64,
    first_skipped: Option<(u64, Fault)>,
}

impl Tally {
    fn summary(&self, seconds: f64) -> String {
        let rate = self.stored as f64 / seconds.max(1e-9);
        let records = counted(self.stored, "record");
        let mut text = format!("{records} in {seconds:.2} s, {rate:.0} per second\n");
        if let Some((line, fault)) = &self.first_skipped {
            let skipped = counted(self.skipped, "bad line");
            text.push_str(&format!("{skipped} skipped, the first: line {line}: {fault}\n"));
        }
        text
    }
}

/// `1 record`, `2 records`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Stores every record up to the end or the first error. In both cases all records counted in the tally are stored.
fn load(
    args: &Load,
    source: &str,
    records: &mut dyn Records,
    database: &Database,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let keyspace = database.keyspace(&args.target.keyspace)?;
    let grouped = args.writing.durability == Some(Durability::Strict);
    let mut stored = Stored { database, keyspace, grouped, group: database.batch(), group_bytes: 0 };
    let mut pair = Pair::default();
    if args.header
        && let Next::Bad { line, fault } = records.next(&mut pair).with_context(|| format!("reading {source}"))?
        && fault.ends_the_input()
    {
        bail!("{source}: line {line}: {fault}");
    }
    loop {
        match records.next(&mut pair) {
            Ok(Next::Pair { line }) => {
                stored.insert(&pair).with_context(|| format!("{source}: line {line}: cannot store the record"))?;
                tally.stored += 1;
            }
            Ok(Next::Bad { line, fault }) if args.skip_bad && !fault.ends_the_input() => {
                tally.skipped += 1;
                tally.first_skipped.get_or_insert((line, fault));
            }
            Ok(Next::End) => return stored.commit(),
            Ok(Next::Bad { line, fault }) => {
                stored.commit()?;
                bail!("{source}: line {line}: {fault} ({} stored before it)", counted(tally.stored, "record"));
            }
            Err(error) => {
                stored.commit()?;
                let after = format!("reading {source} after {}", counted(tally.stored, "record"));
                return Err(anyhow!(error).context(after));
            }
        }
    }
}

/// The destination of records: one by one, or in groups that are committed atomically.
struct Stored<'a> {
    database: &'a Database,
    keyspace: Keyspace,
    grouped: bool,
    group: Batch,
    group_bytes: usize,
}

impl Stored<'_> {
    fn insert(&mut self, pair: &Pair) -> anyhow::Result<()> {
        if !self.grouped {
            return Ok(self.keyspace.insert(&pair.key, &pair.value)?);
        }
        let group = std::mem::replace(&mut self.group, self.database.batch());
        self.group = group.insert(&self.keyspace, &pair.key, &pair.value);
        self.group_bytes += pair.key.len() + pair.value.len();
        if self.group.len() >= GROUP_RECORDS || self.group_bytes >= GROUP_BYTES {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> anyhow::Result<()> {
        let group = std::mem::replace(&mut self.group, self.database.batch());
        self.group_bytes = 0;
        if !group.is_empty() {
            group.commit().context("cannot store the records")?;
        }
        Ok(())
    }
}
