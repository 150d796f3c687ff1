//! Slots that go from one group to another: nothing is lost, nothing comes back, and no two groups answer for one.

use crate::support::{Replica, entry, part};
use holm_node::{Entry, EntryKind, Fault, Node, NodeOptions, PartKind, SLOTS, slot_of};

const ASSIGN: u8 = 0;
const IMPORT: u8 = 1;
const STORE: u8 = 2;
const OWN: u8 = 3;
const SEND: u8 = 4;
const FREEZE: u8 = 5;
const GIVE: u8 = 6;
const REST: u8 = 7;
const CLEAN: u8 = 8;
const FORGET: u8 = 9;

type Ranges<'r> = &'r [(u16, u16)];

fn ranges_bytes(ranges: Ranges<'_>) -> Vec<u8> {
    let mut bytes = (ranges.len() as u32).to_le_bytes().to_vec();
    bytes.extend(ranges.iter().flat_map(|(first, last)| [first.to_le_bytes(), last.to_le_bytes()]).flatten());
    bytes
}

/// Applies a step, and returns what it gives or why it did nothing.
fn step(
    replica: &Replica,
    (kind, attempt, sequence): (u8, u64, u64),
    ranges: Ranges<'_>,
    rest: &[u8],
) -> Result<Vec<u8>, String> {
    let mut bytes = vec![kind];
    bytes.extend([attempt, 9, sequence].map(u64::to_le_bytes).concat());
    bytes.extend(ranges_bytes(ranges));
    bytes.extend_from_slice(rest);
    let entry = Entry { level: 1, kind: EntryKind::Slots, time: 1_000, seed: 1, parts: &bytes }.to_bytes();
    let answer = replica.group.apply(&[(replica.group.applied() + 1, &entry)]).unwrap().remove(0);
    match answer[0] {
        0 => Ok(answer[1..].to_vec()),
        _ => Err(String::from_utf8(answer[1..].to_vec()).unwrap()),
    }
}

struct Exported {
    next: Option<(Vec<u8>, Vec<u8>)>,
    changed: Vec<u8>,
    count: u32,
    chunk: Vec<u8>,
}

fn take<'a>(input: &mut &'a [u8]) -> &'a [u8] {
    let (length, rest) = input.split_first_chunk::<4>().unwrap();
    let (taken, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
    *input = rest;
    taken
}

fn export(replica: &Replica, asked: &[u8]) -> Exported {
    let mut parts = vec![PartKind::Export as u8, 2, 0, 0];
    parts.extend((asked.len() as u32).to_le_bytes());
    parts.extend_from_slice(asked);
    let answer = replica.group.read(&parts).unwrap();
    let mut input = &answer[4 + 8..];
    let is_complete = input[0] == 1;
    input = &input[1..];
    let next = (take(&mut input).to_vec(), take(&mut input).to_vec());
    let (count, rest) = input.split_first_chunk::<4>().unwrap();
    let count = u32::from_le_bytes(*count);
    let mut after = rest;
    for _ in 0..count {
        take(&mut after);
        after = &after[8..];
    }
    let changed = rest[..rest.len() - after.len()].to_vec();
    Exported { next: (!is_complete).then_some(next), changed, count, chunk: after.to_vec() }
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat()
}

fn slots_asked(ranges: Ranges<'_>, (key, row): (&[u8], &[u8])) -> Vec<u8> {
    [&[0], &ranges_bytes(ranges)[..], &with_length(key), &with_length(row)].concat()
}

fn members_asked((key, row): &(Vec<u8>, Vec<u8>)) -> Vec<u8> {
    [&[2], &with_length(key)[..], &with_length(row)].concat()
}

fn clean(replica: &Replica, attempt: u64, ranges: Ranges<'_>) {
    let mut cursor = Vec::new();
    loop {
        let answer = step(replica, (CLEAN, attempt, 0), ranges, &cursor).unwrap();
        match answer[0] {
            0 => return,
            _ => cursor = answer[1..].to_vec(),
        }
    }
}

