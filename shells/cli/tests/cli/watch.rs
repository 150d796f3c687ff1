//! `watch`: what it prints is stored, and comes once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::support::Sea;

#[test]
fn each_change_is_printed_once_it_is_durable() {
    let sea = Sea::new();
    let lines: String = (0..3_000).map(|number| format!("{:03}\tvalue {number}\\n\n", number % 700)).collect();
    let said = sea.fed("watch db --keyspace reefs", lines.as_bytes());
    assert!(said.error.contains("3000 records in "), "{}", said.error);
    let printed = said.with(0);
    let (mut stored, mut epochs) = (BTreeMap::new(), Vec::new());
    for line in printed.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            [epoch, "put", "reefs", key, value] => {
                stored.insert(key.to_owned(), value.to_owned());
                epochs.push(epoch.parse::<u64>().expect("a number"));
            }
            [_, "create", "reefs" | "default"] => {}
            ref other => panic!("{other:?}"),
        }
    }
    assert!(epochs.is_sorted());
    let found: String = stored.into_iter().map(|(key, value)| format!("{key}\t{value}\n")).collect();
    assert_eq!(found, sea.holm("scan db --keyspace reefs").with(0));
}

#[test]
fn a_key_that_expires_comes_with_its_time() {
    let sea = Sea::new();
    let far = br#"{"key":"far","value":"1","expires_ms":4102444800000}
{"key":"stays","value":"2"}"#;
    let printed = sea.fed("watch db --keyspace tides --expires-in never --format jsonl", far).with(0);
    let lines: Vec<_> = printed.lines().filter_map(|line| line.split_once('\t')).map(|(_, change)| change).collect();
    for line in ["create\ttides\texpires", "put\ttides\tfar\t1\t2100-01-01T00:00:00.000Z", "put\ttides\tstays\t2"] {
        assert!(lines.contains(&line), "{line:?} is not in {printed}");
    }
    assert_eq!(sea.holm("expire db far --keyspace tides").with(0), "2100-01-01T00:00:00.000Z\n");
    let printed = sea.fed("watch db --keyspace reefs", b"north\tcoral\n").with(0);
    assert!(printed.contains("\tcreate\treefs\n") && printed.contains("\tput\treefs\tnorth\tcoral\n"), "{printed}");
}

/// A child that is killed after it has printed a line has stored what the line says.
#[test]
fn a_printed_change_survives_the_death_of_the_process() {
    let sea = Sea::new();
    let mut command = sea.command("watch db --durability onsync".split_whitespace());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut input = child.stdin.take().expect("a pipe");
    let lines: String = (0..20_000).map(|number| format!("{number:06}\tvalue\n")).collect();
    input.write_all(lines.as_bytes()).expect("a reader");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let printed = output.lines().map_while(Result::ok).find(|line| line.contains("\tput\t")).expect("an epoch ends");
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    let key = printed.split('\t').nth(3).expect("a key");
    assert_eq!(sea.holm(&format!("get db {key}")).with(0), "value\n");
}
