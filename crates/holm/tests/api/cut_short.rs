//! Copies, restorations and repairs that are refused: what the error says, and what is left in the folders.

use crate::disks::Disk;
use crate::files::contents;
use crate::tools::{self, folder};
use holm::{Database, Error};
use std::path::Path;
use std::sync::Arc;

/// Returns a database with enough pairs that a stream of them waits in the pipe to a copy.
fn filled(path: &Path) -> Database {
    let db = tools::relaxed(path);
    let space = db.keyspace("default").expect("room");
    (0..8_000_u32).try_for_each(|number| space.insert(number.to_be_bytes(), [7; 1000])).expect("room");
    db
}

fn names(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").file_name());
    names.map(|name| name.to_string_lossy().into()).collect()
}

/// The writer of the stream met the end of the pipe, because the copy had been refused. The error was that of the
/// writer: a broken pipe, and no word about the file.
#[test]
fn a_copy_over_a_file_is_refused_with_the_name_of_the_file() {
    let folder = folder();
    let db = filled(&folder.path().join("sea.holm"));
    let file = folder.path().join("file");
    std::fs::write(&file, "no database").expect("room");
    let refused = db.backup(&file).expect_err("it is a file");
    assert!(matches!(&refused, Error::Foreign { path, .. } if *path == file), "{refused:?}");
}

/// The files of a copy that could not be created stayed, and kept a full disk full.
#[test]
fn a_restoration_that_cannot_create_its_database_leaves_nothing() {
    let folder = folder();
    let mut stream = Vec::new();
    filled(&folder.path().join("sea.holm")).backup_to(&mut stream).expect("a sound database");
    let copies = folder.path().join("copies");
    std::fs::create_dir(&copies).expect("room");
    let disk = Disk::default();
    disk.break_log();
    let broken = tools::builder().vfs(Arc::new(disk.clone()), [0; 2]);
    broken.clone().restore(&mut &stream[..], copies.join("copy.holm")).expect_err("the log cannot be written");
    assert_eq!(names(&copies), Vec::<String>::new());
    disk.mend_log();
    broken.restore(&mut &stream[..], copies.join("copy.holm")).expect("nothing is in its way");
}

/// A repair made its database in the damaged folder. It took a damaged folder `sea.partial` for what an earlier attempt
/// at `sea` had left, and removed it.
#[test]
fn a_repair_refuses_a_new_folder_that_would_change_the_damaged_one() {
    let folder = folder();
    let damaged = folder.path().join("sea.partial");
    filled(&damaged).close().expect("sound");
    std::fs::remove_file(damaged.join("superblock")).expect("it is there");
    std::fs::remove_file(damaged.join("index")).expect("closing writes it");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&damaged, &link).expect("a link");
    let before = contents(&damaged);
    for into in [damaged.join("new"), damaged.join("a/../new"), link.join("new"), folder.path().join("sea")] {
        let refused = Database::repair(&damaged, &into).expect_err("the damaged folder would change");
        assert!(matches!(refused, Error::Invalid { .. }), "{}: {refused:?}", into.display());
        assert!(contents(&damaged) == before, "{}", into.display());
    }
    let report = Database::repair(&damaged, folder.path().join("saved")).expect("another folder");
    assert_eq!(report.records, 8_000);
}

/// A copy to `sea` took a database with the name `sea.partial` for what an earlier copy had left, and removed it.
#[test]
fn a_database_whose_name_ends_in_partial_is_no_leftover() {
    let folder = folder();
    let (own, copy) = (folder.path().join("sea.partial"), folder.path().join("sea"));
    filled(&own).close().expect("sound");
    let before = contents(&own);
    let mut stream = Vec::new();
    filled(&folder.path().join("other")).backup_to(&mut stream).expect("memory");
    for _ in 0..2 {
        let refused = Database::restore(&mut &stream[..], &copy).expect_err("the name is in use");
        assert!(matches!(&refused, Error::Foreign { path, .. } if *path == own), "{refused:?}");
        assert!(refused.to_string().contains("unfinished"), "{refused}");
        assert!(contents(&own) == before && !copy.exists());
    }
}

/// A backup that is to be applied was damaged in the folder of the copy. The opening that should have completed it
/// failed with an error about a stream, and without a word about the file. The stream itself can take its place.
#[test]
fn a_damaged_increment_that_keeps_a_copy_from_opening_is_named() {
    let folder = folder();
    let [original, copied, saved] = ["sea.holm", "copy.holm", "saved.holm"].map(|name| folder.path().join(name));
    let db = tools::relaxed(&original);
    let space = db.keyspace("default").expect("room");
    let (mut whole, mut changes) = (Vec::new(), Vec::new());
    space.insert("north", "coral").and_then(|()| db.sync()).expect("room");
    let base = db.backup_to(&mut whole).expect("sound").epoch;
    space.insert("north", "sand").and_then(|()| db.sync()).expect("room");
    db.backup_since(base, &mut changes).expect("sound");
    tools::builder().restore(&mut &whole[..], &copied).expect("room");
    let staged = copied.join("increment");
    let mut damaged = changes.clone();
    *damaged.last_mut().expect("an end") ^= 1;
    std::fs::write(&staged, damaged).expect("room");
    let refused = tools::open(&copied).map(drop).expect_err("it is damaged");
    assert!(matches!(&refused, Error::Corrupt { path, .. } if *path == staged), "{refused:?}");
    let north = |db: &Database| db.keyspace("default").and_then(|space| space.get("north")).expect("sound");
    let report = Database::repair(&copied, &saved).expect("room");
    assert!(report.losses.iter().any(|loss| loss.contains("increment")), "{report:?}");
    assert_eq!(north(&tools::open(&saved).expect("sound")).as_deref(), Some(&b"coral"[..]));
    std::fs::write(&staged, changes).expect("room");
    let copy = tools::open(&copied).expect("the opening completes it");
    assert_eq!(north(&copy).as_deref(), Some(&b"sand"[..]));
    assert!(!staged.exists());
}

/// A restoration and an application read one stream each, and nothing of what follows it.
#[test]
fn streams_come_one_behind_the_other() {
    let folder = folder();
    let db = filled(&folder.path().join("sea.holm"));
    let mut streams = Vec::new();
    let base = db.backup_to(&mut streams).expect("sound").epoch;
    db.keyspace("default").and_then(|space| space.insert("north", "coral")).expect("room");
    db.backup_since(base, &mut streams).expect("sound");
    let (path, mut rest) = (folder.path().join("copy.holm"), &streams[..]);
    tools::builder().restore(&mut rest, &path).expect("a whole backup");
    let copy = tools::open(&path).expect("sound");
    copy.apply(&mut rest).expect("its increment");
    assert!(rest.is_empty() && copy.keyspace("default").expect("there").contains_key("north").expect("sound"));
}
