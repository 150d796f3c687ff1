//! `load`, and what another process finds afterwards.

use std::io::Write;
use std::process::Stdio;

use crate::support::Sea;

#[test]
fn a_file_is_loaded_and_stays() {
    let sea = Sea::new();
    sea.file("reefs.tsv", "north\tcoral\nsouth\tsand\neast\t\n");
    let summary = sea.holm("load db reefs.tsv").with(0);
    assert!(summary.starts_with("3 records in ") && summary.ends_with(" per second\n"), "{summary}");
    assert_eq!(sea.holm("get db north").with(0), "coral\n");
    assert_eq!(sea.holm("scan db").with(0), "east\t\nnorth\tcoral\nsouth\tsand\n");
}

#[test]
fn progress_is_for_terminals() {
    let sea = Sea::new();
    let said = sea.fed("load db", b"a\tb\n");
    assert_eq!(said.error, "");
    said.with(0);
}

#[test]
fn standard_input_is_loaded_in_each_format() {
    let sea = Sea::new();
    sea.fed("load db", b"a\t1\n").with(0);
    sea.fed("load db - --format csv", b"b,2\n").with(0);
    sea.fed("load db --format jsonl", b"{\"key\":\"c\",\"value\":\"3\"}\n").with(0);
    assert_eq!(sea.holm("scan db").with(0), "a\t1\nb\t2\nc\t3\n");
}

#[test]
fn thousands_of_lines_in_every_durability() {
    let sea = Sea::new();
    let mut lines: Vec<String> =
        (0..3000).map(|number| format!("key{:04}\tvalue {number}\n", number * 7 % 3000)).collect();
    let text = lines.concat();
    lines.sort();
    for durability in ["strict", "buffered:1ms", "onsync"] {
        sea.file("lines.tsv", &text);
        sea.holm(&format!("load {durability}.holm lines.tsv --durability {durability}")).with(0);
        let found = sea.holm(&format!("scan {durability}.holm")).with(0);
        assert!(found == lines.concat(), "{durability}: {} lines", found.lines().count());
    }
}

#[test]
fn the_last_line_for_a_key_counts() {
    let sea = Sea::new();
    for durability in ["strict", "onsync"] {
        let line = format!("load {durability}.holm --durability {durability}");
        sea.fed(&line, b"a\t1\nb\t1\na\t2\n").with(0);
        assert_eq!(sea.holm(&format!("scan {durability}.holm")).with(0), "a\t2\nb\t1\n");
    }
}

#[test]
fn a_bad_line_is_named_and_what_came_before_is_in() {
    let sea = Sea::new();
    for durability in ["strict", "onsync"] {
        sea.file("reefs.tsv", "a\t1\nb\t2\nno tab here\nd\t4\n");
        let complaint = sea.holm(&format!("load {durability}.holm reefs.tsv --durability {durability}")).complaint();
        assert!(complaint.contains("reefs.tsv: line 3: found 1 field,"), "{complaint}");
        assert!(complaint.contains("(2 records stored before it)"), "{complaint}");
        assert_eq!(sea.holm(&format!("scan {durability}.holm")).with(0), "a\t1\nb\t2\n");
    }
}

#[test]
fn bad_lines_are_skipped_if_so_asked() {
    let sea = Sea::new();
    let summary = sea.fed("load db --skip-bad", b"a\t1\nbad\nworse\\q\t\nd\t4\n").with(0);
    assert!(summary.starts_with("2 records in "), "{summary}");
    assert!(summary.contains("2 bad lines skipped, the first: line 2: found 1 field"), "{summary}");
    assert_eq!(sea.holm("scan db").with(0), "a\t1\nd\t4\n");
}

#[test]
fn a_line_without_end_is_named_and_the_next_is_read() {
    let sea = Sea::new();
    let mut text = b"a\t1\n".to_vec();
    text.extend(std::iter::repeat_n(b'x', 1_000_000));
    text.extend_from_slice(b"\nc\t3\n");
    let complaint = sea.fed("load db", &text).complaint();
    assert!(complaint.contains("line 2: found a key longer than 65536 bytes"), "{complaint}");
    sea.fed("load db --skip-bad", &text).with(0);
    assert_eq!(sea.holm("scan db").with(0), "a\t1\nc\t3\n");
}

#[test]
fn csv_has_quotes_and_lines_within_them() {
    let sea = Sea::new();
    sea.file("reefs.csv", "key,value\n\"north, far\",\"say \"\"coral\"\"\"\nsouth,\"two\nlines\"\n,\n");
    sea.holm("load db reefs.csv --header").with(0);
    assert_eq!(sea.holm("scan db").with(0), "\t\nnorth, far\tsay \"coral\"\nsouth\ttwo\\nlines\n");
    sea.file("bad.csv", "a,\"1\n2\"\nb,c,d\n");
    let complaint = sea.holm("load other bad.csv").complaint();
    assert!(complaint.contains("bad.csv: line 3: found 3 fields"), "{complaint}");
    sea.file("open.csv", "a,1\nb,\"never closed\nc,3\n");
    let complaint = sea.holm("load third open.csv --skip-bad").complaint();
    assert!(complaint.contains("open.csv: line 2: found the end of the input inside quotes"), "{complaint}");
    assert_eq!(sea.holm("scan third").with(0), "a\t1\n");
}

