//! `dump`, and `restore` of its text.

use std::time::Duration;

use holm::{Database, KeyspaceOptions, Sweep};

use crate::support::Sea;

/// A database with three keyspaces, bytes of every kind, keys that expire, and a mark.
fn with_everything() -> Sea {
    let sea = Sea::new();
    let db = Database::builder().sweep(Sweep::Manual).open(sea.path("db")).expect("a database");
    let plain = db.keyspace("default").expect("a keyspace");
    for byte in 0..=255_u8 {
        plain.insert([byte, 0, byte], [byte; 3]).expect("an insertion");
    }
    let odd = db.keyspace("odd \"name\"\n").expect("a keyspace");
    odd.insert("", "").expect("an insertion");
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).expect("a keyspace");
    tides.insert_for("north", "high", Duration::from_secs(365 * 86_400)).expect("an insertion");
    tides.insert("south", "low").expect("an insertion");
    tides.insert_for("past", "gone", Duration::ZERO).expect("an insertion");
    db.batch().insert(&odd, "marked", "1").set_mark(77).commit().expect("a commit");
    db.close().expect("a close");
    sea
}

#[test]
fn a_dump_is_the_whole_database() {
    let sea = with_everything();
    assert_eq!(sea.holm("dump db sea.jsonl").with(0), "keyspaces  3\nrecords    260\n");
    assert_eq!(sea.holm("restore copy sea.jsonl").with(0), "keyspaces  3\nrecords    260\n");
    assert_eq!(
        sea.holm("dump copy").with(0).into_bytes(),
        sea.file_bytes("sea.jsonl"),
        "keyspaces, times and the mark"
    );
    assert_eq!(sea.holm("export copy").with(0), sea.holm("export db").with(0));
    let time = |db: &str| sea.holm(&format!("expire {db} north --keyspace tides")).with(0);
    assert_eq!(time("copy"), time("db"));
    assert_eq!(sea.holm("keyspaces copy --expiry").with(0), sea.holm("keyspaces db --expiry").with(0));
    let copy = Database::open(sea.path("copy")).expect("a database");
    assert_eq!(copy.mark().expect("a mark"), Some(77));
    drop(copy);
    assert_eq!(sea.shell("holm dump db | holm restore piped").with(0), "keyspaces  3\nrecords    260\n");
    assert!(sea.holm("dump db sea.jsonl").complaint().contains("cannot create sea.jsonl"));
    assert!(sea.holm("restore copy sea.jsonl").complaint().contains("replaces no database"));
}

#[test]
fn a_text_that_is_not_whole_makes_no_database() {
    let sea = with_everything();
    sea.holm("dump db sea.jsonl").with(0);
    let text = String::from_utf8(sea.file_bytes("sea.jsonl")).expect("text");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let without = |at: usize| lines[..at].iter().chain(&lines[at + 1..]).copied().collect::<String>();
    let last = lines.len() - 1;
    for (broken, complaint) in [
        (lines[..last].concat(), "without the line that has its counts"),
        (lines[..3].concat() + &lines[3][..5], "line 4: "),
        (without(7), "found 259 records in 3 keyspaces, expected 260 records in 3 keyspaces, as"),
        (without(0), "line 1: expected the version"),
        (without(1), "line 2: a record without a keyspace"),
        (text.replacen("1}", "9}", 1), "found version 9"),
        (text.clone() + "{}", "bytes follow the last line"),
    ] {
        sea.file("broken.jsonl", &broken);
        let found = sea.holm("restore broken broken.jsonl").complaint();
        assert!(found.contains(complaint), "{found}: {complaint}");
        assert!(!sea.path("broken").exists() && !sea.path("broken.restoring").exists(), "{complaint}");
    }
    sea.holm("restore whole sea.jsonl").with(0);
}

/// The folder may be anybody's: a restore that was killed says where it is, and does not remove it.
#[test]
fn what_has_the_name_of_an_unfinished_restore_stays() {
    let sea = with_everything();
    sea.holm("dump db sea.jsonl").with(0);
    sea.holm("put copy.restoring north coral").with(0);
    let complaint = sea.holm("restore copy sea.jsonl").complaint();
    assert!(complaint.contains("copy.restoring") && complaint.contains("remove what is there"), "{complaint}");
    assert_eq!(sea.holm("get copy.restoring north").with(0), "coral\n");
}
