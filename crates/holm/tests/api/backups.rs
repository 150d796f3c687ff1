//! Backups: whole and incremental, damaged and cut short, beside writers, and for the wrong database.

use crate::tools::{self, Chance, Stop, assert_sound, folder, relaxed};
use holm::{BackupInfo, Database, Durability, Error, Keyspace, Snapshot, verify_backup};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

/// All keyspaces with their pairs, and the mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    keyspaces: BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>,
    mark: Option<u64>,
}

impl Contents {
    pub(crate) fn of(db: &Database) -> Self {
        let names = db.keyspaces().expect("sound");
        let pairs = |space: Keyspace| {
            let pairs = space.iter().map(|pair| pair.expect("sound"));
            pairs.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
        };
        let keyspaces = names.into_iter().map(|name| (name.clone(), pairs(db.keyspace(&name).expect("it exists"))));
        Contents { keyspaces: keyspaces.collect(), mark: db.mark().expect("sound") }
    }

    fn records(&self) -> u64 {
        self.keyspaces.values().map(|pairs| pairs.len() as u64).sum()
    }
}

/// Compares without printing all of it.
#[track_caller]
pub(crate) fn assert_same(found: &Contents, expected: &Contents) {
    assert_eq!(found.mark, expected.mark);
    assert_eq!(found.keyspaces.keys().collect::<Vec<_>>(), expected.keyspaces.keys().collect::<Vec<_>>());
    for (name, pairs) in &expected.keyspaces {
        let of = |contents: &Contents| contents.keyspaces[name].keys().cloned().collect::<Vec<_>>();
        assert_eq!(of(found).len(), pairs.len(), "{name}");
        let differs = |key: &&Vec<u8>| found.keyspaces[name].get(*key) != pairs.get(*key);
        let first = pairs.keys().find(differs);
        assert!(first.is_none(), "{name}: the first pair that differs is that of {first:?}");
    }
}

fn whole(db: &Database) -> (BackupInfo, Vec<u8>) {
    let mut stream = Vec::new();
    let info = db.backup_to(&mut stream).expect("a buffer");
    assert_eq!(info.bytes, stream.len() as u64);
    assert_eq!(verify_backup(&mut &stream[..]).expect("sound"), info);
    (info, stream)
}

fn since(db: &Database, base: u64) -> (BackupInfo, Vec<u8>) {
    let mut stream = Vec::new();
    let info = db.backup_since(base, &mut stream).expect("a buffer");
    assert_eq!(verify_backup(&mut &stream[..]).expect("sound"), info);
    (info, stream)
}

pub(crate) fn fill(space: &Keyspace, numbers: Range<u32>, value: &[u8]) {
    numbers.for_each(|number| space.insert(number.to_be_bytes(), value).expect("room"));
}

/// One random change.
fn change(db: &Database, chance: &mut Chance) {
    let name = ["default", "a", "b", "c"][chance.below(4)];
    let space = db.keyspace(name).expect("a name");
    let long = chance.one_in(4);
    let key = |chance: &mut Chance| {
        let number = chance.below(3_000);
        if long { format!("a long common prefix/{number}").into_bytes() } else { format!("{number}").into_bytes() }
    };
    match chance.below(40) {
        0..24 => {
            let len = chance.below(60);
            space.insert(key(chance), chance.bytes(len)).expect("room");
        }
        24..34 => _ = space.remove(key(chance)).expect("sound"),
        34 => {
            let from = chance.below(3_000);
            (from..from + 200).for_each(|number| _ = space.remove(format!("{number}")).expect("sound"));
        }
        35 => {
            let from = chance.below(2_000);
            (from..from + 300).for_each(|number| space.insert(format!("{number}"), "run").expect("room"));
        }
        36 => {
            let mut batch = db.batch();
            for _ in 0..chance.below(30) {
                batch = batch.insert(&space, key(chance), "batch").remove(&space, key(chance));
            }
            batch.set_mark(db.mark().expect("sound").map_or(0, |mark| mark + 1)).commit().expect("room");
        }
        37 if name != "default" => assert!(db.drop_keyspace(name).expect("sound")),
        38 => space.insert(key(chance), chance.bytes(3_000)).expect("room"),
        _ => db.sync().expect("a disk"),
    }
}

