//! `del` with a range, `clear` and `drop`.

use crate::support::Sea;

fn with_letters() -> Sea {
    let sea = Sea::new();
    sea.fed("load db", b"a\t1\nab\t2\nabc\t3\nb\t4\nc\t5\n").with(0);
    sea
}

#[test]
fn a_range_is_removed() {
    for (options, removed, left) in [
        ("--prefix ab", "2 records", "a b c "),
        ("--from ab", "4 records", "a "),
        ("--to abc", "2 records", "abc b c "),
        ("--from abc --to c", "2 records", "a ab c "),
        ("--prefix a --from ab --to abc", "1 record", "a abc b c "),
        (r"--escaped --prefix \x61b", "2 records", "a b c "),
    ] {
        let sea = with_letters();
        assert_eq!(sea.holm(&format!("del db {options}")).with(0), format!("{removed} removed\n"), "{options}");
        assert_eq!(sea.holm("scan db --keys-only").with(0).replace('\n', " "), left, "{options}");
    }
}

#[test]
fn a_range_is_counted() {
    let sea = with_letters();
    for (options, count) in [
        ("", "5"),
        ("--prefix ab", "2"),
        ("--from abc --to c", "2"),
        (r"--escaped --prefix \x61b", "2"),
        ("--prefix x", "0"),
        ("--from c --to a", "0"),
    ] {
        assert_eq!(sea.holm(&format!("count db {options}")).with(0), format!("{count}\n"), "{options}");
    }
    sea.holm("count db --keyspace absent").with(1);
    // What has expired does not count, removed or not.
    sea.fed("load db --keyspace tides --expires-in 1h", b"a\t1\nb\t2\n").with(0);
    sea.fed("load db --keyspace tides --format jsonl", br#"{"key":"c","value":"1","expires_ms":1}"#).with(0);
    assert_eq!(sea.holm("count db --keyspace tides").with(0), "2\n");
}

#[test]
fn several_keys_are_read_at_once() {
    let sea = with_letters();
    assert_eq!(sea.holm("get db b a").with(0), "b\t4\na\t1\n");
    assert_eq!(sea.holm("get db b x a").with(1), "b\t4\na\t1\n");
    assert_eq!(sea.holm("get db x y").with(1), "");
    assert_eq!(sea.holm(r"get db --escaped \x61 \x62").with(0), "a\t1\nb\t4\n");
    assert!(sea.holm("get db a b --no-newline").complaint().contains("--no-newline is for one key"));
}

#[test]
fn a_range_without_records_is_absent() {
    let sea = with_letters();
    for options in ["--prefix x", "--from c --to a", "--from b --to b", "--prefix a --from b"] {
        assert_eq!(sea.holm(&format!("del db {options}")).with(1), "0 records removed\n", "{options}");
    }
    assert_eq!(sea.holm("scan db --keys-only").with(0).lines().count(), 5);
}

/// The prefix is an unset variable of a script, more often than not.
#[test]
fn everything_is_removed_only_by_name() {
    let sea = with_letters();
    for line in [vec!["--prefix", ""], vec!["--from", ""], vec!["--from", "", "--prefix", ""]] {
        let complaint = sea.call([vec!["del", "db"], line].concat()).complaint();
        assert!(complaint.contains("`clear`") && !complaint.contains("empty prefix"), "{complaint}");
    }
    for line in ["del db", "del db a --prefix a", "del db a --to c"] {
        let said = sea.holm(line);
        assert_eq!(said.code, Some(2), "{line}: {said:?}");
    }
    assert_eq!(sea.holm("scan db --keys-only").with(0).lines().count(), 5);
    sea.holm("put db north coral --keyspace reefs").with(0);
    assert_eq!(sea.holm("clear db").with(0), "5 records removed\n");
    assert_eq!(sea.holm("clear db").with(0), "0 records removed\n");
    assert_eq!(sea.holm("keyspaces db --records").with(0), "default\t0\nreefs\t1\n");
}

#[test]
fn a_keyspace_with_records_is_dropped_only_by_its_name_and_yes() {
    let sea = with_letters();
    sea.fed("load db --keyspace reefs", b"a\t1\nb\t2\n").with(0);
    sea.fed("load db --keyspace tides --expires-in 1ms --format jsonl", br#"{"key":"a","value":"1","expires_ms":1}"#)
        .with(0);
    sea.fed("load db --keyspace empty", b"").with(0);
    let complaint = sea.holm("drop db reefs").complaint();
    assert_eq!(complaint, "holm: the keyspace \"reefs\" has 2 records; --yes drops it\n");
    assert_eq!(sea.holm("scan db --keyspace reefs --keys-only").with(0), "a\nb\n");
    assert_eq!(sea.holm("drop db reefs --yes").with(0), "2 records removed\n");
    assert_eq!(sea.holm("drop db empty").with(0), "0 records removed\n");
    assert_eq!(sea.holm("keyspaces db").with(0), "default\ntides\n");
    // What has expired is stored for a while yet, and there for nobody.
    let removed = sea.holm("drop db tides").with(0);
    assert!(["0 records removed\n", "1 record removed\n"].contains(&&*removed), "{removed}");
    let said = sea.holm("drop db reefs --yes");
    assert_eq!(said.error, "holm: no keyspace named \"reefs\" (there are: \"default\")\n");
    assert_eq!(said.with(1), "");
    for line in ["drop db default", "drop db default --yes"] {
        assert!(sea.holm(line).complaint().contains("always exists; `clear`"), "{line}");
    }
    assert_eq!(sea.holm("drop db").code, Some(2));
    assert_eq!(sea.holm("keyspaces db --records").with(0), "default\t5\n");
    assert!(sea.holm("check db").with(0).ends_with("sound\n"));
    // A name that was dropped is free, for a keyspace of another kind, too.
    sea.holm("put db north high --keyspace reefs --expires-in 1h").with(0);
    assert_eq!(sea.holm("keyspaces db --expiry").with(0), "default\tstays\nreefs\texpires\n");
}
