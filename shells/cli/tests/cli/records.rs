//! Commands on one record: `put`, `get`, `del`, `keyspaces`, `stat` and `check`, and their exit codes.

use crate::support::Sea;

#[test]
fn what_is_put_is_found_by_another_process() {
    let sea = Sea::new();
    assert_eq!(sea.holm("put db north coral").with(0), "");
    assert_eq!(sea.holm("put db south sand").with(0), "");
    assert_eq!(sea.holm("get db north").with(0), "coral\n");
    assert_eq!(sea.holm("get db north --no-newline").with(0), "coral");
    assert_eq!(sea.holm("put db north kelp").with(0), "");
    assert_eq!(sea.holm("get db north").with(0), "kelp\n");
    let absent = sea.holm("get db west");
    assert_eq!(absent.error, "");
    assert_eq!(absent.with(1), "");
}

#[test]
fn what_is_deleted_is_absent() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    assert_eq!(sea.holm("del db north").with(0), "");
    assert_eq!(sea.holm("get db north").with(1), "");
    assert_eq!(sea.holm("del db north").with(1), "");
}

#[test]
fn empty_keys_and_values_are_records() {
    let sea = Sea::new();
    sea.call(["put", "db", "", "nameless"]).with(0);
    sea.call(["put", "db", "hollow", ""]).with(0);
    assert_eq!(sea.call(["get", "db", ""]).with(0), "nameless\n");
    assert_eq!(sea.holm("get db hollow").with(0), "\n");
    assert_eq!(sea.holm("export db").with(0), "\tnameless\nhollow\t\n");
}

#[test]
fn values_come_from_standard_input_as_they_are() {
    let sea = Sea::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    sea.fed("put db picture", &bytes).with(0);
    let said = sea.holm("get db picture -n");
    assert!(said.code == Some(0) && said.out == bytes);
    sea.fed("put db nothing", b"").with(0);
    assert_eq!(sea.holm("get db nothing -n").with(0), "");
}

#[test]
fn escaped_arguments_name_any_bytes() {
    let sea = Sea::new();
    sea.holm(r"put db --escaped a\x00\xffb two\nlines\\").with(0);
    assert_eq!(sea.holm(r"get db --escaped a\x00\xffb").with(0), "two\\nlines\\\\\n");
    assert_eq!(sea.holm("scan db --keys-only").with(0), "a\\x00\\xffb\n");
    assert_eq!(sea.holm(r"get db a\x00\xffb").with(1), "");
    assert!(sea.holm(r"get db --escaped a\q").complaint().contains(r"found the escape \q"));
    assert_eq!(sea.holm(r"del db --escaped a\x00\xffb").with(0), "");
}

#[cfg(unix)]
#[test]
fn arguments_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let sea = Sea::new();
    let key = std::ffi::OsStr::from_bytes(b"\xffkey");
    sea.call([std::ffi::OsStr::new("put"), "db".as_ref(), key, "value".as_ref()]).with(0);
    assert_eq!(sea.holm("scan db").with(0), "\\xffkey\tvalue\n");
}

#[test]
fn reading_creates_no_database() {
    let sea = Sea::new();
    for line in [
        "get db k",
        "scan db",
        "export db",
        "keyspaces db",
        "stat db",
        "check db",
        "del db k",
        "cas db k a b",
        "cas db k a --remove",
        "pop db",
        "del db --prefix k",
        "clear db",
        "drop db k",
        "drop db k --yes",
        "sweep db",
        "compact db",
        "expire db k",
        "expire db k --never",
        "expire db k --in 1s",
    ] {
        let complaint = sea.holm(line).complaint();
        assert!(complaint.contains("db"), "{line}: {complaint}");
        assert!(!sea.path("db").exists(), "{line}");
    }
}

#[test]
fn keyspaces_are_apart() {
    let sea = Sea::new();
    sea.holm("put db north coral --keyspace reefs").with(0);
    sea.holm("put db north ice").with(0);
    assert_eq!(sea.holm("get db north --keyspace reefs").with(0), "coral\n");
    assert_eq!(sea.holm("get db north").with(0), "ice\n");
    assert_eq!(sea.holm("keyspaces db").with(0), "default\nreefs\n");
    sea.holm("put db south sand --keyspace reefs").with(0);
    assert_eq!(sea.holm("keyspaces db --records").with(0), "default\t1\nreefs\t2\n");
}

#[test]
fn a_keyspace_that_is_absent_is_named_and_not_created() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    for line in [
        "get db north",
        "del db north",
        "cas db north a b",
        "cas db north a --remove",
        "pop db",
        "scan db",
        "export db",
        "del db --to z",
        "clear db",
        "expire db north",
        "expire db north --in 1s",
    ] {
        let said = sea.holm(&format!("{line} --keyspace reefs"));
        assert_eq!(said.error, "holm: no keyspace named \"reefs\" (there are: \"default\")\n", "{line}");
        assert_eq!(said.with(1), "", "{line}");
    }
    assert_eq!(sea.holm("keyspaces db").with(0), "default\n");
}

#[test]
fn numbers_for_people_and_for_programs() {
    let sea = Sea::new();
    sea.fed("load db", b"a\t1\nb\t2\nc\t3\n").with(0);
    let records = |line: &str| line.split_whitespace().collect::<Vec<_>>() == ["records", "3"];
    let told = sea.holm("stat db").with(0);
    assert!(told.lines().any(records), "{told}");
    let json = sea.holm("stat db --json").with(0);
    assert!(json.starts_with('{') && json.ends_with("}\n") && json.contains("\"records\":3"), "{json}");
    for group in
        ["\"space\":{\"leaves\":", "\"epochs\":{\"durable\":", "\"log\":{\"entries\":", "\"source\":\"clean_shutdown\""]
    {
        assert!(json.contains(group), "{group} is not in {json}");
    }
}

