//! What entries do: replies, time, transactions, and refusals that depend on nothing but the log.

use crate::support::{Replica, entry, part, replies};
use holm_commands::Protocol;
use holm_node::{Entry, EntryKind, Fault, Part, PartKind, Watch};

#[test]
fn commands_of_an_entry_see_those_before_them() {
    let replica = Replica::new();
    assert_eq!(replica.run("SET a 1; GET a; INCR a; DEL a; GET a"), "+OK $1 1 :2 :1 $-1");
    assert_eq!(replica.group.applied(), 1);
    assert_eq!(
        replica.run("GET; NOSUCH a"),
        "-ERR unknown command, or wrong number of arguments -ERR unknown \
        command, or wrong number of arguments"
    );
}

#[test]
fn parts_of_an_entry_have_their_own_replies() {
    let replica = Replica::new();
    let parts = [
        part(PartKind::Pipeline, "SET a 1; INCR a", &[]),
        part(PartKind::Transaction, "INCR a; LPUSH a x; GET a", &[]),
    ];
    let bytes = Entry { level: 1, kind: EntryKind::Commands, time: 1, seed: 1, parts: &parts.concat() }.to_bytes();
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    assert_eq!(replica.apply(&bytes), format!("+OK :2 | *3 :3 {wrong} $1 3"));
}

#[test]
fn a_transaction_whose_watched_key_has_changed_does_nothing() {
    let replica = Replica::new();
    replica.run("SET a 1; HSET h f v");
    for (key, change) in [("a", "SET a 2"), ("h", "HSET h f w"), ("absent", "SET absent 1")] {
        let seen = replica.group.read(&part(PartKind::Fingerprints, &format!("WATCH {key}"), &[])).unwrap();
        let fingerprint = u64::from_le_bytes(seen[5..13].try_into().unwrap());
        let watch = [Watch { key: key.as_bytes(), fingerprint }];
        let parts = part(PartKind::Transaction, "INCR count", &watch);
        let exec = Entry { level: 1, kind: EntryKind::Commands, time: 1, seed: 1, parts: &parts }.to_bytes();
        assert!(replica.apply(&exec).starts_with("*1 :"), "{key}");
        replica.run(change);
        assert_eq!(replica.apply(&exec), "*-1", "{key}");
    }
    assert_eq!(replica.read("GET count"), "$1 3");
}

#[test]
fn a_watched_member_of_a_large_hash_is_seen_to_change() {
    let replica = Replica::new();
    let fields: Vec<_> = (0..2_000).map(|field| format!("f{field} value{field}")).collect();
    replica.run(&format!("HSET h {}", fields.join(" ")));
    let seen = |replica: &Replica| replica.group.read(&part(PartKind::Fingerprints, "WATCH h", &[])).unwrap();
    let before = seen(&replica);
    replica.run("HSET h f1000 other");
    assert_ne!(seen(&replica), before);
    replica.run("HSET h f1000 value1000");
}

#[test]
fn time_is_the_entrys_and_never_goes_back() {
    let replica = Replica::new();
    let at = |time, lines| replica.apply(&entry(time, PartKind::Pipeline, lines));
    assert_eq!(at(5_000, "SET a 1 PX 1000; PTTL a"), "+OK :1000");
    assert_eq!(at(2_000, "PTTL a"), ":1000");
    assert_eq!(at(5_999, "PTTL a"), ":1");
    assert_eq!(replica.read("GET a"), "$1 1");
    assert_eq!(at(6_000, "GET a"), "$-1");
    assert_eq!(replica.read("GET a"), "$-1");
}

#[test]
fn a_sweep_removes_what_has_expired_and_says_before_that_it_is_due() {
    let replica = Replica::new();
    replica.run("SET a 1 PX 10; SET b 2 PX 1000000; SET c 3");
    let due = |by: u64| {
        let mut bytes = vec![3, 2, 0, 0, 8, 0, 0, 0];
        bytes.extend(by.to_le_bytes());
        replica.group.read(&bytes).unwrap()[4]
    };
    assert_eq!((due(1_000), due(1_010)), (0, 1));
    let sweep = Entry { level: 1, kind: EntryKind::Sweep, time: 1_010, seed: 0, parts: &[] }.to_bytes();
    assert_eq!(replica.apply(&sweep), "");
    assert_eq!((due(1_010), replica.group.key_count().unwrap()), (0, 2));
    let fields: Vec<_> = (0..2_500).map(|field| format!("f{field} v")).collect();
    replica.run(&format!("HSET h {}", fields.join(" ")));
    replica.run("DEL h");
    let mut sweeps = 0;
    while due(1_010) == 1 {
        replica.apply(&sweep);
        sweeps += 1;
    }
    assert_eq!(sweeps, 3, "each removes a thousand rows");
}

