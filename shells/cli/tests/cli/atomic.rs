//! Commands that read a record and write it: `cas`, `incr` and `pop`.

use std::process::Stdio;

use crate::support::Sea;

#[test]
fn a_value_is_replaced_if_it_is_the_expected_one() {
    let sea = Sea::new();
    assert_eq!(sea.holm("cas db north --absent coral").with(0), "");
    assert_eq!(sea.holm("get db north").with(0), "coral\n");
    assert_eq!(sea.holm("cas db north --absent sand").with(1), "coral\n");
    assert_eq!(sea.holm("cas db north sand kelp").with(1), "coral\n");
    assert_eq!(sea.holm("get db north").with(0), "coral\n");
    assert_eq!(sea.holm("cas db north coral kelp").with(0), "");
    assert_eq!(sea.holm("get db north").with(0), "kelp\n");
    assert_eq!(sea.holm("cas db north coral --remove").with(1), "kelp\n");
    assert_eq!(sea.holm("cas db north kelp --remove").with(0), "");
    assert_eq!(sea.holm("get db north").with(1), "");
    // An absent key is not an empty value.
    assert_eq!(sea.call(["cas", "db", "north", "", "sand"]).with(1), "");
    assert_eq!(sea.call(["cas", "db", "north", "--absent", ""]).with(0), "");
    assert_eq!(sea.holm("cas db north --absent sand").with(1), "\n");
    assert_eq!(sea.call(["cas", "db", "north", "", "sand"]).with(0), "");
    assert_eq!(sea.holm("get db north").with(0), "sand\n");
}

#[test]
fn a_swap_has_escapes_and_keyspaces() {
    let sea = Sea::new();
    sea.holm(r"cas db --escaped a\x00b --absent one\n --keyspace reefs").with(0);
    assert_eq!(sea.holm(r"cas db --escaped a\x00b other two --keyspace reefs").with(1), "one\\n\n");
    assert_eq!(sea.holm(r"cas db --escaped a\x00b one\n two\xff --keyspace reefs").with(0), "");
    assert_eq!(sea.holm("scan db --keyspace reefs").with(0), "a\\x00b\ttwo\\xff\n");
    assert!(sea.holm(r"cas db --escaped key a\q b").complaint().contains(r"found the escape \q"));
}

#[test]
fn a_swap_has_as_many_values_as_it_needs() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    assert!(sea.holm("cas db north coral").complaint().contains("expected two"));
    for option in ["--absent", "--remove"] {
        let complaint = sea.holm(&format!("cas db north coral sand {option}")).complaint();
        assert!(complaint.contains("expected one"), "{complaint}");
    }
    for line in ["cas db north", "cas db north a b c", "cas db north coral --absent --remove"] {
        let said = sea.holm(line);
        assert_eq!(said.code, Some(2), "{line}: {said:?}");
    }
    assert!(sea.call(["cas", "db", "north", "coral", "--", "-1"]).with(0).is_empty());
    assert_eq!(sea.holm("get db north").with(0), "-1\n");
    sea.call(["cas", "db", &"k".repeat(65_537), "--absent", "v"]).complaint();
}

#[test]
fn numbers_are_added_up() {
    let sea = Sea::new();
    assert_eq!(sea.holm("incr db visits").with(0), "1\n");
    assert_eq!(sea.holm("incr db visits 41").with(0), "42\n");
    assert_eq!(sea.holm("incr db visits -50").with(0), "-8\n");
    assert_eq!(sea.holm("incr db visits 0").with(0), "-8\n");
    assert_eq!(sea.holm("incr db visits --keyspace counters").with(0), "1\n");
    assert_eq!(sea.holm("get db visits --escaped").with(0), "\\xf8\\xff\\xff\\xff\\xff\\xff\\xff\\xff\n");
    assert_eq!(sea.holm("incr db most 9223372036854775807").with(0), "9223372036854775807\n");
    assert!(sea.holm("incr db most").complaint().contains("does not fit"));
    assert_eq!(sea.holm("incr db most 0").with(0), "9223372036854775807\n");
    sea.holm("put db text seven").with(0);
    assert!(sea.holm("incr db text").complaint().contains("5 bytes, expected 8"));
    assert_eq!(sea.holm("incr db visits many").code, Some(2));
}

#[test]
fn records_are_popped_from_either_end() {
    let sea = Sea::new();
    sea.fed("load db", b"a\t1\nb\\t\t2\nc\t3\nd\t4\n").with(0);
    assert_eq!(sea.holm("pop db").with(0), "a\t1\n");
    assert_eq!(sea.holm("pop db --last").with(0), "d\t4\n");
    assert_eq!(sea.holm("pop db").with(0), "b\\t\t2\n");
    assert_eq!(sea.holm("pop db --format jsonl").with(0), "{\"key\":\"c\",\"value\":\"3\"}\n");
    for line in ["pop db", "pop db --last"] {
        let said = sea.holm(line);
        assert_eq!((said.code, said.error.as_str(), said.out.as_slice()), (Some(1), "", &b""[..]), "{line}");
    }
}

/// A record that nobody has seen is not removed.
#[cfg(target_os = "linux")]
#[test]
fn a_record_that_cannot_be_printed_stays() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sea.command(["pop", "db"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = sea.command(["pop", "db"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "nothing was popped");
    assert_eq!(sea.holm("pop db").with(0), "north\tcoral\n");
}
