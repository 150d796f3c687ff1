//! Shows how much disk a database takes while its records change: `churn PROGRAM FOLDER [PASSES] [compact]`.
//!
//! | program | what it does |
//! |---|---|
//! | `drift` | 200,000 records; each pass replaces all by values that are 24 bytes longer |
//! | `reopen` | 300,000 records of 10 to 400 bytes; removes nine tenths, closes, opens, inserts records of 100 bytes |
//! | `large` | 10,000 values of 5,000 to 40,000 bytes; each pass replaces as many, chosen at random |
//! | `random` | 50,000 values of 10 to 4,000 bytes; each pass replaces a million, chosen at random |
//! | `load` | 2,000,000 records of 100 bytes; each pass replaces as many, chosen at random |
//!
//! Each line has live bytes (keys and values), the blocks that the file system counts for `leaves`, `records` and the
//! log, and both as a multiple of the live bytes: at the end of the pass, and at most while it wrote, from 20 MB of
//! live bytes on. `load` also shows what is left when nothing has been written for two seconds. With `compact`, a
//! compaction follows each pass.

use holm::{Database, Keyspace};
use std::error::Error;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The generator SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) % end
    }
    fn between(&mut self, least: u64, most: u64) -> usize {
        (least + self.below(most - least + 1)) as usize
    }
}

/// What is stored: the length of each record's value, by number.
struct Records {
    space: Option<Keyspace>,
    lengths: Vec<Option<usize>>,
    bytes: Vec<u8>,
    folder: PathBuf,
    live: u64,
    /// The greatest multiple of the live bytes that the disk has had.
    most: f64,
    /// How long puts took, in nanoseconds.
    puts: Vec<u64>,
}

impl Records {
    fn space(&self) -> &Keyspace {
        self.space.as_ref().expect("dropped for a close only")
    }
    fn put(&mut self, number: usize, length: usize) -> Result<(), holm::Error> {
        let start = Instant::now();
        self.space().insert((number as u64).to_be_bytes(), &self.bytes[..length])?;
        self.puts.push(start.elapsed().as_nanos() as u64);
        self.lengths.resize(self.lengths.len().max(number + 1), None);
        let old = self.lengths[number].replace(length);
        self.live = self.live + length as u64 + 8 - old.map_or(0, |old| old as u64 + 8);
        if self.puts.len().is_multiple_of(10_000) && self.live > 20_000_000 {
            self.most = self.most.max(disk(&self.folder, DATA) as f64 / self.live as f64 + self.log_share());
        }
        Ok(())
    }
    fn remove(&mut self, number: usize) -> Result<(), holm::Error> {
        self.space().remove((number as u64).to_be_bytes())?;
        self.live -= self.lengths[number].take().map_or(0, |length| length as u64 + 8);
        Ok(())
    }
    fn log_share(&self) -> f64 {
        disk(&self.folder, LOG) as f64 / self.live as f64
    }
    fn median_ns(&mut self) -> u64 {
        self.puts.sort_unstable();
        let median = self.puts.get(self.puts.len() / 2).copied().unwrap_or(0);
        self.puts.clear();
        median
    }
}

/// How the names of the files begin that have the data, and the log.
const DATA: &[&str] = &["leaves", "records", "index"];
const LOG: &[&str] = &["log."];

/// Bytes that the file system counts for the files whose names begin so.
fn disk(folder: &Path, names: &[&str]) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.filter(|file| names.iter().any(|name| file.file_name().to_string_lossy().starts_with(name)));
    files.filter_map(|file| file.metadata().ok()).map(|file| file.blocks() * 512).sum()
}

fn report(what: &str, records: &mut Records) {
    let (live, median) = (records.live, records.median_ns());
    let (data, log) = (disk(&records.folder, DATA), disk(&records.folder, LOG));
    let most = std::mem::take(&mut records.most);
    let (mb, times) = (|bytes: u64| bytes as f64 / 1e6, |bytes: u64| bytes as f64 / live as f64);
    println!(
        "{what:<12} live {:7.1} MB, data {:7.1} MB {:4.2}x, with log {:7.1} MB {:4.2}x, at most {most:4.2}x, \
         median put {median} ns",
        mb(live),
        mb(data),
        times(data),
        mb(data + log),
        times(data + log),
    );
}

const PROGRAMS: [&str; 5] = ["drift", "reopen", "large", "random", "load"];

/// Does one pass.
fn pass(program: &str, number: usize, records: &mut Records, random: &mut Random) -> Result<(), holm::Error> {
    match program {
        "drift" => (0..200_000).try_for_each(|record| records.put(record, 100 + 24 * number)),
        "reopen" if number == 0 => (0..300_000).try_for_each(|record| records.put(record, random.between(10, 400))),
        "reopen" if number == 1 => {
            (0..300_000).filter(|record| record % 10 != 0).try_for_each(|record| records.remove(record))
        }
        "reopen" => (0..100_000).try_for_each(|record| records.put(number * 300_000 + record, 100)),
        "large" if number == 0 => (0..10_000).try_for_each(|record| records.put(record, random.between(5000, 40_000))),
        "large" => {
            (0..10_000).try_for_each(|_| records.put(random.below(10_000) as usize, random.between(5000, 40_000)))
        }
        "load" if number == 0 => (0..2_000_000).try_for_each(|record| records.put(record, 100)),
        "load" => (0..2_000_000).try_for_each(|_| records.put(random.below(2_000_000) as usize, 100)),
        "random" if number == 0 => (0..50_000).try_for_each(|record| records.put(record, random.between(10, 4000))),
        _ => (0..1_000_000).try_for_each(|_| records.put(random.below(50_000) as usize, random.between(10, 4000))),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (program, folder) = match &arguments[..] {
        [program, folder, ..] if PROGRAMS.contains(&program.as_str()) => (program.as_str(), Path::new(folder)),
        _ => return Err("arguments: PROGRAM FOLDER [PASSES] [compact]".into()),
    };
    let passes = arguments.get(2).map_or(Ok(10), |passes| passes.parse())?;
    let compacts = arguments.get(3).is_some();
    let mut random = Random(1);
    let mut db = Database::open(folder)?;
    let bytes = (0..64 << 10).map(|_| random.below(256) as u8).collect();
    let space = Some(db.keyspace("churn")?);
    let folder = folder.to_path_buf();
    let mut records = Records { space, lengths: Vec::new(), bytes, folder, live: 0, most: 0.0, puts: Vec::new() };
    for number in 0..passes {
        pass(program, number, &mut records, &mut random)?;
        if compacts {
            db.compact().run(|_| ControlFlow::Continue(()))?;
        }
        db.sync()?;
        report(&format!("pass {number}"), &mut records);
        if program == "load" {
            std::thread::sleep(Duration::from_secs(2));
            report("quiet", &mut records);
        }
        if program == "reopen" && number == 1 {
            records.space = None;
            db.close()?;
            report("closed", &mut records);
            db = Database::open(&records.folder)?;
            records.space = Some(db.keyspace("churn")?);
        }
    }
    records.space = None;
    db.close()?;
    report("closed", &mut records);
    Ok(())
}
