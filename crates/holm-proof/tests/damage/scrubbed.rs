//! Scrubs: they find what `check` finds in leaves and records, beside writers too, and nothing else.

use crate::lives::{End, Life, builder, contents, file};
use crate::strikes::Strike;
use holm::{Database, ScrubCursor, ScrubReport};
use holm_proof::disk::SimDisk;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn scrubbed(db: &Database) -> ScrubReport {
    db.scrub().run(|_| ControlFlow::Continue(())).expect("no error is known")
}

/// Whatever hits the records: a scrub reports damage if `check` reports a fault.
#[test]
fn a_scrub_finds_what_check_finds() {
    let mut found = 0;
    let mut random = Pcg64Mcg::seed_from_u64(7);
    for life in (1..9).map(Life::live).filter(|life| life.end == End::Closed) {
        let len = life.disk.contents(&file("records")).map_or(0, |bytes| bytes.len());
        for _ in 0..40 {
            let strike =
                Strike::Flip { file: "records", byte: random.random_range(0..len), bit: random.random_range(0..8) };
            let disk = strike.apply(&life);
            let Ok(db) = builder(&disk, life.design).open("/d") else { continue };
            let faults = db.check().expect("no writer").faults;
            let report = scrubbed(&db);
            assert_eq!(report.damages.is_empty(), faults.is_empty(), "{strike:?}: {report:?}, {faults:?}");
            assert!(report.damages.iter().all(|damage| !damage.what.is_empty()));
            assert!(report.cursor.is_none() && report.unsettled_leaves == 0, "{strike:?}: {report:?}");
            found += report.damage_count;
        }
    }
    assert!(found > 5, "{found} damages");
}

/// A scrub that stops after each leaf reads the same as one that does not.
#[test]
fn a_scrub_in_steps_reads_everything_once() {
    let life = Life::live(3);
    let disk = life.disk.kill();
    let db = builder(&disk, life.design).open("/d").expect("undamaged");
    let whole = scrubbed(&db);
    let (mut leaves, mut records, mut bytes, mut cursor) = (0, 0, 0, None);
    loop {
        let scrub = db.scrub();
        let scrub = if let Some(cursor) = cursor { scrub.resume(cursor) } else { scrub };
        let step = scrub.run(|_| ControlFlow::Break(())).expect("no error is known");
        (leaves, records, bytes) = (leaves + step.leaves, records + step.records, bytes + step.bytes);
        cursor = step.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((leaves, records, bytes), (whole.leaves, whole.records, whole.bytes));
    let (found, faults) = contents(&db);
    // The catalog has a record for each keyspace.
    assert_eq!((whole.records, faults.len()), ((found.len() + db.keyspaces().expect("open").len()) as u64, 0));
}

/// Writers change, free and reuse what a scrub reads, split and merge its leaves, and drop its keyspace.
#[test]
fn a_scrub_beside_writers_finds_nothing() {
    let disk = SimDisk::new();
    let db = builder(&disk, "buffered").open("/d").expect("a sound disk");
    let (stop, writes) = (AtomicBool::new(false), AtomicU64::new(0));
    let write = |seed: u64| {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        while !stop.load(Ordering::Relaxed) {
            let space = db.keyspace("north").expect("a sound disk");
            let key = random.random_range(0..2_000_u32).to_be_bytes();
            // Another writer may drop the keyspace.
            drop(match random.random_range(0..400) {
                0 => db.drop_keyspace("north").map(drop),
                1..120 => space.remove(key).map(drop),
                _ => space.insert(key, vec![seed as u8; random.random_range(0..200)]),
            });
            writes.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        let write = &write;
        (1..3).for_each(|seed| drop(scope.spawn(move || write(seed))));
        let mut leaves = 0;
        while writes.load(Ordering::Relaxed) < 3_000 || leaves < 300 {
            let report = scrubbed(&db);
            leaves += report.leaves;
            if !report.damages.is_empty() {
                stop.store(true, Ordering::Relaxed);
            }
            assert_eq!(report.damages, [], "after {leaves} leaves");
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// A leaf can be merged with the one before it while a scrub stands between them. The keys before the scrub's place
/// then lie in the leaf, and were taken for keys of another leaf.
#[test]
fn a_scrub_may_stand_within_a_leaf() {
    let disk = SimDisk::new();
    let db = builder(&disk, "buffered").open("/d").expect("a sound disk");
    let space = db.keyspace("north").expect("a sound disk");
    (0..20_u32).for_each(|key| space.insert(key.to_be_bytes(), "value").expect("room"));
    let cursor = ScrubCursor { keyspace: "north".into(), key: 10_u32.to_be_bytes().into() };
    let report = db.scrub().resume(cursor).run(|_| ControlFlow::Continue(())).expect("no error is known");
    assert_eq!((report.damages, report.records), (vec![], 20));
}
