//! Groups that are filled from a backup through their log.

use crate::support::{Replica, entry, part};
use holm_node::{Entry, EntryKind, Fault, Node, NodeOptions, PartKind};

fn step(level: u8, parts: &[u8]) -> Vec<u8> {
    Entry { level, kind: EntryKind::Load, time: 500, seed: 1, parts }.to_bytes()
}

fn begin(attempt: u64, backup: u64) -> Vec<u8> {
    step(2, &[&[0], &attempt.to_le_bytes()[..], &backup.to_le_bytes()].concat())
}

fn frame(attempt: u64, sequence: u64, frame: &[u8]) -> Vec<u8> {
    step(2, &[&[1], &attempt.to_le_bytes()[..], &sequence.to_le_bytes(), frame].concat())
}

/// Assigns slots by the first entry of a group.
fn assign(replica: &Replica, first: u16, last: u16) {
    let ranges = [&1u32.to_le_bytes()[..], &first.to_le_bytes(), &last.to_le_bytes()].concat();
    let parts = [&[0; 25][..], &ranges].concat();
    replica.apply(&Entry { level: 1, kind: EntryKind::Slots, time: 1, seed: 1, parts: &parts }.to_bytes());
}

/// Applies a step, and returns the first byte of its answer and its words.
fn take(replica: &Replica, step: &[u8]) -> (u8, String) {
    let answer = replica.group.apply(&[(replica.group.applied() + 1, step)]).unwrap().remove(0);
    (answer[0], String::from_utf8(answer[1..].to_vec()).unwrap())
}

fn done() -> (u8, String) {
    (0, String::new())
}

/// A group with keys of all kinds, some of which expire, a large collection, and one that was removed.
fn full() -> Replica {
    let replica = Replica::new();
    assign(&replica, 0, 16_383);
    for part in 0..30 {
        let lines: Vec<_> = (0..20).map(|at| format!("SET key{part}:{at} {}", "v".repeat(1_000))).collect();
        replica.run(&lines.join(";"));
    }
    let fields: Vec<_> = (0..3_000).map(|field| format!("f{field} value{field}")).collect();
    replica.run(&format!("HSET h {}; HSET other {}", fields.join(" "), fields.join(" ")));
    replica.run("SADD s a b; RPUSH l x y z; ZADD z 1 a 2 b; PFADD x a b c; SETBIT b 7 1; DEL other");
    replica.run("SET late 1 PX 5000; SET soon 1 PX 10; HSET g f 1; PEXPIRE g 7000");
    replica
}

const LOOK: &str = "GET key7:7; HGET h f2999; HLEN h; SMEMBERS s; LRANGE l 0 -1; ZRANGE z 0 -1 WITHSCORES; PFCOUNT x; \
                    GETBIT b 7; PTTL late; PTTL g; PTTL h; EXISTS other soon";

fn load(replica: &Replica, attempt: u64, frames: &[Vec<u8>]) {
    assert_eq!(take(replica, &begin(attempt, 77)), done());
    for (sequence, bytes) in (1..).zip(frames) {
        assert_eq!(take(replica, &frame(attempt, sequence, bytes)), done(), "frame {sequence}");
    }
}

#[test]
fn a_loaded_group_has_what_the_other_had_and_goes_on() {
    let source = full();
    let frames = source.frames();
    assert!(frames.len() > 4, "{} frames", frames.len());
    let replica = Replica::new();
    assign(&replica, 100, 200);
    load(&replica, 9, &frames);
    assert_eq!(replica.read(LOOK), source.read(LOOK));
    assert_eq!(replica.group.key_count().unwrap(), source.group.key_count().unwrap());
    assert_eq!(replica.group.applied(), 2 + frames.len() as u64, "its own log counts");
    // Versions go on where the other group's were: what was removed and is made again has none of its old members,
    // which wait for a sweep.
    let fields = |letter| (0..2_000).map(|at| format!("{letter}{at} 1 ")).collect::<String>();
    for group in [&source, &replica] {
        group.run(&format!("HSET other {}; DEL other; HSET other {}", fields('x'), fields('y')));
        assert_eq!(group.read("HGETALL other").split_whitespace().count(), 1 + 4 * 2_000);
        group.run("DEL other");
        group.run("HSET other only 1; HSET h f17 x; HDEL h f18; DEL l; RPUSH l q");
        let sweep = Entry { level: 1, kind: EntryKind::Sweep, time: 6_500, seed: 1, parts: &[] }.to_bytes();
        (0..9).for_each(|_| drop(group.apply(&sweep)));
    }
    let look = "HGETALL other; HLEN h; HGET h f18; LRANGE l 0 -1; EXISTS late soon g key0:0; PTTL g";
    assert_eq!(replica.read(look), source.read(look));
    assert!(replica.read(look).starts_with("*2 $4 only $1 1 :2999"), "{}", replica.read(look));
    let replica = replica.reopen();
    assert_eq!(replica.read(look), source.read(look));
}

