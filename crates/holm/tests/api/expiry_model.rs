//! Random operations of a keyspace with expiry, compared with a map whose values have deadlines, under a clock that the
//! test moves: single keys, scans in both directions, batches, transactions, snapshots, sweeps and reopenings.

use crate::families::Family;
use crate::hands::{Hands, time};
use crate::tools::{Chance, assert_sound, builder, folder};
use crate::twin::walk;
use holm::{Database, Durability, Expiry, Keyspace, KeyspaceOptions, Snapshot, Sweep};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Each value with its deadline in milliseconds; `u64::MAX` means never.
type Map = BTreeMap<Vec<u8>, (Vec<u8>, u64)>;
type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

const NEVER: u64 = u64::MAX;

/// Returns the pairs of a map that are there at a time.
fn alive(map: &Map, now: u64) -> Pairs {
    let alive = map.iter().filter(|(_, (_, deadline))| *deadline > now);
    alive.map(|(key, (value, _))| (key.clone(), value.clone())).collect()
}

struct Model {
    folder: TempDir,
    hands: Hands,
    open: Option<(Database, Keyspace)>,
    map: Map,
    snapshots: Vec<(Snapshot, Pairs)>,
}

fn open(path: &Path, hands: &Hands) -> (Database, Keyspace) {
    let db = hands.move_time_of(builder().durability(Durability::OnSync).sweep(Sweep::Manual)).open(path);
    let db = db.expect("a sound database");
    let space = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).expect("a name");
    (db, space)
}

impl Model {
    fn new() -> Self {
        let (folder, hands) = (folder(), Hands::at(1_000));
        let open = Some(open(folder.path(), &hands));
        Model { folder, hands, open, map: Map::new(), snapshots: Vec::new() }
    }

    fn db(&self) -> &Database {
        &self.open.as_ref().expect("open").0
    }

    fn space(&self) -> &Keyspace {
        &self.open.as_ref().expect("open").1
    }

    fn now(&self) -> u64 {
        self.hands.now()
    }

    /// Returns a key's value, if it is there.
    fn alive(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.map.get(key).filter(|(_, deadline)| *deadline > self.now()).map(|(value, _)| value.clone())
    }

    fn pairs(&self) -> Pairs {
        alive(&self.map, self.now())
    }

    /// Removes a key from the map, and returns its value if it was there.
    fn take(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let alive = self.alive(key);
        self.map.remove(key);
        alive
    }

    fn reopen(&mut self, chance: &mut Chance) {
        self.snapshots.clear();
        let (db, space) = self.open.take().expect("open");
        // An open continues from the latest time that the last session has met.
        assert_eq!(space.get("no such key").expect("sound"), None);
        drop(space);
        if chance.one_in(2) {
            db.close().expect("a sound close");
        } else {
            drop(db);
        }
        // The system's clock is set back now and then. Time stands still until it has caught up.
        let (now, back) = (self.now(), chance.below(500) as u64);
        self.hands.set(now - back);
        self.open = Some(open(self.folder.path(), &self.hands));
        self.assert_equal(now, chance);
        self.hands.set(now);
    }

    fn insert(&mut self, key: Vec<u8>, value: Vec<u8>, chance: &mut Chance) {
        let lifetime = chance.below(300) as u64;
        let deadline = match chance.below(5) {
            0 | 1 => {
                self.space().insert(&key, &value).expect("room");
                NEVER
            }
            2 | 3 => {
                self.space().insert_for(&key, &value, Duration::from_millis(lifetime)).expect("room");
                self.now() + lifetime
            }
            _ => {
                // Half of these are over at once.
                let deadline = (self.now() - 150).saturating_add(lifetime);
                self.space().insert_until(&key, &value, time(deadline)).expect("room");
                deadline
            }
        };
        self.map.insert(key, (value, deadline));
    }

    /// A change that keeps the deadline of a key that is there.
    fn store_kept(&mut self, key: Vec<u8>, value: Vec<u8>) {
        let now = self.now();
        let kept = self.map.get(&key).map(|(_, deadline)| *deadline).filter(|deadline| *deadline > now);
        self.map.insert(key, (value, kept.unwrap_or(NEVER)));
    }

