//! Read-only opens of a closed database, also where a rebuild wants to add to it.

use holm::Database;

#[test]
fn empty_keyspaces_are_there_and_gaps_change_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sea.holm");
    let db = Database::open(&path).expect("a new database");
    let reefs = db.keyspace("reefs").expect("a keyspace");
    (0..2_000).for_each(|i| reefs.insert(format!("a/long/shared/prefix/{i:06}"), "coral").expect("room"));
    // The first leaves are removed. The next one's range must share a prefix, which leaves a gap in front of it.
    (0..1_000).for_each(|i| assert!(reefs.remove(format!("a/long/shared/prefix/{i:06}")).expect("sound")));
    db.close().expect("closed");
    drop(reefs);
    let before = std::fs::read(path.join("leaves")).expect("readable");
    let looked = Database::open_read_only(&path).expect("a closed database");
    assert_eq!(looked.existing_keyspace("default").expect("sound").expect("always there").len().expect("sound"), 0);
    let reefs = looked.existing_keyspace("reefs").expect("sound").expect("made above");
    assert_eq!(reefs.iter().filter(Result::is_ok).count(), 1_000);
    assert_eq!(reefs.get("a").expect("sound"), None);
    assert!(looked.check().expect("checked").faults.is_empty());
    drop((looked, reefs));
    assert!(before == std::fs::read(path.join("leaves")).expect("readable"), "looking changed the file");
}
