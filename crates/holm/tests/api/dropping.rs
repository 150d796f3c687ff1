//! Keyspaces that are dropped and created again, and never mix with others.

use crate::tools::{self, Chance, Stop, assert_sound, data_bytes, folder, relaxed};
use holm::{Error, Keyspace};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

fn fill(space: &Keyspace, count: u32, value: &[u8]) {
    (0..count).for_each(|number| space.insert(number.to_be_bytes(), value).expect("room"));
}

#[track_caller]
fn assert_dropped<T>(result: holm::Result<T>, name: &str) {
    match result.map(|_| "an answer") {
        Err(Error::Dropped { keyspace }) => assert_eq!(keyspace, name),
        other => panic!("{other:?}, expected Dropped"),
    }
}

/// It was dropped as any other, and was absent up to the next opening for writing.
#[test]
fn the_default_keyspace_always_exists() {
    let folder = folder();
    let db = relaxed(folder.path());
    let default = db.keyspace("default").expect("always there");
    default.insert("a", "1").expect("room");
    let refused = db.drop_keyspace("default");
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    assert_eq!(default.clear().expect("sound"), 1);
    assert_eq!(db.keyspaces().expect("a catalog"), ["default"]);
}

#[test]
fn handles_of_a_dropped_keyspace_refuse_everything() {
    let folder = folder();
    let db = relaxed(folder.path());
    let (gone, stays) = (db.keyspace("gone").expect("a name"), db.keyspace("stays").expect("a name"));
    fill(&gone, 2000, b"gone");
    fill(&stays, 2000, b"stays");
    let mut begun = gone.iter();
    assert!(begun.next().is_some() && begun.next_back().is_some());
    let batch = db.batch().insert(&stays, "x", "").insert(&gone, "x", "");
    assert!(db.drop_keyspace("gone").expect("a disk"));
    assert!(!db.drop_keyspace("gone").expect("gone already"));
    assert!(db.existing_keyspace("gone").expect("a catalog").is_none());
    assert_dropped(gone.insert("k", "v"), "gone");
    assert_dropped(gone.remove("k"), "gone");
    assert_dropped(gone.get("k"), "gone");
    assert_dropped(gone.get_many(&["k"]), "gone");
    assert_dropped(gone.get_many::<&str>(&[]), "gone");
    assert_dropped(gone.contains_key("k"), "gone");
    assert_dropped(gone.first(), "gone");
    assert_dropped(gone.last(), "gone");
    assert_dropped(gone.iter().next().expect("an error"), "gone");
    assert_dropped(gone.prefix([0]).next_back().expect("an error"), "gone");
    assert_dropped(batch.commit(), "gone");
    assert!(!stays.contains_key("x").expect("sound"), "nothing of the batch was done");
    // The iterator may return what it had copied. Then it must not read leaves that belong to another keyspace by now.
    let ends: Vec<_> = begun.by_ref().filter_map(Result::err).collect();
    assert!(matches!(&ends[..], [Error::Dropped { .. }]), "{ends:?}");
    assert!(begun.next().is_none() && begun.next_back().is_none());
    // A new keyspace of that name is a different one.
    let again = db.keyspace("gone").expect("a name");
    assert!(again.is_empty().expect("sound") && again.first().expect("sound").is_none());
    fill(&again, 500, b"again");
    assert_dropped(gone.get(7u32.to_be_bytes()), "gone");
    drop((begun, gone, again, stays));
    assert_sound(&db);
    db.close().expect("a sound close");
    let db = relaxed(folder.path());
    assert_sound(&db);
    assert_eq!(db.keyspace("gone").expect("a name").len().expect("sound"), 500);
    assert_eq!(db.keyspace("stays").expect("a name").len().expect("sound"), 2000);
}

#[test]
fn space_of_dropped_keyspaces_is_used_again() {
    let folder = folder();
    let db = relaxed(folder.path());
    let mut most = 0;
    for round in 0..12u8 {
        let space = db.keyspace("round").expect("a name");
        fill(&space, 5000, &[round; 100]);
        assert!(db.drop_keyspace("round").expect("a disk"));
        // Two epochs later, no crash can bring it back.
        (0..3).for_each(|_| db.sync().expect("a disk"));
        if round == 1 {
            most = data_bytes(folder.path());
        }
    }
    assert_sound(&db);
    let now = data_bytes(folder.path());
    assert!(now <= most * 2, "{most} bytes after two rounds, {now} after twelve");
    assert_eq!(db.stats().records, 0);
}

#[test]
fn dropping_beside_writers_and_readers() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for thread in 0..3u64 {
            let (db, stop) = (&db, &stop);
            scope.spawn(move || {
                let mut chance = Chance::new(thread);
                let mine = format!("mine {thread}");
                while !stop.load(SeqCst) {
                    // Either thread may be faster; the value says which one was.
                    let shared = db.keyspace("shared").expect("a name");
                    let own = db.keyspace(&mine).expect("a name");
                    for _ in 0..200 {
                        let key = (chance.below(300) as u32).to_be_bytes();
                        own.insert(key, &mine).expect("nobody drops it");
                        assert_eq!(own.get(key).expect("sound").as_deref(), Some(mine.as_bytes()));
                        match shared.insert(key, "shared").and_then(|()| shared.get(key)) {
                            Ok(value) => assert_eq!(value.as_deref(), Some(&b"shared"[..])),
                            Err(Error::Dropped { .. }) => break,
                            Err(other) => panic!("{other}"),
                        }
                        for pair in shared.range(key..).take(40) {
                            match pair {
                                Ok((_, value)) => assert_eq!(&*value, b"shared"),
                                Err(Error::Dropped { .. }) => break,
                                Err(other) => panic!("{other}"),
                            }
                        }
                    }
                }
            });
        }
        for _ in 0..60 {
            db.drop_keyspace("shared").expect("a disk");
        }
    });
    assert_sound(&db);
    db.close().expect("a sound close");
    assert_sound(&relaxed(folder.path()));
}

/// A keyspace for each job, as a program has it that never ends: what a dropped one had is free, of its leaf, of its
/// record in the catalog and of its pairs.
#[test]
fn creating_and_dropping_for_ever_takes_no_more_space() {
    let folder = folder();
    let db = relaxed(folder.path());
    let mut taken = Vec::new();
    for round in 0..300_u32 {
        let name = format!("job {}", 1000 + round);
        fill(&db.keyspace(&name).expect("room"), 3, b"work");
        assert!(db.drop_keyspace(&name).expect("a disk"));
        if round % 100 == 99 {
            let stats = db.stats();
            taken.push((stats.space.leaves, stats.space.record_bytes, data_bytes(folder.path())));
        }
    }
    assert!(taken.iter().all(|one| *one == taken[0]), "{taken:?}");
    assert_sound(&db);
}
