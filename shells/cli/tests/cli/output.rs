//! `scan` and `export`: order, bounds, formats, round trips, and readers that leave early.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::support::Sea;

fn with_letters() -> Sea {
    let sea = Sea::new();
    sea.fed("load db", b"a\t1\nab\t2\nabc\t3\nb\t4\nc\t5\n").with(0);
    sea
}

#[test]
fn scans_are_ordered_and_bounded() {
    let sea = with_letters();
    let keys = |options: &str| sea.holm(&format!("scan db --keys-only {options}")).with(0).replace('\n', " ");
    assert_eq!(keys(""), "a ab abc b c ");
    assert_eq!(keys("--reverse"), "c b abc ab a ");
    assert_eq!(keys("--from ab --to c"), "ab abc b ");
    assert_eq!(keys("--from ab --to c --reverse"), "b abc ab ");
    assert_eq!(keys("--prefix ab"), "ab abc ");
    assert_eq!(keys("--prefix ab --reverse --limit 1"), "abc ");
    assert_eq!(keys("--limit 2"), "a ab ");
    assert_eq!(keys("--limit 0"), "");
    assert_eq!(keys("--from c --to a"), "");
    assert_eq!(keys("--prefix x"), "");
    assert_eq!(keys("--from -x --to b"), "a ab abc ");
}

#[test]
fn scans_speak_each_format() {
    let sea = with_letters();
    assert_eq!(sea.holm("scan db --prefix b").with(0), "b\t4\n");
    assert_eq!(sea.holm("scan db --prefix b --format jsonl").with(0), "{\"key\":\"b\",\"value\":\"4\"}\n");
    assert_eq!(sea.holm("scan db --prefix b --format jsonl --keys-only").with(0), "{\"key\":\"b\"}\n");
}

#[test]
fn what_is_exported_is_loaded_exactly() {
    let sea = Sea::new();
    let odd = r"\t\n\r\\\x00\xff".to_owned() + "\"',{}\u{e9} ";
    let mut text = String::new();
    for (key, value) in [("", ""), ("", "x"), (&odd, ""), ("k", &odd), (r"\xef\xbb\xbf", r"\xff\xfe"), (r"\r", r"\r\n")]
    {
        text.push_str(&format!("{}{key}\t{value}\n", text.lines().count()));
    }
    text = format!("\t{odd}\n{text}");
    sea.fed("load first", text.as_bytes()).with(0);
    let expected = sea.holm("export first").with(0);
    assert_eq!(expected.lines().count(), 7);
    for format in ["tsv", "csv", "jsonl"] {
        assert_eq!(sea.holm(&format!("export first out.{format}")).with(0), "7 records\n");
        sea.holm(&format!("load {format}.holm out.{format}")).with(0);
        assert_eq!(sea.holm(&format!("export {format}.holm")).with(0), expected, "{format}");
        let piped = sea.holm(&format!("export first --format {format}"));
        assert_eq!(piped.out, std::fs::read(sea.path(&format!("out.{format}"))).unwrap(), "{format}");
    }
}

#[test]
fn a_header_goes_out_and_comes_in() {
    let sea = with_letters();
    sea.holm("export db out.csv --header").with(0);
    assert!(std::fs::read_to_string(sea.path("out.csv")).unwrap().starts_with("key,value\na,1\n"));
    sea.holm("load again out.csv --header").with(0);
    assert_eq!(sea.holm("export again").with(0), sea.holm("export db").with(0));
    sea.holm("export db --header").complaint();
}

#[test]
fn export_writes_over_nothing() {
    let sea = with_letters();
    assert!(sea.holm("export db db --format tsv").complaint().contains("cannot create db"));
    assert_eq!(sea.holm("get db abc").with(0), "3\n");
}