#[test]
fn json_lines_are_read_and_faults_named() {
    let sea = Sea::new();
    sea.file("reefs.jsonl", "{\"value\":\"coral\",\"key\":\"n\\u00f6rd\"}\n{\"key_base16\":\"ff00\",\"value\":\"\"}\n");
    sea.holm("load db reefs.jsonl").with(0);
    assert_eq!(sea.holm("scan db").with(0), "n\u{f6}rd\tcoral\n\\xff\\x00\t\n");
    sea.file("bad.jsonl", "{\"key\":\"a\",\"value\":\"b\"}\n{\"key\":\"a\",\"value\":7}\n");
    let complaint = sea.holm("load db bad.jsonl").complaint();
    assert!(complaint.contains("bad.jsonl: line 2: column "), "{complaint}");
}

#[test]
fn raw_lines_are_taken_verbatim() {
    let sea = Sea::new();
    sea.fed("load db --raw", b"C:\\new\ta\tb\n").with(0);
    assert_eq!(sea.call(["get", "db", "C:\\new"]).with(0), "a\tb\n");
    assert!(sea.fed("load db --raw --format csv", b"").complaint().contains("--raw is for tsv"));
}

#[test]
fn what_cannot_be_loaded_creates_no_database() {
    let sea = Sea::new();
    sea.file("reefs.txt", "a\tb\n");
    assert!(sea.holm("load db nowhere.tsv").complaint().contains("nowhere.tsv"));
    assert!(sea.holm("load db reefs.txt").complaint().contains("expected tsv, csv or jsonl"));
    assert!(sea.holm("load db . --format tsv").complaint().contains("directory"));
    assert!(!sea.path("db").exists());
}

#[test]
fn the_package_list_loads_verbatim() {
    let sea = Sea::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/debian-packages.tsv");
    sea.call(["load", "db", file]).with(0);
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    // Sorts by the bytes of the keys: a tab sorts before every byte of a name, so whole lines sort in the same order.
    lines.sort_unstable();
    assert!(sea.holm("export db").with(0) == lines.concat());
}

#[test]
fn a_killed_load_leaves_a_prefix() {
    let sea = Sea::new();
    let line = |number: u64| format!("key{number:06}\t{number}\n");
    for durability in ["strict", "onsync"] {
        let database = format!("{durability}.holm");
        let mut command = sea.command(["load", &database, "--durability", durability]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // More than the reader reads at once and the pipe holds: when all of it is written, its first part is stored.
        let fed = 150_000;
        for number in 0..fed {
            pipe.write_all(line(number).as_bytes()).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let found = sea.holm(&format!("scan {database}")).with(0);
        let stored = found.lines().count() as u64;
        assert!(stored > 0 && stored <= fed, "{durability}: {stored}");
        assert!(found == (0..stored).map(line).collect::<String>(), "{durability}: {stored} lines are no prefix");
    }
}

#[test]
fn one_is_one_and_a_folder_is_no_file() {
    let sea = Sea::new();
    let complaint = sea.fed("load db", b"a\t1\nb\n").complaint();
    assert!(complaint.ends_with("(1 record stored before it)\n"), "{complaint}");
    assert!(sea.fed("load db", b"a\t1\n").with(0).starts_with("1 record in "));
    assert!(sea.holm("load other .").complaint().contains("found a directory, expected a file"));
    assert!(sea.holm("load other none.csv").complaint().contains("cannot open none.csv"));
    assert!(!sea.path("other").exists());
}

#[test]
fn real_csv_and_json_lines_are_loaded_by_a_column() {
    let sea = Sea::new();
    sea.file("cities.csv", "name,country,people\nOslo,NO,709037\n\"Bergen, Hordaland\",NO,291940\n");
    sea.holm("load db cities.csv --key-column name --value-column people").with(0);
    assert_eq!(sea.holm("scan db").with(0), "Bergen, Hordaland\t291940\nOslo\t709037\n");
    sea.holm("load db cities.csv --key-column 3 --keyspace all").with(0);
    let value = r#"{"country":"NO","name":"Oslo"}"#;
    assert_eq!(sea.holm("get db 709037 --keyspace all").with(0), format!("{value}\n"));
    let absent = sea.holm("load db cities.csv --key-column city").complaint();
    assert!(absent.contains("line 1: found no column \"city\" among name, country, people"), "{absent}");
    let endless = sea.holm("load db cities.csv --key-column city --skip-bad").complaint();
    assert!(endless.contains("found no column"), "{endless}");

    sea.file("events.jsonl", "{\"id\":17,\"what\":\"dive\"}\n{\"what\":\"rest\"}\n{\"id\":18,\"what\":\"swim\"}\n");
    sea.holm("load db events.jsonl --key-field id --value-field what --keyspace events --skip-bad").with(0);
    assert_eq!(sea.holm("scan db --keyspace events").with(0), "17\tdive\n18\tswim\n");
    sea.holm("load db events.jsonl --key-field id --keyspace lines --skip-bad").with(0);
    assert_eq!(sea.holm("get db 17 --keyspace lines").with(0), "{\"id\":17,\"what\":\"dive\"}\n");
    assert!(sea.fed("load db --key-column id", b"").complaint().contains("--key-column is for csv and jsonl"));
    assert_eq!(sea.holm("load db cities.csv --value-column people").code, Some(2));
    assert_eq!(sea.holm("load db cities.csv --key-column name --header").code, Some(2));
}

/// Such a name was stored with other characters in place of its bytes.
#[test]
fn a_name_of_a_column_that_is_not_utf8_is_refused() {
    let sea = Sea::new();
    let complaint = sea.fed("load db --format csv --key-column k", b"k,\xffa\nx,1\n").complaint();
    assert!(complaint.contains("the name of column 2 that are not UTF-8"), "{complaint}");
    // Of columns that are not stored by name, it may be anything.
    sea.fed("load db --format csv --key-column 1 --value-column v", b"\xffk,v,\xffa\nx,1,2\n").with(0);
    assert_eq!(sea.holm("get db x").with(0), "1\n");
}
