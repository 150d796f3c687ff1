//! Sentences of `README.md` and `docs/durability.md`, each under the words that it has there.

use crate::tools::{self, assert_sound, copy, folder};
use holm::{Database, Durability, Error, ImageMode, Keyspace};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Sessions that each have a mode and an image of their own.
const SESSIONS: [(Durability, ImageMode); 6] = [
    (Durability::Strict, ImageMode::Shared),
    (Durability::OnSync, ImageMode::Private),
    (Durability::Buffered { interval: Duration::from_millis(1) }, ImageMode::Shared),
    (Durability::Strict, ImageMode::Private),
    (Durability::OnSync, ImageMode::Shared),
    (Durability::Buffered { interval: Duration::ZERO }, ImageMode::Private),
];

fn open(path: &Path, (mode, image): (Durability, ImageMode)) -> (Database, Keyspace) {
    let db = tools::builder().durability(mode).image(image).open(path).expect("it opens");
    let space = db.keyspace("reefs").expect("a name");
    (db, space)
}

/// "A database is created and opened in one of these modes", and any session may have another one than the session
/// before. "In every mode and after every crash: what is left is a prefix."
#[test]
fn what_one_mode_has_made_durable_survives_the_crash_of_a_session_in_another() {
    let folder = folder();
    let mut written = 0_u32;
    for (session, options) in SESSIONS.iter().chain(&SESSIONS[..1]).enumerate() {
        let [live, dead] = [session, session + 1].map(|number| folder.path().join(number.to_string()));
        let (db, space) = open(&live, *options);
        assert_sound(&db);
        let found = space.len().expect("sound") as u32;
        assert!(found >= written, "session {session}: {found} of {written} are left");
        assert!((0..found).all(|number| space.contains_key(number.to_be_bytes()).expect("sound")), "a prefix");
        written = found + 300;
        (found..written).for_each(|number| space.insert(number.to_be_bytes(), [7; 50]).expect("room"));
        if options.0 != Durability::Strict {
            db.sync().expect("a disk");
        }
        // Durable or not.
        space.insert(written.to_be_bytes(), "late").expect("room");
        // The power is cut here: what follows works on the files as they are now.
        copy(&live, &dead);
    }
}

/// "`Buffered { interval }`": with any interval. "`sync` returns when everything that had returned before the call
/// survives a power cut", however long the interval is.
#[test]
fn any_interval_is_an_interval() {
    for interval in [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(u32::MAX.into()), Duration::MAX] {
        let folder = folder();
        let [live, dead, closed] = ["live", "dead", "closed"].map(|name| folder.path().join(name));
        let (db, space) = open(&live, (Durability::Buffered { interval }, ImageMode::Shared));
        (0..200_u32).for_each(|number| space.insert(number.to_be_bytes(), "coral").expect("room"));
        db.sync().expect("a disk");
        copy(&live, &dead);
        assert_eq!(open(&dead, SESSIONS[0]).1.len().expect("sound"), 200, "{interval:?}");
        space.insert("after", "the sync").expect("room");
        db.close().expect("a close ends the epoch");
        copy(&live, &closed);
        assert_eq!(open(&closed, SESSIONS[0]).1.len().expect("sound"), 201, "{interval:?}");
    }
}

/// "If it cannot open, the error states what was found": where something else than a file has the name of one, an
/// opening, a reader and a repair neither wait nor panic, and change nothing.
#[test]
fn what_is_no_file_is_an_error() {
    let folder = folder();
    let path = folder.path().join("sea.holm");
    let (db, space) = open(&path, SESSIONS[4]);
    (0..2000_u32).for_each(|number| space.insert(number.to_be_bytes(), "coral").expect("room"));
    drop(space);
    db.close().expect("a disk");
    let kinds: [fn(&Path); 4] = [
        |at| fs::create_dir(at).expect("a folder"),
        |at| std::os::unix::fs::symlink("nowhere/at/all", at).expect("a link"),
        |at| std::os::unix::fs::symlink(at, at).expect("a link to itself"),
        |at| mknodat(CWD, at, FileType::Fifo, Mode::RWXU, 0).expect("a pipe"),
    ];
    for name in ["superblock", "leaves", "records", "log.0"] {
        for (kind, make) in kinds.iter().enumerate() {
            let (file, aside) = (path.join(name), folder.path().join("aside"));
            fs::rename(&file, &aside).expect("there");
            make(&file);
            let said = [Database::open(&path).map(drop), Database::open_read_only(&path).map(drop)].map(Result::err);
            for error in &said {
                // A log is not needed to read what was closed.
                let error = error.as_ref().map(ToString::to_string);
                let is_named = error.as_ref().is_none_or(|error| error.contains(name));
                assert!(is_named && (error.is_some() || name == "log.0"), "{name}, kind {kind}: {error:?}");
            }
            let saved = folder.path().join(format!("saved {name} {kind}"));
            let repaired = Database::repair(&path, &saved);
            assert!(repaired.is_ok() || !saved.exists(), "{name}, kind {kind}: {repaired:?}");
            match fs::symlink_metadata(&file).expect("it stays").is_dir() {
                true => fs::remove_dir(&file).expect("nothing is in it"),
                false => fs::remove_file(&file).expect("it stays"),
            }
            fs::rename(&aside, &file).expect("there");
        }
    }
    let (db, space) = open(&path, SESSIONS[0]);
    assert_eq!(space.len().expect("sound"), 2000);
    assert_sound(&db);
}

