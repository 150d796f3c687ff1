//! `backup`, `restore`, `apply` and `verify`.

use std::fs::{self, File};

use crate::support::Sea;

/// Returns the epoch that a backup has printed.
fn epoch(printed: &str) -> u64 {
    let line = printed.lines().find_map(|line| line.strip_prefix("epoch"));
    line.and_then(|epoch| epoch.trim().parse().ok()).expect("a line with the epoch")
}

#[test]
fn a_copy_follows_a_database() {
    let sea = Sea::new();
    let lines: String = (0..500).map(|number| format!("{number:03}\tone\n")).collect();
    sea.file("lines.tsv", &lines);
    sea.holm("load db lines.tsv").with(0);
    sea.holm("put db north coral --keyspace reefs").with(0);
    let printed = sea.holm("backup db monday").with(0);
    assert!(printed.contains("backup     whole\n") && printed.contains("records    501\n"), "{printed}");
    assert_eq!(sea.holm("verify monday").with(0), printed);
    assert_eq!(sea.holm("restore copy monday").with(0), printed);
    assert_eq!(sea.holm("export copy").with(0), lines);

    sea.holm("put db 250 two").with(0);
    sea.holm("del db 100").with(0);
    let printed = sea.holm(&format!("backup db tuesday --since {}", epoch(&printed))).with(0);
    assert!(printed.contains("backup     since epoch "), "{printed}");
    assert!(sea.file_bytes("tuesday").len() * 2 < sea.file_bytes("monday").len());
    assert_eq!(sea.holm("apply copy tuesday").with(0), printed);
    assert_eq!(sea.holm("export copy").with(0), sea.holm("export db").with(0));
    assert_eq!(sea.holm("get copy north --keyspace reefs").with(0), "coral\n");
    assert!(sea.holm("check copy").with(0).ends_with("sound\n"));
    assert_eq!(sea.holm("apply copy tuesday").with(0), printed, "it is applied already");

    // A copy that was written is none any more.
    sea.holm("put copy 250 three").with(0);
    sea.holm("put db 250 four").with(0);
    sea.holm(&format!("backup db wednesday --since {}", epoch(&printed))).with(0);
    assert!(sea.holm("apply copy wednesday").complaint().contains("does not continue this database"));
}

#[test]
fn a_backup_goes_through_a_pipe() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    let said = sea.holm("backup db -");
    assert_eq!(said.code, Some(0));
    assert!(said.error.contains("1 records; the next backup is --since "), "{}", said.error);
    let printed = sea.fed("restore copy", &said.out).with(0);
    assert!(printed.contains("records    1\n"), "{printed}");
    assert_eq!(sea.fed("verify -", &said.out).with(0), printed);
    assert_eq!(sea.holm("get copy north").with(0), "coral\n");
}

#[test]
fn nothing_is_replaced_and_nothing_half_is_left() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    sea.holm("backup db monday").with(0);
    let before = sea.file_bytes("monday");
    assert!(sea.holm("backup db monday").complaint().contains("a backup replaces no file"));
    assert_eq!(sea.file_bytes("monday"), before);
    assert!(sea.holm("restore db monday").complaint().contains("creating"));
    assert!(sea.holm("backup absent friday").complaint().contains("no database"));
    assert!(sea.holm("backup db friday --since 999999").complaint().contains("the base of a backup is an earlier one"));
    assert!(sea.holm("verify absent").complaint().contains("cannot open absent"));

    let mut damaged = before.clone();
    damaged[before.len() / 2] ^= 4;
    sea.file("damaged", &damaged);
    sea.file("short", &before[..before.len() - 3]);
    sea.file("long", [&before[..], b"more"].concat());
    sea.file("text", "north\tcoral\n");
    for (file, what) in [
        ("damaged", "is damaged at byte"),
        ("short", "is damaged at byte"),
        ("long", "bytes follow"),
        ("text", "is not one of Holm's"),
    ] {
        assert!(sea.holm(&format!("verify {file}")).complaint().contains(what), "{file}");
        if file != "long" {
            assert!(sea.holm(&format!("restore new {file}")).complaint().contains(what), "{file}");
        }
    }
    let entries = fs::read_dir(sea.path("")).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().expect("text")).collect();
    names.sort();
    assert_eq!(names, ["damaged", "db", "long", "monday", "short", "text"]);
}

