//! Another program writes into the files of an open database.

use holm::{Database, Durability};
use std::os::unix::fs::FileExt;

/// Bytes of a leaf block of the design `buffered`, and where its fingerprints lie.
const BLOCK: usize = 512;
const FINGERPRINTS: std::ops::Range<usize> = 24..52;

/// No record is damaged, and all keys are in order: only a look at each key of a leaf tells that a get misses one.
#[test]
fn a_check_tells_of_a_key_that_cannot_be_got() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Database::builder().design("buffered").durability(Durability::OnSync).open(folder.path());
    let db = db.expect("a new database");
    db.keyspace("default").and_then(|space| space.insert("alone", "in its leaf")).expect("room");
    db.sync().expect("room");
    let leaves = folder.path().join("leaves");
    let bytes = std::fs::read(&leaves).expect("a file");
    let leaves = std::fs::OpenOptions::new().write(true).open(leaves).expect("a file");
    let mut told = Vec::new();
    for at in (BLOCK..bytes.len()).filter(|at| FINGERPRINTS.contains(&(at % BLOCK)) && bytes[*at] != 0) {
        leaves.write_all_at(&[bytes[at] ^ 1], at as u64).expect("a file");
        told.extend(db.check().expect("a check tells, it does not fail").faults);
        leaves.write_all_at(&bytes[at..=at], at as u64).expect("a file");
        assert_eq!(db.check().expect("a check").faults, Vec::<String>::new());
    }
    assert_eq!(told.len(), 2, "the catalog and the default keyspace have a pair each: {told:#?}");
    assert!(told.iter().all(|fault| fault.contains("is there and cannot be got")), "{told:#?}");
}
