//! A run of one work: its steps on a database, the states that it may leave, and the judgement.

use super::Mode;
use super::left::Left;
use super::work::{Step, Work, Written};
use crate::disk::{Kind, SimDisk};
use holm::{Builder, CompactReport, Database, Durability, Error, Keyspace, Result};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What the keyspaces contain.
type Contents = BTreeMap<(usize, u32), Vec<u8>>;

const NAMES: [&str; 2] = ["north", "south"];

/// Where a work is done.
const FOLDER: &str = "/d";

/// Bytes of heap for leaves and records.
const HEAP: [usize; 2] = [1 << 20, 8 << 20];

/// The smallest log that there is.
const LOG_BYTES: u64 = 2 << 20;

/// The disk before a work, and the states that the work may leave.
pub(super) struct Base {
    pub(super) work: Work,
    pub(super) mode: Mode,
    /// A closed database, or nothing where the work makes one.
    pub(super) disk: SimDisk,
    /// Calls that the work makes, about.
    pub(super) calls: u64,
    /// Before the first step, and after each.
    states: Vec<Contents>,
    /// A backup of another database, and its increment.
    streams: [Vec<u8>; 2],
}

/// A run.
pub(super) struct Run<'a> {
    base: &'a Base,
    disk: &'a SimDisk,
    db: Option<Database>,
    returned: usize,
    synced: usize,
    compacted: Option<CompactReport>,
}

impl Base {
    /// Calls of most recoveries.
    pub(super) const MOST_CALLS: u64 = 97;

    /// # Panics
    /// If a sound disk refuses the work.
    pub(super) fn new(work: Work, mode: Mode) -> Base {
        let streams =
            if matches!(work, Work::Apply | Work::Restore) { streams(work, mode) } else { Default::default() };
        let mut base = Base { work, mode, disk: SimDisk::new(), calls: 0, states: Vec::new(), streams };
        let steps = base.before();
        if work != Work::Restore {
            base.states = states(Contents::new(), &steps, &base.streams);
            let disk = SimDisk::new();
            let mut run = Run::of(&base, &disk, None);
            run.steps(&steps).expect("a sound disk");
            drop(run);
            base.disk = disk;
        }
        let before = base.states.pop().unwrap_or_default();
        base.states = states(before, &work.steps(), &base.streams);
        base.calls = base.count_calls();
        base
    }

    fn count_calls(&self) -> u64 {
        let disk = self.disk.kill();
        let mut run = Run::begin(self, &disk);
        let before = disk.calls().of(Kind::Any);
        run.work();
        if let Some(report) = &run.compacted {
            // One that finds nothing to do would be stopped everywhere, and prove nothing.
            // A private image is memory of the process; it gives nothing back.
            let gives_back = report.bytes_released > 0 || self.mode.private || self.work != Work::Compact;
            assert!(report.records_moved > 0 && gives_back, "{report:?}");
        }
        disk.calls().of(Kind::Any) - before
    }

    fn before(&self) -> Vec<Step> {
        if self.work == Work::Apply {
            return vec![Step::Restore, Step::Open, Step::Close];
        }
        [vec![Step::Open], self.work.before(), vec![Step::Close]].concat()
    }

    fn builder(&self, disk: &SimDisk) -> Builder {
        let builder = Database::builder().durability(Durability::OnSync).design(self.mode.design);
        let builder = builder.image(self.mode.image()).log_bytes(LOG_BYTES);
        builder.vfs(Arc::new(disk.clone()), HEAP)
    }

    /// Opens what is left.
    pub(super) fn open(&self, disk: &SimDisk) -> Result<Database> {
        self.builder(disk).create(self.work != Work::Restore).open(FOLDER)
    }

    /// The step up to which all must be left once the power fails in a recovery.
    pub(super) fn floor_after(&self, left: Left, floor: [usize; 2]) -> [usize; 2] {
        if left.is_death() { [floor[1]; 2] } else { floor }
    }

    /// Judges an image: it opens, `check` finds nothing, and it has one of the states from `floor` on.
    pub(super) fn judge(&self, disk: &SimDisk, floor: [usize; 2]) -> std::result::Result<(), String> {
        let found = match self.open(disk) {
            Ok(db) => {
                let report = db.check().map_err(|error| error.to_string())?;
                if !report.faults.is_empty() {
                    return Err(format!("{:?}; {}", report.faults, db.recovery()));
                }
                contents(&db).map_err(|error| error.to_string())?
            }
            Err(Error::NotFound { .. }) if self.work == Work::Restore => Contents::new(),
            Err(error) => return Err(error.to_string()),
        };
        if self.states[floor[0].min(self.states.len() - 1)..].contains(&found) {
            return Ok(());
        }
        let at = self.states.iter().position(|state| *state == found);
        Err(format!("{} pairs are the state {at:?}, and {} is promised", found.len(), floor[0]))
    }
}

