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
