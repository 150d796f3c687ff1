//! Change feeds, as their documentation has them: the sum of all changes is the state at each epoch, and each change is
//! one.

use crate::tools::{Chance, LONG, Stop, assert_sound, folder, relaxed};
use holm::{
    Change, Changes, Database, Durability, Error, Expiry, Feed, ImageMode, Keyspace, KeyspaceOptions, Snapshot, Sweep,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Maps = BTreeMap<String, Map>;

const NOW: Duration = Duration::ZERO;

/// A copy of a database that follows a feed.
struct Replica {
    maps: Maps,
    epoch: u64,
}

impl Replica {
    /// A copy of what a snapshot has.
    fn of(snapshot: &Snapshot) -> Self {
        let map = |name: &String| {
            let pairs = snapshot.keyspace(name).expect("it existed").iter();
            pairs.map(|pair| pair.expect("open")).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
        };
        let maps = snapshot.keyspaces().iter().map(|name| (name.clone(), map(name))).collect();
        Replica { maps, epoch: snapshot.epoch() }
    }

    /// Applies an epoch. All values ever written are different, so a change that changes nothing is a pair that has
    /// only moved.
    fn apply(&mut self, changes: &Changes) {
        assert!(changes.epoch() > self.epoch, "{} after {}", changes.epoch(), self.epoch);
        self.epoch = changes.epoch();
        for change in changes.iter() {
            match change {
                Change::Drop { keyspace } => assert!(self.maps.remove(keyspace).is_some(), "{changes:?}"),
                Change::Create { keyspace, .. } => {
                    assert!(self.maps.insert(keyspace.into(), Map::new()).is_none(), "{changes:?}");
                }
                Change::Remove { keyspace, key } => {
                    let map = self.maps.get_mut(keyspace).expect("a keyspace");
                    assert!(map.remove(key).is_some(), "{key:?} of {keyspace} was not there: {changes:?}");
                }
                Change::Put { keyspace, key, value, .. } => {
                    let map = self.maps.get_mut(keyspace).expect("a keyspace");
                    let old = map.insert(key.to_vec(), value.to_vec());
                    assert_ne!(old.as_deref(), Some(value), "{key:?} of {keyspace} has not changed: {changes:?}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Applies all that the feed has.
    fn follow(&mut self, feed: &mut Feed) {
        while let Some(changes) = feed.next(NOW).expect("in time") {
            self.apply(&changes);
        }
    }
}

fn contents(db: &Database) -> Maps {
    let map = |name: &String| {
        let pairs = db.existing_keyspace(name).expect("open").expect("it exists");
        pairs.iter().map(|pair| pair.expect("sound")).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
    };
    db.keyspaces().expect("open").iter().map(|name| (name.clone(), map(name))).collect()
}

fn key_of(chance: &mut Chance) -> Vec<u8> {
    // Some heads are equal, so records decide.
    let number = chance.below(900);
    if number.is_multiple_of(3) { format!("the same first bytes/{number}") } else { format!("key/{number}") }
        .into_bytes()
}

/// One random operation on the database and on the model.
fn step(db: &Database, model: &mut Maps, chance: &mut Chance, serial: &mut u64, inserts: usize) {
    *serial += 1;
    let name = format!("s{}", chance.below(3));
    let value = serial.to_le_bytes().repeat(1 + chance.below(5));
    if chance.one_in(400) {
        assert_eq!(db.drop_keyspace(&name).expect("room"), model.remove(&name).is_some());
        return;
    }
    let space = db.keyspace(&name).expect("a name");
    let map = model.entry(name).or_default();
    let key = key_of(chance);
    match chance.below(9) {
        choice if choice < inserts => {
            space.insert(&key, &value).expect("room");
            map.insert(key, value);
        }
        7 => {
            let other = key_of(chance);
            db.batch().insert(&space, &key, &value).remove(&space, &other).commit().expect("room");
            map.insert(key, value);
            map.remove(&other);
        }
        8 => {
            let transaction = db.begin();
            for at in 0..chance.below(40) as u64 {
                let (key, value) = (key_of(chance), (*serial << 8 | at).to_be_bytes());
                transaction.insert(&space, &key, value).expect("no conflict");
                map.insert(key, value.into());
            }
            transaction.commit().expect("alone");
        }
        _ => assert_eq!(space.take(&key).expect("sound").is_some(), map.remove(&key).is_some()),
    }
}

/// Operations of all kinds, with leaves that split, merge and are taken again, keyspaces that come and go, and
/// snapshots that are open. Feeds begin at any time, and all replicas are equal to the model at each sync; each change
/// is one.
#[test]
fn the_sum_of_all_changes_is_the_state() {
    let image = [ImageMode::Shared, ImageMode::Private];
    for (seed, design) in [(1, "buffered"), (2, "buffered"), (3, "holm"), (4, "holm")] {
        let folder = folder();
        let durability = Durability::Buffered { interval: LONG };
        let builder = Database::builder().design(design).durability(durability).image(image[seed as usize % 2]);
        let db = builder.capacity(1 << 28).open(folder.path()).expect("new");
        let (mut model, mut chance, mut serial) = (contents(&db), Chance::new(seed), 0);
        let mut followers: Vec<(Replica, Feed)> = vec![];
        let mut snapshots = vec![];
        for round in 0..120 {
            // In turns mostly inserts and mostly removals, so that leaves split and empty.
            let inserts = if round / 30 % 2 == 0 { 6 } else { 1 };
            for _ in 0..chance.below(90) {
                step(&db, &mut model, &mut chance, &mut serial, inserts);
            }
            if followers.len() < 3 {
                let (snapshot, feed) = db.snapshot_and_feed(1 << 20).expect("open");
                followers.push((Replica::of(&snapshot), feed));
                assert_eq!(followers.last().expect("one").0.maps, model);
            }
            if chance.one_in(8) {
                snapshots.push(db.snapshot().expect("open"));
            }
            if chance.one_in(6) {
                snapshots.clear();
            }
            if chance.one_in(3) {
                continue;
            }
            db.sync().expect("a disk");
            for (replica, feed) in &mut followers {
                replica.follow(feed);
                assert!(replica.maps == model, "{design}, seed {seed}, round {round}");
            }
            if chance.one_in(12) {
                followers.swap_remove(chance.below(followers.len()));
            }
        }
        let feeds = db.stats().feeds;
        assert_eq!((feeds.open, feeds.bytes, feeds.lagged), (followers.len() as u64, 0, 0));
        assert!(feeds.epochs > 30 && feeds.changes > 1_000 && feeds.read_ns > 0);
        assert_sound(&db);
    }
}

/// Two accounts of each pair have the sum zero, whatever epoch a replica stands at: transactions are whole in one
/// epoch. Other threads put keys that live for a moment, batches and splits come in between, and feeds join meanwhile.
#[test]
fn replicas_beside_writers_stand_at_the_end_of_each_epoch() {
    let folder = folder();
    let interval = Duration::from_millis(1);
    let db = Database::builder().durability(Durability::Buffered { interval }).open(folder.path()).expect("new");
    let (accounts, others) = (db.keyspace("accounts").expect("a name"), db.keyspace("others").expect("a name"));
    let done = AtomicBool::new(false);
    let mut followers = thread::scope(|scope| {
        let stop = Stop(&done);
        let (db, accounts, others, done) = (&db, &accounts, &others, &done);
        scope.spawn(move || move_amounts(db, accounts, done));
        for thread in 0..2u64 {
            scope.spawn(move || churn(db, others, thread, done));
        }
        let mut followers: Vec<(Replica, Feed)> = vec![];
        for _ in 0..4 {
            let (snapshot, feed) = db.snapshot_and_feed(64 << 20).expect("open");
            followers.push((Replica::of(&snapshot), feed));
            drop(snapshot);
            let (replica, feed) = followers.last_mut().expect("one");
            for _ in 0..20 {
                let changes = feed.next(LONG).expect("in time").expect("writers write");
                replica.apply(&changes);
                assert_eq!(sums(&replica.maps["accounts"]), 0, "at the end of {}", replica.epoch);
            }
        }
        drop(stop);
        followers
    });
    db.sync().expect("a disk");
    for (replica, feed) in &mut followers {
        replica.follow(feed);
        assert!(replica.maps == contents(&db));
    }
    assert_sound(&db);
}

/// The number of pairs of accounts whose sum is not zero.
fn sums(accounts: &Map) -> usize {
    let amount = |key: &[u8]| accounts.get(key).map_or(0, |value| i64::from_le_bytes(value[..8].try_into().unwrap()));
    let low = accounts.keys().filter(|key| key[0] == b'a');
    low.filter(|key| amount(key) + amount(&[b"z", &key[1..]].concat()) != 0).count()
}

fn move_amounts(db: &Database, accounts: &Keyspace, done: &AtomicBool) {
    let (mut chance, mut serial) = (Chance::new(7), 0u64);
    while !done.load(SeqCst) {
        let number = chance.below(300);
        serial += 1;
        let amount = chance.below(1_000) as i64;
        let value = |amount: i64| [amount.to_le_bytes(), serial.to_le_bytes()].concat();
        let moved = db.transact(|transaction| {
            transaction.insert(accounts, format!("a{number}"), value(amount))?;
            transaction.insert(accounts, format!("z{number}"), value(-amount))
        });
        moved.expect("room");
    }
}

fn churn(db: &Database, others: &Keyspace, thread: u64, done: &AtomicBool) {
    let (mut chance, mut serial) = (Chance::new(thread + 100), thread << 56);
    while !done.load(SeqCst) {
        serial += 1;
        let key = format!("{}/{thread}", chance.below(2_000));
        match chance.below(4) {
            0 => drop(others.remove(&key).expect("sound")),
            1 => {
                others.insert(&key, serial.to_le_bytes()).expect("room");
                others.remove(&key).expect("sound");
            }
            2 => {
                let other = format!("{}/{thread}", chance.below(2_000));
                let batch = db.batch().insert(others, &key, serial.to_be_bytes()).remove(others, other);
                batch.commit().expect("room");
            }
            _ => others.insert(&key, serial.to_le_bytes()).expect("room"),
        }
    }
}

/// A pair that is put and removed within one epoch is no change of it. A snapshot taken in between has the pair, so it
/// does not join a feed; one between two epochs does.
#[test]
fn a_snapshot_within_an_epoch_joins_no_feed() {
    let folder = folder();
    let db = Database::builder().durability(Durability::Buffered { interval: LONG }).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let (between, mut feed) = db.snapshot_and_feed(1 << 20).expect("open");
    space.insert("short", "life").expect("room");
    let within = db.snapshot().expect("open");
    space.remove("short").expect("there");
    db.sync().expect("a disk");
    assert!(within.epoch() > between.epoch());
    let (mut joined, mut astray) = (Replica::of(&between), Replica::of(&within));
    joined.follow(&mut feed);
    assert_eq!(joined.maps, contents(&db));
    astray.epoch = within.epoch() - 1;
    assert!(
        feed.next(NOW).expect("open").is_none() && astray.maps != contents(&db),
        "if this holds, say so in the docs"
    );
}

/// Exactly one instant: nothing of the epoch after a snapshot between epochs is in it, and nothing of the epoch is
/// missing.
#[test]
fn a_feed_begins_with_the_epoch_in_which_it_is_opened() {
    let folder = folder();
    let db = Database::builder().durability(Durability::Buffered { interval: LONG }).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    space.insert("before", "1").expect("room");
    let mut feed = db.feed(1 << 20).expect("open");
    let since = feed.since();
    space.insert("after", "2").expect("room");
    assert!(feed.next(NOW).expect("open").is_none(), "nothing is durable");
    db.sync().expect("a disk");
    let changes = feed.next(NOW).expect("open").expect("synced");
    assert_eq!((changes.epoch(), feed.since()), (since + 1, since + 1));
    assert_eq!(changes.put().len(), 2, "the whole epoch: {changes:?}");
    assert_eq!(changes.created().collect::<Vec<_>>().last(), Some(&"s"));
    db.sync().expect("a disk");
    assert!(feed.next(NOW).expect("open").is_none(), "an epoch without changes is left out");
    assert!(feed.since() > changes.epoch(), "and counts");
}

/// A keyspace that is dropped goes as one change, whatever is freed of it later, and a keyspace of the same name begins
/// without its keys.
#[test]
fn a_drop_is_one_change() {
    let folder = folder();
    let db = relaxed(folder.path());
    let fill = |round: u32| {
        let space = db.keyspace("s").expect("a name");
        (0..2_000u32).for_each(|key| space.insert(key.to_be_bytes(), round.to_be_bytes()).expect("room"));
    };
    fill(0);
    let (snapshot, mut feed) = db.snapshot_and_feed(16 << 20).expect("open");
    let mut replica = Replica::of(&snapshot);
    drop(snapshot);
    assert!(db.drop_keyspace("s").expect("room"));
    db.sync().expect("a disk");
    let mut changes = vec![];
    while let Some(more) = feed.next(NOW).expect("open") {
        replica.apply(&more);
        changes.push(more);
    }
    assert_eq!(changes.iter().map(Changes::len).sum::<usize>(), 1, "{changes:?}");
    assert_eq!(changes[0].dropped().collect::<Vec<_>>(), ["s"]);
    fill(1);
    db.drop_keyspace("s").expect("room");
    fill(2);
    db.sync().expect("a disk");
    replica.follow(&mut feed);
    assert_eq!(replica.maps, contents(&db));
}

/// A keyspace that comes and goes within one epoch is no change of it, and nor is what it held; wherever a feed begins.
#[test]
fn a_keyspace_that_lives_within_one_epoch_is_no_change() {
    let folder = folder();
    let db = Database::builder().durability(Durability::Buffered { interval: LONG }).open(folder.path()).expect("new");
    // A feed that begins within the epoch is alone, or beside one that knows the keyspaces already.
    for alone in [true, false] {
        db.sync().expect("a disk");
        let mut feeds = vec![];
        if !alone {
            feeds.push(db.feed(1 << 20).expect("open"));
        }
        let epoch = db.stats().epochs.active;
        let space = db.keyspace("s").expect("a name");
        space.insert("key", "1").expect("room");
        feeds.push(db.feed(1 << 20).expect("open"));
        space.insert("another", "2").expect("room");
        assert_eq!(db.stats().epochs.active, epoch, "one epoch");
        assert!(db.drop_keyspace("s").expect("there"));
        db.sync().expect("a disk");
        feeds.iter_mut().for_each(|feed| assert!(feed.next(NOW).expect("open").is_none()));
        assert!(feeds.iter().all(|feed| feed.since() > epoch));
    }
}

/// A feed that is not read lags, says up to where it was complete, and gives nothing more; another one beside it is not
/// disturbed, and writers are not held up.
#[test]
fn a_feed_that_is_not_read_lags() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    db.sync().expect("a disk");
    let (mut slow, mut fast) = (db.feed(40_000).expect("open"), db.feed(1 << 24).expect("open"));
    let write = |round: u64| {
        (0..50u64).for_each(|key| space.insert(key.to_be_bytes(), (round << 32 | key).to_be_bytes()).expect("room"));
        db.sync().expect("a disk");
    };
    (0..40).for_each(write);
    let feeds = db.stats().feeds;
    assert_eq!((feeds.open, feeds.lagged), (1, 1));
    let (mut given, mut all) = (vec![], vec![]);
    let lagged = loop {
        match slow.next(LONG) {
            Ok(changes) => given.push(changes.expect("or it has lagged").epoch()),
            Err(error) => break error,
        }
    };
    while let Some(changes) = fast.next(NOW).expect("in time") {
        all.push(changes.epoch());
    }
    let Error::Lagged { epoch, .. } = lagged else { panic!("{lagged}") };
    assert!(given.len() > 3 && given[..] == all[..given.len()] && all.len() > given.len());
    assert!(epoch >= given[given.len() - 1] && epoch < all[given.len()], "{epoch}: {given:?}, {all:?}");
    assert!(matches!(slow.next(NOW), Err(Error::Lagged { epoch: again, .. }) if again == epoch), "again and again");
    // A feed that holds nothing, and one too small for any epoch.
    let mut none = db.feed(0).expect("open");
    write(99);
    assert!(matches!(none.next(NOW), Err(Error::Lagged { .. })));
    assert!(fast.next(NOW).expect("in time").is_some());
    drop(fast);
    write(100);
    assert_eq!(db.stats().feeds.open, 0);
}

/// After closing, a feed gives what is left and then says so; it keeps nothing locked. A reader that waits wakes up.
#[test]
fn a_feed_outlives_its_database_and_keeps_nothing() {
    let folder = folder();
    let db = Database::builder().durability(Durability::Buffered { interval: LONG }).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let (snapshot, mut feed) = db.snapshot_and_feed(1 << 20).expect("open");
    let mut waiting = db.feed(1 << 20).expect("open");
    drop(snapshot);
    space.insert("last", "words").expect("room");
    let handle = db.clone();
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let changes = waiting.next(LONG).expect("one epoch").expect("not so long");
            assert_eq!(changes.put().len(), 1);
            waiting.next(LONG).expect_err("closed")
        });
        db.close().expect("a disk");
        assert!(matches!(reader.join().expect("no panic"), Error::Closed { .. }));
    });
    assert!(matches!(handle.feed(1), Err(Error::Poisoned { .. })));
    assert!(matches!(handle.snapshot_and_feed(1), Err(Error::Poisoned { .. })));
    drop((handle, space));
    let again = Database::open(folder.path()).expect("not locked");
    let changes = feed.next(LONG).expect("left").expect("left");
    assert_eq!(changes.put().collect::<Vec<_>>(), [("s", &b"last"[..], &b"words"[..])]);
    assert!(matches!(feed.next(LONG), Err(Error::Closed { epoch, .. }) if epoch >= changes.epoch()));
    assert!(matches!(feed.next(NOW), Err(Error::Closed { .. })));
    assert_eq!(contents(&again)["s"].len(), 1);
}

/// A database that was closed, or whose process died, goes on where it was: its first epochs say only what is new.
#[test]
fn a_reopened_database_says_what_is_new() {
    let folder = folder();
    let (mut chance, mut serial, mut model) = (Chance::new(5), 0, Maps::new());
    let mut carried: Option<Replica> = None;
    for session in 0..6 {
        let db = relaxed(folder.path());
        let mut feed = db.feed(16 << 20).expect("open");
        let (snapshot, mut joined) = db.snapshot_and_feed(16 << 20).expect("open");
        let mut replica = Replica::of(&snapshot);
        drop(snapshot);
        model.entry("default".into()).or_default();
        assert_eq!(replica.maps, model);
        (0..600).for_each(|_| step(&db, &mut model, &mut chance, &mut serial, if session % 2 == 0 { 6 } else { 1 }));
        db.sync().expect("a disk");
        replica.follow(&mut joined);
        assert_eq!(replica.maps, model);
        if session % 2 == 0 {
            db.close().expect("a disk");
        } else {
            drop(db);
        }
        // A replica that has taken everything goes on in the next session.
        let mut replica = carried.take().unwrap_or(Replica { maps: Maps::new(), epoch: feed.since() });
        while let Ok(Some(changes)) = feed.next(NOW) {
            replica.apply(&changes);
        }
        assert!(matches!(feed.next(NOW), Err(Error::Closed { epoch, .. }) if epoch >= replica.epoch));
        if session == 0 {
            // The catalog's first keyspace was made before the feed was opened, and perhaps in an earlier epoch.
            replica.maps.entry("default".into()).or_default();
        }
        assert_eq!(replica.maps, model);
        carried = Some(replica);
    }
}

/// The mark that a batch or transaction sets comes with its effects, and is not taken for a keyspace.
#[test]
fn a_mark_comes_with_its_effects() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let (_, mut feed) = db.snapshot_and_feed(1 << 20).expect("open");
    let mut next = || {
        db.sync().expect("a disk");
        feed.next(NOW).expect("open").expect("synced")
    };
    db.batch().insert(&space, "key", "1").set_mark(7).commit().expect("it rises");
    let changes = next();
    assert_eq!((changes.mark(), changes.len()), (Some(7), 1));
    space.insert("key", "2").expect("room");
    assert_eq!(next().mark(), None);
    db.batch().set_mark(8).commit().expect("it rises");
    let changes = next();
    assert!(changes.is_empty() && changes.mark() == Some(8) && changes.iter().count() == 0);
    db.transact(|transaction| transaction.set_mark(9)).expect("it rises");
    assert_eq!(next().mark(), Some(9));
}

