//! `load`: stores the records of a file or of standard input in input order.
//!
//! The order is a guarantee: each record is acknowledged before the next is stored. In `Strict` mode, a group of
//! adjacent records is stored atomically instead. So a killed load leaves a prefix of its input. Memory holds one
//! record or one group, never the whole file. The records before a bad line are made durable before the error names the
//! line.

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Context, anyhow, bail};
use holm::{Batch, Database, Durability, Keyspace};

use crate::args::{Expiring, Lifetime, Load};
use crate::exit::{Exit, chain};
use crate::expiring::{self, refusal};
use crate::formats::columns::Chosen;
use crate::formats::tsv::Tsv;
use crate::formats::{Fault, Format, LIMITS, Next, Pair, Records};
use crate::input::{self, Interruptible};
use crate::interrupt::Interrupt;
use crate::opened;
use crate::output::{self, counted};
use crate::progress::Progress;

/// Bytes per read.
const READ_BYTES: usize = 256 * 1024;

/// A commit in `Strict` mode waits for the disk, so this number of records shares one wait.
const GROUP_RECORDS: usize = 512;

/// A group ends early when it holds this number of bytes.
const GROUP_BYTES: usize = 1 << 20;

pub(crate) fn run(args: &Load) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let tally = load_beside(args, |_, load| load())?;
    output::print(tally.summary(begun.elapsed().as_secs_f64()))?;
    Ok(Exit::Found)
}

/// Opens the input and the database, and loads. `beside` gets the database and runs the load, which ends with a sync.
pub(crate) fn load_beside(
    args: &Load,
    beside: impl FnOnce(&Database, &mut dyn FnMut() -> anyhow::Result<()>) -> anyhow::Result<()>,
) -> anyhow::Result<Tally> {
    let file = args.file.as_deref().filter(|file| *file != Path::new("-"));
    // Opened before the database: a misspelt file name must not create a database.
    let interrupt = Interrupt::default();
    let source = Source::open(file, &interrupt)?;
    let format = Format::of(args.format, file)?;
    if args.raw && format != Format::Tsv {
        bail!("--raw is for tsv");
    }
    if args.header && format != Format::Csv {
        bail!("--header is for csv");
    }
    expiring::check_target(&args.target, &args.expiring)?;
    interrupt.listen()?;
    let progress = Progress::new(source.bytes);
    let input = BufReader::with_capacity(READ_BYTES, progress.watch(source.input));
    let mut records: Box<dyn Records + '_> = match &args.key_column {
        Some(key) => {
            let chosen = Chosen { key: key.clone(), value: args.value_column.clone() };
            format.chosen(input, chosen, LIMITS).context("--key-column is for csv and jsonl")?
        }
        None if args.raw => Box::new(Tsv::raw(input, LIMITS)),
        None => format.records(input, LIMITS),
    };
    let database = opened::writable(&args.target.database, &args.writing, true)?;
    opened::closing(database, |database| {
        let mut tally = Tally::default();
        let mut loaded = || {
            let loaded = load(args, &source.name, records.as_mut(), database, &interrupt, &mut tally);
            progress.finish();
            // Also after a failure: the error will state that the records before it are stored.
            let synced = database.sync().context("cannot make the records durable");
            ended(loaded, synced, tally.stored)
        };
        beside(database, &mut loaded)?;
        Ok(tally)
    })
}

/// Returns the result of a load. An error states how many records are stored, and whether they are durable.
fn ended(loaded: anyhow::Result<()>, synced: anyhow::Result<()>, stored: u64) -> anyhow::Result<()> {
    let Err(error) = loaded else { return synced };
    let (error, stored) = (chain(&error), counted(stored, "record"));
    match synced {
        Ok(()) => Err(anyhow!("{error} ({stored} stored before it)")),
        Err(lost) => Err(anyhow!("{error} ({stored} before it may be lost: {})", chain(&lost))),
    }
}

/// The source of the records.
struct Source {
    name: String,
    input: Box<dyn Read>,
    /// Known for regular files.
    bytes: Option<u64>,
}

impl Source {
    fn open(file: Option<&Path>, interrupt: &Interrupt) -> anyhow::Result<Self> {
        let Some(path) = file else {
            let stdin = input::standard("the records", "name a file")?;
            // Not through the buffer of `stdin`, which could have what a poll does not see.
            let input = File::from(stdin.as_fd().try_clone_to_owned().context("reading standard input")?);
            let input = Box::new(Interruptible::new(input, interrupt.clone()));
            return Ok(Self { name: "standard input".into(), input, bytes: None });
        };
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        let about = file.metadata().with_context(|| format!("cannot open {name}"))?;
        if about.is_dir() {
            bail!("cannot load {name}: found a directory, expected a file");
        }
        let input = Box::new(Interruptible::new(file, interrupt.clone()));
        Ok(Self { name, input, bytes: about.is_file().then_some(about.len()) })
    }
}

/// Counts of stored records and bad lines.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    stored: u64,
    skipped: u64,
    first_skipped: Option<(u64, Fault)>,
}

