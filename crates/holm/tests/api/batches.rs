//! Batches over several keyspaces, compared with maps; and what a batch refuses.

use crate::families;
use crate::tools::{self, Chance, assert_sound, copy, relaxed};
use crate::twin::{Map, value};
use holm::{Database, Durability, Error};

#[test]
fn batches_over_several_keyspaces() {
    for seed in 0..3 {
        let mut chance = Chance::new(seed);
        let folder = tools::folder();
        let mut maps = [Map::new(), Map::new(), Map::new()];
        for family in families::ALL {
            let db = relaxed(folder.path());
            let spaces = ["a", "b", "c"].map(|name| db.keyspace(name).expect("a name"));
            for _ in 0..40 {
                let mut batch = db.batch();
                let count = if chance.one_in(10) { 300 } else { chance.below(12) };
                for _ in 0..count {
                    let (at, key) = (chance.below(3), family.key(&mut chance));
                    // Keys occur twice in one batch: the later operation counts.
                    if chance.one_in(3) {
                        batch = batch.remove(&spaces[at], &key);
                        maps[at].remove(&key);
                    } else {
                        let value = value(&key, &mut chance);
                        batch = batch.insert(&spaces[at], &key, &value);
                        maps[at].insert(key, value);
                    }
                }
                assert_eq!((batch.len(), batch.is_empty()), (count, count == 0));
                batch.commit().expect("room");
                let (at, key) = (chance.below(3), family.key(&mut chance));
                assert_eq!(spaces[at].remove(&key).expect("sound"), maps[at].remove(&key).is_some());
            }
            assert_sound(&db);
            for (space, map) in spaces.iter().zip(&maps) {
                let all: Vec<_> = map.iter().collect();
                assert_eq!(space.len().expect("sound"), all.len() as u64);
                crate::twin::walk(space.iter(), &all, &mut chance);
            }
        }
    }
}

#[test]
fn a_refused_batch_has_done_nothing() {
    let (folder, elsewhere) = (tools::folder(), tools::folder());
    let (db, other) = (relaxed(folder.path()), relaxed(elsewhere.path()));
    let (space, strange) = (db.keyspace("s").expect("a name"), other.keyspace("s").expect("a name"));
    space.insert("a", "1").expect("room");
    let refused = db.batch().insert(&space, "a", "2").insert(&strange, "b", "").remove(&space, "a").commit();
    assert!(matches!(refused, Err(Error::Invalid { what }) if what.contains("another database")));
    drop(db.batch().remove(&space, "a"));
    assert_eq!(space.get("a").expect("sound").as_deref(), Some(&b"1"[..]));
    assert_eq!((space.len().expect("sound"), strange.len().expect("sound")), (1, 0));
    db.batch().commit().expect("nothing to do");
}

/// Many batches at once that share keys and leaves.
#[test]
fn many_threads_commit_at_once() {
    let folder = tools::folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    std::thread::scope(|scope| {
        for thread in 0..40u8 {
            let (db, space) = (&db, &space);
            scope.spawn(move || {
                for round in 0..20u8 {
                    let batch = (0..10u8).fold(db.batch(), |batch, at| batch.insert(space, [at, thread], [round]));
                    batch.commit().expect("room");
                }
            });
        }
    });
    assert_eq!(space.len().expect("sound"), 400);
    assert!(space.iter().all(|pair| *pair.expect("sound").1 == *b"\x13"));
    assert_sound(&db);
}

