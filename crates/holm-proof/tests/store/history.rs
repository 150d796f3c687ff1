//! What was done, in order, and which prefixes of it a database may contain.
//!
//! Two keyspaces, seeded operations, unique values. A batch is one step: if half of it is found, no prefix fits.

use crate::designs::{self, Tested};
use holm::{Batch, Builder, Database, Durability, Error, ImageMode, Keyspace, Result};
use holm_proof::disk::SimDisk;
use rand::Rng;
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Keyspace, key, and value or removal.
pub(crate) type Change = (usize, Vec<u8>, Option<Vec<u8>>);
pub(crate) type Contents = BTreeMap<(usize, Vec<u8>), Vec<u8>>;

const NAMES: [&str; 2] = ["north", "south"];

/// Bytes of heap for leaves and records.
const HEAP: [usize; 2] = [1 << 20, 16 << 20];

/// How a database runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    pub(crate) design: &'static str,
    pub(crate) private: bool,
    pub(crate) durability: Durability,
}

impl Mode {
    /// A mode over the store's default design.
    pub(crate) const fn new(private: bool, durability: Durability) -> Mode {
        Mode { design: designs::DEFAULT, private, durability }
    }

    /// Bytes of a leaf block.
    pub(crate) fn block_bytes(self) -> usize {
        let table: holm::laboratory::Table = designs::table;
        table().iter().find(|entry| entry.name == self.design).expect("a design of the tests").block_bytes as usize
    }

    /// The sizes of the areas: as many leaves of each design.
    fn heap(self) -> [usize; 2] {
        [HEAP[0] / 512 * self.block_bytes().max(512), HEAP[1]]
    }

    /// The modes over every design that the tests have.
    pub(crate) fn over_designs(modes: &[Mode]) -> Vec<Mode> {
        let over = |design: &Tested| modes.iter().map(|mode| Mode { design: design.name, ..*mode }).collect::<Vec<_>>();
        let supported =
            |mode: &Mode| mode.private || designs::tested().iter().any(|it| it.name == mode.design && it.per_epoch);
        designs::tested().iter().flat_map(over).filter(supported).collect()
    }

    pub(crate) fn all() -> Vec<Mode> {
        let buffered = Durability::Buffered { interval: Duration::from_millis(1) };
        let durabilities = [Durability::Strict, buffered, Durability::OnSync];
        let modes = [false, true].map(|private| durabilities.map(|durability| Mode::new(private, durability)));
        Mode::over_designs(modes.as_flattened())
    }

    pub(crate) fn builder(self, disk: &SimDisk) -> Builder {
        let image = if self.private { ImageMode::Private } else { ImageMode::Shared };
        let builder = Database::builder().durability(self.durability).image(image).log_bytes(2 << 20);
        builder.designs(designs::table).design(self.design).vfs(Arc::new(disk.clone()), self.heap())
    }

    pub(crate) fn open(self, disk: &SimDisk) -> Result<Database> {
        self.builder(disk).open("/d")
    }
}

/// An open database and what has been done to it in this session.
pub(crate) struct Session {
    pub(crate) db: Database,
    spaces: [Keyspace; 2],
    mode: Mode,
    before: Contents,
    pub(crate) steps: Vec<Vec<Change>>,
    /// The number of steps that must survive the loss of power.
    pub(crate) floor: usize,
    pub(crate) failed: Option<Error>,
}

/// What remains of a session when it has ended one way or another.
#[derive(Default)]
pub(crate) struct History {
    before: Contents,
    pub(crate) steps: Vec<Vec<Change>>,
    pub(crate) floor: usize,
}

impl Session {
    /// Continues from known contents.
    pub(crate) fn begin(db: Database, mode: Mode, before: Contents) -> Result<Session> {
        let spaces = [db.keyspace(NAMES[0])?, db.keyspace(NAMES[1])?];
        Ok(Session { db, spaces, mode, before, steps: Vec::new(), floor: 0, failed: None })
    }

    /// Executes one step. A step refused for lack of growth does not count. The first step that fails otherwise may
    /// have been executed or not, and no step follows it.
    pub(crate) fn step(&mut self, changes: Vec<Change>) {
        if self.failed.is_some() {
            return;
        }
        let result = match &changes[..] {
            [(space, key, Some(value))] => self.spaces[*space].insert(key, value),
            [(space, key, None)] => self.spaces[*space].remove(key).map(drop),
            all => all.iter().fold(self.db.batch(), |batch, change| self.add(batch, change)).commit(),
        };
        self.steps.push(changes);
        match result {
            Ok(()) if self.mode.durability == Durability::Strict => self.floor = self.steps.len(),
            Ok(()) => {}
            // Growth was refused: nothing has been executed, and nothing is wrong.
            Err(Error::NoSpace { .. } | Error::Io { .. }) if self.db.sync().is_ok() => {
                self.steps.pop();
                self.floor = self.steps.len();
            }
            Err(error) => self.failed = Some(error),
        }
    }