#[test]
fn a_whole_backup_has_everything() {
    for design in ["buffered", "holm"] {
        let folder = folder();
        let db = Database::builder().design(design).durability(Durability::OnSync).open(folder.path().join("db"));
        let db = db.expect("new");
        let spaces =
            ["", "one", "\u{e4}\u{f6}"].map(|name| db.keyspace(if name.is_empty() { "default" } else { name }));
        let spaces = spaces.map(|space| space.expect("a name"));
        spaces[0].insert("", "").expect("empty is allowed");
        spaces[0].insert([0xff; 300], [7; 100]).expect("room");
        for (key, len) in [("a", 1 << 20), ("b", (1 << 20) - 9), ("c", (3 << 20) + 1), ("d", (1 << 20) - 8)] {
            spaces[1].insert(key, vec![key.as_bytes()[0]; len]).expect("room");
        }
        fill(&spaces[2], 0..5_000, b"depth");
        db.batch().set_mark(12).commit().expect("room");
        let expected = Contents::of(&db);
        let (info, stream) = whole(&db);
        assert_eq!((info.base, info.records, info.kept), (0, expected.records(), 0));
        assert_eq!(info.keyspaces, 3);

        let copy = folder.path().join("copy");
        assert_eq!(Database::restore(&mut &stream[..], &copy).expect("room"), info);
        let restored = Database::open(&copy).expect("closed cleanly");
        assert_eq!(restored.recovery().source, holm::RecoveredFrom::CleanShutdown);
        assert_same(&Contents::of(&restored), &expected);
        assert_sound(&restored);
        restored.keyspace("one").and_then(|space| space.insert("e", "it is a database")).expect("room");

        let at_once = folder.path().join("at_once");
        assert_eq!(db.backup(&at_once).expect("room").records, info.records);
        let at_once = Database::builder().design(design).open(&at_once).expect("the same design");
        assert_same(&Contents::of(&at_once), &expected);
        db.close().expect("sound");
        drop(spaces);
        let closed = Database::open_read_only(folder.path().join("db")).expect("closed");
        let mut stream = Vec::new();
        assert_eq!(closed.backup_to(&mut stream).expect("a buffer").records, info.records);
        let third = folder.path().join("third");
        Database::restore(&mut &stream[..], &third).expect("room");
        assert_same(&Contents::of(&tools::open(&third).expect("sound")), &expected);
    }
}

/// Copies follow a database through random changes, reopenings, power cuts and increments of any base.
#[test]
fn increments_follow_a_database() {
    for (seed, design) in [(1, "buffered"), (2, "holm"), (3, "buffered")] {
        let folder = folder();
        let mut chance = Chance::new(seed);
        let open = |name: &str| {
            let builder = Database::builder().design(design).durability(Durability::OnSync);
            builder.open(folder.path().join(name)).expect("sound")
        };
        let mut name = String::from("db0");
        let mut db = open(&name);
        (0..3_000).for_each(|_| change(&db, &mut chance));
        let bases = ["copy0", "copy1"].map(|name| db.backup(folder.path().join(name)).expect("room").epoch);
        let mut copies = ["copy0", "copy1"].map(|name| Some(open(name)));
        let mut epochs = bases;
        let mut kept = 0;
        for round in 1..14 {
            let few = if chance.one_in(3) { 2_000 } else { 40 };
            (0..chance.below(few)).for_each(|_| change(&db, &mut chance));
            if chance.one_in(4) {
                if chance.one_in(2) {
                    db.close().expect("sound");
                } else {
                    // What a power cut leaves: a copy of the files is restored from the log.
                    db.sync().expect("a disk");
                    change(&db, &mut chance);
                    let cut = format!("db{round}");
                    tools::copy(&folder.path().join(&name), &folder.path().join(&cut));
                    drop(db);
                    name = cut;
                }
                db = open(&name);
            }
            // The second copy is brought on rarely, so its increments span several of the first one's.
            for (at, held) in copies.iter_mut().enumerate().filter(|(at, _)| *at == 0 || round % 4 == 0) {
                let copy = held.as_ref().expect("it is opened again");
                let (info, stream) = since(&db, epochs[at]);
                let before = chance.one_in(3).then(|| copy.snapshot().expect("open"));
                let then = Contents::of(copy);
                assert_eq!(copy.apply(&mut &stream[..]).expect("the next one"), info);
                assert_eq!(copy.apply(&mut &stream[..]).expect("once more"), info, "to apply it again changes nothing");
                (epochs[at], kept) = (info.epoch, kept + info.kept);
                assert_same(&Contents::of(copy), &Contents::of(&db));
                if let Some(before) = before {
                    for (name, pairs) in then.keyspaces {
                        match before.keyspace(&name).map(|space| space.len()) {
                            Some(Err(Error::Dropped { .. })) => {}
                            found => assert_eq!(found.expect("it existed").expect("open"), pairs.len() as u64),
                        }
                    }
                }
                assert_sound(copy);
                if chance.one_in(3) {
                    held.take().expect("open").close().expect("sound");
                    *held = Some(open(["copy0", "copy1"][at]));
                }
            }
        }
        assert!(kept > 10_000, "most leaves are kept: {kept}");
    }
}

