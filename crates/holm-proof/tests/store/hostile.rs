//! Damage by seed to every file of a database that was closed, killed or cut off: each use of it afterwards ends, with
//! a typed error or an answer, and no thread of it panics.

use crate::history::Mode;
use holm::{Database, Durability, Error, ImageMode, Result};
use holm_medium::LAST_EPOCH;
use holm_medium::superblock::{Superblock, superblock_path};
use holm_medium::vfs::{How, Vfs};
use holm_proof::disk::SimDisk;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

const NAMES: [&str; 3] = ["north", "south", "west"];

/// More pairs than any database here has: a scan that returns more has no end.
const MOST: usize = 4_000;

fn key(number: u32) -> Vec<u8> {
    match number % 4 {
        0 => number.to_be_bytes().to_vec(),
        1 => format!("a common prefix that heads leave out/{number:06}").into_bytes(),
        2 => format!("{number}").into_bytes(),
        _ => [&[b'x'; 70][..], &number.to_be_bytes()].concat(),
    }
}

fn open(disk: &SimDisk, design: &'static str, private: bool) -> Result<Database> {
    Mode { design, ..Mode::new(private, Durability::OnSync) }.open(disk)
}

/// The states that a database can be left in: closed, killed, and cut off from power. Most leaves are older than the
/// log.
fn left(design: &'static str, private: bool) -> Vec<(&'static str, SimDisk)> {
    let disk = SimDisk::new();
    let db = open(&disk, design, private).expect("a sound disk");
    for (index, name) in NAMES.iter().enumerate() {
        let keyspace = db.keyspace(name).expect("a new database");
        for number in 0..300_u32 {
            let value = vec![number as u8; (number * 7 % 90) as usize];
            keyspace.insert(key(number * 3 + index as u32), value).expect("inserting");
        }
        (0..300).filter(|number| number % 5 < 2).for_each(|number| {
            keyspace.remove(key(number * 3 + index as u32)).expect("removing");
        });
    }
    db.close().expect("a sound disk");
    let closed = disk.kill();
    let db = open(&disk, design, private).expect("a sound disk");
    let north = db.keyspace("north").expect("it is there");
    (0..40_u32).for_each(|number| north.insert(key(number * 3), "synced").expect("inserting"));
    db.sync().expect("a sound disk");
    (40..50_u32).for_each(|number| north.insert(key(number * 3), "not synced").expect("inserting"));
    let left = vec![("closed", closed), ("killed", disk.kill()), ("cut", disk.crash_to_durable())];
    drop((north, db));
    left
}

/// Damages one to four places of one file.
fn damage(disk: &SimDisk, random: &mut Pcg64Mcg) -> String {
    let name =
        ["leaves", "leaves", "leaves", "records", "records", "log.0", "log.1", "superblock"][random.random_range(0..8)];
    let path = Path::new("/d").join(name);
    let Some(bytes) = disk.contents(&path).filter(|bytes| bytes.len() >= 4096) else {
        return format!("{name}: absent");
    };
    // Most of a file is unused space.
    let used: Vec<_> = (0..bytes.len() / 8).filter(|word| bytes[word * 8..][..8] != [0; 8]).collect();
    let mut what = String::from(name);
    for _ in 0..random.random_range(1..=4) {
        let word = |random: &mut Pcg64Mcg| match used.is_empty() || random.random_ratio(1, 8) {
            true => random.random_range(0..bytes.len() / 8),
            false => used[random.random_range(0..used.len())],
        };
        let (to, from) = (word(random), word(random));
        let with = match random.random_range(0..7) {
            0 => vec![0; 8],
            1 => vec![0xFF; 8],
            2 => bytes[from * 8..][..8].to_vec(),
            3 => random.random::<u64>().to_le_bytes().to_vec(),
            4 => {
                let block = from * 8 / 512 * 512;
                let (block, at) = (&bytes[block..(block + 512).min(bytes.len())], to * 8 / 512 * 512);
                assert!(disk.overwrite(&path, at, &block[..block.len().min(bytes.len() - at)]));
                what += &format!(", block {} is {}", to * 8 / 512, from * 8 / 512);
                continue;
            }
            _ => {
                let (byte, bit) = (to * 8 + random.random_range(0..8), random.random_range(0..8));
                assert!(disk.flip(&path, byte, bit));
                what += &format!(", bit {bit} of {byte}");
                continue;
            }
        };
        assert!(disk.overwrite(&path, to * 8, &with));
        what += &format!(", word {} is {with:02x?}", to * 8);
    }
    what
}

