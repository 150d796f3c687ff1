//! The commands that only read: they do not change a closed database, and any number of them read at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use holm::Database;

use crate::support::Sea;

/// Each command with its output, or the start of it, for the database that `closed` creates.
const READING: [(&str, &str); 6] = [
    ("get db north", "coral\n"),
    ("scan db --prefix n", "north\tcoral\n"),
    ("export db", "north\tcoral\nsouth\tsand\n"),
    ("keyspaces db --records", "default\t2\n"),
    ("stat db", "design"),
    ("check db", "keyspaces"),
];

fn closed() -> Sea {
    let sea = Sea::new();
    sea.fed("load db", b"north\tcoral\nsouth\tsand\n").with(0);
    sea
}

fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(path).expect("a folder").map(|file| file.expect("a file"));
    files.map(|file| (file.file_name().to_string_lossy().into(), fs::read(file.path()).expect("a file"))).collect()
}

/// The files of a process that dies with the database open: a copy made meanwhile.
fn not_closed() -> Sea {
    let sea = Sea::new();
    let database = Database::open(sea.path("alive")).expect("a new database");
    let keyspace = database.keyspace("default").expect("always there");
    keyspace.insert("north", "coral").and_then(|()| keyspace.insert("south", "sand")).expect("room");
    database.sync().expect("a disk");
    fs::create_dir(sea.path("db")).expect("a folder");
    for (name, bytes) in contents(&sea.path("alive")) {
        fs::write(sea.path("db").join(name), bytes).expect("room");
    }
    sea
}

#[test]
fn a_closed_database_is_only_looked_at() {
    let sea = closed();
    let before = contents(&sea.path("db"));
    // Permissions do not stop root, so the files are compared as well.
    for folder in ["db", "."] {
        let mut permissions = fs::metadata(sea.path(folder)).expect("there").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(sea.path(folder), permissions).expect("the test's own folder");
    }
    for (line, expected) in READING {
        let said = sea.holm(line);
        assert_eq!(said.error, "", "{line}");
        let printed = said.with(0);
        assert!(printed.starts_with(expected), "{line}: {printed}");
    }
    assert_eq!(contents(&sea.path("db")), before);
    assert!(
        !sea.holm("stat db").with(0).lines().any(|line| line.starts_with("space.disk_bytes ") && line.ends_with(" 0"))
    );
}

#[test]
fn readers_read_at_once_and_writers_alone() {
    let sea = closed();
    let looking = Database::open_read_only(sea.path("db")).expect("closed");
    for (line, expected) in READING {
        let printed = sea.holm(line).with(0);
        assert!(printed.starts_with(expected), "{line}: {printed}");
    }
    for line in ["put db north kelp", "del db north", "cas db north coral kelp", "incr db n", "pop db"] {
        assert!(sea.holm(line).complaint().contains(&format!("process {}", std::process::id())), "{line}");
    }
    drop(looking);
    sea.holm("put db north kelp").with(0);
    let writing = Database::open(sea.path("db")).expect("closed");
    for (line, _) in READING {
        assert!(sea.holm(line).complaint().contains(&format!("process {}", std::process::id())), "{line}");
    }
    drop(writing);
    assert_eq!(sea.holm("get db north").with(0), "kelp\n");
}

#[test]
fn a_database_that_was_not_closed_is_recovered_and_that_is_told() {
    for (line, expected) in READING {
        let sea = not_closed();
        let said = sea.holm(line);
        assert_eq!(said.error, "holm: db was not closed: opening it for writing, to recover it\n", "{line}: {said:?}");
        let printed = said.with(0);
        assert!(printed.starts_with(expected), "{line}: {printed}");
        // These two commands have the results of the recovery.
        if ["stat db", "check db"].contains(&line) {
            assert!(printed.contains("copies"), "{line}: {printed}");
        }
        // The first command closed the database, so this one finds it closed.
        assert_eq!(sea.holm(line).error, "", "{line}");
    }
}
