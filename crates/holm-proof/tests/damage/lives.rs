//! Databases to damage: of the designs that ship, with several keyspaces, expiry, drops, batches and large values, that
//! ended in one of three ways.

use crate::ledger::{Contents, Ledger, Place};
use holm::{Builder, Database, Durability, Keyspace, KeyspaceOptions, Result, Sweep};
use holm_proof::disk::SimDisk;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of heap for leaves and records.
const HEAP: [usize; 2] = [1 << 20, 8 << 20];

/// Keyspaces; the keys of the last one may expire. The third one is dropped and made anew now and then.
const NAMES: [&str; 4] = ["default", "north", "south", "tides"];

pub(crate) const FILES: [&str; 5] = ["superblock", "leaves", "records", "log.0", "log.1"];

/// The segments that a log can have.
const SEGMENTS: [&str; 16] = [
    "log.0", "log.1", "log.2", "log.3", "log.4", "log.5", "log.6", "log.7", "log.8", "log.9", "log.10", "log.11",
    "log.12", "log.13", "log.14", "log.15",
];

/// The segments that the log on a disk has.
pub(crate) fn segments(disk: &SimDisk) -> Vec<&'static str> {
    SEGMENTS.into_iter().filter(|name| disk.contents(&file(name)).is_some()).collect()
}

/// How the last session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Closed,
    Killed,
    Cut,
}

pub(crate) struct Life {
    pub(crate) disk: SimDisk,
    /// An earlier state of the same files.
    pub(crate) yesterday: SimDisk,
    pub(crate) end: End,
    pub(crate) design: &'static str,
    pub(crate) ledger: Ledger,
    /// What an open of the undamaged files shows.
    pub(crate) sound: Contents,
}

pub(crate) fn file(name: &str) -> PathBuf {
    Path::new("/d").join(name)
}

pub(crate) fn builder(disk: &SimDisk, design: &str) -> Builder {
    let builder = Database::builder().durability(Durability::OnSync).log_bytes(2 << 20).sweep(Sweep::Manual);
    builder.design(design).vfs(Arc::new(disk.clone()), HEAP)
}

struct Session {
    db: Database,
    spaces: Vec<Keyspace>,
    ledger: Ledger,
    random: Pcg64Mcg,
    serial: u64,
}

fn spaces(db: &Database) -> Result<Vec<Keyspace>> {
    let options = |name: &str| KeyspaceOptions::new().expires(name == "tides");
    NAMES.iter().map(|name| db.keyspace_with(name, &options(name))).collect()
}

impl Session {
    fn place(&mut self) -> (usize, Place) {
        let space = self.random.random_range(0..NAMES.len());
        let number = self.random.random_range(0..220_u32);
        // Short keys, and keys that share a long front.
        let key = match number % 3 {
            0 => number.to_be_bytes().to_vec(),
            1 => format!("a front that many keys share/{number:05}").into_bytes(),
            _ => format!("{number}").into_bytes(),
        };
        (space, (NAMES[space].into(), key))
    }

    fn value(&mut self) -> Vec<u8> {
        self.serial += 1;
        let len = match self.random.random_range(0..60) {
            0 => self.random.random_range(3_000..12_000),
            1..20 => 0,
            _ => self.random.random_range(0..120),
        };
        let mut value = self.serial.to_le_bytes().to_vec();
        value.resize(8 + len, self.serial as u8);
        value
    }

    fn step(&mut self) -> Result<()> {
        match self.random.random_range(0..100) {
            0 => self.drop_a_keyspace(),
            1..8 => self.batch(),
            8..30 => {
                let (space, place) = self.place();
                self.spaces[space].remove(&place.1)?;
                self.ledger.add(vec![(place, None)]);
                Ok(())
            }
            _ => {
                let ((space, place), value) = (self.place(), self.value());
                if NAMES[space] == "tides" {
                    self.spaces[space].insert_for(&place.1, &value, Duration::from_secs(1 << 30))?;
                } else {
                    self.spaces[space].insert(&place.1, &value)?;
                }
                self.ledger.add(vec![(place, Some(value))]);
                Ok(())
            }
        }
    }