/// The beginning of an export had its name on a full disk, looked like the whole, and refused the next attempt.
#[test]
fn a_file_that_cannot_be_written_is_removed() {
    let sea = Sea::new();
    sea.shell("seq 2000 | sed 's/$/\\tcoral/' | holm load db").with(0);
    for line in ["export db out.tsv", "dump db out.tsv"] {
        let said = sea.shell(&format!("trap '' XFSZ; ulimit -f 4; holm {line}"));
        assert_eq!(said.code, Some(2), "{line}: {said:?}");
        assert!(!sea.path("out.tsv").exists(), "{line}");
        sea.holm(line).with(0);
        std::fs::remove_file(sea.path("out.tsv")).unwrap();
    }
}

#[test]
fn a_reader_that_leaves_hears_no_complaint() {
    let sea = Sea::new();
    // Far more than pipes and buffers hold, so that the writer notices.
    let text: String = (0..20_000).map(|number| format!("key{number:06}\t{}\n", "x".repeat(100))).collect();
    sea.fed("load db --durability onsync", text.as_bytes()).with(0);
    for line in ["scan db", "scan db --reverse --format jsonl", "export db --format csv"] {
        let mut command = sea.command(line.split_whitespace());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((complaint.as_str(), status.code()), ("", Some(0)), "{line}");
        assert!(first.contains("key0"), "{line}: {first}");
    }
    assert_eq!(sea.holm("scan db --limit 1 --keys-only").with(0), "key000000\n");
}

#[test]
fn standard_output_closed_before_the_start_is_no_panic() {
    let sea = with_letters();
    for line in ["get db a", "scan db", "export db", "keyspaces db", "stat db", "check db", "--help", "scan --help"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sea.command(line.split_whitespace()).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
        assert_eq!(output.status.code(), Some(0), "{line}");
    }
}

/// The exit code was 0: a script took the value for replaced, and a part of a backup for all of it.
#[test]
fn a_reader_that_has_left_does_not_change_what_is_so() {
    let sea = with_letters();
    for (line, code) in [("cas db a other new", 1), ("get db a", 0), ("backup db", 2), ("dump db", 2), ("pop db", 2)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sea.command(line.split_whitespace()).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(complaint.contains("the reader of the output has left"), code == 2, "{line}: {complaint}");
    }
    assert_eq!(sea.holm("get db a").with(0), "1\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let sea = with_letters();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sea.command(["scan", "db"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.starts_with(b"holm: writing the output: "), "{output:?}");
}

/// The runtime opens `/dev/null` in place of a closed output, which takes everything.
#[test]
fn nothing_is_lost_in_an_output_that_is_closed() {
    let sea = with_letters();
    for verb in ["pop db", "backup db"] {
        let said = sea.shell(&format!("holm {verb} >&-"));
        assert!(said.complaint().contains("standard output is closed"), "{verb}");
    }
    assert_eq!(sea.holm("count db").with(0), "5\n");
    sea.shell("holm pop db >/dev/null").with(0);
    assert_eq!(sea.holm("count db").with(0), "4\n");
}

/// A process that reaches the limit of a file's size gets a signal, which ended it and left the file's beginning.
#[test]
fn a_file_that_must_not_grow_is_an_error() {
    let sea = Sea::new();
    let lines: String = (0..2_000).map(|number| format!("key{number:04}\tvalue\n")).collect();
    sea.file("lines.tsv", lines);
    sea.holm("load db lines.tsv").with(0);
    for (verb, file) in [("export", "out.tsv"), ("backup", "out.bk"), ("dump", "out.jsonl")] {
        let said = sea.shell(&format!("ulimit -f 8; exec \"$HOLM\" {verb} db {file}"));
        assert_eq!(said.code, Some(2), "{verb}: {said:?}");
        assert!(!sea.path(file).exists() && !sea.path(&format!("{file}.partial")).exists(), "{verb}");
        sea.holm(&format!("{verb} db {file}")).with(0);
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let sea = Sea::new();
    for option in ["--help", "--version", "help load"] {
        sea.shell(&format!("holm {option}")).with(0);
        assert_eq!(sea.shell(&format!("holm {option} >/dev/full")).code, Some(2), "{option}");
    }
}