#[test]
fn an_increment_is_small() {
    let folder = folder();
    let db = relaxed(&folder.path().join("db"));
    let space = db.keyspace("s").expect("a name");
    fill(&space, 0..20_000, &[1; 100]);
    db.sync().expect("a disk");
    let (whole, stream) = whole(&db);
    db.sync().expect("a disk");
    db.sync().expect("a disk");
    space.insert(7_000u32.to_be_bytes(), [2; 100]).expect("room");
    let (info, changes) = since(&db, whole.epoch);
    assert!(info.records < 100 && info.kept > 19_900, "{info:?}");
    assert!(changes.len() * 20 < stream.len(), "{} of {}", changes.len(), stream.len());
    // Leaves that change behind a snapshot are in it as they were, and so is when they had changed.
    let snapshot = db.snapshot().expect("open");
    fill(&space, 0..20_000, &[3; 100]);
    let (mut stream, base) = (Vec::new(), info.epoch);
    let info = snapshot.write_since(base, &mut stream).expect("a buffer");
    assert!(info.records < 200 && info.kept > 19_800, "{info:?}");
}

/// Keys with a value that depends on all of them; a backup beside writers has them of one instant.
#[test]
fn a_backup_beside_writers_is_of_one_instant() {
    let folder = folder();
    let db = tools::open(folder.path().join("db")).expect("new");
    let space = db.keyspace("s").expect("a name");
    fill(&space, 0..3_000, &0u64.to_le_bytes());
    db.sync().expect("a disk");
    let copy = folder.path().join("copy");
    let mut base = db.backup(&copy).expect("room").epoch;
    let copy = relaxed(&copy);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            for round in 1u64.. {
                if stop.load(SeqCst) {
                    return;
                }
                let mut batch = db.batch();
                for number in (0..3_000u32).step_by(300) {
                    batch = batch.insert(&space, number.to_be_bytes(), round.to_le_bytes());
                }
                batch.set_mark(round).commit().expect("room");
                space.insert((round as u32 % 3_000 + 10_000).to_be_bytes(), "other").expect("room");
            }
        });
        for _ in 0..30 {
            let (info, stream) = since(&db, base);
            copy.apply(&mut &stream[..]).expect("the next one");
            base = info.epoch;
            let copied = copy.keyspace("s").expect("a name");
            let value = |number: u32| copied.get(number.to_be_bytes()).expect("sound").expect("there").to_vec();
            let first = value(0);
            (0..3_000).step_by(300).for_each(|number| assert_eq!(value(number), first));
            let round = u64::from_le_bytes(first[..].try_into().expect("eight bytes"));
            assert_eq!(copy.mark().expect("sound"), Some(round).filter(|round| *round > 0));
        }
    });
}

fn small(db: &Database) -> (BackupInfo, Vec<u8>) {
    let space = db.keyspace("s").expect("a name");
    fill(&space, 0..90, b"value");
    db.sync().expect("a disk");
    let (base, _) = whole(db);
    db.batch().set_mark(3).commit().expect("room");
    (base, since(db, 0).1)
}

