//! Makes the files that are kept.

use super::contents::{KEPT, WAVES, before_compaction, builder, first, open, second, write_bulk};
use super::{log, text};
use holm::{Database, Error};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// How often the large values are written at most, until what is waited for is there.
const MOST_TIMES: usize = 100;

/// Where a file of text is to lie.
type Place<'a> = &'a dyn Fn(&str) -> PathBuf;

/// Copies the files of a folder whose names the test accepts.
fn copy(from: &Path, to: &Path, is_copied: impl Fn(&str) -> bool) {
    fs::create_dir_all(to).expect("a folder");
    for file in fs::read_dir(from).expect("a folder") {
        let name = file.expect("a file").file_name().into_string().expect("ASCII");
        if is_copied(&name) {
            fs::copy(from.join(&name), to.join(&name)).expect("a disk");
        }
    }
}

fn is_data(name: &str) -> bool {
    ["leaves", "records"].contains(&name)
}

/// Keeps what a loss of power could leave: leaves and records as they are before `work`, everything else as it is
/// behind it. No checkpoint may come between the two: its superblock would promise more of them.
fn keep_cut(live: &Path, cut: &Path, text: &Path, work: impl FnOnce() -> Result<(), Error>) {
    let epoch = log::epoch_of_superblock(live);
    copy(live, cut, is_data);
    work().expect("a disk");
    copy(live, cut, |name| !is_data(name));
    assert_eq!(log::epoch_of_superblock(cut), epoch, "a checkpoint came between");
    text::pack(cut, text);
}

/// Writes large values until something is so.
fn write_until(db: &Database, is_so: impl Fn() -> bool) -> Result<(), Error> {
    for _ in 0..MOST_TIMES {
        write_bulk(db, &WAVES)?;
        if is_so() {
            return Ok(());
        }
    }
    panic!("{MOST_TIMES} times are not enough");
}

/// Gives space back to the file system.
fn compact(db: &Database) -> Result<(), Error> {
    write_bulk(db, &before_compaction())?;
    let bulk = db.keyspace("bulk")?;
    let is_kept = |number: &u32| KEPT.iter().any(|(kept, _)| kept == number);
    (0..70).filter(|number| !is_kept(number)).try_for_each(|number| bulk.remove(number.to_be_bytes()).map(drop))?;
    db.sync()?;
    let report = db.compact().run(|_| ControlFlow::Continue(()))?;
    assert!(report.bytes_released > 0, "{report:?}");
    db.sync()
}

/// Makes the databases of a design.
pub(crate) fn databases(design: &str, is_indexed: bool, place: Place<'_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let closed = folder.path().join("closed");
    let db = builder().design(design).open(&closed).expect("a disk");
    first(&db).expect("a disk");
    db.close().expect("a disk");
    text::pack(&closed, &place("closed.txt"));
    // Each of the others is a copy of this one that is open while its files are copied.
    let session = |name: &str| {
        let live = folder.path().join(name);
        copy(&closed, &live, |_| true);
        (open(&live), folder.path().join(format!("{name} cut")), live)
    };
    let (db, cut, live) = session("pages");
    keep_cut(&live, &cut, &place("pages.txt"), || second(&db));
    let (db, cut, live) = session("segments");
    keep_cut(&live, &cut, &place("segments.txt"), || {
        second(&db)?;
        write_until(&db, || log::needed_segments(&live) > 2)
    });
    if is_indexed {
        let (db, cut, live) = session("indexed");
        write_until(&db, || log::is_index_of_a_checkpoint(&live)).expect("a disk");
        keep_cut(&live, &cut, &place("indexed.txt"), || second(&db));
    }
    let (db, cut, live) = session("holes");
    compact(&db).and_then(|()| db.close()).expect("a disk");
    let db = open(&live);
    keep_cut(&live, &cut, &place("holes.txt"), || second(&db));
}

/// Makes a backup and its increment.
pub(crate) fn backups(place: Place<'_>) {
    let folder = tempfile::tempdir().expect("a folder");
    let db = open(&folder.path().join("live"));
    let (mut whole, mut since) = (Vec::new(), Vec::new());
    first(&db).expect("a disk");
    let base = db.backup_to(&mut whole).expect("a buffer").epoch;
    second(&db).expect("a disk");
    db.backup_since(base, &mut since).expect("a buffer");
    text::pack_one(&whole, &place("whole.txt"));
    text::pack_one(&since, &place("since.txt"));
}