/// Regression: two batches that wrote the same keys interleaved; some keys kept one batch's value, some the other's.
#[test]
fn of_two_batches_over_the_same_keys_one_overwrites_the_other() {
    const KEYS: u16 = 512;
    let folder = tools::folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let barrier = std::sync::Barrier::new(2);
    let commit = |writer: u8, round: u32| {
        // Large enough to last longer than the two threads need to start.
        let batch = (0..KEYS).fold(db.batch(), |batch, key| {
            batch.insert(&space, key.to_le_bytes(), [&[writer][..], &round.to_be_bytes()].concat())
        });
        barrier.wait();
        batch.commit().expect("room");
        barrier.wait();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| (0..300).for_each(|round| commit(1, round)));
        let mut mixtures = Vec::new();
        for round in 0..300 {
            commit(2, round);
            let mut values: Vec<_> = space.iter().map(|pair| pair.expect("sound").1.to_vec()).collect();
            let complete = values.len() == usize::from(KEYS);
            values.dedup();
            if values.len() > 1 || !complete {
                mixtures.push(round);
            }
        }
        // Not earlier: the other thread would wait for ever.
        assert_eq!(mixtures, [0; 0], "rounds that have left a mixture");
    });
    assert_sound(&db);
}

/// What a power cut may leave while batches run: all of each batch or nothing, in the order of acknowledgement.
#[test]
fn a_copy_of_the_files_holds_whole_batches() {
    let folder = tools::folder();
    let (live, dead) = (folder.path().join("live"), folder.path().join("dead"));
    let db = tools::builder().durability(Durability::OnSync).open(&live).expect("new");
    let (one, two) = (db.keyspace("one").expect("a name"), db.keyspace("two").expect("a name"));
    for round in 0..300u32 {
        let batch = (0..30u32).fold(db.batch(), |batch, at| {
            let key = (round * 7 + at).to_be_bytes();
            batch.insert(&one, key, round.to_be_bytes()).insert(&two, key, round.to_be_bytes()).remove(&two, [at as u8])
        });
        batch.commit().expect("room");
        if round == 200 {
            db.sync().expect("a disk");
        }
    }
    copy(&live, &dead);
    let db = relaxed(&dead);
    assert!(
        matches!(db.recovery().source, holm::RecoveredFrom::Log { .. }),
        "copies are not trusted: {:?}",
        db.recovery()
    );
    assert_sound(&db);
    let (one, two) = (db.keyspace("one").expect("a name"), db.keyspace("two").expect("a name"));
    let last = one.last().expect("sound").expect("synced").1;
    let last = u32::from_be_bytes(last.first_chunk().copied().expect("four bytes"));
    assert!(last >= 200, "{last}");
    let mut expected = Map::new();
    for round in 0..=last {
        (0..30u32)
            .for_each(|at| drop(expected.insert((round * 7 + at).to_be_bytes().into(), round.to_be_bytes().into())));
    }
    let all: Vec<_> = expected.iter().collect();
    for space in [one, two] {
        crate::twin::walk(space.iter(), &all, &mut Chance::new(1));
    }
}

/// Many writes of a batch fall into one full leaf, at any place among its pairs.
#[test]
fn a_batch_finds_room_at_either_end_of_a_leaf() {
    for design in ["buffered", "holm"] {
        let folder = tools::folder();
        let db = Database::builder().design(design).durability(Durability::OnSync).open(folder.path()).expect("new");
        for (name, from) in [("low", 0u32), ("middle", 2_200), ("high", 4_250), ("beyond", 4_500)] {
            for (pairs, count) in [(12, 60), (44, 16), (44, 30), (56, 60), (300, 200)] {
                let space = db.keyspace(&format!("{name} {pairs} {count}")).expect("a name");
                (0..pairs).for_each(|key: u32| space.insert((key * 100).to_be_bytes(), "before").expect("room"));
                let mut batch = db.batch();
                for key in from..from + count {
                    batch =
                        batch.insert(&space, key.to_be_bytes(), "batch").remove(&space, (key + 1_000).to_be_bytes());
                }
                batch.commit().expect("room in any leaf");
                let put = |key: u32| space.get(key.to_be_bytes()).expect("sound").as_deref() == Some(b"batch");
                assert!((from..from + count).all(put), "{design}, {name}, {pairs}, {count}");
            }
        }
        assert_sound(&db);
    }
}