/// Passes an answer on; an error is as good, unless it names the panic of a thread.
fn answer<T>(result: Result<T>) -> Option<T> {
    match result {
        Ok(answer) => Some(answer),
        Err(error) => {
            let words = error.to_string();
            assert!(
                !words.contains("panic")
                    && !matches!(&error, Error::Poisoned { reason, .. } if reason.contains("died")),
                "{error:?}"
            );
            None
        }
    }
}

/// Reads and writes all that can be read and written.
fn use_all(db: &Database) {
    for name in NAMES {
        let Some(Some(keyspace)) = answer(db.existing_keyspace(name)) else { continue };
        assert!(keyspace.iter().take(MOST + 1).count() <= MOST, "a scan without end");
        assert!(keyspace.iter().rev().take(MOST + 1).count() <= MOST, "a scan without end");
        let keys: Vec<_> = (0..900).map(key).collect();
        for key in &keys {
            answer(keyspace.get(key));
        }
        answer(keyspace.get_many(&keys));
        for (index, key) in keys.iter().enumerate() {
            match index % 3 {
                0 => answer(keyspace.insert(key, [7; 33])),
                1 => answer(keyspace.remove(key)).map(|_| ()),
                _ => answer(db.batch().insert(&keyspace, key, "one").remove(&keyspace, &keys[index - 1]).commit()),
            };
        }
        for key in &keys {
            answer(keyspace.remove(key));
        }
        for key in &keys {
            answer(keyspace.insert(key, key));
        }
        assert!(keyspace.iter().take(MOST + 1).count() <= MOST, "a scan without end");
    }
    answer(db.check());
    db.stats();
    answer(db.drop_keyspace("south"));
    answer(db.sync());
    if let Some(east) = answer(db.keyspace("east")) {
        for number in 0..300 {
            answer(east.insert(key(number), vec![1; (number % 60) as usize]));
        }
    }
    answer(db.check());
}

fn try_seed(
    seed: u64,
    design: &'static str,
    private: bool,
    left: &[(&'static str, SimDisk)],
) -> std::result::Result<bool, String> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (state, disk) = &left[random.random_range(0..left.len())];
    let disk = disk.kill();
    let what = damage(&disk, &mut random);
    let mut opened = false;
    let used = catch_unwind(AssertUnwindSafe(|| {
        for turn in 0..3 {
            if turn == 1 {
                // Reading needs a closed database, and may refuse this one.
                let image = if private { ImageMode::Private } else { ImageMode::Shared };
                let builder = Database::builder().design(design).image(image);
                let builder = builder.vfs(std::sync::Arc::new(disk.kill()), [1 << 20, 16 << 20]);
                if let Some(db) = answer(builder.open_read_only("/d")) {
                    for name in NAMES {
                        let Some(Some(keyspace)) = answer(db.existing_keyspace(name)) else { continue };
                        assert!(keyspace.iter().take(MOST + 1).count() <= MOST, "a scan without end");
                    }
                    answer(db.check());
                }
            }
            let Some(db) = answer(open(&disk, design, private)) else { return };
            opened = true;
            use_all(&db);
            if turn == 1 {
                let killed = disk.kill();
                drop(db);
                if let Some(db) = answer(open(&killed, design, private)) {
                    use_all(&db);
                }
            } else {
                answer(db.close());
            }
        }
    }));
    used.map(|()| opened).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        format!("seed {seed}, {design}, private {private}, {state}, {what}: {}", words.unwrap_or("a panic"))
    })
}

