//! Databases and backups of each version of the format: see `docs/format.md`. Those of the present version open and
//! work, those of earlier versions are refused and stay as they are, and backups of all of them are restored.
//!
//! The folder of a version has files of text, in which a line is an offset and the bytes there, without those that are
//! zero. `cargo test -p holm-proof --test formats -- --ignored` writes those of the present version again. That is
//! right until the version is released.

#![forbid(unsafe_code)]

#[path = "formats/contents.rs"]
mod contents;
#[path = "formats/keep.rs"]
mod keep;
#[path = "formats/log.rs"]
mod log;
#[path = "formats/text.rs"]
mod text;

use contents::{Bulk, KEPT, WAVES, expect_contents, key, open};
use holm::{Database, Error, LogTail, RecoveredFrom, Recovery, verify_backup};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The version that is written now, and the one before.
const NOW: &str = "2";
const BEFORE: &str = "1";

/// The designs that ship, whose databases are kept.
const DESIGNS: [&str; 3] = ["buffered", "holm", "clustered"];

/// Whether checkpoints of a design make an index.
fn is_indexed(design: &str) -> bool {
    holm_tree::designs::CAPABILITIES.iter().any(|(name, capabilities)| *name == design && capabilities.indexed)
}

fn kept(version: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(version).join(name)
}

/// A folder with the files of a kept database.
fn unpacked(version: &str, name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    text::unpack(&kept(version, name), folder.path());
    folder
}

/// A database that works: it takes writes, and closes.
fn expect_at_work(db: Database, folder: &Path) {
    let reefs = db.keyspace("reefs").expect("kept");
    (1_000..1_200).for_each(|number| reefs.insert(key(number), "new").expect("room"));
    let len = reefs.len().expect("sound");
    db.close().expect("a disk");
    drop(reefs);
    assert_eq!(open(folder).keyspace("reefs").expect("kept").len().expect("sound"), len);
}

/// Opens the files of a database that was open, as a loss of power could leave them: leaves and records of one time,
/// and a log that has a later one. Returns what the opening says.
fn recover(designs: &[&str], name: &str, bulk: &[Bulk], is_evident: impl Fn(&Path)) -> Vec<Recovery> {
    let recover = |design: &&str| {
        let folder = unpacked(NOW, &format!("{design}/{name}"));
        is_evident(folder.path());
        let db = open(folder.path());
        let recovery = db.recovery().clone();
        assert_eq!(db.stats().design, *design);
        assert!(matches!(recovery.source, RecoveredFrom::Log { .. }), "{recovery}");
        assert!(matches!(recovery.tail, LogTail::Empty), "{recovery}");
        expect_contents(&db, true, bulk);
        expect_at_work(db, folder.path());
        recovery
    };
    designs.iter().map(recover).collect()
}

#[test]
fn a_closed_database_of_each_design_opens() {
    for design in DESIGNS {
        let folder = unpacked(NOW, &format!("{design}/closed.txt"));
        let reader = Database::open_read_only(folder.path()).expect("a closed database");
        let reefs = reader.existing_keyspace("reefs").expect("sound").expect("kept");
        assert_eq!(reefs.get(key(1)).expect("sound").as_deref(), Some(&b"1"[..]));
        drop((reefs, reader));
        let db = open(folder.path());
        assert_eq!(db.stats().design, design);
        assert!(matches!(db.recovery().source, RecoveredFrom::CleanShutdown), "{}", db.recovery());
        assert_eq!(db.recovery().from_index, folder.path().join("index").exists(), "{}", db.recovery());
        expect_contents(&db, false, &[]);
        expect_at_work(db, folder.path());
    }
}

/// Each of thirty commits was synced: most records of the log share a page with others.
#[test]
fn a_database_recovers_from_records_that_share_pages() {
    let recoveries = recover(&DESIGNS, "pages.txt", &[], |folder| {
        assert!(log::shared_pages(folder) >= 20, "{} records within pages", log::shared_pages(folder));
    });
    assert!(recoveries.iter().all(|recovery| recovery.log_entries >= 30), "{recoveries:?}");
}

#[test]
fn a_database_recovers_from_more_than_two_segments() {
    recover(&DESIGNS, "segments.txt", &WAVES, |folder| {
        assert!(log::needed_segments(folder) > 2, "{} segments", log::needed_segments(folder));
    });
}

/// A checkpoint has made an index, and the log goes on behind it.
#[test]
fn a_database_recovers_by_the_index_of_a_checkpoint() {
    let designs = DESIGNS.into_iter().filter(|design| is_indexed(design)).collect::<Vec<_>>();
    assert_eq!(designs, ["buffered", "clustered"]);
    let recoveries = recover(&designs, "indexed.txt", &WAVES, |folder| {
        assert!(log::is_index_of_a_checkpoint(folder), "no index of this session");
    });
    assert!(recoveries.iter().all(|recovery| recovery.leaves_from_index > 0), "{recoveries:?}");
}

/// A compaction has given space back to the file system.
#[test]
fn a_database_recovers_where_its_records_have_holes() {
    recover(&DESIGNS, "holes.txt", &KEPT, |folder| {
        let records = folder.join("records").metadata().expect("a file");
        assert!(records.blocks() * 512 < records.len(), "{} blocks of {} bytes", records.blocks(), records.len());
    });
}

/// An earlier program has written them: their log is another one.
#[test]
fn a_database_of_an_earlier_version_is_refused_and_unchanged() {
    for name in ["closed.txt", "cut.txt"] {
        let folder = unpacked(BEFORE, name);
        let before = text::contents(folder.path());
        let repaired = tempfile::tempdir().expect("a folder");
        let refusals = [
            Database::open(folder.path()).map(drop),
            Database::open_read_only(folder.path()).map(drop),
            Database::builder().design("buffered").open(folder.path()).map(drop),
            Database::repair(folder.path(), repaired.path().join("new")).map(drop),
        ];
        for refusal in refusals {
            let error = refusal.expect_err("another version");
            assert!(matches!(error, Error::Version { found: 1, expected: 2, .. }), "{error:?}");
            let said = error.to_string();
            assert!(said.contains("version 1") && said.contains("version 2"), "{said}");
        }
        assert!(before == text::contents(folder.path()), "{name} was changed");
        assert!(!repaired.path().join("new").exists(), "a repair of {name}");
    }
}

/// The version of a stream is not that of the files, so a database moves to another version by a backup.
#[test]
fn a_backup_of_each_version_is_restored_and_applied() {
    for version in [BEFORE, NOW] {
        let folder = tempfile::tempdir().expect("a folder");
        let [whole, since] = ["whole.txt", "since.txt"].map(|name| text::unpack_one(&kept(version, name)));
        let info = verify_backup(&mut &since[..]).expect("sound");
        assert_eq!(Database::restore(&mut &whole[..], folder.path()).expect("sound").epoch, info.base);
        let db = open(folder.path());
        expect_contents(&db, false, &[]);
        db.apply(&mut &since[..]).expect("of this base");
        expect_contents(&db, true, &[]);
        expect_at_work(db, folder.path());
    }
}

/// Writes the files of the present version.
#[test]
#[ignore = "changes what is kept"]
fn keep_the_present_version() {
    for design in DESIGNS {
        keep::databases(design, is_indexed(design), &|name| kept(NOW, &format!("{design}/{name}")));
    }
    keep::backups(&|name| kept(NOW, name));
}