/// A move of slots, with what happens between its steps.
struct Move<'m> {
    from: &'m Replica,
    to: &'m Replica,
    ranges: Ranges<'m>,
    attempt: u64,
    sequence: u64,
}

impl Move<'_> {
    fn store(&mut self, chunk: &[u8]) {
        self.sequence += 1;
        // An answer that was lost: the same again does nothing.
        for _ in 0..2 {
            step(self.to, (STORE, self.attempt, self.sequence), &[], chunk).unwrap();
        }
    }

    fn begin(&mut self) {
        step(self.to, (IMPORT, self.attempt, 0), self.ranges, &[]).unwrap();
        clean(self.to, self.attempt, self.ranges);
        step(self.from, (SEND, self.attempt, 0), self.ranges, &[]).unwrap();
    }

    fn copy(&mut self, mut between: impl FnMut()) {
        let mut at = (Vec::new(), Vec::new());
        loop {
            let found = export(self.from, &slots_asked(self.ranges, (&at.0, &at.1)));
            self.store(&found.chunk);
            between();
            match found.next {
                Some(next) => at = next,
                None => return,
            }
        }
    }

    /// Carries what has changed, and returns how many keys that were.
    fn catch_up(&mut self) -> u32 {
        let found = export(self.from, &[&[1], &self.attempt.to_le_bytes()[..]].concat());
        self.store(&found.chunk);
        let mut next = found.next;
        while let Some(at) = next {
            let more = export(self.from, &members_asked(&at));
            self.store(&more.chunk);
            next = more.next;
        }
        step(self.from, (FORGET, self.attempt, 0), &[], &found.changed).unwrap();
        found.count
    }

    fn finish(&mut self) {
        step(self.from, (FREEZE, self.attempt, 0), self.ranges, &[]).unwrap();
        while self.catch_up() > 0 {}
        step(self.to, (OWN, self.attempt, 0), self.ranges, &[]).unwrap();
        step(self.from, (GIVE, self.attempt, 0), self.ranges, &[]).unwrap();
        clean(self.from, self.attempt, self.ranges);
    }
}

fn pair() -> (Replica, Replica) {
    let (from, to) = (Replica::new(), Replica::new());
    step(&from, (ASSIGN, 0, 0), &[(0, 8_191)], &[]).unwrap();
    step(&to, (ASSIGN, 0, 0), &[(8_192, SLOTS - 1)], &[]).unwrap();
    (from, to)
}

/// Names of keys whose slots the first group owns at first.
fn names(count: usize) -> Vec<String> {
    (0..).map(|at| format!("k{at}")).filter(|key| slot_of(key.as_bytes()) < 8_192).take(count).collect()
}

fn lines(random: &mut impl FnMut(u64) -> u64, names: &[String]) -> String {
    let key = &names[random(names.len() as u64) as usize];
    let value = random(1_000);
    match random(12) {
        0 | 1 => format!("SET {key} {value}"),
        2 => format!("DEL {key}"),
        3 => format!("SET {key} {value} PX {}", 1 + random(5_000)),
        4 => format!("DEL {key};HSET {key} {}", (0..400).map(|at| format!("f{at}x{value} {at} ")).collect::<String>()),
        5 => format!("DEL {key};SADD {key} {}", (0..300).map(|at| format!("m{at}x{value} ")).collect::<String>()),
        6 => format!("DEL {key};ZADD {key} {}", (0..300).map(|at| format!("{at} z{at}x{value} ")).collect::<String>()),
        7 => format!("DEL {key};RPUSH {key} {}", (0..900).map(|at| format!("e{at}x{value} ")).collect::<String>()),
        8 => format!("HSET {key} f1 {value}"),
        9 => format!("LPUSH {key} {value};LSET {key} 3 {value}"),
        10 => format!("EXPIRE {key} {}", 1 + random(9)),
        _ => format!("ZADD {key} {value} z1;SADD {key} {value};APPEND {key} {value}"),
    }
}

