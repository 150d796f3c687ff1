//! Processes that are killed while they restore or apply a backup.

use crate::backups::{Contents, assert_same, fill};
use crate::children::{self, Other};
use crate::tools::{assert_sound, folder, relaxed};
use holm::{Database, Error};
use std::fs::{self, File};
use std::path::Path;

/// Streams that bring a keyspace from one number in all of its values to the next.
fn streams_of_numbers(path: &Path) -> Vec<Contents> {
    let db = relaxed(&path.join("db"));
    let space = db.keyspace("s").expect("a name");
    fill(&space, 0..400, &0u64.to_le_bytes());
    db.sync().expect("a disk");
    let mut base = db.backup(path.join("copy")).expect("room").epoch;
    let mut states = vec![Contents::of(&db)];
    fs::create_dir(path.join("streams")).expect("room");
    for number in 1..40u64 {
        db.sync().expect("a disk");
        for key in 0..400u32 {
            match (u64::from(key) + number) % 7 {
                0 => _ = space.remove(key.to_be_bytes()).expect("sound"),
                _ => space.insert(key.to_be_bytes(), number.to_le_bytes()).expect("room"),
            }
        }
        db.batch().set_mark(number).commit().expect("room");
        db.sync().expect("a disk");
        let mut stream = File::create(path.join("streams").join(number.to_string())).expect("room");
        base = db.backup_since(base, &mut stream).expect("room").epoch;
        states.push(Contents::of(&db));
    }
    states
}

/// The body of a child: applies one stream after the other.
pub(crate) fn apply_until_killed(path: &Path, say: &dyn Fn(&str)) {
    let db = relaxed(&path.join("copy"));
    let streams = path.join("streams");
    children::begin("applying", say, move |begun| {
        for number in 1.. {
            let Ok(mut stream) = File::open(streams.join(number.to_string())) else { return };
            match db.apply(&mut stream) {
                // Applied before this process began, or not the next one.
                Ok(_) | Err(Error::WrongBase { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            if number == 2 {
                begun();
            }
        }
    });
}

/// The body of a child: restores one stream to folder after folder.
pub(crate) fn restore_until_killed(path: &Path, say: &dyn Fn(&str)) {
    let (stream, copies) = (path.join("stream"), path.join("copies"));
    children::begin("restoring", say, move |begun| {
        for number in 0u64.. {
            let mut stream = File::open(&stream).expect("there");
            Database::restore(&mut stream, copies.join(number.to_string())).expect("room");
            if number == 1 {
                begun();
            }
        }
    });
}

#[test]
fn a_killed_application_leaves_no_half() {
    let folder = folder();
    let states = streams_of_numbers(folder.path());
    let mut last = 0;
    for _ in 0..12 {
        Other::start("apply", folder.path()).kill();
        let copy = relaxed(&folder.path().join("copy"));
        let found = Contents::of(&copy);
        let number = states.iter().position(|state| *state == found).expect("one of the states");
        assert!(number >= last, "{number} after {last}");
        last = number;
        assert_sound(&copy);
    }
    let copy = relaxed(&folder.path().join("copy"));
    for number in last + 1..states.len() {
        let mut stream = File::open(folder.path().join("streams").join(number.to_string())).expect("ours");
        copy.apply(&mut stream).expect("the next one");
    }
    assert_same(&Contents::of(&copy), &states[states.len() - 1]);
}

#[test]
fn a_killed_restoration_leaves_no_half() {
    let folder = folder();
    let db = relaxed(&folder.path().join("db"));
    fill(&db.keyspace("s").expect("a name"), 0..3_000, b"one");
    let expected = Contents::of(&db);
    let mut stream = File::create(folder.path().join("stream")).expect("room");
    db.backup_to(&mut stream).expect("room");
    let copies = folder.path().join("copies");
    for _ in 0..8 {
        fs::create_dir(&copies).expect("room");
        Other::start("restore", folder.path()).kill();
        let names = fs::read_dir(&copies).expect("ours").map(|file| file.expect("a file").file_name());
        let names: Vec<_> = names.map(|name| name.into_string().expect("ours")).collect();
        for name in names.iter().filter(|name| !name.contains("partial")) {
            assert_same(&Contents::of(&relaxed(&copies.join(name))), &expected);
        }
        let partial = names.iter().find_map(|name| name.strip_suffix(".partial"));
        if let Some(name) = partial {
            let mut stream = File::open(folder.path().join("stream")).expect("ours");
            Database::restore(&mut stream, copies.join(name)).expect("what was left is removed");
            assert!(!copies.join(format!("{name}.partial")).exists());
        }
        fs::remove_dir_all(&copies).expect("ours");
    }
}
