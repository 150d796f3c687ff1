//! A database and its model, changed together: what each step of a program means.

use super::copies::Copy;
use super::keys;
use super::maps::{Bytes, History, NEVER, Name, Range, Space, State, Stored};
use super::scans::SnapshotTwin;
use super::steps::{Draw, STEP_BYTES};
use super::transactions::TransactionTwin;
use holm::{Builder, Database, Durability, Error, ImageMode, Keyspace, KeyspaceOptions, Sweep};
use holm_proof::disk::SimDisk;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of heap for leaves and records.
const HEAP: [usize; 2] = [4 << 20, 48 << 20];

/// The bytes that open snapshots may keep where they are limited.
const FEW_SNAPSHOT_BYTES: u64 = 30_000;

/// The keyspaces; the first is always there.
pub(crate) const NAMES: [Name; 5] = ["default", "depths", "reefs", "tides", "wrecks"];

pub(crate) const DESIGNS: [&str; 2] = ["buffered", "holm"];

pub(crate) fn time(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

pub(crate) fn options(expires: bool) -> KeyspaceOptions {
    KeyspaceOptions::new().expires(expires)
}

/// Returns the options of a database on a disk, with a clock that the test moves.
pub(crate) fn builder(design: &str, private: bool, disk: &SimDisk, hands: &Arc<AtomicU64>) -> Builder {
    let hands = hands.clone();
    let image = if private { ImageMode::Private } else { ImageMode::Shared };
    let builder = Database::builder().design(design).durability(Durability::OnSync).image(image).log_bytes(8 << 20);
    let builder = builder.sweep(Sweep::Manual).vfs(Arc::new(disk.clone()), HEAP);
    builder.time_source(Arc::new(move || time(hands.load(SeqCst))))
}

/// A database, what has been opened over it, and the model of all of that.
pub(crate) struct World {
    pub(crate) design: &'static str,
    pub(crate) private: bool,
    /// Whether snapshots may keep so little that they end.
    pub(crate) limited: bool,
    pub(crate) family: usize,
    /// The number of keys of a family.
    pub(crate) span: usize,
    pub(crate) disk: SimDisk,
    pub(crate) hands: Arc<AtomicU64>,
    pub(crate) open: Option<Database>,
    pub(crate) handles: BTreeMap<Name, Keyspace>,
    /// A handle of a keyspace that was dropped.
    pub(crate) stale: Option<Keyspace>,
    pub(crate) state: State,
    pub(crate) history: History,
    pub(crate) snapshots: Vec<SnapshotTwin>,
    pub(crate) transactions: Vec<TransactionTwin>,
    pub(crate) copy: Option<Copy>,
    /// The time of the last sweep that removed anything.
    pub(crate) swept_by: u64,
    pub(crate) serial: u64,
    pub(crate) ids: u32,
    /// Prints each step.
    pub(crate) traces: bool,
}

/// Runs a program: its first bytes choose the design and the keys, and every eight bytes after them are a step.
pub(crate) fn run(program: &[u8], traces: bool) {
    let (chunks, _) = program.as_chunks::<STEP_BYTES>();
    let Some((first, steps)) = chunks.split_first() else { return };
    let mut world = World::new(*first, traces);
    for (number, step) in steps.iter().enumerate() {
        world.trace("step", &number);
        world.step(*step);
    }
    world.end();
}

impl World {
    fn new(bytes: [u8; STEP_BYTES], traces: bool) -> Self {
        let mut draw = Draw::new(bytes);
        let mut world = World {
            design: draw.pick(&DESIGNS),
            private: draw.one_in(5),
            limited: draw.one_in(5),
            family: draw.below(keys::FAMILIES),
            span: draw.pick(&[100, 700, 700, 4_000]),
            disk: SimDisk::new(),
            hands: Arc::new(AtomicU64::new(1_000)),
            open: None,
            handles: BTreeMap::new(),
            stale: None,
            state: State::default(),
            history: History::default(),
            snapshots: Vec::new(),
            transactions: Vec::new(),
            copy: None,
            swept_by: 0,
            serial: 0,
            ids: 0,
            traces,
        };
        world.trace("world", &(world.design, world.private, world.limited, world.family, world.span));
        world.open = Some(world.builder().open("/d").expect("a new disk"));
        world.adopt(NAMES[0], false);
        world.history.begin(&world.state);
        for (name, expires) in [("depths", false), ("reefs", false), ("tides", true)] {
            world.create(name, expires);
        }
        world
    }

    pub(crate) fn builder(&self) -> Builder {
        let builder = builder(self.design, self.private, &self.disk, &self.hands);
        if self.limited { builder.snapshot_bytes(FEW_SNAPSHOT_BYTES) } else { builder }
    }

    pub(crate) fn trace(&self, what: &str, with: &dyn Debug) {
        if self.traces {
            println!("{what} {with:?}");
        }
    }

    pub(crate) fn db(&self) -> &Database {
        self.open.as_ref().expect("open between steps")
    }

    pub(crate) fn now(&self) -> u64 {
        self.hands.load(SeqCst)
    }

    pub(crate) fn space(&self, name: Name) -> &Space {
        &self.state.spaces[name]
    }

    /// Notes a state that a crash may lead to.
    pub(crate) fn note(&mut self) {
        self.history.push(&self.state, Vec::new());
    }

    /// Notes that everything so far is durable.
    pub(crate) fn note_durable(&mut self) {
        self.history.begin(&self.state);
    }

    pub(crate) fn set(&mut self, name: Name, key: &[u8], stored: Option<Stored>) {
        self.state.spaces.get_mut(name).expect("it exists").set(key, stored);
    }

    /// Takes up a keyspace that the database has.
    fn adopt(&mut self, name: Name, expires: bool) {
        self.ids += 1;
        let space = Space { id: self.ids, expires, map: Rc::default(), changes: 0 };
        self.state.spaces.insert(name, space);
        self.handles.insert(name, self.db().existing_keyspace(name).expect("sound").expect("it exists"));
    }

    fn create(&mut self, name: Name, expires: bool) {
        let options = options(expires);
        self.trace("create", &(name, expires));
        let created = self.db().keyspace_with(name, &options).expect("room");
        assert_eq!(created.options(), options);
        self.adopt(name, expires);
        self.note();
    }

    /// Drops a keyspace, or creates it with any options.
    fn create_or_drop(&mut self, draw: &mut Draw) {
        let name = NAMES[1 + draw.below(NAMES.len() - 1)];
        if !self.state.spaces.contains_key(name) {
            return self.create(name, draw.one_in(2));
        }
        self.trace("drop", &name);
        assert!(self.db().drop_keyspace(name).expect("room"));
        self.state.spaces.remove(name);
        self.stale = self.handles.remove(name);
        self.note();
        self.note_durable();
        assert!(!self.db().drop_keyspace(name).expect("room"));
        if draw.one_in(2) {
            self.create(name, draw.one_in(2));
        }
    }

    /// Picks a keyspace that exists.
    pub(crate) fn pick(&self, draw: &mut Draw) -> (Name, Keyspace) {
        let (name, handle) = self.handles.iter().nth(draw.below(self.handles.len())).expect("one is always there");
        (name, handle.clone())
    }

    pub(crate) fn key(&self, draw: &mut Draw) -> Vec<u8> {
        let number = draw.below(self.span);
        let other = draw.one_in(10);
        keys::key(self.family + usize::from(other) * (1 + number % 3), number)
    }

    /// Picks a key, often one that is stored.
    pub(crate) fn key_of(&self, name: Name, draw: &mut Draw) -> Vec<u8> {
        let (stored, number) = (&self.space(name).map, draw.below(4_096));
        match draw.below(2) {
            0 if !stored.is_empty() => stored.keys().nth(number % stored.len()).expect("fewer").to_vec(),
            _ => self.key(draw),
        }
    }

    /// Returns a value that no other step has.
    pub(crate) fn value(&mut self, draw: &mut Draw) -> Bytes {
        self.serial += 1;
        keys::value(self.serial, draw.below(256)).into()
    }

    /// Returns a value with the deadline that a keyspace would give it, and the lifetime, if it is to expire.
    pub(crate) fn stored(&mut self, expires: bool, draw: &mut Draw) -> (Stored, Option<u64>) {
        let value = self.value(draw);
        let lifetime = (expires && !draw.one_in(3)).then(|| draw.below(200) as u64);
        let deadline = lifetime.map_or(NEVER, |lifetime| self.now() + lifetime);
        (Stored { value, deadline }, lifetime)
    }

    /// Returns a range; it may be empty, inverted, or everything.
    pub(crate) fn range(&self, draw: &mut Draw) -> Range {
        let shape = draw.below(8);
        let (one, other) = (self.key(draw), self.key(draw));
        match shape {
            0 => (one, Some(other)),
            1 => (Vec::new(), Some(other)),
            2 => (one, None),
            3 => (Vec::new(), None),
            _ => (one.clone().min(other.clone()), Some(one.max(other))),
        }
    }

    fn step(&mut self, bytes: [u8; STEP_BYTES]) {
        let mut draw = Draw::new(bytes);
        let draw = &mut draw;
        match draw.below(64) {
            0..10 => self.insert(draw),
            10..13 => self.remove(draw),
            13..19 => self.update(draw),
            19 => self.pop(draw),
            20..22 => self.look(draw),
            22..25 => self.scan(draw),
            25..28 => self.batch(draw),
            28..31 => self.fill(draw),
            31..33 => self.remove_range(draw),
            33..36 => self.begin(draw),
            36..46 => self.go_on(draw),
            46 => self.transact(draw),
            47..49 => self.commit(draw),
            49 | 50 => self.take_snapshot(draw),
            51..54 => self.look_at_snapshot(draw),
            54 => self.drop_snapshot(draw),
            55 | 56 => self.advance(draw),
            57 => self.sweep(),
            58 => self.sync(),
            59 => self.back_up(draw),
            60 => self.create_or_drop(draw),
            61 => self.use_stale(draw),
            62 if draw.one_in(2) => self.reopen(draw),
            _ => self.check(draw),
        }
    }

    fn advance(&mut self, draw: &mut Draw) {
        let by = draw.below(40);
        self.hands.fetch_add(by as u64, SeqCst);
        self.trace("time", &self.now());
    }

    fn sync(&mut self) {
        self.trace("sync", &());
        self.db().sync().expect("a sound disk");
        self.note_durable();
    }

    fn sweep(&mut self) {
        let (now, mut removed) = (self.now(), Vec::new());
        self.trace("sweep", &now);
        for (name, space) in self.state.spaces.clone() {
            if !space.expires {
                continue;
            }
            let expired = space.map.iter().filter(|(_, stored)| stored.at(now).is_none());
            let keys: Vec<Bytes> = expired.map(|(key, _)| key.clone()).collect();
            let found = self.handles[name].expired(time(now), usize::MAX).expect("sound");
            assert!(found.iter().map(|key| &**key).eq(keys.iter().map(|key| &**key)), "what has expired in {name}");
            removed.extend(keys.into_iter().map(|key| (name, key)));
        }
        assert_eq!(self.db().sweep().expect("sound"), removed.len() as u64, "what was swept");
        for (name, key) in &removed {
            self.set(name, key, None);
        }
        if !removed.is_empty() {
            self.swept_by = now;
        }
        self.history.push(&self.state, removed);
    }

    /// Every use of a handle of a dropped keyspace fails.
    fn use_stale(&mut self, draw: &mut Draw) {
        let Some(stale) = self.stale.clone() else { return };
        let key = self.key(draw);
        self.trace("use of a dropped keyspace", &key);
        let db = self.db();
        let done = match draw.below(9) {
            0 => stale.get(&key).map(drop),
            1 => stale.insert(&key, "value"),
            2 => stale.remove(&key).map(drop),
            3 => stale.iter().next().transpose().map(drop),
            4 => stale.clear().map(drop),
            5 => db.batch().insert(&self.handles[NAMES[0]], &key, "never").insert(&stale, &key, "value").commit(),
            6 => db.begin().get(&stale, &key).map(drop),
            7 => stale.swap(&key, "value").map(drop),
            _ => stale.pop_first().map(drop),
        };
        assert!(matches!(done, Err(Error::Dropped { .. })), "{done:?}");
    }

    pub(crate) fn check(&mut self, draw: &mut Draw) {
        self.trace("check", &());
        let report = self.db().check().expect("told");
        assert!(report.faults.is_empty(), "{:?}", report.faults);
        self.compare(draw);
    }
}