/// "A database reserves as much address space as its file system has bytes, and less where the process has too little":
/// at least 1 GiB for each file. Where there is not as much, the error names the option with which there is.
#[test]
fn a_process_with_little_address_space_opens_databases() {
    let folder = folder();
    let program = std::env::current_exe().expect("a program");
    let words = ["--exact", "promises::in_little_address_space", "--ignored", "--nocapture", "--test-threads=1"];
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 4000000 && exec \"$0\" \"$@\""]).arg(program).args(words);
    let done = command.env("HOLM_TEST_PATH", folder.path()).output().expect("a shell");
    let [out, error] = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(done.status.success(), "{out}{error}");
    for name in ["one", "another"] {
        let (db, space) = open(&folder.path().join(name), SESSIONS[0]);
        assert_eq!(space.len().expect("sound"), 20_000, "what it has written is there");
        assert_sound(&db);
    }
}

/// No test of its own: the process with the limit.
#[test]
#[ignore = "`a_process_with_little_address_space_opens_databases` runs it"]
fn in_little_address_space() {
    let Some(path) = std::env::var_os("HOLM_TEST_PATH") else { return };
    let fill = |db: &Database| {
        let space = db.keyspace("reefs").expect("a name");
        (0..20_000_u32).for_each(|number| space.insert(number.to_be_bytes(), [7; 100]).expect("room"));
    };
    let (one, another) = (Path::new(&path).join("one"), Path::new(&path).join("another"));
    let one = Database::open(one).expect("there is room for one");
    fill(&one);
    let refused = Database::open(&another).map(drop).expect_err("the rest is too little");
    assert!(refused.to_string().contains("`capacity`"), "{refused}");
    fill(&Database::builder().capacity(64 << 20).open(another).expect("room for a small one"));
    fill(&one);
}

/// A repair of a sound database finds nothing broken: passes of the log leave parts of records that later ones have
/// overwritten.
#[test]
fn a_closed_database_has_no_broken_log_records() {
    let folder = folder();
    let [path, saved] = ["sea.holm", "saved.holm"].map(|name| folder.path().join(name));
    let (db, space) = open(&path, SESSIONS[4]);
    for pass in 0..8u8 {
        let pairs = (0..20_000u64).map(|key| (key.to_be_bytes(), [pass; 100]));
        space.insert_many(pairs).expect("room");
    }
    drop(space);
    db.close().expect("a disk");
    let report = Database::repair(&path, &saved).expect("nobody uses it");
    assert_eq!((report.records, report.broken_log_records), (20_000, 0), "{report:?}");
}

/// "They never change the damaged folder, which no process may have open for writing": a repair of a database in use is
/// refused, and makes nothing. So is one into a folder that has something.
#[test]
fn a_database_in_use_is_not_repaired() {
    let folder = folder();
    let [path, into] = ["sea.holm", "saved.holm"].map(|name| folder.path().join(name));
    let (db, space) = open(&path, SESSIONS[0]);
    space.insert("north", "coral").expect("room");
    let refused = Database::repair(&path, &into);
    assert!(matches!(refused, Err(Error::Locked { .. })), "{refused:?}");
    assert!(!into.exists());
    space.insert("south", "sand").expect("its writers go on");
    drop(space);
    db.close().expect("a disk");
    fs::create_dir(&into).expect("a folder");
    fs::write(into.join("letter"), "of somebody").expect("room");
    assert!(Database::repair(&path, &into).is_err());
    assert_eq!(fs::read(into.join("letter")).expect("it stays"), b"of somebody");
    assert_eq!(fs::read_dir(&into).expect("it stays").count(), 1);
    fs::remove_file(into.join("letter")).expect("there");
    fs::remove_dir(&into).expect("nothing is in it");
    let report = Database::repair(&path, &into).expect("nobody uses it");
    assert_eq!((report.records, report.losses.len()), (2, 0));
}

/// Of a feed: "the keys that are gone". A key that has another value is not gone.
#[test]
fn a_replaced_value_is_no_removal() {
    let folder = folder();
    let (db, space) = open(&folder.path().join("sea.holm"), SESSIONS[4]);
    ["north", "south"].iter().for_each(|key| space.insert(key, "coral").expect("room"));
    db.sync().expect("a disk");
    let (_, mut feed) = db.snapshot_and_feed(1 << 20).expect("open");
    space.insert("north", "sand").expect("room");
    space.remove("south").expect("room");
    db.sync().expect("a disk");
    let changes = feed.next(Duration::ZERO).expect("in time").expect("an epoch");
    assert_eq!(changes.removed().collect::<Vec<_>>(), [("reefs", &b"south"[..])]);
    assert_eq!(changes.put().collect::<Vec<_>>(), [("reefs", &b"north"[..], &b"sand"[..])]);
}
