//! Shows how much disk a database takes while its records change: `churn PROGRAM FOLDER [PASSES] [compact]`.
//!
//! | program | what it does |
//! |---|---|
//! | `drift` | 200,000 records; each pass replaces all by values that are 24 bytes longer |
//! | `reopen` | 300,000 records of 10 to 400 bytes; removes nine tenths, closes, opens, inserts records of 100 bytes |
//! | `large` | 10,000 values of 5,000 to 40,000 bytes; each pass replaces as many, chosen at random |
//! | `random` | 50,000 values of 10 to 4,000 bytes; each pass replaces a million, chosen at random |
//!
//! Each line has live bytes (keys and values), the blocks that the file system counts for `leaves`, `records` and the
//! log, and both as a multiple of the live bytes. With `compact`, a compaction follows each pass.

use holm::{Database, Keyspace};
use std::error::Error;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

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
        self.lengths[number] = Some(length);
        Ok(())
    }
    fn remove(&mut self, number: usize) -> Result<(), holm::Error> {
        self.space().remove((number as u64).to_be_bytes())?;
        self.lengths[number] = None;
        Ok(())
    }
    fn live(&self) -> u64 {
        self.lengths.iter().flatten().map(|length| *length as u64 + 8).sum()
    }
    fn median_ns(&mut self) -> u64 {
        self.puts.sort_unstable();
        let median = self.puts.get(self.puts.len() / 2).copied().unwrap_or(0);
        self.puts.clear();
        median
    }
}

/// Bytes that the file system counts for the files of these names.
fn disk(folder: &Path, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| std::fs::metadata(folder.join(name)).ok()).map(|file| file.blocks() * 512).sum()
}

fn report(what: &str, folder: &Path, records: &mut Records) {
    let (live, median) = (records.live(), records.median_ns());
    let (data, log) = (disk(folder, &["leaves", "records", "index"]), disk(folder, &["log.0", "log.1"]));
    let (mb, times) = (|bytes: u64| bytes as f64 / 1e6, |bytes: u64| bytes as f64 / live as f64);
    println!(
        "{what:<12} live {:7.1} MB, data {:7.1} MB {:4.2}x, with log {:7.1} MB {:4.2}x, median put {median} ns",
        mb(live),
        mb(data),
        times(data),
        mb(data + log),
        times(data + log),
    );
}

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
        "random" if number == 0 => (0..50_000).try_for_each(|record| records.put(record, random.between(10, 4000))),
        _ => (0..1_000_000).try_for_each(|_| records.put(random.below(50_000) as usize, random.between(10, 4000))),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (program, folder) = match &arguments[..] {
        [program, folder, ..] => (program.as_str(), Path::new(folder)),
        _ => return Err("arguments: PROGRAM FOLDER [PASSES] [compact]".into()),
    };
    let passes = arguments.get(2).map_or(Ok(10), |passes| passes.parse())?;
    let compacts = arguments.get(3).is_some();
    let mut random = Random(1);
    let mut db = Database::open(folder)?;
    let bytes = (0..64 << 10).map(|_| random.below(256) as u8).collect();
    let mut records = Records { space: Some(db.keyspace("churn")?), lengths: Vec::new(), bytes, puts: Vec::new() };
    for number in 0..passes {
        pass(program, number, &mut records, &mut random)?;
        if compacts {
            db.compact().run(|_| ControlFlow::Continue(()))?;
        }
        db.sync()?;
        report(&format!("pass {number}"), folder, &mut records);
        if program == "reopen" && number == 1 {
            records.space = None;
            db.close()?;
            report("closed", folder, &mut records);
            db = Database::open(folder)?;
            records.space = Some(db.keyspace("churn")?);
        }
    }
    records.space = None;
    db.close()?;
    report("closed", folder, &mut records);
    Ok(())
}