/// Every flipped byte and every early end is found, and changes nothing.
#[test]
fn a_damaged_stream_is_refused() {
    let folder = folder();
    let db = relaxed(&folder.path().join("db"));
    let (base, whole) = small(&db);
    let copy_path = folder.path().join("copy");
    let epoch = db.backup(&copy_path).expect("room").epoch;
    let copy = relaxed(&copy_path);
    let expected = Contents::of(&copy);
    let space = db.keyspace("s").expect("a name");
    db.sync().expect("a disk");
    space.insert("another", "pair").expect("room");
    let (_, changes) = since(&db, epoch);
    assert!(base.epoch <= epoch);
    let new = folder.path().join("new");
    for (stream, is_whole) in [(&whole, true), (&changes, false)] {
        for at in 0..stream.len() {
            let mut damaged = stream.clone();
            damaged[at] ^= 1 << (at % 8);
            let found = verify_backup(&mut &damaged[..]);
            let known =
                |error: &Error| matches!(error, Error::Corrupt { .. } | Error::Foreign { .. } | Error::Version { .. });
            assert!(found.as_ref().is_err_and(known), "byte {at}: {found:?}");
            assert!(verify_backup(&mut &stream[..at]).is_err(), "the end at {at}");
            if at % 61 == 0 {
                for bytes in [&damaged[..], &stream[..at]] {
                    let refused = if is_whole {
                        Database::restore(&mut &bytes[..], &new).map(drop)
                    } else {
                        copy.apply(&mut &bytes[..]).map(drop)
                    };
                    assert!(refused.as_ref().is_err_and(known), "{refused:?}");
                }
                assert!(!new.exists());
            }
        }
    }
    assert_same(&Contents::of(&copy), &expected);
    assert!(!copy_path.join("increment").exists() && !copy_path.join("increment.new").exists());
    let names: Vec<_> =
        fs::read_dir(folder.path()).expect("ours").map(|file| file.expect("a file").file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    copy.apply(&mut &changes[..]).expect("the sound stream");
    Database::restore(&mut &whole[..], &new).expect("the sound stream");
}

/// Returns whether a copy stands at a stream's base, without applying it.
fn is_base(copy: &Database, stream: &[u8]) -> bool {
    // The stream ends early, so nothing is applied.
    !matches!(copy.apply(&mut &stream[..stream.len() - 1]), Err(Error::WrongBase { .. }))
}

/// A copy of the older of two snapshots answered that it had the later one's stream, and stayed as it was.
#[test]
fn a_copy_tells_snapshots_of_one_epoch_apart() {
    let folder = folder();
    let db = relaxed(&folder.path().join("db"));
    let space = db.keyspace("default").expect("always there");
    space.insert("north", "coral").expect("room");
    let (first, _) = whole(&db);
    space.insert("north", "rock").expect("room");
    db.sync().expect("a disk");
    let snapshots = [db.snapshot().expect("open"), {
        space.insert("north", "sand").expect("room");
        db.snapshot().expect("open")
    }];
    assert_eq!(snapshots[0].epoch(), snapshots[1].epoch(), "nothing has ended the epoch");
    let stream = |snapshot: &Snapshot, base| {
        let mut stream = Vec::new();
        snapshot.write_since(base, &mut stream).expect("a buffer");
        stream
    };
    let wholes = snapshots.each_ref().map(|snapshot| stream(snapshot, 0));
    let increments = snapshots.each_ref().map(|snapshot| stream(snapshot, first.epoch));
    for (mine, other) in [(0, 1), (1, 0)] {
        let copy = folder.path().join(format!("copy {mine}"));
        Database::restore(&mut &wholes[mine][..], &copy).expect("a sound stream");
        let copy = Database::open(&copy).expect("a database");
        copy.apply(&mut &wholes[mine][..]).expect("the stream that it has");
        for stream in [&wholes[other], &increments[other]] {
            let refused = copy.apply(&mut &stream[..]);
            assert!(matches!(refused, Err(Error::WrongBase { .. })), "{refused:?}");
        }
        let expected = snapshots[mine].keyspace("default").expect("open").get("north").expect("kept");
        assert_eq!(copy.keyspace("default").expect("always there").get("north").expect("open"), expected);
        // What changed since the epoch of either is in the next increment.
        let (_, next) = since(&db, snapshots[mine].epoch() - 1);
        copy.apply(&mut &next[..]).expect("the next increment");
        assert_same(&Contents::of(&copy), &Contents::of(&db));
    }
}

/// Two snapshots of one epoch had backups with one number. The older one, as an increment of the later one, kept leaves
/// that the later one had changed; and an increment from the older to the later was taken for applied.
#[test]
fn snapshots_of_one_epoch_do_not_continue_each_other() {
    let folder = folder();
    let db = relaxed(&folder.path().join("db"));
    let space = db.keyspace("default").expect("always there");
    space.insert("north", "coral").expect("room");
    db.sync().expect("a disk");
    let older = db.snapshot().expect("open");
    space.insert("north", "sand").expect("room");
    let later = db.snapshot().expect("open");
    assert_eq!(older.epoch(), later.epoch(), "nothing has ended the epoch");
    for (base, next) in [(&older, &later), (&later, &older)] {
        let base = base.write_to(&mut Vec::new()).expect("a buffer").epoch;
        let refused = next.write_since(base, &mut Vec::new());
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        since(&db, base);
    }
}

#[test]
fn only_the_right_database_takes_an_increment() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let wrong = |done: Result<BackupInfo, Error>| assert!(matches!(done, Err(Error::WrongBase { .. })), "{done:?}");
    let db = relaxed(&path("db"));
    let space = db.keyspace("s").expect("a name");
    fill(&space, 0..1_000, b"one");
    db.sync().expect("a disk");
    let first = db.backup(path("copy")).expect("room");
    let twin = db.backup(path("twin")).expect("room");
    let copy = relaxed(&path("copy"));
    db.sync().expect("a disk");
    fill(&space, 500..600, b"two");
    db.sync().expect("a disk");
    let (second, one_to_two) = since(&db, first.epoch);
    db.sync().expect("a disk");
    space.remove(3u32.to_be_bytes()).expect("sound");
    db.sync().expect("a disk");
    let (_, two_to_three) = since(&db, second.epoch);

    wrong(copy.apply(&mut &two_to_three[..]));
    wrong(db.apply(&mut &one_to_two[..]));
    wrong(Database::restore(&mut &one_to_two[..], path("new")));
    assert!(!path("new").exists());
    let other = relaxed(&path("other"));
    fill(&other.keyspace("s").expect("a name"), 0..1_000, b"one");
    other.sync().expect("a disk");
    other.backup(path("other_copy")).expect("room");
    wrong(relaxed(&path("other_copy")).apply(&mut &one_to_two[..]));
    wrong(copy.apply(&mut &whole(&db).1[..]));
    let future = db.backup_since(u64::MAX, &mut Vec::new());
    assert!(matches!(future, Err(Error::Invalid { .. })), "{future:?}");

    copy.apply(&mut &one_to_two[..]).expect("the next one");
    copy.apply(&mut &two_to_three[..]).expect("the one after");
    wrong(copy.apply(&mut &one_to_two[..]));
    assert_same(&Contents::of(&copy), &Contents::of(&db));

    // A copy that was written is no copy any more, however small the change is.
    let (_, one_to_two) = since(&db, twin.epoch);
    let twin = relaxed(&path("twin"));
    assert!(is_base(&twin, &one_to_two));
    let written = twin.keyspace("s").expect("a name");
    written.insert(3u32.to_be_bytes(), "one").expect("room");
    wrong(twin.apply(&mut &one_to_two[..]));
    twin.drop_keyspace("s").expect("sound");
    fill(&twin.keyspace("s").expect("a name"), 0..1_000, b"one");
    wrong(twin.apply(&mut &one_to_two[..]));
}