fn answers(replica: &Replica, key: &str) -> String {
    let asked = ["TYPE", "GET", "STRLEN", "HLEN", "SCARD", "ZCARD", "LLEN", "PTTL"].map(|name| format!("{name} {key}"));
    let all = [format!("HGETALL {key}"), format!("SMEMBERS {key}"), format!("ZRANGE {key} 0 -1 WITHSCORES")];
    replica.read(&[&asked[..], &all, &[format!("LRANGE {key} 0 -1")]].concat().join(";"))
}

#[test]
fn keys_of_all_kinds_arrive_whatever_is_written_meanwhile() {
    for seed in 1..=2u64 {
        let mut state = seed;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let ((from, to), reference) = (pair(), Replica::new());
        let names = names(30);
        let write = |replica: &Replica, random: &mut dyn FnMut(u64) -> u64, time: u64| {
            let lines = lines(&mut |bound| random(bound), &names);
            let bytes = entry(time, PartKind::Pipeline, &lines);
            assert_eq!(replica.apply(&bytes), reference.apply(&bytes));
        };
        (0..100).for_each(|at| write(&from, &mut random, 1_000 + at));
        let ranges = [(0, 4_000), (6_000, 8_191)];
        let mut moved = Move { from: &from, to: &to, ranges: &ranges, attempt: 5, sequence: 0 };
        moved.begin();
        moved.copy(|| (0..20).for_each(|at| write(&from, &mut random, 2_000 + at)));
        for round in 0..4 {
            moved.catch_up();
            write(&from, &mut random, 3_000 + round);
        }
        moved.finish();
        let sweep = |replica: &Replica, time: u64| {
            for _ in 0..30 {
                replica.apply(&Entry { level: 1, kind: EntryKind::Sweep, time, seed: 1, parts: &[] }.to_bytes());
            }
        };
        for time in [3_004, 7_000] {
            [&from, &to, &reference].into_iter().for_each(|replica| sweep(replica, time));
            for key in &names {
                let slot = slot_of(key.as_bytes());
                let is_moved = ranges.iter().any(|(first, last)| (*first..=*last).contains(&slot));
                let (owner, other) = if is_moved { (&to, &from) } else { (&from, &to) };
                assert_eq!(answers(owner, key), answers(&reference, key), "seed {seed}, {key}");
                assert!(other.read(&format!("GET {key}")).starts_with("-ELSEWHERE"), "{key}");
                assert!(other.run(&format!("SET {key} x")).starts_with("-ELSEWHERE"), "{key}");
            }
        }
        let count = |replica: &Replica| replica.group.key_count().unwrap();
        assert_eq!(count(&from) + count(&to), count(&reference));
        // And back: what was left behind must not come between.
        let mut back = Move { from: &to, to: &from, ranges: &ranges, attempt: 6, sequence: 0 };
        back.begin();
        back.copy(|| ());
        back.finish();
        for replica in [&from, &to] {
            sweep(replica, 7_000);
        }
        names.iter().for_each(|key| assert_eq!(answers(&from, key), answers(&reference, key), "{key}"));
        assert_eq!((count(&from), count(&to)), (count(&reference), 0));
    }
}

