//! Replicas that apply the same entries are equal, however the entries are divided among calls.

use crate::support::{Replica, entry, part};
use holm_node::{Entry, EntryKind, Fault, PartKind};

/// Returns entries with commands of all kinds: some choose by chance, some expire, some fail late.
fn entries(seed: u64, count: u64) -> Vec<Vec<u8>> {
    let mut state = seed;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut line = || {
        let (key, value) = (below(40), below(1_000));
        match below(14) {
            0 => format!("SET s{key} {value}"),
            1 => format!("SET s{key} {value} PX {}", below(5_000) + 1),
            2 => format!("INCR s{key}"),
            3 => format!("DEL s{key} h{key}"),
            4 => format!("HSET h{key} f{value} {value} g{value} 1"),
            5 => format!("SADD m{key} {value} {} {}", value * 7, value * 11),
            6 => format!("SPOP m{key} 2"),
            7 => format!("ZADD z{key} {value} a{value} {} b{value}", below(9)),
            8 => format!("RPUSH l{key} {value} {value}"),
            9 => format!("LPOP l{key} 3"),
            10 => format!("ZUNIONSTORE z{key} 2 z{} z{}", below(40), below(40)),
            11 => format!("SADD big{} {}", key % 3, (0..300).map(|at| format!("m{at}x{value} ")).collect::<String>()),
            12 => format!("RENAME big{} big{}", key % 3, value % 3),
            _ => format!("EXPIRE h{key} {}", below(6)),
        }
    };
    let entry_at = |index: u64, lines: String| {
        let kind = if index.is_multiple_of(5) { PartKind::Transaction } else { PartKind::Pipeline };
        entry(1_000_000 + index * 37, kind, &lines)
    };
    let all = (1..=count).map(|index| match index % 29 {
        0 => {
            Entry { level: 1, kind: EntryKind::Sweep, time: 1_000_000 + index * 37, seed: index, parts: &[] }.to_bytes()
        }
        _ => entry_at(index, (0..1 + index % 4).map(|_| line()).collect::<Vec<_>>().join(";")),
    });
    all.collect()
}

fn apply_in_runs(replica: &Replica, entries: &[Vec<u8>], length: usize) {
    let numbered: Vec<_> = (1..).zip(entries).map(|(index, entry)| (index, &entry[..])).collect();
    numbered.chunks(length).for_each(|run| drop(replica.group.apply(run).unwrap()));
}

#[test]
fn replicas_are_equal_byte_by_byte_whatever_the_calls() {
    let entries = entries(1, 600);
    let first = Replica::new();
    apply_in_runs(&first, &entries, 1);
    let expected = (first.group.hash(), first.frames());
    for length in [7, 64, 600] {
        let other = Replica::new();
        apply_in_runs(&other, &entries, length);
        assert_eq!((other.group.hash(), other.frames()), expected, "{length}");
    }
    let restored = Replica::new();
    let mut restore = restored.group.restore().unwrap();
    expected.1.iter().for_each(|frame| restore.frame(frame).unwrap());
    assert_eq!(restore.finish().unwrap(), 600);
    assert_eq!((restored.group.hash(), restored.frames()), expected);
}

#[test]
fn the_hash_tells_replicas_apart_that_differ() {
    let [one, other] = [Replica::new(), Replica::new()];
    one.run("SET a 1; SET b 2");
    other.run("SET b 2; SET a 1");
    assert_ne!(one.group.hash(), other.group.hash());
    let same = Replica::new();
    same.run("SET a 1");
    assert_ne!(one.group.hash(), same.group.hash());
}

#[test]
fn a_replica_that_differs_from_its_leader_refuses_to_go_on() {
    let entries: Vec<_> = (0..3_000).map(|at| entry(1, PartKind::Pipeline, &format!("SET k{} {at}", at % 7))).collect();
    let leader = Replica::new();
    apply_in_runs(&leader, &entries, 1_000);
    let (mark, hash) = leader.group.mark();
    assert_eq!(mark, 2);
    let compared = |mark: u64, hash: u64| {
        let bytes = [mark.to_le_bytes(), hash.to_le_bytes()].concat();
        Entry { level: 1, kind: EntryKind::Compare, time: 1, seed: 0, parts: &bytes }.to_bytes()
    };
    let compare = |replica: &Replica| replica.group.apply(&[(3_001, &compared(mark, hash))]).map(drop);
    for length in [1, 700, 3_000] {
        let follower = Replica::new();
        apply_in_runs(&follower, &entries, length);
        compare(&follower).unwrap();
    }
    for at in [0, 2_046] {
        let mut others = entries.clone();
        others[at] = entry(1, PartKind::Pipeline, "SET k0 other");
        let follower = Replica::new();
        apply_in_runs(&follower, &others, 64);
        assert!(matches!(compare(&follower), Err(Fault::Differs { mark: 2, .. })), "{at}");
        assert_eq!(follower.group.applied(), 3_000);
        // One that has just been opened knows no mark.
        compare(&follower.reopen()).unwrap();
    }
    compare(&leader).unwrap();
}

#[test]
fn choices_by_chance_are_the_entrys() {
    let popped = |seed| {
        let replica = Replica::new();
        replica.run("SADD s a b c d e f g h i j k l m n o p");
        let parts = part(PartKind::Pipeline, "SPOP s 5; SRANDMEMBER s 3", &[]);
        replica.apply(&Entry { level: 1, kind: EntryKind::Commands, time: 1, seed, parts: &parts }.to_bytes())
    };
    assert_eq!(popped(1), popped(1));
    assert_ne!(popped(1), popped(2));
}