/// Runs the seeds of `HOLM_HOSTILE=from..to`, or a few.
#[test]
fn damage_anywhere_is_an_error_or_an_answer() {
    let range = std::env::var("HOLM_HOSTILE").ok();
    let range = range.as_deref().and_then(|range| range.split_once(".."));
    let seeds = range.map_or(0..6, |(from, to)| from.parse().expect("a seed")..to.parse().expect("a seed"));
    let (mut failures, mut opened) = (Vec::new(), 0);
    for (design, private) in [("buffered", false), ("holm", false), ("buffered", true)] {
        let left = left(design, private);
        for seed in seeds.clone() {
            match try_seed(seed, design, private, &left) {
                Ok(used) => opened += usize::from(used),
                Err(failure) => {
                    eprintln!("{failure}");
                    failures.push(failure);
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures, first {}", failures.len(), failures[0]);
    assert!(opened > 0, "no damage was survived");
}

/// A payload that leads into the first line of the record area, which holds no record. If such a record counted as one,
/// its space would be freed with it, and given out again.
#[test]
fn a_record_in_the_unused_first_line_is_damage() {
    const OFFSET_BITS: u32 = 40;
    for design in ["buffered", "holm"] {
        let left = left(design, false);
        let killed = &left[1].1;
        let path = Path::new("/d/leaves");
        let (bytes, records) = (killed.contents(path).expect("it is there"), killed.contents(Path::new("/d/records")));
        let area = records.expect("it is there").len() as u64 / 8;
        let payload = |word: &u64| {
            (1..40).contains(&(word >> OFFSET_BITS)) && (8..area).contains(&(word & ((1 << OFFSET_BITS) - 1)))
        };
        let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).enumerate().skip(64);
        let payloads: Vec<_> = words.filter(|(_, word)| payload(word)).collect();
        assert!(payloads.len() > 100, "{} payloads", payloads.len());
        for (index, word) in payloads.into_iter().step_by(31) {
            let damaged = killed.kill();
            assert!(damaged.overwrite(path, index * 8, &(word >> OFFSET_BITS << OFFSET_BITS | 3).to_le_bytes()));
            if let Some(db) = answer(open(&damaged, design, false)) {
                use_all(&db);
                answer(db.close());
            }
        }
    }
}

/// One thread's share of everything that a program may do at once.
fn work(db: &Database, seed: u64, rounds: u32) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for round in 0..rounds {
        let name = NAMES[random.random_range(0..3)];
        let number = random.random_range(0..600);
        let Some(keyspace) = answer(db.keyspace(name)) else { continue };
        match random.random_range(0..40) {
            0 => answer(db.drop_keyspace(name)).map(|_| ()),
            1 => answer(db.sync()),
            2 => answer(db.check()).map(|report| assert_eq!(report.faults, Vec::<String>::new())),
            3 => {
                db.stats();
                Some(())
            }
            4 => {
                assert!(keyspace.iter().take(MOST + 1).count() <= MOST);
                Some(())
            }
            5..9 => {
                let batch = (number..number + 20).fold(db.batch(), |batch, number| match number % 3 {
                    0 => batch.remove(&keyspace, key(number)),
                    _ => batch.insert(&keyspace, key(number), [round as u8; 40]),
                });
                answer(batch.commit())
            }
            9..20 => answer(keyspace.remove(key(number))).map(|_| ()),
            20 => {
                for number in 0..600 {
                    answer(keyspace.remove(key(number)));
                }
                None
            }
            _ => answer(keyspace.insert(key(number), vec![round as u8; (number % 200) as usize])),
        };
    }
}

/// Writers, batches, drops and checks of several threads, while the process dies at some point, three times, and while
/// another thread closes the database.
#[test]
fn everything_at_once_and_deaths_in_between() {
    let many = std::env::var("HOLM_HOSTILE_ROUNDS").ok().map_or(60, |rounds| rounds.parse().expect("a number"));
    for durability in [Durability::OnSync, Durability::Strict] {
        for (design, private) in [("buffered", false), ("holm", false), ("buffered", true)] {
            let mut disk = SimDisk::new();
            for cycle in 0..4 {
                let db = Mode { design, private, durability }.open(&disk).expect("a sound disk");
                assert_eq!(db.check().expect("checking").faults, Vec::<String>::new(), "{design}, {private}, {cycle}");
                let dead = std::thread::scope(|scope| {
                    for thread in 0..3 {
                        let db = &db;
                        scope.spawn(move || work(db, cycle * 3 + thread, many));
                    }
                    work(&db, cycle + 77, many / 3);
                    let dead = if cycle % 2 == 0 { disk.kill() } else { disk.crash_to_durable() };
                    if cycle == 3 {
                        answer(db.clone().close());
                    }
                    dead
                });
                assert!(cycle == 3 || db.check().is_ok());
                drop(db);
                disk = dead;
            }
        }
    }
}

/// Leaves of a killed database whose tags are the last epochs of all: the clock runs out in use, or at open.
#[test]
fn tags_of_the_last_epochs() {
    const BITS: u32 = 28;
    let mut opened = 0;
    for (design, private) in [("buffered", false), ("holm", false), ("buffered", true)] {
        let left = left(design, private);
        for (_, disk) in left.iter().skip(1) {
            let path = Path::new("/d/leaves");
            let bytes = disk.contents(path).expect("it is there");
            let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).enumerate().skip(64);
            let tags: Vec<_> = words.filter(|(at, word)| at % 64 < 8 && (3..2000).contains(&(word >> BITS))).collect();
            assert!(!tags.is_empty());
            for (turn, (index, word)) in tags.into_iter().enumerate().filter(|(turn, _)| turn % 21 == 0) {
                let damaged = disk.kill();
                let tag = LAST_EPOCH - (turn as u64 / 21) % 5;
                let with = word & ((1 << BITS) - 1) | tag << BITS;
                assert!(damaged.overwrite(path, index * 8, &with.to_le_bytes()));
                for _ in 0..3 {
                    let Some(db) = answer(open(&damaged, design, private)) else { break };
                    opened += 1;
                    for _ in 0..3 {
                        answer(db.sync());
                    }
                    use_all(&db);
                    answer(db.close());
                }
            }
        }
    }
    assert!(opened > 0);
}

/// A whole superblock with a number that no database has.
#[test]
fn superblocks_with_impossible_numbers() {
    type Change = fn(&mut Superblock);
    let changes: [(&str, Change); 14] = [
        ("epoch 0", |it| it.epoch = 0),
        ("epoch 1", |it| it.epoch = 1),
        ("the last epoch", |it| it.epoch = LAST_EPOCH),
        ("the epoch before", |it| it.epoch = LAST_EPOCH - 1),
        ("an epoch to come", |it| it.epoch += 100),
        ("beyond the last epoch", |it| it.epoch = LAST_EPOCH + 1),
        ("no epoch", |it| it.epoch = u64::MAX),
        ("the last pass", |it| it.log_start.pass = u64::MAX),
        ("the last sequence", |it| it.log_start.sequence = u64::MAX),
        ("a third segment of two", |it| it.log_start.segment = 2),
        ("endless files", |it| it.lengths = [u64::MAX; 2]),
        ("empty files", |it| it.lengths = [0; 2]),
        ("odd files", |it| it.lengths = [4097, 77]),
        ("many boots", |it| it.boot_generation = u64::MAX),
    ];
    let mut failures = Vec::new();
    for (design, private) in [("buffered", false), ("buffered", true)] {
        for (state, disk) in left(design, private) {
            for (what, change) in &changes {
                let damaged = disk.kill();
                let path = superblock_path(Path::new("/d"));
                let file = damaged.open(&path, How::WRITE).expect("it is there");
                let (mut superblock, _) = Superblock::read(&*file, &path).expect("it is sound");
                change(&mut superblock);
                superblock.write(&*file, &path).expect("a sound disk");
                drop(file);
                let used = catch_unwind(AssertUnwindSafe(|| {
                    for _ in 0..2 {
                        let Some(db) = answer(open(&damaged, design, private)) else { break };
                        use_all(&db);
                        answer(db.close());
                    }
                }));
                failures.extend(used.is_err().then(|| format!("{design}, private {private}, {state}, {what}")));
            }
        }
    }
    assert_eq!(failures, Vec::<String>::new());
}
