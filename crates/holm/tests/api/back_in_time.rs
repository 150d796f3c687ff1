//! Pages of the data files that differ from what the process had stored when it died, in the same files and the same
//! boot: the log shows it.

use crate::children::Other;
use crate::tools::{self, assert_sound, folder, leaves_have_records, relaxed};
use holm::RecoveredFrom;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

const PAGE: usize = 4096;

fn read(path: &Path, name: &str) -> Vec<u8> {
    std::fs::read(path.join(name)).expect("it is there")
}

/// Opens the database, checks that the counter is the last one acknowledged, and returns the source of the recovery.
fn opened(path: &Path, context: &str) -> RecoveredFrom {
    let db = tools::open(path).unwrap_or_else(|error| panic!("{context}: {error}"));
    let value = db.keyspace("s").and_then(|space| space.get("counter")).expect("sound").expect("counted");
    assert_eq!(u32::from_be_bytes(value.first_chunk().copied().expect("four bytes")), 40, "{context}");
    assert_sound(&db);
    db.recovery().source.clone()
}

/// A counter is updated forty times, and each update is acknowledged as durable. Then a page comes back from the disk
/// as it was fifteen updates earlier. An older record of the same key and length lies where the last one was written,
/// complete and with its checksum.
#[test]
fn a_page_of_the_time_before() {
    // Some leaves have their records in their own pages.
    let files = if leaves_have_records() { &["leaves"][..] } else { &["records", "leaves"] };
    for name in files.iter().copied() {
        let folder = folder();
        let mut other = Other::start("count", folder.path());
        assert_eq!(other.said, "25");
        let before = read(folder.path(), name);
        other.go_on();
        assert_eq!(other.said, "40");
        other.kill();
        let after = read(folder.path(), name);
        let changed = |page: &usize| before[*page..][..PAGE] != after[*page..][..PAGE];
        let pages: Vec<_> = (0..before.len() / PAGE * PAGE).step_by(PAGE).filter(changed).collect();
        assert!(!pages.is_empty(), "{name}: forty updates change a page");
        let file = OpenOptions::new().write(true).open(folder.path().join(name)).expect("it is there");
        for page in pages {
            file.write_all_at(&before[page..][..PAGE], page as u64).expect("room");
        }
        match opened(folder.path(), name) {
            RecoveredFrom::Log { reason: why, .. } if why.contains("lost writes") => {}
            RecoveredFrom::Log { reason: why, .. } => {
                println!("skipped: this file system's page cache is not trusted ({why})")
            }
            found => panic!("{name}: {found:?}"),
        }
    }
}

/// Keys that begin alike, in more bytes than a leaf has of them.
const ALIKE: [&str; 2] = ["beginning of the one", "beginning of another"];

/// For another process: one key gives way to the other, whose record takes its place.
pub(crate) fn reuse_until_killed(path: &Path, say: &dyn Fn(&str)) {
    let db = relaxed(path);
    let space = db.keyspace("s").expect("a name");
    (0..3).for_each(|_| db.sync().expect("a disk"));
    space.insert(ALIKE[0], "value").expect("room");
    assert!(space.remove(ALIKE[0]).expect("sound"));
    say("removed");
    space.insert(ALIKE[1], "value").expect("room");
    say("inserted");
}

/// A page of records goes back under a leaf that is in no log, to one that has a sound record of another key in the
/// place. The first bytes of both keys are those that the leaf has, and its fingerprint tells them apart: the leaf must
/// not answer with a key that it cannot find.
#[test]
fn another_key_that_begins_alike() {
    if leaves_have_records() {
        return;
    }
    let folder = folder();
    let mut other = Other::start("reuse", folder.path());
    assert_eq!(other.said, "removed");
    let before = read(folder.path(), "records");
    other.go_on();
    assert_eq!(other.said, "inserted");
    other.kill();
    let after = read(folder.path(), "records");
    let has = |bytes: &[u8], key: &str| bytes.windows(key.len()).any(|part| part == key.as_bytes());
    assert!(has(&before, ALIKE[0]) && !has(&after, ALIKE[0]) && has(&after, ALIKE[1]), "its place was taken");
    let file = OpenOptions::new().write(true).open(folder.path().join("records")).expect("it is there");
    file.write_all_at(&before, 0).expect("room");
    let db = tools::open(folder.path()).expect("recovered");
    assert_sound(&db);
    let space = db.keyspace("s").expect("sound");
    assert!(space.is_empty().expect("sound"), "neither was synced, and the later one is lost");
    assert!(matches!(db.recovery().source, RecoveredFrom::Log { .. }), "{:?}", db.recovery().source);
}

/// An untouched database of a killed process keeps everything, however often the process is killed.
#[test]
fn a_page_cache_that_is_whole() {
    let folder = folder();
    for _ in 0..2 {
        let mut other = Other::start("count", folder.path());
        other.go_on();
        other.kill();
    }
    match opened(folder.path(), "untouched") {
        RecoveredFrom::PageCache => {}
        RecoveredFrom::Log { reason: why, .. } => {
            println!("skipped: this file system's page cache is not trusted ({why})")
        }
        found => panic!("{found:?}"),
    }
}

/// A copy replaces either file alone: recovery then trusts the page cache of neither.
#[test]
fn a_copy_of_one_file() {
    for name in ["leaves", "records"] {
        let folder = folder();
        let mut other = Other::start("count", folder.path());
        other.go_on();
        other.kill();
        let (path, copy) = (folder.path().join(name), folder.path().join("copy"));
        std::fs::copy(&path, &copy).expect("room");
        std::fs::rename(&copy, &path).expect("a name");
        let found = opened(folder.path(), name);
        let RecoveredFrom::Log { reason, .. } = &found else { panic!("{name}: {found:?}") };
        assert!(reason.contains("copies") || reason.contains("not known"), "{name}: {reason}");
    }
}
