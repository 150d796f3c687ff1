//! Keyspaces whose keys may expire: `--expires-in`, `expire` and `sweep`, and what the other commands do there.

use std::time::Duration;

use holm::{Database, KeyspaceOptions, Sweep};

use crate::support::Sea;

/// A database with a keyspace `tides`, in which `past` has expired and is still stored. `north` expires in a year and
/// `south` never.
fn with_tides() -> Sea {
    let sea = Sea::new();
    // No thread removes what has expired.
    let db = Database::builder().sweep(Sweep::Manual).open(sea.path("db")).expect("a database");
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).expect("a keyspace");
    tides.insert_for("north", "high", Duration::from_secs(365 * 86_400)).expect("an insertion");
    tides.insert("south", "low").expect("an insertion");
    tides.insert_for("past", "gone", Duration::ZERO).expect("an insertion");
    db.close().expect("a close");
    sea
}

#[test]
fn a_key_gets_a_time_and_loses_it() {
    let sea = Sea::new();
    let time = || sea.holm("expire db north --keyspace tides").with(0);
    sea.holm("put db north high --keyspace tides --expires-in 1h").with(0);
    assert_eq!(sea.holm("get db north --keyspace tides").with(0), "high\n");
    let in_an_hour = time();
    assert!(in_an_hour.len() == 25 && in_an_hour.starts_with('2') && in_an_hour.ends_with("Z\n"), "{in_an_hour}");
    sea.holm("expire db north --keyspace tides --in 7d").with(0);
    assert!(time() > in_an_hour);
    assert_eq!(sea.holm("get db north --keyspace tides").with(0), "high\n");
    sea.holm("expire db north --keyspace tides --never").with(0);
    assert_eq!(time(), "never\n");
    sea.holm("expire db north --keyspace tides --never").with(0);
    // An insertion replaces the time as well as the value, and the other commands keep it.
    sea.holm("put db north high --keyspace tides --expires-in 1h").with(0);
    let in_an_hour = time();
    sea.holm("cas db north high low --keyspace tides").with(0);
    assert_eq!(time(), in_an_hour);
    sea.holm("put db north low --keyspace tides").with(0);
    assert_eq!(time(), "never\n");
    sea.holm("put db north low --keyspace tides --expires-in never").with(0);
    assert_eq!(time(), "never\n");
    assert_eq!(sea.holm("keyspaces db --expiry").with(0), "default\tstays\ntides\texpires\n");
    assert_eq!(sea.holm("keyspaces db --expiry --records").with(0), "default\t0\tstays\ntides\t1\texpires\n");
}

#[test]
fn a_key_that_expires_has_escapes() {
    let sea = Sea::new();
    sea.holm(r"put db --escaped a\x00b two\n --keyspace tides --expires-in 1h").with(0);
    sea.holm(r"expire db --escaped a\x00b --keyspace tides --never").with(0);
    assert_eq!(sea.holm(r"expire db --escaped a\x00b --keyspace tides").with(0), "never\n");
    assert_eq!(sea.holm(r"get db --escaped a\x00b --keyspace tides").with(0), "two\\n\n");
}

#[test]
fn what_has_expired_is_absent_and_its_keyspace_sound() {
    let sea = with_tides();
    let said = sea.holm("export db --keyspace tides");
    assert_eq!(said.error, "holm: keys of this keyspace may expire: only jsonl and `backup` keep when\n");
    assert_eq!(said.with(0), "north\thigh\nsouth\tlow\n");
    assert_eq!(sea.holm("scan db --keyspace tides --keys-only --limit 2").with(0), "north\nsouth\n");
    assert_eq!(sea.holm("scan db --keyspace tides --reverse --limit 1").with(0), "south\tlow\n");
    assert_eq!(sea.holm("keyspaces db --records").with(0), "default\t0\ntides\t3\n");
    assert!(sea.holm("check db").with(0).ends_with("sound\n"));
    for line in ["get db past", "expire db past", "del db west"] {
        assert_eq!(sea.holm(&format!("{line} --keyspace tides")).with(1), "", "{line}");
    }
}

#[test]
fn what_has_expired_stays_so() {
    for option in ["--in 1h", "--never"] {
        let sea = with_tides();
        assert_eq!(sea.holm(&format!("expire db past --keyspace tides {option}")).with(1), "");
        assert_eq!(sea.holm("get db past --keyspace tides").with(1), "");
    }
}

#[test]
fn a_sweep_removes_what_has_expired() {
    let sea = with_tides();
    assert_eq!(sea.holm("sweep db").with(0), "1 record removed\n");
    assert_eq!(sea.holm("sweep db").with(0), "0 records removed\n");
    assert_eq!(sea.holm("keyspaces db --records").with(0), "default\t0\ntides\t2\n");
}