#[test]
fn a_folder_in_use_is_left_alone() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let db = relaxed(&path("db"));
    fill(&db.keyspace("s").expect("a name"), 0..100, b"one");
    let (_, stream) = whole(&db);
    let restore = |name: &str| Database::restore(&mut &stream[..], path(name));
    let exists = |done: Result<BackupInfo, Error>| {
        assert!(matches!(&done, Err(Error::Io { kind: io::ErrorKind::AlreadyExists, .. })), "{done:?}");
        // It once said "entity already exists", of a folder that may exist if it is empty.
        assert!(done.is_err_and(|error| error.to_string().contains("expected an empty one")));
    };
    exists(restore("db"));
    exists(db.backup(path("db")));
    fs::create_dir(path("notes")).expect("room");
    fs::write(path("notes/today"), "coral").expect("room");
    exists(restore("notes"));
    fs::create_dir(path("empty")).expect("room");
    restore("empty").expect("an empty folder");
    exists(restore("empty"));
    fs::write(path("file"), "").expect("room");
    let refused = restore("file");
    assert!(matches!(&refused, Err(Error::Foreign { .. })), "{refused:?}");
    let refused = restore("absent/new");
    assert!(matches!(&refused, Err(Error::Io { kind: io::ErrorKind::NotFound, .. })), "{refused:?}");

    // What an attempt left that was cut short goes; what somebody uses or owns stays.
    let partial = relaxed(&path("new.partial"));
    fs::write(path("new.partial/unfinished"), "").expect("room");
    assert!(matches!(restore("new"), Err(Error::Locked { .. })));
    drop(partial);
    restore("new").expect("nobody uses it");
    assert!(!path("new/unfinished").exists());
    assert!(!path("new.partial").exists() && !path("new.partial.stale").exists());
    fs::rename(path("notes"), path("more.partial")).expect("ours");
    assert!(matches!(restore("more"), Err(Error::Foreign { .. })));
    assert_eq!(fs::read_to_string(path("more.partial/today")).expect("left alone"), "coral");
}