#[test]
fn a_slot_that_is_frozen_or_not_there_yet_is_not_answered_for() {
    let (from, to) = pair();
    let key = &names(1)[0];
    from.run(&format!("SET {key} 1"));
    let mut moved = Move { from: &from, to: &to, ranges: &[(0, 8_191)], attempt: 1, sequence: 0 };
    moved.begin();
    moved.copy(|| ());
    assert!(to.read(&format!("GET {key}")).starts_with("-ELSEWHERE"));
    step(&from, (FREEZE, 1, 0), moved.ranges, &[]).unwrap();
    for answer in [from.read(&format!("GET {key}")), from.run(&format!("INCR {key}"))] {
        assert!(answer.starts_with("-TRYAGAIN"), "{answer}");
    }
    let transaction = entry(1, PartKind::Transaction, &format!("INCR {key};GET {key}"));
    assert!(from.apply(&transaction).starts_with("-TRYAGAIN"));
    let watched = from.group.read(&part(PartKind::Fingerprints, &format!("WATCH {key}"), &[])).unwrap();
    assert_eq!(watched[4], 1);
    let flush = Entry { level: 1, kind: EntryKind::Flush, time: 1, seed: 1, parts: &[] }.to_bytes();
    let refused = from.group.apply(&[(from.group.applied() + 1, &flush)]).unwrap();
    assert!(refused[0].starts_with(b"TRYAGAIN"));
    let slot = slot_of(key.as_bytes());
    assert_eq!([from.group.owns(slot), to.group.owns(slot), Replica::new().group.owns(slot)], [false; 3]);
    moved.finish();
    assert_eq!([from.group.owns(slot), to.group.owns(slot)], [false, true]);
    assert_eq!(to.read(&format!("GET {key}")), "$1 1");
    assert_eq!(from.read(&format!("GET {key}")), format!("-ELSEWHERE {slot} 9"));
    // Both know it after they were opened again, and after a flush.
    let (from, to) = (from.reopen(), to.reopen());
    from.group.apply(&[(from.group.applied() + 1, &flush)]).unwrap();
    assert!(from.read(&format!("GET {key}")).starts_with("-ELSEWHERE"));
    assert_eq!(to.read(&format!("GET {key}")), "$1 1");
    let restored = Replica::new();
    let mut restore = restored.group.restore().unwrap();
    from.frames().iter().for_each(|frame| restore.frame(frame).unwrap());
    restore.finish().unwrap();
    assert!(restored.read(&format!("GET {key}")).starts_with("-ELSEWHERE"));
}

#[test]
fn entries_of_an_attempt_that_was_given_up_do_nothing() {
    let (from, to) = pair();
    let key = &names(1)[0];
    from.run(&format!("SET {key} 1"));
    let ranges = [(0, 8_191)];
    let mut first = Move { from: &from, to: &to, ranges: &ranges, attempt: 1, sequence: 0 };
    first.begin();
    let chunk = export(&from, &slots_asked(&ranges, (&[], &[]))).chunk;
    step(&from, (FREEZE, 1, 0), &ranges, &[]).unwrap();
    // The next driver fences the other group first, and then lets this one go on.
    step(&to, (REST, 2, 0), &ranges, &[]).unwrap();
    step(&from, (REST, 2, 0), &ranges, &[]).unwrap();
    from.run(&format!("SET {key} 2"));
    for (kind, rest) in [(STORE, &chunk[..]), (OWN, &[]), (IMPORT, &[]), (CLEAN, &[])] {
        assert!(step(&to, (kind, 1, 1), &ranges, rest).is_err(), "{kind}");
    }
    for kind in [FREEZE, GIVE, SEND, FORGET] {
        assert!(step(&from, (kind, 1, 0), &ranges, &[]).is_err(), "{kind}");
    }
    let mut second = Move { from: &from, to: &to, ranges: &ranges, attempt: 3, sequence: 0 };
    second.begin();
    // A chunk of the right attempt, but out of turn.
    assert!(step(&to, (STORE, 3, 7), &[], &chunk).is_err());
    second.copy(|| ());
    second.finish();
    assert_eq!(to.read(&format!("GET {key}")), "$1 2");
}

#[test]
fn a_key_that_changes_again_after_it_was_carried_stays_noted() {
    let (from, to) = pair();
    let key = &names(1)[0];
    let mut moved = Move { from: &from, to: &to, ranges: &[(0, 8_191)], attempt: 1, sequence: 0 };
    moved.begin();
    from.run(&format!("SET {key} 1"));
    let carried = export(&from, &[&[1], &1u64.to_le_bytes()[..]].concat());
    moved.store(&carried.chunk);
    from.run(&format!("SET {key} 2"));
    step(&from, (FORGET, 1, 0), &[], &carried.changed).unwrap();
    assert_eq!(carried.count, 1);
    moved.finish();
    assert_eq!(to.read(&format!("GET {key}")), "$1 2");
}

