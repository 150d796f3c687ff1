//! A compaction in the order of the keys, through the public interface: what it moves, what it costs, and that no
//! caller can observe anything else of it.

use crate::compaction::{contents, is_not_seen};
use crate::tools::{assert_sound, folder, relaxed};
use holm::{CompactReport, Database, KeyspaceOptions};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

const MIB: u64 = 1 << 20;
const COUNT: u32 = 30_000;

/// Numbers in an order that is not that of their keys, each once.
fn shuffled() -> impl Iterator<Item = u32> {
    (0..COUNT).map(|number| (u64::from(number) * 7_919 % u64::from(COUNT)) as u32)
}

fn loaded(db: &Database) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let space = db.keyspace("reefs").expect("a name");
    shuffled().for_each(|number| space.insert(number.to_be_bytes(), [number as u8; 200]).expect("room"));
    (0..COUNT).map(|number| (number.to_be_bytes().into(), vec![number as u8; 200])).collect()
}

fn ordered(db: &Database) -> CompactReport {
    db.compact().in_key_order().run(|_| ControlFlow::Continue(())).expect("a sound database")
}

#[test]
fn records_lie_together_and_the_space_that_they_leave_goes_back() {
    let folder = folder();
    let db = relaxed(folder.path());
    let kept = loaded(&db);
    let before = db.stats().space;
    let report = ordered(&db);
    let after = db.stats().space;
    // The keyspace's own entry lies alone in its leaf, and moves too.
    assert!(report.records_moved >= u64::from(COUNT) && report.passes == 1, "{report:?}");
    // A checkpoint can have been first.
    assert!(after.released_bytes >= 4 * MIB, "{report:?}, {after:?}");
    assert_eq!(after.record_bytes, before.record_bytes);
    assert!(after.free_bytes <= 3 * MIB, "all but pieces is given back: {after:?}");
    assert!(after.leaves <= before.leaves + before.leaves / 4, "full leaves alone are split: {before:?}, {after:?}");
    assert_eq!(contents(&db), kept);
    assert_sound(&db);
    // What lies together stays where it is: only the leaves of which a split has put a record aside move again.
    let again = ordered(&db);
    assert!(again.records_moved <= u64::from(COUNT) / 4, "{again:?}");
    assert_eq!(ordered(&db).records_moved, 0);
    db.close().expect("a sound close");
    let db = relaxed(folder.path());
    assert_eq!(contents(&db), kept);
    assert_eq!(ordered(&db).records_moved, 0);
    assert_sound(&db);
}

#[test]
fn values_of_a_page_and_more_stay_where_they_are() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    shuffled().take(300).for_each(|number| space.insert(number.to_be_bytes(), [7; 4096]).expect("room"));
    let report = ordered(&db);
    assert!(report.records_moved <= 1 && report.bytes_moved < 4096, "the keyspace's entry alone: {report:?}");
    assert_sound(&db);
}

/// Each end of the rounds gives back what they have taken and not used.
#[test]
fn a_watcher_ends_it_at_any_leaf_and_no_space_is_lost() {
    let folder = folder();
    let db = relaxed(folder.path());
    let kept = loaded(&db);
    for most in [1, 500, 1_500, 2_500, 6_000] {
        let mut calls = 0;
        let report = db.compact().in_key_order().run(|_| {
            calls += 1;
            if calls == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        report.expect("sound");
        assert_eq!(contents(&db), kept);
        assert_sound(&db);
    }
    (0..2).for_each(|_| assert_eq!(ordered(&db).passes, 1));
    let lost = {
        let space = db.stats().space;
        db.close().expect("a sound close");
        let reopened = relaxed(folder.path());
        let opened = reopened.stats().space;
        assert_eq!(opened.record_bytes, space.record_bytes);
        // An opening finds what is free by what the leaves lead to.
        (opened.free_bytes + opened.released_bytes).abs_diff(space.free_bytes + space.released_bytes)
    };
    assert!(lost <= MIB / 4, "{lost} bytes are neither in use nor free");
}

#[test]
fn it_is_not_seen_by_readers_writers_and_snapshots() {
    let folder = folder();
    let db = relaxed(folder.path());
    let kept = loaded(&db);
    is_not_seen(
        &db,
        kept,
        |chance| (chance.below(COUNT as usize) as u32).to_be_bytes().to_vec(),
        || {
            let moved: u64 = (0..3).map(|_| ordered(&db).records_moved).sum();
            assert!(moved > u64::from(COUNT) / 2, "{moved} moved");
        },
    );
}

#[test]
fn deadlines_and_other_keyspaces_keep_what_they_have() {
    let folder = folder();
    let db = relaxed(folder.path());
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).expect("a name");
    let day = Duration::from_secs(86_400);
    shuffled().take(5_000).for_each(|number| tides.insert_for(number.to_be_bytes(), [1; 90], day).expect("room"));
    let winds = db.keyspace("winds").expect("a name");
    shuffled().take(5_000).for_each(|number| winds.insert(number.to_be_bytes(), b"").expect("room"));
    let expiries =
        || shuffled().take(5_000).map(|number| tides.expiry(number.to_be_bytes()).expect("sound")).collect::<Vec<_>>();
    let before = expiries();
    assert!(ordered(&db).records_moved >= 10_000);
    assert_eq!(expiries(), before);
    assert_eq!(winds.len().expect("sound"), 5_000);
    assert_sound(&db);
    // A keyspace that is dropped meanwhile ends its part alone.
    let report = db.compact().in_key_order().run(|_| {
        let _ = db.drop_keyspace("winds");
        ControlFlow::Continue(())
    });
    report.expect("the rest is done");
    assert_eq!(expiries(), before);
    assert_sound(&db);
}
