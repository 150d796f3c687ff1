//! A group as a stream, and the way back, cut short anywhere.

use crate::support::Replica;

/// A replica with more than a frame of pairs, and a large collection.
fn full() -> Replica {
    let replica = Replica::new();
    for part in 0..30 {
        let lines: Vec<_> = (0..20).map(|at| format!("SET key{part}:{at} {}", "v".repeat(1_000))).collect();
        replica.run(&lines.join(";"));
    }
    let fields: Vec<_> = (0..3_000).map(|field| format!("f{field} value{field}")).collect();
    replica.run(&format!("HSET h {}", fields.join(" ")));
    replica
}

#[test]
fn a_view_is_of_its_instant() {
    let replica = full();
    let before = replica.frames();
    let mut view = replica.group.view().unwrap();
    let mut frames = vec![view.next_frame().unwrap().unwrap()];
    replica.run("SET key0:0 other; DEL h; SET new 1");
    frames.extend(std::iter::from_fn(|| view.next_frame().unwrap()));
    assert_eq!(frames, before);
    assert!(frames.len() > 4, "{} frames", frames.len());
}

#[test]
fn a_restore_that_ends_early_leaves_the_group_and_no_keyspace() {
    let frames = full().frames();
    for count in 0..frames.len() {
        let replica = Replica::new();
        replica.run("SET old 1");
        let mut restore = replica.group.restore().unwrap();
        frames[..count].iter().for_each(|frame| restore.frame(frame).unwrap());
        if count.is_multiple_of(2) {
            assert!(restore.finish().is_err(), "{count}");
        } else {
            drop(restore);
        }
        assert_eq!((replica.group.applied(), replica.read("GET old; GET key0:0")), (1, "$1 1 $-1".into()));
        let replica = replica.reopen();
        assert_eq!((replica.group.applied(), replica.read("GET old")), (1, "$1 1".into()));
        assert_eq!(replica.node.stats().keyspaces, 4, "the strays are gone");
        let mut restore = replica.group.restore().unwrap();
        frames.iter().for_each(|frame| restore.frame(frame).unwrap());
        assert_eq!(restore.finish().unwrap(), 31);
    }
}

#[test]
fn a_restored_group_goes_on_and_stays() {
    let source = full();
    let replica = Replica::new();
    replica.run("SET old 1");
    let mut restore = replica.group.restore().unwrap();
    source.frames().iter().for_each(|frame| restore.frame(frame).unwrap());
    assert_eq!(replica.read("GET old"), "$1 1");
    assert_eq!(restore.finish().unwrap(), 31);
    assert_eq!(replica.read("GET old; HGET h f17"), "$-1 $7 value17");
    replica.run("HSET h f17 other");
    source.run("HSET h f17 other");
    let replica = replica.reopen();
    assert_eq!((replica.frames(), replica.group.hash()), (source.frames(), source.group.hash()));
    // An older stream is refused.
    let older = Replica::new();
    older.run("SET a 1");
    let mut restore = replica.group.restore().unwrap();
    older.frames().iter().for_each(|frame| restore.frame(frame).unwrap());
    assert!(restore.finish().is_err());
    assert_eq!(replica.group.applied(), 32);
}

#[test]
fn frames_that_are_damaged_missing_or_exchanged_are_refused() {
    let frames = full().frames();
    let takes = |frames: &[Vec<u8>]| {
        let replica = Replica::new();
        let mut restore = replica.group.restore().unwrap();
        frames.iter().try_for_each(|frame| restore.frame(frame)).and_then(|()| restore.finish())
    };
    assert!(takes(&frames).is_ok());
    for at in 0..frames.len() {
        let mut missing = frames.clone();
        missing.remove(at);
        assert!(takes(&missing).is_err(), "without {at}");
        let mut damaged = frames.clone();
        let middle = damaged[at].len() / 2;
        damaged[at][middle] ^= 1;
        assert!(takes(&damaged).is_err(), "damaged {at}");
        let mut twice = frames.clone();
        twice.insert(at, frames[at].clone());
        assert!(takes(&twice).is_err(), "twice {at}");
    }
    let mut exchanged = frames.clone();
    exchanged.swap(1, 2);
    assert!(takes(&exchanged).is_err());
}