    fn update(&mut self, key: Vec<u8>, value: Vec<u8>, chance: &mut Chance) {
        let (space, before) = (self.space().clone(), self.alive(&key));
        match chance.below(11) {
            0 => {
                let (expected, new) = (before.as_deref(), Some(&value[..]));
                space.compare_and_swap(&key, expected, new).expect("room").expect("what the model has");
                self.store_kept(key, value);
            }
            1 => {
                let other = [&before.clone().unwrap_or_default()[..], b"other"].concat();
                let refused = space.compare_and_swap(&key, Some(&other), None).expect("sound");
                assert_eq!(refused.expect_err("another value").current.map(Vec::from), before);
            }
            2 => {
                let found = space.insert_if_absent(&key, &value).expect("room");
                assert_eq!(found.map(Vec::from), before);
                if before.is_none() {
                    self.map.insert(key, (value, NEVER));
                }
            }
            3 => {
                let found = space.get_or_insert_with(&key, || value.clone()).expect("room");
                assert_eq!(found.to_vec(), before.clone().unwrap_or(value.clone()));
                if before.is_none() {
                    self.map.insert(key, (value, NEVER));
                }
            }
            4 => {
                let found = space.fetch_update(&key, |_| Some(value.clone())).expect("room");
                assert_eq!(found.map(Vec::from), before);
                self.store_kept(key, value);
            }
            5 => {
                assert_eq!(space.update_fetch(&key, |_| None).expect("sound"), None);
                self.take(&key);
            }
            6 => {
                assert_eq!(space.swap(&key, &value).expect("room").map(Vec::from), before);
                self.map.insert(key, (value, NEVER));
            }
            7 => assert_eq!(space.take(&key).expect("sound").map(Vec::from), self.take(&key)),
            8 | 9 => {
                // Some of these are over at once.
                let (now, by) = (self.now(), chance.below(300) as u64);
                let (found, new) = match chance.one_in(2) {
                    true => (space.expire_in(&key, Duration::from_millis(by)), now + by),
                    false => (space.expire_at(&key, time(now - 100 + by)), now - 100 + by),
                };
                assert_eq!(found.expect("room"), before.is_some());
                if let (true, Some((_, deadline))) = (before.is_some(), self.map.get_mut(&key)) {
                    *deadline = new;
                }
            }
            _ => {
                let deadline = self.map.get(&key).map(|(_, deadline)| *deadline);
                let expires = before.is_some() && deadline != Some(NEVER);
                assert_eq!(space.persist(&key).expect("room"), expires);
                if let (true, Some((_, deadline))) = (expires, self.map.get_mut(&key)) {
                    *deadline = NEVER;
                }
            }
        }
    }

    fn pop(&mut self, chance: &mut Chance) {
        let (first, pairs) = (chance.one_in(2), self.pairs());
        let (wanted, found) = match first {
            true => (pairs.first_key_value(), self.space().pop_first()),
            false => (pairs.last_key_value(), self.space().pop_last()),
        };
        let found = found.expect("sound").map(|(key, value)| (key.to_vec(), value.to_vec()));
        assert_eq!(found.as_ref().map(|(key, value)| (key, value)), wanted, "first {first}");
        found.map(|(key, _)| self.map.remove(&key));
    }

    /// A batch or a transaction of some writes; the transaction reads what it has written.
    fn commit(&mut self, family: Family, chance: &mut Chance) {
        let mut batch = self.db().batch();
        let transaction = self.db().begin();
        let in_batch = chance.one_in(2);
        let (mut after, mut written) = (self.map.clone(), BTreeSet::new());
        let space = self.space().clone();
        for _ in 0..chance.below(12) {
            let (key, value, lifetime) = (family.key(chance), chance.bytes(9), 50 * chance.below(4) as u64);
            let duration = Duration::from_millis(lifetime);
            written.insert(key.clone());
            let kind = chance.below(3);
            match (kind, in_batch) {
                (0, true) => batch = batch.insert(&space, &key, &value),
                (0, false) => transaction.insert(&space, &key, &value).expect("room"),
                (1, true) => batch = batch.insert_for(&space, &key, &value, duration),
                (1, false) => transaction.insert_for(&space, &key, &value, duration).expect("room"),
                (_, true) => batch = batch.remove(&space, &key),
                (_, false) => transaction.remove(&space, &key).expect("room"),
            }
            // The batch or the transaction shows what was done.
            if in_batch {
                continue;
            }
            let found = transaction.get(&space, &key).expect("alone").map(Vec::from);
            assert_eq!(found.is_some(), kind == 0 || kind == 1 && lifetime > 0, "its own write");
            match found {
                Some(found) => assert_eq!(found, value),
                None => {
                    after.remove(&key);
                    continue;
                }
            }
            after.insert(key, (value, NEVER));
        }
        if in_batch {
            batch.commit().expect("room");
        } else {
            let wanted = alive(&after, self.now());
            let pairs = transaction.iter(&space).expect("ours").map(|pair| pair.expect("alone"));
            let found: Pairs = pairs.map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
            assert_eq!(found, wanted, "a transaction's scan");
            let pairs = transaction.iter(&space).expect("ours").rev().map(|pair| pair.expect("alone"));
            let back: Pairs = pairs.map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
            assert_eq!(back, wanted, "a transaction's scan from the back");
            transaction.commit().expect("alone");
        }
        self.learn(&space, &written);
    }

