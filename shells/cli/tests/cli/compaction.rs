//! `compact`.

use holm::Database;

use crate::support::Sea;

/// Twenty thousand records of a thousand bytes, of which nine in ten were removed.
fn sparse() -> Sea {
    let sea = Sea::new();
    let db = Database::open(sea.path("db")).expect("a database");
    let space = db.keyspace("default").expect("a keyspace");
    (0..20_000_u32).for_each(|number| space.insert(number.to_be_bytes(), [7; 1000]).expect("an insertion"));
    for number in (0..20_000_u32).filter(|number| number % 10 != 5) {
        space.remove(number.to_be_bytes()).expect("a removal");
    }
    drop(space);
    db.close().expect("a close");
    sea
}

fn number(json: &str, name: &str) -> u64 {
    let value: serde_json::Value = serde_json::from_str(json).expect("an object");
    value[name].as_u64().expect("a number")
}

#[test]
fn a_compaction_says_what_the_disk_got_back() {
    let sea = sparse();
    let json = sea.holm("compact db --json").with(0);
    let (before, after) = (number(&json, "disk_bytes_before"), number(&json, "disk_bytes_after"));
    assert!(before > 18_000_000 && after < before / 2, "{json}");
    assert!((500..2_000).contains(&number(&json, "records_moved")), "{json}");
    let printed = sea.holm("compact db --rate 20").with(0);
    assert!(
        printed.starts_with("0 records and 0 leaf blocks moved, 0 bytes\n")
            && printed.contains(" bytes on disk before, "),
        "{printed}"
    );
    assert_eq!(sea.holm("count db").with(0), "2000\n");
    assert!(sea.holm("check db").with(0).ends_with("sound\n"));
}

#[test]
fn a_copy_for_incremental_backups_is_left_alone() {
    let sea = sparse();
    sea.holm("backup db monday.backup").with(0);
    sea.holm("restore copy monday.backup").with(0);
    assert!(sea.holm("compact copy").complaint().contains("incremental backups"));
}