impl<'a> Run<'a> {
    /// Opens the database, if it is open before the work.
    ///
    /// # Panics
    /// If a sound disk refuses it.
    pub(super) fn begin(base: &'a Base, disk: &'a SimDisk) -> Run<'a> {
        let db = base.work.begins_open().then(|| base.open(disk).expect("a closed database"));
        Run::of(base, disk, db)
    }

    fn of(base: &'a Base, disk: &'a SimDisk, db: Option<Database>) -> Run<'a> {
        Run { base, disk, db, returned: 0, synced: 0, compacted: None }
    }

    /// Does the work, as far as the disk lets it.
    pub(super) fn work(&mut self) {
        // Where it is stopped is where it is stopped.
        let _ = self.steps(&self.base.work.steps());
    }

    /// How many steps must be left: after the stop, and after a loss of power behind it.
    pub(super) fn floor(&self, left: Left) -> [usize; 2] {
        let survives = left.is_death() && !self.base.mode.private;
        [if survives { self.returned } else { self.synced }, self.synced]
    }

    fn steps(&mut self, steps: &[Step]) -> Result<()> {
        for (number, step) in steps.iter().enumerate() {
            self.step(step)?;
            self.returned = number + 1;
            if matches!(step, Step::Sync | Step::Close | Step::Apply | Step::Restore) {
                self.synced = self.returned;
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Open => self.db = Some(self.base.open(self.disk)?),
            Step::Restore => {
                self.base.builder(self.disk).restore(&mut &self.base.streams[0][..], FOLDER)?;
            }
            Step::Close => self.db.take().map_or(Ok(()), Database::close)?,
            Step::Write((space, key, value)) => {
                let space = self.space(*space)?;
                match value {
                    Some((len, byte)) => space.insert(key.to_be_bytes(), vec![*byte; *len])?,
                    None => drop(space.remove(key.to_be_bytes())?),
                }
            }
            Step::Commit(all) => {
                let spaces = [self.space(0)?, self.space(1)?];
                self.db().transact(|on| {
                    all.iter().try_for_each(|(space, key, value)| match value {
                        Some((len, byte)) => on.insert(&spaces[*space], key.to_be_bytes(), vec![*byte; *len]),
                        None => on.remove(&spaces[*space], key.to_be_bytes()).map(drop),
                    })
                })?;
            }
            Step::Drop(space) => _ = self.db().drop_keyspace(NAMES[*space])?,
            Step::Sync => self.db().sync()?,
            Step::Compact => self.compacted = Some(self.db().compact().run(|_| ControlFlow::Continue(()))?),
            Step::Arrange => {
                let compact = self.db().compact().in_key_order();
                self.compacted = Some(compact.run(|_| ControlFlow::Continue(()))?);
            }
            Step::Apply => _ = self.db().apply(&mut &self.base.streams[1][..])?,
        }
        Ok(())
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("the steps open it first")
    }

    fn space(&self, space: usize) -> Result<Keyspace> {
        self.db().keyspace(NAMES[space])
    }
}

/// A backup, and an increment with what `changed` adds.
fn streams(work: Work, mode: Mode) -> [Vec<u8>; 2] {
    let source = Base {
        work: Work::Write,
        mode,
        disk: SimDisk::new(),
        calls: 0,
        states: Vec::new(),
        streams: Default::default(),
    };
    let mut run = Run::of(&source, &source.disk, None);
    let mut streams = [Vec::new(), Vec::new()];
    let mut done = || -> Result<()> {
        run.steps(&[Step::Open])?;
        run.steps(&Work::Write.before())?;
        let base = run.db().backup_since(0, &mut streams[0])?.epoch;
        run.steps(&Work::Write.steps())?;
        run.db().backup_since(base, &mut streams[1]).map(drop)
    };
    done().unwrap_or_else(|error| panic!("the source of {work:?}: {error}"));
    streams
}

/// The contents before the first step, and after each.
fn states(before: Contents, steps: &[Step], streams: &[Vec<u8>; 2]) -> Vec<Contents> {
    let mut states = vec![before];
    for step in steps {
        let mut contents = states.last().cloned().unwrap_or_default();
        let mut write = |(space, key, value): &Written| match value {
            Some((len, byte)) => drop(contents.insert((*space, *key), vec![*byte; *len])),
            None => drop(contents.remove(&(*space, *key))),
        };
        match step {
            Step::Write(written) => write(written),
            Step::Commit(all) => all.iter().for_each(write),
            Step::Drop(space) => contents.retain(|(of, _), _| of != space),
            Step::Restore => contents = after(&Work::Write.before(), streams),
            Step::Apply => {
                contents = after(&[Work::Write.before(), Work::Write.steps()].concat(), streams);
            }
            Step::Sync | Step::Compact | Step::Arrange | Step::Open | Step::Close => {}
        }
        states.push(contents);
    }
    states
}

/// The contents after all steps.
fn after(steps: &[Step], streams: &[Vec<u8>; 2]) -> Contents {
    states(Contents::new(), steps, streams).pop().unwrap_or_default()
}

fn contents(db: &Database) -> Result<Contents> {
    let mut found = Contents::new();
    for (space, name) in NAMES.iter().enumerate() {
        let Some(keyspace) = db.existing_keyspace(name)? else { continue };
        for pair in keyspace.iter() {
            let (key, value) = pair?;
            found.insert((space, u32::from_be_bytes(key[..].try_into().expect("four bytes"))), value.to_vec());
        }
    }
    Ok(found)
}