    /// Takes over what a commit has stored: the pairs and deadlines of the keys that it has written, as the database
    /// says.
    fn learn(&mut self, space: &Keyspace, written: &BTreeSet<Vec<u8>>) {
        let now = self.now();
        let pairs: Pairs =
            space.iter().map(|pair| pair.expect("sound")).map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
        self.map.retain(|key, _| !written.contains(key));
        for (key, value) in pairs.into_iter().filter(|(key, _)| written.contains(key)) {
            let millis = |at: SystemTime| at.duration_since(time(0)).expect("after 1970").as_millis() as u64;
            let deadline = space.expiry(&key).expect("sound").expect("it was there").time().map_or(NEVER, millis);
            assert!(deadline > now, "{key:?} is over");
            self.map.insert(key, (value, deadline));
        }
    }

    fn ask(&self, family: Family, chance: &mut Chance) {
        let (key, other) = (family.key(chance), family.key(chance));
        let wanted = self.alive(&key);
        assert_eq!(self.space().get(&key).expect("sound").map(Vec::from), wanted, "get {key:?}");
        assert_eq!(self.space().contains_key(&key).expect("sound"), wanted.is_some());
        let mut buffer = vec![1, 2, 3];
        assert_eq!(self.space().get_into(&key, &mut buffer).expect("sound"), wanted.is_some());
        assert_eq!(buffer, wanted.clone().unwrap_or_default());
        let many = self.space().get_many(&[&key, &other]).expect("sound");
        assert_eq!(many[0].as_deref(), wanted.as_deref());
        assert_eq!(many[1].as_deref(), self.alive(&other).as_deref());
        let expiry = self.map.get(&key).filter(|_| wanted.is_some()).map(|(_, deadline)| match *deadline {
            NEVER => Expiry::Never,
            deadline => Expiry::At(time(deadline)),
        });
        assert_eq!(self.space().expiry(&key).expect("sound"), expiry);
        let pairs = self.pairs();
        let range = (Bound::Included(key.clone().min(other.clone())), Bound::Included(key.max(other)));
        let expected: Vec<_> = pairs.range(range.clone()).collect();
        walk(self.space().range(range), &expected, chance);
    }

    fn ask_snapshot(&self, family: Family, chance: &mut Chance) {
        if self.snapshots.is_empty() {
            return;
        }
        let (snapshot, pairs) = chance.pick(&self.snapshots);
        let (space, key) = (snapshot.keyspace("tides").expect("it was there"), family.key(chance));
        assert_eq!(space.get(&key).expect("kept").map(Vec::from), pairs.get(&key).cloned());
        assert_eq!(space.contains_key(&key).expect("kept"), pairs.contains_key(&key));
        assert_eq!(space.len().expect("kept"), pairs.len() as u64);
        walk(space.iter(), &pairs.iter().collect::<Vec<_>>(), chance);
    }

    fn sweep(&mut self) {
        let now = self.now();
        let told = self.space().expired(time(now), usize::MAX).expect("sound");
        assert!(told.iter().all(|key| self.alive(key).is_none()), "a key that is there has not expired");
        assert_eq!(self.space().expired(time(now), 3).expect("sound"), told[..told.len().min(3)]);
        assert_eq!(self.db().sweep().expect("room"), told.len() as u64);
        self.map.retain(|_, (_, deadline)| *deadline > now);
        assert_eq!(self.space().len().expect("sound"), self.map.len() as u64, "nothing else is swept");
        assert_eq!(self.db().sweep().expect("room"), 0);
    }

