//! Feeds that begin with snapshots while keyspaces are created and dropped: a keyspace is in the snapshot, or its
//! creation is in the feed, and each removal is of one that was there.

use crate::tools::{Stop, assert_sound, folder, relaxed};
use holm::{Change, Database, Feed};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// Applies what a feed has to the names of a snapshot.
fn follow(names: &mut BTreeSet<String>, feed: &mut Feed) {
    while let Some(changes) = feed.next(Duration::ZERO).expect("room") {
        for change in changes.iter() {
            match change {
                Change::Create { keyspace, .. } => assert!(names.insert(keyspace.into()), "twice: {changes:?}"),
                Change::Drop { keyspace } => assert!(names.remove(keyspace), "of what was not there: {changes:?}"),
                _ => {}
            }
        }
    }
}

/// Creates keyspaces and drops them, each thread those of its own.
fn come_and_go(db: &Database, thread: usize, done: &AtomicBool, dropped: &AtomicU32) {
    for round in 0.. {
        if done.load(SeqCst) {
            return;
        }
        let name = format!("{thread}/{}", round % 3);
        db.keyspace(&name).and_then(|space| space.insert("k", "v")).expect("room");
        if round % 2 == 0 {
            assert!(db.drop_keyspace(&name).expect("room"));
            dropped.fetch_add(1, SeqCst);
        }
    }
}

#[test]
fn names_come_once_with_a_snapshot_or_its_feed() {
    const LEAST_DROPPED: u32 = 200;
    let folder = folder();
    let db = relaxed(folder.path());
    let (done, dropped) = (AtomicBool::new(false), AtomicU32::new(0));
    let Ok(feed) = db.feed(1 << 20) else {
        // A design without epochs.
        return;
    };
    drop(feed);
    let mut replicas = Vec::new();
    thread::scope(|scope| {
        let _stop = Stop(&done);
        let (db, done, dropped) = (&db, &done, &dropped);
        (0..4).for_each(|thread| drop(scope.spawn(move || come_and_go(db, thread, done, dropped))));
        while dropped.load(SeqCst) < LEAST_DROPPED {
            let (snapshot, feed) = db.snapshot_and_feed(16 << 20).expect("a disk");
            assert_eq!(snapshot.epoch(), feed.since());
            // Some of them have been dropped by now.
            for name in snapshot.keyspaces() {
                let then = snapshot.keyspace(&name).expect("named");
                let pairs = then.iter().collect::<Result<Vec<_>, _>>().expect("kept");
                assert!(pairs.iter().all(|(key, value)| (&**key, &**value) == (b"k", b"v")), "{name}: {pairs:?}");
            }
            snapshot.write_to(&mut std::io::sink()).expect("kept");
            replicas.push((snapshot.keyspaces().into_iter().collect::<BTreeSet<_>>(), feed));
            drop(snapshot);
            // Each feed costs the thread that ends epochs a copy of the changes.
            let at = replicas.len() % 8;
            if replicas.len() > 8 {
                replicas.swap_remove(at);
            }
            replicas.iter_mut().for_each(|(names, feed)| follow(names, feed));
        }
    });
    db.sync().expect("a disk");
    let names: BTreeSet<_> = db.keyspaces().expect("a catalog").into_iter().collect();
    for (mut followed, mut feed) in replicas {
        follow(&mut followed, &mut feed);
        assert_eq!(followed, names);
    }
    assert_sound(&db);
}

#[test]
fn a_keyspace_that_is_dropped_stays_in_a_snapshot_with_a_feed() {
    const PAIRS: u32 = 5_000;
    let folder = folder();
    let db = relaxed(folder.path());
    let fill = |name: &str, value: &str| {
        let space = db.keyspace(name).expect("room");
        (0..PAIRS).for_each(|key| space.insert(key.to_be_bytes(), value).expect("room"));
    };
    fill("reefs", "coral");
    let Ok((snapshot, mut feed)) = db.snapshot_and_feed(16 << 20) else {
        // A design without epochs.
        return;
    };
    let plain = db.snapshot().expect("open");
    assert!(db.drop_keyspace("reefs").expect("room"));
    // Its leaves would be taken for others.
    fill("wrecks", "rust");
    let (then, gone) = (snapshot.keyspace("reefs").expect("named"), plain.keyspace("reefs").expect("named"));
    assert!(matches!(gone.get(0_u32.to_be_bytes()), Err(holm::Error::Dropped { .. })));
    assert!(matches!(plain.write_to(&mut Vec::new()), Err(holm::Error::Dropped { .. })));
    assert_eq!(then.get(7_u32.to_be_bytes()).expect("kept").as_deref(), Some(&b"coral"[..]));
    let pairs = then.iter().collect::<Result<Vec<_>, _>>().expect("kept");
    assert!(pairs.len() == PAIRS as usize && pairs.iter().all(|(_, value)| &**value == b"coral"));
    let mut stream = Vec::new();
    assert_eq!(snapshot.write_to(&mut stream).expect("kept").records, u64::from(PAIRS));
    let mut names: BTreeSet<_> = snapshot.keyspaces().into_iter().collect();
    db.sync().expect("a disk");
    follow(&mut names, &mut feed);
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["default", "wrecks"]);
    // A handle of the keyspace keeps the snapshot, and that the leaves.
    let pairs_in_use = || db.stats().space.leaf_bytes - db.stats().space.free_leaf_bytes;
    drop((plain, gone, snapshot));
    let before = pairs_in_use();
    drop(then);
    db.sync().expect("a disk");
    assert!(pairs_in_use() * 4 < before * 3, "{} bytes of leaves of {before}", pairs_in_use());
    assert_sound(&db);
}
