//! Commands of several threads on the same key: each sees all of another one or nothing, and none is lost.

use crate::store::Tested;
use holm_commands::{At, CommandIndex, Cursors, Databases, OwnedArguments, Reply, TABLE};
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a command of one thread. The words are separated by spaces.
fn ask(databases: &Databases, line: &str) -> Reply {
    let (index, cursors) = (CommandIndex::new(TABLE), Cursors::default());
    let words: OwnedArguments = line.split(' ').collect();
    let at = At { database: 0, now: 1_000_000, seed: 1, cursors: &cursors };
    let command = index.find(&words.lend()[0]).unwrap();
    match databases.execute(command, &words.lend(), at) {
        Ok((reply, _)) => reply,
        Err(refusal) => panic!("{line}: {refusal:?}"),
    }
}

#[test]
fn no_change_of_a_record_is_lost() {
    // Some commands run without a transaction, and meet those that have one: the hash becomes rows half-way.
    let tested = Tested::new();
    let databases = &tested.databases;
    std::thread::scope(|scope| {
        for name in 0..3 {
            scope.spawn(move || {
                for round in 0..100 {
                    ask(databases, "incr sum");
                    ask(databases, "hincrby hash sum 1");
                    ask(databases, &format!("hset hash f{name}x{round} 1"));
                    ask(databases, &format!("rpush list {name}x{round}"));
                }
            });
        }
    });
    let integer = |line: &str| match ask(databases, line) {
        Reply::Integer(number) => number,
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(integer("incrby sum 0"), 300);
    assert_eq!(integer("hincrby hash sum 0"), 300);
    assert_eq!(integer("hlen hash"), 301);
    assert_eq!(integer("llen list"), 300);
}

#[test]
fn a_reader_sees_a_large_collection_at_one_instant() {
    let tested = Tested::new();
    let databases = &tested.databases;
    // Two fields of different leaves, which always have the same value.
    (0..400).for_each(|field| drop(ask(databases, &format!("hset hash f{field:03} {}", "x".repeat(100)))));
    ask(databases, "hset hash a 0 z 0");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=1_000 {
                ask(databases, &format!("hset hash a {round} z {round}"));
            }
            is_over.store(true, Ordering::SeqCst);
        });
        while !is_over.load(Ordering::SeqCst) {
            let Reply::Map(pairs) = ask(databases, "hgetall hash") else { panic!("no pairs") };
            let value = |at: usize| {
                let Reply::Bulk(bytes) = &pairs[at].1 else { panic!("no value") };
                bytes.as_ref().to_vec()
            };
            assert_eq!(pairs.len(), 402);
            assert_eq!(value(0), value(401), "one half of a command");
        }
    });
}