    fn batch(&mut self) -> Result<()> {
        let (mut batch, mut step) = (self.db.batch(), Vec::new());
        for _ in 0..self.random.random_range(2..10) {
            let (space, place) = self.place();
            if self.random.random_ratio(1, 4) {
                batch = batch.remove(&self.spaces[space], &place.1);
                step.push((place, None));
            } else {
                let value = self.value();
                batch = batch.insert(&self.spaces[space], &place.1, &value);
                step.push((place, Some(value)));
            }
        }
        batch.commit()?;
        self.ledger.add(step);
        Ok(())
    }

    fn drop_a_keyspace(&mut self) -> Result<()> {
        let gone = self.ledger.contents.keys().filter(|place| place.0 == "south").cloned().collect::<Vec<_>>();
        self.db.drop_keyspace("south")?;
        self.ledger.add(gone.into_iter().map(|place| (place, None)).collect());
        self.spaces = spaces(&self.db)?;
        Ok(())
    }

    fn run(&mut self, steps: usize) -> Result<()> {
        for _ in 0..steps {
            self.step()?;
            if self.random.random_ratio(1, 30) {
                self.db.sync()?;
                self.ledger.synced();
            }
        }
        Ok(())
    }
}

/// Everything in a database, and the faults that `check` finds in it. An error of a scan is a fault, too.
pub(crate) fn contents(db: &Database) -> (Contents, Vec<String>) {
    let (mut found, mut faults) = (Contents::new(), Vec::new());
    for name in db.keyspaces().expect("no wait in this mode") {
        let space = db.existing_keyspace(&name).expect("no wait in this mode").expect("it has the name");
        let mut last = None;
        for pair in space.iter() {
            match pair {
                Ok((key, value)) => {
                    if last.as_ref().is_some_and(|last: &Vec<u8>| last[..] >= key[..]) {
                        // No keyspace has this name, so the contents are wrong.
                        found.insert((String::new(), key.to_vec()), b"a scan goes back".to_vec());
                        break;
                    }
                    last = Some(key.to_vec());
                    found.insert((name.clone(), key.to_vec()), value.to_vec());
                }
                Err(error) => {
                    faults.push(error.to_string());
                    break;
                }
            }
        }
    }
    faults.extend(db.check().expect("no writer").faults);
    (found, faults)
}

impl Life {
    pub(crate) fn live(seed: u64) -> Life {
        Life::try_live(seed).expect("a sound disk")
    }

    fn try_live(seed: u64) -> Result<Life> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let designs = holm_tree::designs::CAPABILITIES;
        let design = designs[random.random_range(0..designs.len())].0;
        let end = [End::Closed, End::Killed, End::Cut][random.random_range(0..3)];
        let disk = SimDisk::new();
        let mut yesterday = disk.kill();
        let (mut ledger, mut serial) = (Ledger::default(), 0);
        for session in 0..2 {
            let db = builder(&disk, design).open("/d")?;
            let spaces = spaces(&db)?;
            let seed = random.random();
            let mut session_of = Session { db, spaces, ledger, random: Pcg64Mcg::seed_from_u64(seed), serial };
            // Large enough for some checkpoints and splits in one life, small enough for none in another.
            let steps = session_of.random.random_range(60..900);
            session_of.run(steps)?;
            (ledger, serial) = (session_of.ledger, session_of.serial);
            if session == 0 {
                session_of.db.sync()?;
                ledger.synced();
                yesterday = disk.kill();
                drop(session_of.spaces);
                session_of.db.close()?;
                continue;
            }
            let left = match end {
                End::Killed => disk.kill(),
                End::Cut => disk.crash_seeded(seed),
                End::Closed => {
                    drop(session_of.spaces);
                    session_of.db.close()?;
                    disk.kill()
                }
            };
            let opened = left.kill();
            let db = builder(&opened, design).open("/d")?;
            let (sound, faults) = contents(&db);
            assert!(faults.is_empty(), "{faults:?}");
            assert!(ledger.prefix(&sound).is_some(), "seed {seed}: undamaged, and no prefix");
            return Ok(Life { disk: left, yesterday, end, design, ledger, sound });
        }
        unreachable!("the second session returns")
    }
}
