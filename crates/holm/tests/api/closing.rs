//! Three snapshots, begun and closed in every order, with writes of all kinds in between: each stays as it was until it
//! is closed, and in the end nothing is kept, nothing is lost and nothing was freed twice.

use crate::tools::{Chance, folder, relaxed};
use holm::{Database, Keyspace, Snapshot};
use std::collections::BTreeMap;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// What happens between writes.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Begins,
    /// The snapshot that began as this one closes.
    Closes(usize),
}

/// All orders in which `more` snapshots begin, and all close.
fn orders(more: usize, open: &[usize], done: &[Turn], all: &mut Vec<Vec<Turn>>) {
    if more == 0 && open.is_empty() {
        return all.push(done.to_vec());
    }
    let begun = done.iter().filter(|turn| matches!(turn, Turn::Begins)).count();
    if more > 0 {
        orders(more - 1, &[open, &[begun]].concat(), &[done, &[Turn::Begins]].concat(), all);
    }
    for at in 0..open.len() {
        let left = [&open[..at], &open[at + 1..]].concat();
        orders(more, &left, &[done, &[Turn::Closes(open[at])]].concat(), all);
    }
}

fn key(number: usize) -> Vec<u8> {
    format!("{}/{number:04}", if number.is_multiple_of(3) { "the same first bytes" } else { "key" }).into_bytes()
}

/// Writes of all kinds: leaves change, split, are emptied and filled again.
fn churn(db: &Database, space: &Keyspace, map: &mut Map, chance: &mut Chance, turn: usize) {
    let value = |step: usize| vec![(turn * 100 + step) as u8; 8 + step % 60];
    for step in 0..60 {
        let key = key(chance.below(400));
        if step % 4 == turn % 4 {
            assert_eq!(space.remove(&key).expect("sound"), map.remove(&key).is_some());
        } else {
            space.insert(&key, value(step)).expect("room");
            map.insert(key, value(step));
        }
    }
    let (low, width) = (chance.below(400), 10 + chance.below(90));
    let (low, high) = (key(low / 3 * 3 + 1), key(low / 3 * 3 + 1 + width / 3 * 3));
    let gone: Vec<_> = map.range(low.clone()..high.clone()).map(|(key, _)| key.clone()).collect();
    assert_eq!(space.remove_range(low..high).expect("sound"), gone.len() as u64);
    gone.iter().for_each(|key| drop(map.remove(key)));
    let batch = (0..8).fold(db.batch(), |batch, step| {
        let key = key(chance.below(400));
        map.insert(key.clone(), value(step));
        batch.insert(space, &key, value(step))
    });
    batch.commit().expect("room");
    // Space that was freed is used again two epochs later.
    (0..turn % 4).for_each(|_| db.sync().expect("a disk"));
}

fn assert_same(snapshot: &Snapshot, map: &Map) {
    let space = snapshot.keyspace("s").expect("it existed");
    let pairs = space.iter().map(|pair| pair.expect("open")).map(|(key, value)| (key.to_vec(), value.to_vec()));
    assert!(pairs.eq(map.iter().map(|(key, value)| (key.clone(), value.clone()))));
    let gets = map.iter().all(|(key, value)| space.get(key).expect("open").as_deref() == Some(&value[..]));
    assert!(gets && space.get("absent").expect("open").is_none());
}

#[test]
fn three_snapshots_close_in_every_order() {
    let mut all = Vec::new();
    orders(3, &[], &[], &mut all);
    assert_eq!(all.len(), 15);
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let (mut map, mut chance) = (Map::new(), Chance::new(1));
    for (number, order) in all.iter().enumerate() {
        let mut open: Vec<Option<(Snapshot, Map)>> = Vec::new();
        for (turn, step) in order.iter().enumerate() {
            churn(&db, &space, &mut map, &mut chance, number + turn);
            match *step {
                Turn::Begins => open.push(Some((db.snapshot().expect("open"), map.clone()))),
                Turn::Closes(which) => drop(open[which].take()),
            }
            open.iter().flatten().for_each(|(snapshot, then)| assert_same(snapshot, then));
        }
        let kept = db.stats().snapshots;
        assert_eq!((kept.open, kept.memory_bytes, kept.record_bytes), (0, 0, 0), "{order:?}");
        // Space is free two epochs after it was given up.
        (0..4).for_each(|_| db.sync().expect("a disk"));
        let (used, report) = (db.stats().space, db.check().expect("readable"));
        assert_eq!(report.faults, Vec::<String>::new(), "{order:?}");
        assert_eq!((used.record_bytes, used.leaves), (report.record_bytes, report.leaves), "{order:?}");
    }
}