impl Tally {
    pub(crate) fn summary(&self, seconds: f64) -> String {
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

/// Stores every record up to the end or the first error. In both cases the tally counts the stored records.
fn load(
    args: &Load,
    source: &str,
    records: &mut dyn Records,
    database: &Database,
    interrupt: &Interrupt,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let keyspace = expiring::keyspace(database, &args.target.keyspace, &args.expiring)?;
    let grouped = args.writing.durability == Some(Durability::Strict);
    let group = database.batch();
    let mut stored = Stored { database, keyspace, expiring: &args.expiring, grouped, group, group_bytes: 0, count: 0 };
    let mut pair = Pair::default();
    if args.header
        && let Next::Bad { line, fault } = records.next(&mut pair).with_context(|| format!("reading {source}"))?
        && fault.ends_the_input()
    {
        bail!("{source}: line {line}: {fault}");
    }
    let ended = loop {
        if interrupt.is_there() {
            break stored.commit().and(Err(anyhow!("{source}: interrupted")));
        }
        let error = match records.next(&mut pair) {
            Ok(Next::Pair { line }) => match stored.insert(&pair) {
                Ok(()) => continue,
                Err(error) => error.context(format!("{source}: line {line}: cannot store the record")),
            },
            Ok(Next::Bad { line, fault }) if args.skip_bad && !fault.ends_the_input() => {
                tally.skipped += 1;
                tally.first_skipped.get_or_insert((line, fault));
                continue;
            }
            Ok(Next::End) => break stored.commit(),
            Ok(Next::Bad { line, fault }) => anyhow!("{source}: line {line}: {fault}"),
            Err(_) if interrupt.is_there() => anyhow!("{source}: interrupted"),
            Err(error) => anyhow!(error).context(format!("reading {source}")),
        };
        // A group that is pending when a bad line comes is stored. A record that could not be stored is not retried.
        break stored.commit().and(Err(error));
    };
    tally.stored = stored.count;
    ended
}

/// The destination of records: one by one, or in groups that are committed atomically.
struct Stored<'a> {
    database: &'a Database,
    keyspace: Keyspace,
    expiring: &'a Expiring,
    grouped: bool,
    group: Batch,
    group_bytes: usize,
    /// Stored records; those of a group count once it is committed.
    count: u64,
}

impl Stored<'_> {
    fn insert(&mut self, pair: &Pair) -> anyhow::Result<()> {
        let (keyspace, key, value) = (&self.keyspace, &pair.key, &pair.value);
        let until = pair.expires_ms.map(|millis| UNIX_EPOCH + Duration::from_millis(millis));
        if until.is_some() && !keyspace.options().has_expiry() {
            return Err(refusal(keyspace.name()));
        }
        if !self.grouped {
            match until {
                Some(time) => keyspace.insert_until(key, value, time)?,
                None => expiring::insert(keyspace, key, value, self.expiring)?,
            }
            self.count += 1;
            return Ok(());
        }
        let group = std::mem::replace(&mut self.group, self.database.batch());
        self.group = match (until, self.expiring.expires_in) {
            (Some(time), _) => group.insert_until(keyspace, key, value, time),
            (None, Some(Lifetime::Limited(lifetime))) => group.insert_for(keyspace, key, value, lifetime),
            (None, Some(Lifetime::Never) | None) => group.insert(keyspace, key, value),
        };
        self.group_bytes += pair.key.len() + pair.value.len();
        if self.group.len() >= GROUP_RECORDS || self.group_bytes >= GROUP_BYTES {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> anyhow::Result<()> {
        let group = std::mem::replace(&mut self.group, self.database.batch());
        self.group_bytes = 0;
        let len = group.len() as u64;
        group.commit().context("cannot store the records")?;
        self.count += len;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Verb};
    use clap::Parser;

    /// A reached capacity stands for a full disk: the record is refused, and the records before it stay stored.
    #[test]
    fn a_load_that_is_refused_says_how_much_is_stored() {
        for durability in ["onsync", "strict"] {
            let folder = tempfile::tempdir().unwrap();
            let database = Database::builder().capacity(1 << 20).open(folder.path().join("db")).unwrap();
            let arguments = ["holm", "load", "db", "--durability", durability];
            let Verb::Load(args) = Arguments::parse_from(arguments).verb else { panic!("{arguments:?}") };
            let lines: String = (0..60_000).map(|number| format!("{number:06}\t{number:0>200}\n")).collect();
            let mut records = Format::Tsv.records(lines.as_bytes(), LIMITS);
            let mut tally = Tally::default();
            let loaded = load(&args, "lines.tsv", records.as_mut(), &database, &Interrupt::default(), &mut tally);
            let synced = database.sync().map_err(anyhow::Error::from);
            let error = ended(loaded, synced, tally.stored).unwrap_err().to_string();
            let there = database.keyspace("default").unwrap().iter().filter(Result::is_ok).count();
            assert!(there > 0 && there < 60_000, "{there}");
            assert!(error.starts_with("lines.tsv: line ") && error.contains("capacity"), "{error}");
            assert!(error.ends_with(&format!("({there} records stored before it)")), "{there}: {error}");
        }
    }
}