#[test]
fn times_are_exported_and_loaded() {
    let sea = with_tides();
    let exported = sea.holm("export db --keyspace tides --format jsonl");
    assert_eq!(exported.error, "");
    let exported = exported.with(0);
    assert!(exported.contains("\"value\":\"high\",\"expires_ms\":") && exported.contains("\"value\":\"low\"}"));
    sea.file("tides.jsonl", &exported);
    for durability in ["strict", "onsync"] {
        let line = format!("load {durability}.holm tides.jsonl --keyspace tides --durability {durability}");
        sea.holm(&format!("{line} --expires-in never")).with(0);
        let line = format!("export {durability}.holm --keyspace tides --format jsonl");
        assert_eq!(sea.holm(&line).with(0), exported, "{durability}");
        assert_eq!(sea.holm(&format!("expire {durability}.holm south --keyspace tides")).with(0), "never\n");
        // A record without a time gets that of the load.
        let line = format!("load {durability}.holm --keyspace tides --durability {durability} --expires-in 1h");
        sea.fed(&line, b"east\tlow\n").with(0);
        assert_ne!(sea.holm(&format!("expire {durability}.holm east --keyspace tides")).with(0), "never\n");
        // One that has expired is none.
        let line = format!("load {durability}.holm --keyspace tides --durability {durability} --format jsonl");
        sea.fed(&line, b"{\"key\":\"east\",\"value\":\"\",\"expires_ms\":1}\n").with(0);
        assert_eq!(sea.holm(&format!("get {durability}.holm east --keyspace tides")).with(1), "");
    }
    let scanned = sea.holm("scan db --keyspace tides --format jsonl").with(0);
    assert_eq!(scanned, exported);
    assert_eq!(
        sea.holm("pop db --keyspace tides --format jsonl").with(0),
        exported.split_inclusive('\n').next().unwrap()
    );
}

#[test]
fn other_keyspaces_refuse_records_that_expire() {
    let sea = Sea::new();
    let record = b"{\"key\":\"a\",\"value\":\"\"}\n{\"key\":\"b\",\"value\":\"\",\"expires_ms\":1}\n";
    assert!(sea.holm("put db north coral --expires-in 1h").complaint().contains("keyspace \"default\" do not expire"));
    assert!(sea.fed("load db --expires-in never", b"a\t1\n").complaint().contains("do not expire"));
    assert!(!sea.path("db").exists());
    sea.holm("put db north coral --keyspace reefs").with(0);
    for line in [
        "put db north sand --keyspace reefs --expires-in 1h",
        "put db north sand --keyspace reefs --expires-in never",
        "put db north sand --expires-in 1h",
        "expire db north --keyspace reefs",
        "expire db north --keyspace reefs --in 1h",
        "expire db north --keyspace reefs --never",
    ] {
        assert!(sea.holm(line).complaint().contains("do not expire; --expires-in with a new"), "{line}");
    }
    for durability in ["strict", "onsync"] {
        let line = format!("load db --keyspace {durability} --format jsonl --skip-bad --durability {durability}");
        let complaint = sea.fed(&line, record).complaint();
        assert!(complaint.contains("line 2: cannot store the record: keys of the keyspace"), "{complaint}");
        assert!(complaint.contains("(1 record stored before it)"), "{complaint}");
    }
    assert_eq!(sea.holm("get db north --keyspace reefs").with(0), "coral\n");
}

#[test]
fn times_have_units() {
    let sea = with_tides();
    for text in ["0s", "30", "-1s", "1w", "", "1.5h"] {
        let said = sea.call(["expire", "db", "north", "--keyspace", "tides", &format!("--in={text}")]);
        assert!(said.code == Some(2) && said.error.contains("expected a number from 1"), "{text}: {said:?}");
    }
    let said = sea.holm("expire db north --keyspace tides --in never");
    assert_eq!(said.code, Some(2), "{said:?}");
    let said = sea.holm("expire db north --keyspace tides --in 1h --never");
    assert_eq!(said.code, Some(2), "{said:?}");
}

#[test]
fn a_copy_expires_as_its_original() {
    let sea = with_tides();
    sea.holm("backup db monday").with(0);
    sea.holm("restore copy monday").with(0);
    let line = "expire db north --keyspace tides";
    assert_eq!(sea.holm(&line.replace("db", "copy")).with(0), sea.holm(line).with(0));
    assert_eq!(sea.holm("get copy past --keyspace tides").with(1), "");
    assert_eq!(sea.holm("keyspaces copy --records").with(0), "default\t0\ntides\t3\n");
}