    /// Removes a range of a keyspace, or all of it. That is a step for each key, in their order: a crash leaves the
    /// range removed from its low end up to some key.
    pub(crate) fn remove_range(&mut self, random: &mut Pcg64Mcg) {
        if self.failed.is_some() {
            return;
        }
        let space = random.random_range(0..2);
        let keys: Result<Vec<_>> = self.spaces[space].iter().map(|pair| Ok(pair?.0.to_vec())).collect();
        let keys = match keys {
            Ok(keys) => keys,
            Err(error) => return self.failed = Some(error),
        };
        let low = random.random_range(0..=keys.len());
        let high = random.random_range(low..=keys.len());
        let removed = match (keys.get(low), keys.get(high)) {
            (Some(low), Some(high)) => self.spaces[space].remove_range(&low[..]..&high[..]),
            (Some(low), None) => self.spaces[space].remove_range(&low[..]..),
            _ => return,
        };
        self.steps.extend(keys[low..high].iter().map(|key| vec![(space, key.clone(), None)]));
        match removed {
            Ok(removed) => {
                assert_eq!(removed, (high - low) as u64, "how many were removed");
                if self.is_strict() {
                    self.floor = self.steps.len();
                }
            }
            Err(error) => self.failed = Some(error),
        }
    }

    /// Whether reads return only what is durable.
    pub(crate) fn is_strict(&self) -> bool {
        self.mode.durability == Durability::Strict
    }

    fn add(&self, batch: Batch, (space, key, value): &Change) -> Batch {
        match value {
            Some(value) => batch.insert(&self.spaces[*space], key, value),
            None => batch.remove(&self.spaces[*space], key),
        }
    }

    pub(crate) fn sync(&mut self) {
        if self.failed.is_some() {
            return;
        }
        match self.db.sync() {
            Ok(()) => self.floor = self.steps.len(),
            Err(error) => self.failed = Some(error),
        }
    }

    /// What is known of the session once it is over.
    pub(crate) fn history(&self) -> History {
        History { before: self.before.clone(), steps: self.steps.clone(), floor: self.floor }
    }
}

impl History {
    pub(crate) fn from(before: Contents) -> History {
        History { before, ..History::default() }
    }

    /// Compares what is found with every prefix that is long enough.
    pub(crate) fn expect(&self, found: &Contents, context: &str) {
        let mut contents = self.before.clone();
        let mut fits = self.floor == 0 && contents == *found;
        let mut closest = None;
        for (index, step) in self.steps.iter().enumerate() {
            apply(&mut contents, step);
            if contents == *found {
                closest = Some(index + 1);
                fits |= index + 1 >= self.floor;
            }
        }
        let (floor, steps) = (self.floor, self.steps.len());
        assert!(
            fits,
            "{context}: {} pairs found are no prefix between {floor} and {steps} steps (fitting prefix: {closest:?}); \
             {}",
            found.len(),
            difference(&contents, found)
        );
    }
}

fn difference(whole: &Contents, found: &Contents) -> String {
    let missing = whole.iter().filter(|(key, value)| found.get(key) != Some(value)).count();
    let odd = found.iter().filter(|(key, value)| whole.get(key) != Some(value)).count();
    format!("of the whole history's {} pairs {missing} are not there, and {odd} found are not its", whole.len())
}

pub(crate) fn apply(contents: &mut Contents, step: &[Change]) {
    for (space, key, value) in step {
        match value {
            Some(value) => contents.insert((*space, key.clone()), value.clone()),
            None => contents.remove(&(*space, key.clone())),
        };
    }
}

/// Everything in the database, by scan and by lookup; asserts that they agree and that verification finds nothing.
pub(crate) fn contents(db: &Database, context: &str) -> Contents {
    let mut found = Contents::new();
    for (space, name) in NAMES.iter().enumerate() {
        let Some(keyspace) = db.existing_keyspace(name).expect("looking up a name") else { continue };
        for pair in keyspace.iter() {
            let (key, value) = pair.expect("scanning");
            assert_eq!(
                keyspace.get(&key).expect("getting").as_deref(),
                Some(&*value),
                "{context}: get and scan differ"
            );
            let before = found.insert((space, key.to_vec()), value.to_vec());
            assert!(before.is_none(), "{context}: a key was found twice");
        }
        assert_eq!(
            keyspace.len().expect("sound") as usize,
            keyspace.iter().count(),
            "{context}: the count of {name} is off"
        );
    }
    let report = db.check().expect("checking");
    assert!(report.faults.is_empty(), "{context}: {:?} ({})", report.faults, report.recovery);
    found
}

/// A step by seed. `thin` removes more than it adds, so that leaves merge.
pub(crate) fn random_step(random: &mut Pcg64Mcg, serial: &mut u64, thin: bool) -> Vec<Change> {
    let changes = if random.random_ratio(1, 8) { random.random_range(2..12) } else { 1 };
    (0..changes).map(|_| random_change(random, serial, thin)).collect()
}

fn random_change(random: &mut Pcg64Mcg, serial: &mut u64, thin: bool) -> Change {
    *serial += 1;
    let space = random.random_range(0..2);
    let number = random.random_range(0..160_u32);
    // Short keys, long keys, and keys that share a long prefix.
    let key = match number % 4 {
        0 => number.to_be_bytes().to_vec(),
        1 => format!("a front that many keys share/{number:05}").into_bytes(),
        2 => vec![number as u8; 1 + number as usize / 3],
        _ => format!("{number}").into_bytes(),
    };
    if random.random_ratio(if thin { 4 } else { 1 }, 6) {
        return (space, key, None);
    }
    let len = match random.random_range(0..30) {
        0 => random.random_range(3_000..20_000),
        1..10 => 0,
        _ => random.random_range(0..200),
    };
    let mut value = serial.to_le_bytes().to_vec();
    value.resize(8 + len, *serial as u8);
    (space, key, Some(value))
}