struct Refusing<R>(R, usize);

impl<R: Read> Read for Refusing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let upto = buffer.len().min(self.1);
        if upto == 0 {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let read = self.0.read(&mut buffer[..upto])?;
        self.1 -= read;
        Ok(read)
    }
}

#[test]
fn a_reader_or_writer_that_fails_is_told_apart_from_damage() {
    let folder = folder();
    let db = relaxed(&folder.path().join("db"));
    let (_, stream) = small(&db);
    let reset = |error: &Error| matches!(error, Error::Io { kind: io::ErrorKind::ConnectionReset, .. });
    for upto in [0, 10, 64, 70, stream.len() - 1] {
        let refused = Database::restore(&mut Refusing(&stream[..], upto), folder.path().join("new"));
        assert!(refused.as_ref().is_err_and(reset), "{refused:?}");
        let mut buffer = vec![0; upto];
        let refused = db.backup_to(&mut &mut buffer[..]);
        assert!(matches!(&refused, Err(Error::Io { kind: io::ErrorKind::WriteZero, .. })), "{refused:?}");
    }
    assert_eq!(db.stats().snapshots.open, 0, "a backup that fails closes its snapshot");
}

/// A reader that applies a backup itself, and so would wait for itself.
struct Applying<'a>(&'a Database, &'a [u8]);

impl Read for Applying<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let refused = self.0.apply(&mut io::empty());
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        self.1.read(buffer)
    }
}

#[test]
fn one_backup_is_applied_at_a_time() {
    let folder = folder();
    let (_, stream) = whole(&relaxed(&folder.path().join("db")));
    let copy = relaxed(&folder.path().join("copy"));
    copy.apply(&mut Applying(&copy, &stream)).expect("an empty database");
}

/// A reader that gives a stream in small parts, and does something else before the last of them.
struct Meddling<'a, F: FnMut()>(&'a [u8], F);

impl<F: FnMut()> Read for Meddling<'_, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.0.is_empty() && self.0.len() <= 32 {
            (self.1)();
        }
        let most = buffer.len().min(32);
        self.0.read(&mut buffer[..most])
    }
}

/// What others wrote while the stream was read stayed, in a database that was then taken for the state of the stream.
#[test]
fn what_is_written_while_an_increment_is_read_is_noticed() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let db = relaxed(&path("db"));
    let space = db.keyspace("s").expect("a name");
    fill(&space, 0..1_000, b"one");
    db.sync().expect("a disk");
    let whole = db.backup(path("copy")).expect("room");
    fill(&space, 900..910, b"two");
    db.sync().expect("a disk");
    let (_, changes) = since(&db, whole.epoch);
    let copy = relaxed(&path("copy"));
    let written = copy.keyspace("s").expect("a name");
    let refused = copy.apply(&mut Meddling(&changes, || written.insert(3u32.to_be_bytes(), "other").expect("room")));
    assert!(matches!(refused, Err(Error::WrongBase { .. })), "{refused:?}");
    assert_eq!(written.get(905u32.to_be_bytes()).expect("sound").as_deref(), Some(&b"one"[..]), "nothing has changed");
}

/// The mark that a copy had raised itself went back, and what was committed with it counted as not applied.
#[test]
fn an_increment_lowers_no_mark() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let db = relaxed(&path("db"));
    fill(&db.keyspace("s").expect("a name"), 0..100, b"one");
    db.sync().expect("a disk");
    let unmarked = db.backup(path("unmarked")).expect("room");
    let (_, nothing) = since(&db, unmarked.epoch);
    db.batch().set_mark(5).commit().expect("room");
    db.sync().expect("a disk");
    let whole = db.backup(path("copy")).expect("room");
    db.batch().set_mark(6).commit().expect("room");
    db.sync().expect("a disk");
    let (_, changes) = since(&db, whole.epoch);
    for (name, stream, mark) in [("copy", &changes, 7), ("unmarked", &nothing, 1)] {
        let copy = relaxed(&path(name));
        copy.batch().set_mark(mark).commit().expect("room");
        let refused = copy.apply(&mut &stream[..]);
        assert!(matches!(refused, Err(Error::WrongBase { .. })), "{refused:?}");
        assert_eq!(copy.mark().expect("sound"), Some(mark));
    }
}