#[test]
fn a_flush_removes_all_keys_and_keeps_what_is_after_it() {
    let replica = Replica::new();
    replica.run("SET a 1; SET b 2");
    let flush = Entry { level: 1, kind: EntryKind::Flush, time: 1, seed: 0, parts: &[] }.to_bytes();
    let (before, after) = (entry(1, PartKind::Pipeline, "SET c 3"), entry(1, PartKind::Pipeline, "SET d 4; GET c"));
    let done = replica.group.apply(&[(2, &before), (3, &flush), (4, &after)]).unwrap();
    assert_eq!(replies(&done[2]), "+OK $-1");
    assert_eq!((replica.group.applied(), replica.group.key_count().unwrap()), (4, 1));
    let replica = replica.reopen();
    assert_eq!((replica.group.applied(), replica.read("GET d; GET a")), (4, "$1 4 $-1".into()));
}

#[test]
fn entries_out_of_turn_or_of_a_later_level_are_refused_and_do_nothing() {
    let replica = Replica::new();
    let set = entry(1, PartKind::Pipeline, "SET a 1");
    replica.group.apply(&[(5, &set)]).unwrap();
    assert!(matches!(replica.group.apply(&[(5, &set)]), Err(Fault::Order { .. })));
    let newer = [&[9], &set[1..]].concat();
    let incr = entry(1, PartKind::Pipeline, "INCR a");
    assert!(matches!(replica.group.apply(&[(6, &incr), (7, &newer)]), Err(Fault::Level { found: 9, .. })));
    let torn = &set[..set.len() - 3];
    assert!(matches!(replica.group.apply(&[(6, &incr), (7, torn)]), Err(Fault::Malformed { .. })));
    assert_eq!((replica.group.applied(), replica.read("GET a")), (5, "$1 1".into()));
    // An entry of the consensus engine's own has no bytes.
    replica.group.apply(&[(6, &[]), (9, &[])]).unwrap();
    assert_eq!(replica.group.applied(), 9);
}

#[test]
fn what_does_not_fit_into_one_transaction_is_divided_at_entries() {
    let replica = Replica::new();
    let value = "x".repeat(20 << 20);
    let entries: Vec<_> = (0..5).map(|at| entry(1, PartKind::Pipeline, &format!("SET k{at} {value}"))).collect();
    let numbered: Vec<_> = (1..).zip(&entries).map(|(index, entry)| (index, &entry[..])).collect();
    let done = replica.group.apply(&numbered).unwrap();
    assert!(done.iter().all(|reply| replies(reply) == "+OK"));
    // One entry that does not fit alone: the commands that do are carried out.
    let lines: Vec<_> = (5..9).map(|at| format!("SET k{at} {value}")).collect();
    let answer = replica.run(&lines.join(";"));
    assert!(answer.starts_with("+OK +OK +OK -ERR"), "{answer}");
    assert_eq!((replica.group.applied(), replica.group.key_count().unwrap()), (6, 8));
}

