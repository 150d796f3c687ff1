//! `scrub` and `repair`.

use std::fs;

use crate::support::Sea;

/// A database with a flipped bit in the value of one record.
fn damaged() -> Sea {
    let sea = Sea::new();
    let lines: String = (0..300).map(|number| format!("key{number:03}\tvalue{number:03}\n")).collect();
    sea.file("lines.tsv", &lines);
    sea.holm("load db lines.tsv").with(0);
    sea.holm("put db north coral --keyspace reefs").with(0);
    let mut records = sea.file_bytes("db/records");
    let at = records.windows(8).position(|bytes| bytes == b"value007").expect("the value is there");
    records[at + 6] ^= 1;
    sea.file("db/records", records);
    sea
}

#[test]
fn a_scrub_names_the_damaged_record() {
    let sea = damaged();
    let printed = sea.holm("scrub db --rate 0").with(2);
    assert!(printed.contains("damage: keyspace \"default\": record at 0x"), "{printed}");
    assert!(printed.contains("(key \"key007\")") && printed.ends_with("1 damage\n"), "{printed}");
    let json = sea.holm("scrub db --json").with(2);
    assert!(
        json.contains("\"damage_count\":1") && json.contains("\"record\":{\"file\":\"records\",\"offset\":"),
        "{json}"
    );
    sea.holm("put sound north coral").with(0);
    assert!(sea.holm("scrub sound").with(0).ends_with("no damage\n"));
}

#[test]
fn a_repair_writes_what_is_left_and_says_what_is_not() {
    let sea = damaged();
    fs::remove_file(sea.path("db/superblock")).expect("it is there");
    assert!(sea.holm("get db key001").complaint().contains("no superblock"));
    // The log still has the record as it was.
    let printed = sea.holm("repair db whole").with(2);
    assert!(printed.contains("records                301\n"), "{printed}");
    assert!(printed.ends_with("lost: superblock is missing\n") && !printed.contains("damaged"), "{printed}");
    assert_eq!(sea.holm("get whole key007").with(0), "value007\n");

    let before = sea.file_bytes("db/leaves");
    fs::remove_file(sea.path("db/log.0")).expect("it is there");
    fs::remove_file(sea.path("db/log.1")).expect("it is there");
    let printed = sea.holm("repair db saved").with(2);
    assert!(printed.contains("records                300\n"), "{printed}");
    assert!(
        printed.contains("damaged records        1\n") && printed.contains("lost: log.1 is missing\n"),
        "{printed}"
    );
    assert_eq!(sea.file_bytes("db/leaves"), before);
    assert!(sea.holm("check saved").with(0).ends_with("sound\n"));
    assert_eq!(sea.holm("get saved north --keyspace reefs").with(0), "coral\n");
    sea.holm("get saved key007").with(1);
    assert!(sea.holm("repair db saved").complaint().contains("saved"));
    assert!(sea.holm("repair absent other").complaint().contains("there is no database in absent"));
    sea.holm("repair saved again").with(0);
}

/// The length of a record that a leaf stated was believed: a scan asked for gigabytes, and was aborted.
#[test]
fn no_word_of_a_leaf_ends_the_program() {
    let sea = Sea::new();
    let lines: String = (0..60).map(|number| format!("key{number:03}\tvalue{number:03}\n")).collect();
    sea.file("lines.tsv", &lines);
    sea.holm("load db lines.tsv").with(0);
    let leaves = sea.file_bytes("db/leaves");
    let last = leaves.iter().rposition(|byte| *byte != 0).expect("leaves");
    for at in (0..last).step_by(8).filter(|at| leaves[*at..at + 8] != [0; 8]) {
        let mut changed = leaves.clone();
        changed[at..at + 8].fill(0xff);
        sea.file("db/leaves", changed);
        let said = sea.holm("export db");
        assert_eq!(said.code, Some(2), "word at {at}: {said:?}");
        assert!(!said.error.contains("panicked"), "word at {at}: {said:?}");
    }
}

/// What a closed database did not have is no part of it, however much of it there is.
#[test]
fn a_file_that_has_become_longer_is_read_as_it_was_closed() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    for file in ["db/records", "db/leaves"] {
        let longer = fs::File::options().write(true).open(sea.path(file)).expect("it is there");
        longer.set_len(1 << 36).expect("a sparse file");
    }
    assert_eq!(sea.holm("scan db").with(0), "north\tcoral\n");
    sea.holm("put db south sand").with(0);
    assert_eq!(sea.holm("count db").with(0), "2\n");
}

/// Both slots of the superblock say the same, so that a reader lacks nothing without one of them.
#[test]
fn damage_that_costs_nothing_changes_no_exit_code() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    let mut superblock = sea.file_bytes("db/superblock");
    superblock[100] ^= 1;
    sea.file("db/superblock", superblock);
    let found = sea.holm("get db north");
    assert!(found.error.contains("nothing is lost"), "{found:?}");
    assert_eq!(found.with(0), "coral\n");
    sea.holm("get db south").with(1);
    sea.holm("backup db monday").with(0);
    sea.holm("check db").with(2);
}