#[test]
fn a_sound_database_has_no_faults() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    let told = sea.holm("check db").with(0);
    assert!(told.contains("records") && told.ends_with("sound\n"), "{told}");
    let json = sea.holm("check db --json").with(0);
    assert!(json.contains("\"faults\":[]"), "{json}");
}

#[test]
fn durability_is_chosen_by_name() {
    let sea = Sea::new();
    for (key, durability) in [("a", "strict"), ("b", "buffered"), ("c", "buffered:2ms"), ("d", "onsync")] {
        let line = format!("load db --durability {durability}");
        sea.fed(&line, format!("{key}\t{durability}\n").as_bytes()).with(0);
        assert_eq!(sea.call(["get", "db", key]).with(0), format!("{durability}\n"));
    }
    sea.fed("load db --memory", b"e\tprivate\n").with(0);
    assert_eq!(sea.holm("get db e").with(0), "private\n");
    let said = sea.holm("load db --durability sometimes");
    assert!(said.error.contains("expected strict"), "{}", said.error);
    assert_eq!(said.with(2), "");
}

#[test]
fn a_design_is_chosen_for_a_new_database() {
    let sea = Sea::new();
    sea.fed("load db --design clustered", b"a\tcoral\n").with(0);
    sea.holm("put db b kelp").with(0);
    assert_eq!(sea.holm("scan db").with(0), "a\tcoral\nb\tkelp\n");
    let refused = sea.fed("load db --design buffered", b"c\tcrab\n");
    assert!(refused.error.contains("clustered"), "{}", refused.error);
}

#[test]
fn a_key_beyond_the_limit_is_refused() {
    let sea = Sea::new();
    sea.call(["put", "db", &"k".repeat(65_536 + 1), "v"]).complaint();
    assert!(!sea.path("db").exists());
}

#[test]
fn every_verb_has_help_with_examples() {
    let sea = Sea::new();
    let general = sea.holm("--help").with(0);
    let verbs = general.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<_> =
        verbs.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help").collect();
    assert!(verbs.len() > 15 && verbs.contains(&"expire"), "{verbs:?}");
    for verb in verbs {
        let help = sea.call([verb, "--help"]).with(0);
        let (_, examples) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("{verb}: {help}"));
        assert!(
            examples.lines().next().is_some_and(|first| first.contains(&format!("holm {verb} "))),
            "{verb}: {help}"
        );
    }
    assert!(general.contains("Exit codes:"));
}

#[test]
fn bench_measures_in_a_keyspace_of_its_own() {
    let sea = Sea::new();
    sea.holm("put db north coral").with(0);
    let line = "bench db --records 100 --value-bytes 16 --threads 1 --seconds 0.05 --durability onsync";
    let table = sea.holm(&format!("{line} --workloads a,e")).with(0);
    assert_eq!(table.lines().count(), 4, "{table}");
    let json = sea.holm(&format!("{line} --workloads c --json")).with(0);
    assert!(json.lines().count() == 2 && json.lines().all(|line| line.contains("\"per_second\":")), "{json}");
    let beside = sea.holm(&format!("{line} --workloads a --beside snapshot,backup,feed --rounds 1")).with(0);
    for shown in
        ["a beside snapshot: ", "the same snapshot again", "a beside backup: ", "each backup", "a beside feed: "]
    {
        assert!(beside.contains(shown), "{shown}: {beside}");
    }
    assert_eq!(sea.holm("keyspaces db --records").with(0), "default\t1\n");
    sea.holm("put db mine stays --keyspace bench").with(0);
    assert!(sea.holm(line).complaint().contains("found a keyspace named bench"));
    assert_eq!(sea.holm("get db mine --keyspace bench").with(0), "stays\n");
}

#[test]
fn what_is_no_database_is_named_once() {
    let sea = Sea::new();
    sea.file("reefs.tsv", "north\tcoral\n");
    for line in ["get reefs.tsv k", "put reefs.tsv k v", "del reefs.tsv k", "incr reefs.tsv k", "check reefs.tsv"] {
        let complaint = sea.holm(line).complaint();
        assert_eq!(complaint, "holm: cannot open reefs.tsv: found a file, expected a folder\n", "{line}");
    }
    for line in ["get db k", "scan db", "del db k", "cas db k a b", "pop db"] {
        assert_eq!(sea.holm(line).complaint(), "holm: there is no database in db\n", "{line}");
    }
    assert!(sea.holm("put none/db k v").complaint().contains("none/db"));
}

/// The help text's paragraphs are wrapped only at the terminal's width, and not at the source's width as well.
#[test]
fn help_is_wrapped_once() {
    let sea = Sea::new();
    for verb in [
        "load", "put", "cas", "incr", "pop", "scan", "export", "del", "clear", "expire", "sweep", "bench", "drop",
        "watch", "compact",
    ] {
        let help = sea.call(["help", verb]).with(0);
        let lines: Vec<_> = help.lines().collect();
        for pair in lines.windows(2) {
            let next = pair[1].split(' ').next().unwrap_or("").len();
            let paragraph = pair.iter().all(|line| line.starts_with(|first: char| first.is_alphabetic()));
            assert!(!paragraph || pair[0].len() + next >= 80, "{verb}: {pair:?}");
        }
    }
}