    fn stir(&mut self, family: Family, operations: usize, chance: &mut Chance) {
        for _ in 0..operations {
            let len = *chance.pick(&[0, 8, 22, 23, 40, 300]);
            let (key, value) = (family.key(chance), chance.bytes(len));
            match chance.below(40) {
                0..16 => self.insert(key, value, chance),
                16..20 => assert_eq!(self.space().remove(&key).expect("sound"), self.take(&key).is_some()),
                20..26 => self.update(key, value, chance),
                26..30 => self.ask(family, chance),
                30 => self.pop(chance),
                31 | 32 => self.commit(family, chance),
                33 | 34 => self.ask_snapshot(family, chance),
                35 => {
                    let now = self.pairs();
                    self.snapshots.push((self.db().snapshot().expect("open"), now));
                    if self.snapshots.len() > 3 {
                        self.snapshots.remove(chance.below(3));
                    }
                }
                36 if chance.one_in(3) => self.sweep(),
                _ => self.hands.advance(chance.below(20) as u64),
            }
        }
    }

    /// Compares everything, at a time.
    #[track_caller]
    fn assert_equal(&self, now: u64, chance: &mut Chance) {
        let pairs = alive(&self.map, now);
        let all: Vec<_> = pairs.iter().collect();
        for _ in 0..4 {
            walk(self.space().iter(), &all, chance);
        }
        assert!(self.space().len().expect("sound") >= pairs.len() as u64);
        assert_eq!(self.space().is_empty().expect("sound"), pairs.is_empty());
        let owned = |pair: Option<(holm::Slice, holm::Slice)>| pair.map(|(key, value)| (key.to_vec(), value.to_vec()));
        let wanted = |pair: Option<(&Vec<u8>, &Vec<u8>)>| pair.map(|(key, value)| (key.clone(), value.clone()));
        assert_eq!(owned(self.space().first().expect("sound")), wanted(pairs.first_key_value()));
        assert_eq!(owned(self.space().last().expect("sound")), wanted(pairs.last_key_value()));
        for key in self.map.keys() {
            assert_eq!(self.space().get(key).expect("sound").as_deref(), pairs.get(key).map(|value| &value[..]));
        }
        assert_sound(self.db());
    }
}

fn agrees(family: Family, seed: u64, operations: usize) {
    let (mut chance, mut model) = (Chance::new(seed), Model::new());
    for _ in 0..4 {
        model.stir(family, operations, &mut chance);
        model.assert_equal(model.now(), &mut chance);
        model.reopen(&mut chance);
        model.sweep();
        model.assert_equal(model.now(), &mut chance);
        // Everything but what never expires.
        model.hands.advance(1_000);
        model.assert_equal(model.now(), &mut chance);
    }
}

#[test]
fn few_letters() {
    (0..2).for_each(|seed| agrees(Family::Letters, seed, 400));
}

#[test]
fn long_common_prefixes() {
    agrees(Family::Paths, 10, 500);
}

#[test]
fn numbers() {
    (20..22).for_each(|seed| agrees(Family::Numbers, seed, 500));
}

#[test]
fn each_a_prefix_of_the_next() {
    agrees(Family::Runs, 30, 300);
}

/// A reader for which each close is clean sees what the last writer saw.
#[test]
fn a_read_only_database_sees_the_same() {
    let (mut chance, mut model) = (Chance::new(40), Model::new());
    model.stir(Family::Numbers, 1_500, &mut chance);
    model.snapshots.clear();
    let (db, space) = model.open.take().expect("open");
    assert_eq!(space.get("no such key").expect("sound"), None);
    drop(space);
    db.close().expect("a sound close");
    let now = model.now();
    // Set back: the close has noted the time.
    for (hands, now) in [(now - 100, now), (now, now), (now + 80, now + 80)] {
        let db = Hands::at(hands).move_time_of(builder()).open_read_only(model.folder.path()).expect("closed");
        let space = db.existing_keyspace("tides").expect("sound").expect("it was there");
        let pairs = alive(&model.map, now);
        walk(space.iter(), &pairs.iter().collect::<Vec<_>>(), &mut chance);
        assert_eq!(space.options(), KeyspaceOptions::new().expires(true));
        for (key, (_, deadline)) in &model.map {
            assert_eq!(space.get(key).expect("sound").as_deref(), pairs.get(key).map(|value| &value[..]));
            assert_eq!(space.contains_key(key).expect("sound"), pairs.contains_key(key));
            assert_eq!(space.expiry(key).expect("sound").is_some(), *deadline > now);
        }
        assert!(db.check().expect("told").faults.is_empty());
    }
}