/// Two backups to one file wrote into each other, and the first to end gave its name to what the other one was writing.
#[test]
fn a_file_takes_one_backup_at_a_time() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    sea.file("monday.partial", "of another one");
    let other = File::options().write(true).open(sea.path("monday.partial")).expect("it is there");
    other.try_lock().expect("nobody else");
    assert!(sea.holm("backup db monday").complaint().contains("is being written"));
    assert_eq!(sea.file_bytes("monday.partial"), b"of another one");
    assert!(!sea.path("monday").exists());
    // A child that another test is starting has a copy of the descriptor until it executes its program: dropping the
    // file would leave the lock to that copy.
    other.unlock().expect("it is locked");
    // It was killed after it had given the file its name, and that was moved since.
    fs::hard_link(sea.path("monday.partial"), sea.path("sunday")).expect("a name");
    let printed = sea.holm("backup db monday").with(0);
    assert_eq!(sea.file_bytes("sunday"), b"of another one");
    assert_eq!(sea.holm("verify monday").with(0), printed);
    assert!(!sea.path("monday.partial").exists());
}

/// An increment that a copy has already was called applied, whatever had become of the copy since.
#[test]
fn a_copy_that_was_changed_has_no_backup_already() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    let monday = sea.holm("backup db monday").with(0);
    sea.file("none.tsv", "");
    sea.holm("put db south sand").with(0);
    let tuesday = sea.holm(&format!("backup db tuesday --since {}", epoch(&monday))).with(0);
    for change in [
        "put copy north kelp",
        "del copy north",
        "clear copy",
        "put copy east kelp --keyspace reefs",
        "load copy none.tsv --keyspace reefs",
    ] {
        sea.holm("restore copy monday").with(0);
        assert_eq!(sea.holm("apply copy tuesday").with(0), tuesday);
        sea.holm(change).with(0);
        let before = sea.holm("export copy").with(0);
        let complaint = sea.holm("apply copy tuesday").complaint();
        assert!(complaint.contains("does not continue this database"), "{change}: {complaint}");
        assert_eq!(sea.holm("export copy").with(0), before, "{change}");
        fs::remove_dir_all(sea.path("copy")).expect("it is there");
    }
}

/// A database without pairs takes a whole backup, also one that it has had before.
#[test]
fn an_emptied_copy_takes_a_whole_backup_again() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    let monday = sea.holm("backup db monday").with(0);
    sea.holm("restore copy monday").with(0);
    sea.holm("clear copy").with(0);
    assert_eq!(sea.holm("apply copy monday").with(0), monday);
    assert_eq!(sea.holm("export copy").with(0), "north\tcoral\n");
    assert_eq!(sea.holm("apply copy monday").with(0), monday, "it is applied already");
    sea.holm("put copy north kelp").with(0);
    assert!(sea.holm("apply copy monday").complaint().contains("does not continue this database"));
}

/// Such a backup was sound by itself, and lacked what the leaf had lost.
#[test]
fn a_changed_leaf_makes_no_backup() {
    let sea = Sea::new();
    let lines: String = (0..300).map(|number| format!("{number:03}\tcoral\n")).collect();
    sea.file("lines.tsv", lines);
    sea.holm("load db lines.tsv").with(0);
    let leaves = sea.file_bytes("db/leaves");
    for at in (0..leaves.len()).step_by(leaves.len() / 40) {
        let mut changed = leaves.clone();
        changed[at] ^= 4;
        sea.file("db/leaves", changed);
        let said = sea.holm("backup db monday");
        assert_eq!(said.code, Some(2), "byte {at}: {said:?}");
        assert!(!sea.path("monday").exists() && !sea.path("monday.partial").exists(), "byte {at}");
        assert_ne!(sea.holm("count db").code, Some(0), "byte {at}: what is left is not all");
    }
    sea.file("db/leaves", leaves);
    sea.holm("backup db monday").with(0);
}

#[test]
fn what_follows_a_backup_is_refused() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    sea.holm("backup db monday").with(0);
    sea.file("monday", [&sea.file_bytes("monday")[..], b"\n"].concat());
    for verb in ["verify monday", "restore copy monday"] {
        assert!(sea.holm(verb).complaint().contains("bytes follow the end of the backup"), "{verb}");
    }
}