/// Nodes of this version applied RESTORE in another way than those of the version before, to the same entry.
#[test]
fn commands_mean_at_each_level_what_they_meant() {
    // What DUMP answered for the word v, a hash, a set, a sorted set and a list, and what it answers for the word.
    let former = [
        r"\x01\x00\x00\x00\x01v\x73\x92\x36\x90",
        r"\x02\x00\x00\x00\x01f\x00\x00\x00\x01w\xab\x20\xa7\xb9",
        r"\x03\x00\x00\x00\x01m\x00\x00\x00\x00\xa3\x49\x84\x2e",
        r"\x04\x00\x00\x00\x01m\x00\x00\x00\x08\xbf\xf0\x00\x00\x00\x00\x00\x00\x23\x53\xef\x99",
        r"\x05\x00\x00\x00\x01x\x00\x00\x00\x01y\x24\x4a\xfb\x5f",
    ];
    let mut lines: Vec<_> =
        (1..).zip(former).map(|(at, rest)| format!("RESTORE k{at} 0 \"holm\\x01{rest}\"")).collect();
    lines.push(r#"RESTORE new 0 "\x00\x01v\x08\x00\x28\x25\x22\x0d\xb0\x21\x00\xf6""#.into());
    lines.push("SET k1 w KEEPTTL KEEPTTL".into());
    let replies_at = |replica: &Replica, level| {
        let parts = part(PartKind::Pipeline, &lines.join(";"), &[]);
        replica.apply(&Entry { level, kind: EntryKind::Commands, time: 1, seed: 1, parts: &parts }.to_bytes())
    };
    let bad = "-ERR DUMP payload version or checksum are wrong";
    for level in 1..=4 {
        let replica = Replica::new();
        assert_eq!(replies_at(&replica, level), format!("+OK +OK +OK +OK +OK {bad} -ERR syntax error"), "{level}");
        let read = "GET k1; HGET k2 f; SISMEMBER k3 m; ZSCORE k4 m; LRANGE k5 0 -1";
        assert_eq!(replica.read(read), "$1 v $1 w :1 $1 1 *2 $1 x $1 y");
    }
    let replica = Replica::new();
    assert_eq!(replies_at(&replica, 5), format!("{bad} {bad} {bad} {bad} {bad} +OK +OK"));
    assert_eq!(replica.read("GET new; GET k1"), "$1 v $1 w");
}

/// Returns an entry with commands, each with its words.
fn entry_of(commands: &[&[&[u8]]]) -> Vec<u8> {
    let mut requests = Vec::new();
    for words in commands {
        requests.extend(format!("*{}\r\n", words.len()).into_bytes());
        for word in *words {
            requests.extend(format!("${}\r\n", word.len()).into_bytes());
            requests.extend_from_slice(word);
            requests.extend_from_slice(b"\r\n");
        }
    }
    let part = Part { kind: PartKind::Pipeline, protocol: Protocol::Resp2, watches: Vec::new(), requests: &requests };
    let mut parts = Vec::new();
    part.append_to(&mut parts);
    Entry { level: 1, kind: EntryKind::Commands, time: 1_000, seed: 1, parts: &parts }.to_bytes()
}

/// The state did not fit into a transaction that the commands of an entry had filled but for a few bytes: no replica
/// could apply the entry, and none after it.
#[test]
fn an_entry_that_fills_a_transaction_leaves_room_for_the_state() {
    const TRANSACTION: usize = 64 << 20;
    let (replica, large) = (Replica::new(), vec![b'x'; TRANSACTION / 2]);
    let mut found = [0; 2];
    // A write takes 64 bytes beside its key and its value, and a value a few.
    for less in (0..400).step_by(80) {
        let rest = &large[..TRANSACTION / 2 - less];
        let said = replica.apply(&entry_of(&[&[b"SET", b"one", &large], &[b"SET", b"other", rest]]));
        found[usize::from(said == "+OK +OK")] += 1;
        assert!(said == "+OK +OK" || said.starts_with("+OK -ERR"), "{less}: {said}");
    }
    assert!(found[0] > 0 && found[1] > 0, "{found:?}");
}

/// A thousand keys that expire were removed in one transaction, which is too large if the keys are long: no replica
/// could apply the entry.
#[test]
fn a_sweep_of_long_keys_removes_fewer_at_a_time() {
    let (replica, count) = (Replica::new(), 600);
    let keys: Vec<_> = (0..count).map(|at| format!("{at:065000}")).collect();
    for some in keys.chunks(300) {
        let commands: Vec<[&[u8]; 5]> =
            some.iter().map(|key| [&b"SET"[..], key.as_bytes(), b"1", b"PX", b"1"]).collect();
        let commands: Vec<&[&[u8]]> = commands.iter().map(|words| &words[..]).collect();
        replica.apply(&entry_of(&commands));
    }
    let sweep = Entry { level: 1, kind: EntryKind::Sweep, time: 2_000, seed: 1, parts: &[] }.to_bytes();
    let mut left = replica.group.key_count().unwrap();
    assert_eq!(left, count);
    while left > 0 {
        replica.apply(&sweep);
        let now = replica.group.key_count().unwrap();
        assert!(now < left);
        left = now;
    }
}