/// In a keyspace with expiry, values come without their deadlines; what the sweeper removes comes as a removal, and
/// what the catalog notes of a sweep is no change.
#[test]
fn keys_that_expire_come_with_their_deadlines() {
    let folder = folder();
    let db = Database::builder().sweep(Sweep::Manual).durability(Durability::OnSync).open(folder.path()).expect("new");
    let (_, mut feed) = db.snapshot_and_feed(1 << 20).expect("open");
    let options = KeyspaceOptions::new().expires(true);
    let tides = db.keyspace_with("tides", &options).expect("a name");
    let later = UNIX_EPOCH + Duration::from_secs(1 << 33);
    tides.insert_until("north", "high", later).expect("room");
    tides.insert("south", "").expect("room");
    tides.insert_for("west", "low", Duration::ZERO).expect("room");
    db.sync().expect("a disk");
    let changes = feed.next(NOW).expect("open").expect("synced");
    let mut expiries = BTreeMap::new();
    for change in changes.iter() {
        match change {
            Change::Create { keyspace, options: found, .. } => assert_eq!((keyspace, found), ("tides", options)),
            Change::Put { key, value, expiry, .. } => _ = expiries.insert(key.to_vec(), (value.to_vec(), expiry)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(expiries[&b"north"[..]], (b"high".to_vec(), Expiry::At(later)));
    assert_eq!(expiries[&b"south"[..]], (vec![], Expiry::Never));
    assert!(matches!(&expiries[&b"west"[..]], (value, Expiry::At(_)) if value == b"low"));
    db.sweep().expect("a disk");
    db.sync().expect("a disk");
    let mut swept = vec![];
    while let Some(changes) = feed.next(NOW).expect("open") {
        assert_eq!(changes.len(), changes.removed().len(), "{changes:?}");
        swept.extend(changes.removed().map(|(_, key)| key.to_vec()));
    }
    assert_eq!(swept, [b"west".to_vec()]);
}

/// A range is removed key by key.
#[test]
fn a_removed_range_comes_as_removals() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    (0..3_000u32).for_each(|key| space.insert(key.to_be_bytes(), key.to_le_bytes()).expect("room"));
    let (snapshot, mut feed) = db.snapshot_and_feed(1 << 24).expect("open");
    let mut replica = Replica::of(&snapshot);
    drop(snapshot);
    space.remove_range(500u32.to_be_bytes()..2_500u32.to_be_bytes()).expect("room");
    db.sync().expect("a disk");
    (0..3_000u32).step_by(7).for_each(|key| space.insert(key.to_be_bytes(), [7; 9]).expect("room"));
    db.sync().expect("a disk");
    replica.follow(&mut feed);
    assert_eq!(replica.maps, contents(&db));
}

/// A backup of the snapshot is the beginning of a replica, which the feed continues.
#[test]
fn a_restored_backup_follows_the_feed() {
    let copies = folder();
    let folder = folder();
    let db = relaxed(folder.path());
    let (mut model, mut chance, mut serial) = (contents(&db), Chance::new(11), 0);
    (0..800).for_each(|_| step(&db, &mut model, &mut chance, &mut serial, 6));
    let (snapshot, mut feed) = db.snapshot_and_feed(16 << 20).expect("open");
    let mut stream = Vec::new();
    let space = db.keyspace("s0").expect("a name");
    // Within the same epoch, and in later ones. A drop would take its keyspace from the snapshot, too.
    model.entry("s0".into()).or_default().insert(b"beside".into(), b"it".into());
    space.insert("beside", "it").expect("room");
    snapshot.write_to(&mut stream).expect("memory");
    drop(snapshot);
    (0..800).for_each(|_| step(&db, &mut model, &mut chance, &mut serial, 3));
    db.sync().expect("a disk");
    Database::restore(&mut &stream[..], copies.path().join("copy")).expect("whole");
    let copy = Database::open(copies.path().join("copy")).expect("sound");
    while let Some(changes) = feed.next(NOW).expect("in time") {
        let mut batch = copy.batch();
        for change in changes.iter() {
            match change {
                Change::Drop { keyspace } => assert!(copy.drop_keyspace(keyspace).expect("room")),
                Change::Create { keyspace, .. } => drop(copy.keyspace(keyspace).expect("room")),
                Change::Remove { keyspace, key } => {
                    batch = batch.remove(&copy.existing_keyspace(keyspace).expect("open").expect("there"), key);
                }
                Change::Put { keyspace, key, value, .. } => {
                    batch = batch.insert(&copy.existing_keyspace(keyspace).expect("open").expect("there"), key, value);
                }
                other => panic!("{other:?}"),
            }
        }
        batch.commit().expect("room");
    }
    assert!(contents(&copy) == contents(&db) && contents(&copy) == model);
}

/// A large value, an empty one, the longest key, and an empty key.
#[test]
fn any_key_and_value_comes_as_it_was_put() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let (snapshot, mut feed) = db.snapshot_and_feed(64 << 20).expect("open");
    let mut replica = Replica::of(&snapshot);
    let mut chance = Chance::new(3);
    for (key, value) in [(0, 0), (1, 5 << 20), (holm::MAX_KEY, 0), (7, 8), (8, 7), (9, 4_099), (300, 1)] {
        space.insert(chance.bytes(key), chance.bytes(value)).expect("room");
    }
    db.sync().expect("a disk");
    replica.follow(&mut feed);
    assert_eq!(replica.maps, contents(&db));
}