#[test]
fn a_step_out_of_turn_does_nothing() {
    let (from, to) = pair();
    let ranges = [(0, 10)];
    // It does not own what it is to send, or owns what it is to get; nothing was begun.
    for (replica, kind) in [(&to, SEND), (&from, IMPORT), (&from, FREEZE), (&from, GIVE), (&to, OWN), (&from, CLEAN)] {
        assert!(step(replica, (kind, 1, 0), &ranges, &[]).is_err(), "{kind}");
    }
    step(&from, (SEND, 1, 0), &ranges, &[]).unwrap();
    // Slots that are being moved are not moved a second time, and not given before they are frozen.
    assert!(step(&from, (SEND, 2, 0), &[(20, 30)], &[]).is_err());
    assert!(step(&from, (IMPORT, 2, 0), &[(9_000, 9_001)], &[]).is_err());
    assert!(step(&from, (GIVE, 1, 0), &ranges, &[]).is_err());
    // A group without a record of its slots takes part in no move.
    assert!(step(&Replica::new(), (SEND, 1, 0), &ranges, &[]).is_err());
}

/// What is left of slots that were given away was removed 500 keys at a time, with as many notes of changes. That is
/// too much for a transaction if the keys are long: no replica could apply the entry.
#[test]
fn long_keys_of_slots_that_are_gone_are_removed_fewer_at_a_time() {
    let (replica, all) = (Replica::new(), [(1, SLOTS - 1)]);
    step(&replica, (ASSIGN, 0, 0), &[(0, SLOTS - 1)], &[]).unwrap();
    step(&replica, (SEND, 5, 0), &all, &[]).unwrap();
    for at in 0..450 {
        replica.run(&format!("SET {at:060000} 1 PX 1000000"));
    }
    step(&replica, (FREEZE, 5, 0), &all, &[]).unwrap();
    step(&replica, (GIVE, 5, 0), &all, &[]).unwrap();
    let (mut after, mut steps) = (Vec::new(), 0);
    loop {
        let answer = step(&replica, (CLEAN, 5, 0), &all, &after).unwrap();
        steps += 1;
        if answer[0] == 0 {
            break;
        }
        after = answer[1..].to_vec();
    }
    assert!(steps > 1 && replica.group.key_count().unwrap() < 10, "{steps}");
}

/// The slots stayed lost in memory, although the entry that gives them away was not committed.
#[test]
fn slots_are_answered_for_whose_loss_was_not_committed() {
    let folder = tempfile::tempdir().unwrap();
    let options = NodeOptions { capacity: 64 << 20, ..NodeOptions::default() };
    let node = Node::open(folder.path().join("node.holm"), options).unwrap();
    let replica = Replica { group: node.group(7).unwrap(), node, folder };
    let all: Ranges<'_> = &[(0, SLOTS - 1)];
    step(&replica, (ASSIGN, 0, 0), all, &[]).unwrap();
    step(&replica, (SEND, 1, 0), all, &[]).unwrap();
    assert_eq!(replica.run("SETRANGE a 30000000 x"), ":30000001");
    let freeze = [&[FREEZE][..], &[1, 9, 0].map(u64::to_le_bytes).concat(), &ranges_bytes(all)].concat();
    let freeze = Entry { level: 1, kind: EntryKind::Slots, time: 1_000, seed: 1, parts: &freeze }.to_bytes();
    let large = entry(1_000, PartKind::Pipeline, "SETRANGE b 60000000 x");
    let applied = replica.group.applied();
    // Both are one transaction, which the database has no room for.
    let failed = replica.group.apply(&[(applied + 1, &large), (applied + 2, &freeze)]).unwrap_err();
    assert!(matches!(failed, Fault::Store(_)), "{failed}");
    assert_eq!(replica.group.applied(), applied);
    assert!(replica.group.owns(slot_of(b"a")), "a slot is lost, and the log does not say so");
}