#[test]
fn replicas_that_load_are_equal_however_entries_are_divided_and_when_they_come_as_a_stream() {
    let frames = full().frames();
    let steps: Vec<_> = (1..).zip(&frames).map(|(sequence, bytes)| frame(4, sequence, bytes)).collect();
    let entries: Vec<_> = [vec![begin(4, 1)], steps, vec![entry(1_000, PartKind::Pipeline, "SET after 1")]].concat();
    let apply = |replica: &Replica, from: usize, length: usize| {
        let numbered: Vec<_> = (from as u64 + 1..).zip(&entries[from..]).map(|(at, entry)| (at, &entry[..])).collect();
        numbered.chunks(length).for_each(|run| drop(replica.group.apply(run).unwrap()));
    };
    let first = Replica::new();
    apply(&first, 0, 1);
    let expected = (first.group.hash(), first.frames());
    for length in [2, 5, 100] {
        let other = Replica::new();
        apply(&other, 0, length);
        assert_eq!((other.group.hash(), other.frames()), expected, "{length}");
    }
    // One that gets the group as a stream while it is being loaded.
    for early in 1..entries.len() {
        let source = Replica::new();
        let numbered: Vec<_> = (1..).zip(&entries[..early]).map(|(at, entry)| (at, &entry[..])).collect();
        source.group.apply(&numbered).unwrap();
        let other = Replica::new();
        let mut restore = other.group.restore().unwrap();
        source.frames().iter().for_each(|frame| restore.frame(frame).unwrap());
        assert_eq!(restore.finish().unwrap(), early as u64);
        apply(&other.reopen(), early, 3);
    }
}

#[test]
fn a_group_that_is_loaded_answers_for_no_slot_until_it_is_whole() {
    let frames = full().frames();
    let replica = Replica::new();
    assign(&replica, 0, 16_383);
    assert_eq!(take(&replica, &begin(3, 1)), done());
    for (sequence, bytes) in (1..).zip(&frames) {
        assert!(replica.read("GET key7:7").starts_with("-TRYAGAIN slot"), "{sequence}");
        assert!(replica.run("SET key7:7 other").starts_with("-TRYAGAIN slot"), "{sequence}");
        let status = replica.group.view().unwrap().status().unwrap();
        assert_eq!((status.is_settled, status.backup), (false, 1));
        let flush = Entry { level: 1, kind: EntryKind::Flush, time: 1, seed: 1, parts: &[] }.to_bytes();
        let answer = replica.group.apply(&[(replica.group.applied() + 1, &flush)]).unwrap().remove(0);
        assert!(answer.starts_with(b"TRYAGAIN"), "{sequence}");
        let sweep = Entry { level: 1, kind: EntryKind::Sweep, time: 1, seed: 1, parts: &[] }.to_bytes();
        let before = replica.group.hash();
        replica.apply(&sweep);
        assert_eq!(replica.group.hash(), before, "a sweep has removed something at {sequence}");
        assert_eq!(take(&replica, &frame(3, sequence, bytes)), done());
    }
    assert!(replica.read("GET key7:7").starts_with("$1000"));
    let status = replica.group.view().unwrap().status().unwrap();
    assert_eq!((status.is_settled, status.keys, status.backup), (true, 609, 1));
    assert_eq!(status.applied, replica.group.applied());
}

