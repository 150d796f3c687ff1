//! The folder of an open database is moved, or is one that a link leads to.

use crate::children::Other;
use crate::tools::{assert_sound, builder, folder, relaxed};
use holm::{Database, Error};
use std::path::Path;

/// Writes until the log needs a segment more than a new database has, or until a write or a sync is refused.
fn outgrow_the_log(db: &Database) -> Result<(), Error> {
    let space = db.keyspace("default")?;
    for number in 0..12_u8 {
        space.insert([number], vec![number; 1 << 20])?;
        db.sync()?;
    }
    Ok(())
}

fn segments(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").file_name());
    names.filter(|name| name.to_string_lossy().starts_with("log.")).count()
}

/// A segment of the log was made by its path: in the folder of another database that had the place by then, over a
/// segment of that one. Both wrote on, and the moved database had lost what it had called durable.
#[test]
fn a_moved_database_writes_nothing_into_the_one_that_has_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let (place, moved) = (folder.path().join("sea.holm"), folder.path().join("moved.holm"));
    let one = builder().log_bytes(8 << 20).open(&place).expect("a new database");
    one.keyspace("default").and_then(|space| space.insert("first", "coral")).expect("room");
    one.sync().expect("room");
    std::fs::rename(&place, &moved).expect("a rename");

    let other = builder().log_bytes(8 << 20).open(&place).expect("a new database");
    let before = segments(&place);
    let refused = outgrow_the_log(&one).expect_err("its path leads to another database");
    assert!(matches!(refused, Error::Poisoned { .. }), "{refused}");
    assert!(refused.to_string().contains("moved"), "{refused}");
    assert_eq!(segments(&place), before);
    one.close().expect_err("it is poisoned");

    outgrow_the_log(&other).expect("room");
    assert!(segments(&place) > before, "a test that makes no segment shows nothing");
    other.close().expect("nothing is wrong with it");
    for place in [place, moved] {
        let db = builder().create(false).open(&place).expect("what was durable is there");
        assert_sound(&db);
        let space = db.existing_keyspace("default").expect("a catalog").expect("it is always there");
        let is_moved = place.ends_with("moved.holm");
        assert_eq!(space.contains_key("first").expect("a read"), is_moved);
    }
}

/// Closing wrote the index of the moved database into the folder of the other one.
#[test]
fn closing_a_moved_database_leaves_the_index_of_the_one_that_has_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let (place, moved) = (folder.path().join("sea.holm"), folder.path().join("moved.holm"));
    let one = builder().open(&place).expect("a new database");
    one.keyspace("default").and_then(|space| space.insert("first", "coral")).expect("room");
    std::fs::rename(&place, &moved).expect("a rename");
    builder().open(&place).and_then(Database::close).expect("a new database");
    let index = std::fs::read(place.join("index")).expect("closing writes it");
    one.close().expect("closing makes no file that the database needs");
    assert_eq!(std::fs::read(place.join("index")).expect("still there"), index);
    let db = builder().create(false).open(&moved).expect("it was closed");
    assert_sound(&db);
}

/// A backup was stored by its path in the folder of another database, which had the place by then. The next opening of
/// that one completed it, and removed all that was there.
#[test]
fn a_backup_for_a_moved_database_is_not_applied_to_the_one_that_has_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let [original, place, moved] = ["original", "sea.holm", "moved.holm"].map(|name| folder.path().join(name));
    let mut stream = Vec::new();
    let db = builder().open(&original).expect("a new database");
    let space = db.keyspace("default").expect("it is always there");
    (0..8_u8).for_each(|number| space.insert([number], vec![number; 300 << 10]).expect("room"));
    db.backup_to(&mut stream).expect("room");

    // It has no room for all of that, so an application stops half-way.
    let one = builder().capacity(1 << 20).open(&place).expect("a new database");
    std::fs::rename(&place, &moved).expect("a rename");
    let other = builder().open(&place).expect("a new database");
    other.keyspace("default").and_then(|space| space.insert("first", "coral")).expect("room");
    other.close().expect("nothing is wrong with it");
    let refused = one.apply(&mut &stream[..]);
    one.close().expect("a sound disk");
    let other = builder().create(false).open(&place).expect("it was closed");
    let found = other.keyspace("default").and_then(|space| space.get("first")).expect("sound");
    assert_eq!(found.as_deref(), Some(&b"coral"[..]), "after {refused:?}");
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    let one = builder().create(false).open(&moved).expect("it was closed");
    assert!(one.keyspace("default").and_then(|space| space.is_empty()).expect("sound"));
}

/// The body of a child: opens a database by a relative path, and goes to another folder. Returns what became of writes.
pub(crate) fn leave(path: &Path) -> String {
    std::env::set_current_dir(path).expect("the test's folder");
    let db = builder().log_bytes(8 << 20).open("sea.holm").expect("a new database");
    std::env::set_current_dir("/").expect("there is one");
    let written = outgrow_the_log(&db).and_then(|()| db.apply(&mut &b""[..]).map(drop));
    format!("{written:?}, {:?}", db.close())
}

/// The next segment of the log was made by the relative path by which the database was opened, and refused: it led
/// elsewhere by then. The database took no more writes.
#[test]
fn a_process_that_changes_its_folder_writes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = Other::start("leave", folder.path());
    let said = other.said.clone();
    other.finish();
    assert!(said.starts_with("Err(Foreign") && said.ends_with(", Ok(())"), "{said}");
    assert!(segments(&folder.path().join("sea.holm")) > 2, "a test that makes no segment shows nothing");
}

/// A folder cannot take the place of a link: that was found once the database was complete.
#[test]
fn a_database_is_restored_where_a_link_leads() {
    let folder = folder();
    let db = relaxed(&folder.path().join("db"));
    db.keyspace("s").and_then(|space| space.insert("north", "coral")).expect("room");
    let [empty, link, dangling] = ["empty", "link", "dangling"].map(|name| folder.path().join(name));
    std::fs::create_dir(&empty).expect("a name");
    std::os::unix::fs::symlink(&empty, &link).expect("a name");
    std::os::unix::fs::symlink("nothing", &dangling).expect("a name");
    // With a slash, as shells complete it.
    db.backup(link.join("")).expect("an empty folder");
    assert_eq!(
        relaxed(&empty).keyspace("s").and_then(|space| space.get("north")).expect("sound").as_deref(),
        Some(&b"coral"[..])
    );
    let refused = db.backup(&dangling).expect_err("nothing to replace");
    assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 4, "nothing is left of the attempts");
}
