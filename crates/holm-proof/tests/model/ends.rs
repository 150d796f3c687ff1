//! Ends of a session: close, drop, the death of the process, the loss of power. And what the next one must find.

use super::keys;
use super::maps::{Name, Space, State, Stored};
use super::steps::Draw;
use super::world::{World, options, time};
use holm::{Database, Expiry};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a keyspace is found to have.
struct Found {
    expires: bool,
    alive: BTreeMap<Vec<u8>, (Vec<u8>, u64)>,
    expired: BTreeSet<Vec<u8>>,
}

impl Found {
    fn of(db: &Database, name: &str, now: u64) -> Found {
        let space = db.existing_keyspace(name).expect("sound").expect("it exists");
        let expires = space.options() == options(true);
        let millis = |at: SystemTime| at.duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64;
        let deadline = |key: &[u8]| {
            let expiry = expires.then(|| space.expiry(key).expect("sound").expect("present"));
            expiry.and_then(Expiry::time).map_or(super::maps::NEVER, millis)
        };
        let pairs = space.iter().map(|pair| pair.expect("sound"));
        let alive = pairs.map(|(key, value)| (key.to_vec(), (value.to_vec(), deadline(&key)))).collect();
        let expired = match expires {
            true => space.expired(time(now), usize::MAX).expect("sound").iter().map(|key| key.to_vec()).collect(),
            false => BTreeSet::new(),
        };
        Found { expires, alive, expired }
    }

    /// Returns whether the model has the same.
    fn is(&self, space: &Space, now: u64) -> bool {
        let same = |key: &[u8], stored: &Stored| match stored.at(now) {
            Some(value) => self.alive.get(key).is_some_and(|it| (&it.0[..], it.1) == (&*value, stored.deadline)),
            None => self.expired.contains(key),
        };
        self.expires == space.expires
            && self.alive.len() + self.expired.len() == space.map.len()
            && space.map.iter().all(|(key, stored)| same(key, stored))
    }
}

impl World {
    /// Lets go of everything that keeps the database open.
    fn let_go(&mut self) -> Database {
        self.transactions.clear();
        self.snapshots.clear();
        self.handles.clear();
        self.stale = None;
        self.open.take().expect("open between steps")
    }

    pub(crate) fn reopen(&mut self, draw: &mut Draw) {
        let which = draw.below(5);
        self.trace("reopen", &which);
        match which {
            0 => self.let_go().close().expect("a sound close"),
            1 => drop(self.let_go()),
            2 => {
                self.disk = self.disk.kill();
                drop(self.let_go());
            }
            _ => {
                let seed = draw.below(60_000) as u64;
                self.disk = if which == 3 { self.disk.crash_to_durable() } else { self.disk.crash_seeded(seed) };
                drop(self.let_go());
            }
        }
        let lost = which > 2 || (which == 2 && self.private);
        let db = self.builder().open("/d").expect("a sound database");
        if lost {
            self.state = self.found(&db);
        }
        self.open = Some(db);
        let names: Vec<Name> = self.state.spaces.keys().copied().collect();
        for name in names {
            let handle = self.db().existing_keyspace(name).expect("sound");
            self.handles.insert(name, handle.expect("it exists"));
        }
        self.note_durable();
        self.check(draw);
    }

    /// Returns the state that a loss of power has led to, which must be one of the history.
    fn found(&self, db: &Database) -> State {
        let now = self.now();
        let (names, mark) = (db.keyspaces().expect("sound"), db.mark().expect("sound"));
        let found: BTreeMap<String, Found> =
            names.into_iter().map(|name| (name.clone(), Found::of(db, &name, now))).collect();
        let fits = |state: &State| {
            state.mark == mark
                && state.spaces.keys().eq(found.keys())
                && state.spaces.values().zip(found.values()).all(|(space, found)| found.is(space, now))
        };
        self.history.find(fits).unwrap_or_else(|| {
            panic!("what was found is none of {} states: {}", self.history.len(), db.recovery());
        })
    }

    /// Compares everything once more, and makes sure that nothing is left of what was dropped.
    pub(crate) fn end(&mut self) {
        let mut draw = Draw::new(*b"the end.");
        for twin in std::mem::take(&mut self.snapshots) {
            let (key, range) = (keys::key(self.family, 5), (Vec::new(), None));
            self.ask_snapshot(&twin, (&key, &range), &mut draw);
        }
        self.transactions.clear();
        let kept = self.db().stats().snapshots;
        assert_eq!((kept.open, kept.memory_bytes, kept.record_bytes), (0, 0, 0), "what snapshots have left");
        self.check(&mut draw);
        // Space is free two epochs after it was given up.
        for _ in 0..4 {
            self.db().sync().expect("a sound disk");
        }
        let (used, report) = (self.db().stats().space, self.db().check().expect("told"));
        assert_eq!(used.record_bytes, report.record_bytes, "records that nothing leads to");
        assert_eq!(used.leaves, report.leaf_blocks, "leaf blocks that nothing leads to: {report:?}");
        self.note_durable();
        self.let_go().close().expect("a sound close");
        self.open = Some(self.builder().open("/d").expect("a closed database"));
        let found = self.db().stats().space;
        assert_eq!(found.record_bytes, used.record_bytes, "records before and after a close");
        for name in self.state.spaces.keys() {
            let handle = self.db().existing_keyspace(name).expect("sound");
            self.handles.insert(name, handle.expect("it exists"));
        }
        self.check(&mut draw);
    }
}