#[test]
fn steps_out_of_turn_of_other_attempts_or_damaged_change_nothing() {
    let source = full();
    let frames = source.frames();
    let replica = Replica::new();
    assign(&replica, 0, 16_383);
    assert_eq!(take(&replica, &frame(3, 1, &frames[0])).0, 1);
    assert_eq!(take(&replica, &begin(3, 1)), done());
    assert_eq!(take(&replica, &begin(3, 1)), done(), "again");
    for (sequence, bytes) in (1..).zip(&frames) {
        let (mut damaged, last) = (bytes.clone(), bytes.len() - 1);
        damaged[last] ^= 1;
        for wrong in [
            begin(2, 1),
            begin(3, 2),
            frame(2, sequence, bytes),
            frame(4, sequence, bytes),
            frame(3, sequence + 1, bytes),
            frame(3, sequence, &damaged),
            frame(3, sequence, &bytes[..last]),
            frame(3, sequence, if sequence == 1 { &frames[1] } else { &frames[0] }),
            step(2, &[9; 30]),
        ] {
            assert_eq!(take(&replica, &wrong).0, 1, "{sequence}");
        }
        // Every frame but the ones that have been there, with the numbers that they would have.
        if sequence == 3 {
            let fewer = Replica::new();
            assign(&fewer, 0, 16_383);
            assert_eq!(take(&fewer, &begin(3, 1)), done());
            let all: Vec<_> = (0..frames.len()).filter(|at| *at != 2).collect();
            let answers = (1..).zip(&all).map(|(number, at)| take(&fewer, &frame(3, number, &frames[*at])).0);
            assert_eq!(answers.last(), Some(1), "a frame is missing");
        }
        if sequence < frames.len() as u64 {
            assert_eq!(take(&replica, &frame(3, sequence, frames.last().unwrap())).0, 1, "an end at {sequence}");
        }
        for _ in 0..2 {
            assert_eq!(take(&replica, &frame(3, sequence, bytes)), done(), "{sequence}");
        }
    }
    assert_eq!(replica.read(LOOK), source.read(LOOK));
    // The same backup again has nothing to do, and another one is refused.
    assert_eq!(take(&replica, &begin(8, 1)).0, 2);
    let (code, words) = take(&replica, &begin(8, 2));
    assert!(code == 1 && words.contains("609 keys"), "{words}");
}

#[test]
fn a_later_attempt_begins_with_an_empty_group_even_after_a_crash() {
    let frames = full().frames();
    for early in [1, 2, frames.len() - 1] {
        let replica = Replica::new();
        assign(&replica, 0, 16_383);
        assert_eq!(take(&replica, &begin(3, 1)), done());
        (1..).zip(&frames[..early]).for_each(|(at, bytes)| assert_eq!(take(&replica, &frame(3, at, bytes)), done()));
        let replica = replica.reopen();
        let fewer = Replica::new();
        assign(&fewer, 0, 16_383);
        fewer.run("SET only 1");
        load(&replica, 5, &fewer.frames());
        assert_eq!((replica.read("GET only"), replica.group.key_count().unwrap()), ("$1 1".into(), 1));
        assert_eq!(take(&replica, &frame(3, early as u64 + 1, &frames[early])).0, 1, "the first attempt is over");
    }
}

#[test]
fn a_group_with_a_level_that_a_node_does_not_know_is_neither_applied_nor_opened_nor_restored() {
    let (folder, parts) = (tempfile::tempdir().unwrap(), part(PartKind::Pipeline, "SET a 1", &[]));
    let at = |level| {
        let options = NodeOptions { level, ..NodeOptions::default() };
        Node::open(folder.path().join("node.holm"), options).unwrap()
    };
    let set = |level| Entry { level, kind: EntryKind::Commands, time: 1, seed: 1, parts: &parts }.to_bytes();
    let node = at(1);
    let group = node.group(7).unwrap();
    group.apply(&[(1, &set(1))]).unwrap();
    let newer = group.apply(&[(2, &set(1)), (3, &set(2))]);
    assert!(matches!(newer, Err(Fault::Level { found: 2, known: 1 })), "{newer:?}");
    assert_eq!(group.applied(), 1, "nothing of the call is applied");
    drop((group, node));
    let node = at(2);
    let group = node.group(7).unwrap();
    group.apply(&[(2, &set(1)), (3, &set(2)), (4, &set(1))]).unwrap();
    let mut view = group.view().unwrap();
    let frames: Vec<_> = std::iter::from_fn(|| view.next_frame().unwrap()).collect();
    drop((view, group, node));
    let node = at(1);
    assert!(matches!(node.group(7), Err(Fault::Level { found: 2, known: 1 })));
    let other = node.group(8).unwrap();
    let mut restore = other.restore().unwrap();
    frames.iter().for_each(|frame| restore.frame(frame).unwrap());
    assert!(matches!(restore.finish(), Err(Fault::Level { found: 2, known: 1 })));
    assert_eq!(other.applied(), 0);
    drop((other, node));
    assert_eq!(at(2).group(7).unwrap().applied(), 4);
}
