//! Entries that somebody puts into a log by hand: those that no replica can read are known before, and those that no
//! replica can store do nothing, on all replicas alike.

use crate::support::{Replica, part};
use holm_node::{Entry, EntryKind, Fault, PartKind, check_entry};

const ASSIGN: u8 = 0;
const IMPORT: u8 = 1;
const STORE: u8 = 2;
const OWN: u8 = 3;
const SEND: u8 = 4;
const CLEAN: u8 = 8;
const FORGET: u8 = 9;

fn of(kind: EntryKind, parts: &[u8]) -> Vec<u8> {
    Entry { level: 2, kind, time: 1_000, seed: 1, parts }.to_bytes()
}

/// A step in a move of all slots: the first attempt.
fn step(operation: u8, sequence: u64, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![operation];
    bytes.extend([u64::from(operation != ASSIGN), 9, sequence].map(u64::to_le_bytes).concat());
    bytes.extend([1, 0, 0, 0, 0, 0, 255, 63]);
    bytes.extend_from_slice(rest);
    of(EntryKind::Slots, &bytes)
}

fn counted(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

/// A chunk with a string under a key, or with a member of a set.
fn key(name: &[u8], value: &[u8]) -> Vec<u8> {
    [&[1][..], &counted(name), &counted(&[&[1, 0], value].concat())].concat()
}

#[test]
fn what_no_replica_can_read_is_refused_and_what_is_whole_is_not() {
    let commands = |kind, lines: &str| of(EntryKind::Commands, &part(kind, lines, &[]));
    let whole = [
        commands(PartKind::Pipeline, "SET a 1;GET a"),
        commands(PartKind::Transaction, "SET a 1"),
        of(EntryKind::Sweep, &[]),
        of(EntryKind::Flush, &[]),
        of(EntryKind::Compare, &[0; 16]),
        of(EntryKind::Load, &[0; 17]),
        of(EntryKind::Load, &[1, 2]),
        step(STORE, 1, &[key(b"a", b"1"), [&[2][..], &counted(b"b")].concat()].concat()),
        step(FORGET, 0, &[&counted(b"a")[..], &[0; 8]].concat()),
    ];
    for bytes in &whole {
        check_entry(bytes, 2).unwrap();
        assert!(check_entry(bytes, 1).is_err(), "a later level: {bytes:?}");
        assert!(check_entry(&[&[0], &bytes[1..]].concat(), 2).is_err(), "no level: {bytes:?}");
        assert!(check_entry(&bytes[..17], 2).is_err(), "half a header: {bytes:?}");
    }
    let cut = [0, 1, 4, 5, 7, 8].map(|at: usize| whole[at][..whole[at].len() - 1].to_vec());
    let broken = [
        commands(PartKind::Due, "GET a"),
        of(EntryKind::Compare, &[0; 17]),
        of(EntryKind::Load, &[0; 18]),
        of(EntryKind::Load, &[]),
        of(EntryKind::Slots, &[10]),
        step(STORE, 1, &[5, 0, 0, 0, 0]),
        step(STORE, 1, &[&[1][..], &counted(b"a"), &counted(&[9, 0])].concat()),
        step(STORE, 1, &[&[4, 8][..], &counted(b"a"), &counted(b"")].concat()),
        vec![],
    ];
    for bytes in cut.iter().chain(&broken) {
        assert!(check_entry(bytes, 2).is_err(), "{bytes:?}");
    }
}

/// Each replica ended at such a step, and again whenever it began.
#[test]
fn a_step_that_no_replica_can_store_does_nothing_and_the_log_goes_on() {
    let replicas = [Replica::new(), Replica::new()];
    let long = vec![b'x'; 70_000];
    let set = [&[1][..], &counted(b"set"), &counted(&[&[2, 2], &[0; 8][..], &[0; 8]].concat())].concat();
    let steps = [
        step(ASSIGN, 0, &[]),
        // The group is to give its slots, and notes changes.
        step(SEND, 0, &[]),
        step(FORGET, 0, &[&counted(&long)[..], &[0; 8]].concat()),
        step(FORGET, 0, &[&counted(b"key")[..], &[0; 8]].concat()),
    ];
    for replica in &replicas {
        for bytes in &steps {
            check_entry(bytes, 2).unwrap();
            let answer = replica.group.apply(&[(replica.group.applied() + 1, bytes)]).unwrap().remove(0);
            assert_eq!(answer[0], 0, "{}", String::from_utf8_lossy(&answer));
        }
        assert_eq!(replica.run("SET a 1;GET a"), "+OK $1 1");
    }
    assert_eq!(replicas[0].group.hash(), replicas[1].group.hash());
    let taker = Replica::new();
    let apply = |bytes: &[u8]| taker.group.apply(&[(taker.group.applied() + 1, bytes)]).unwrap().remove(0);
    // It owns nothing, and gets all.
    apply(&of(EntryKind::Slots, &[&[0][..], &[0; 24], &[0; 4]].concat()));
    assert_eq!(apply(&step(IMPORT, 0, &[]))[0], 0);
    assert_eq!(apply(&step(CLEAN, 0, &long))[0], 0, "no key lies behind one that is too long");
    for chunk in [
        [key(b"first", b"1"), key(&long, b"2")].concat(),
        [&set[..], &[4, 3], &counted(&long), &counted(b"")].concat(),
        (0..300).flat_map(|at: u32| key(&at.to_le_bytes(), &vec![0; 250_000])).collect(),
    ] {
        let bytes = step(STORE, 1, &chunk);
        check_entry(&bytes, 2).unwrap();
        assert_eq!(apply(&bytes)[0], 1, "a chunk that cannot be stored");
        assert_eq!(taker.group.key_count().unwrap(), 0, "nothing of it is stored");
    }
    assert_eq!(apply(&step(STORE, 1, &key(b"first", b"1")))[0], 0);
    assert_eq!(apply(&step(OWN, 0, &[]))[0], 0);
    let taker = taker.reopen();
    assert_eq!(taker.run("GET first"), "$1 1");
}

/// A log that is damaged is not a step that does nothing: the other replicas have another one.
#[test]
fn a_chunk_that_is_damaged_behind_what_is_stored_or_refused_ends_the_replica() {
    let taker = Replica::new();
    let apply = |bytes: &[u8]| taker.group.apply(&[(taker.group.applied() + 1, bytes)]);
    apply(&of(EntryKind::Slots, &[0; 29])).unwrap();
    apply(&step(IMPORT, 0, &[])).unwrap();
    let (applied, long) = (taker.group.applied(), vec![b'x'; 70_000]);
    for first in [key(b"first", b"1"), key(&long, b"1")] {
        for damaged in [&[5][..], &[1, 9, 0, 0, 0], &[1, 1, 0, 0, 0, b'a', 2, 0, 0, 0, 9, 0], &[4, 99, 0, 0, 0, 0]] {
            let failed = apply(&step(STORE, 1, &[&first, damaged].concat()));
            assert!(matches!(failed, Err(Fault::Malformed { .. })), "{failed:?} of {damaged:?}");
            assert_eq!((taker.group.applied(), taker.group.key_count().unwrap()), (applied, 0));
        }
    }
    assert_eq!(apply(&step(STORE, 1, &key(b"first", b"1"))).unwrap()[0][0], 0);
    assert_eq!(taker.group.key_count().unwrap(), 1);
}
