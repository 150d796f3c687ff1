//! Pages of the data files that differ from what the process had stored when it died, in the same files and the same
//! boot: the log shows it.

use crate::children::Other;
use crate::tools::{self, assert_sound, folder, leaves_have_records};
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
