//! A database that has reached its capacity: refused with a name, unharmed, and usable again once there is room.

use crate::tools::{assert_sound, folder};
use holm::{Database, Durability, Error, Keyspace};
use std::path::Path;

fn open(path: &Path) -> (Database, Keyspace) {
    // Rounded up to a large page by the reservation.
    let db = Database::builder().durability(Durability::OnSync).capacity(1 << 20).open(path).expect("sound");
    let space = db.keyspace("s").expect("a name");
    (db, space)
}

/// Puts values until there is no room; how many fitted.
fn fill(space: &Keyspace, len: usize) -> u32 {
    for number in 0u32.. {
        match space.insert(number.to_be_bytes(), vec![number as u8; len]) {
            Ok(()) => {}
            Err(Error::TooLarge { .. } | Error::NoSpace(_)) => return number,
            Err(other) => panic!("{other:?}"),
        }
    }
    unreachable!("numbers do not end before a megabyte does")
}

#[test]
fn full_of_records_and_empty_again() {
    let folder = folder();
    for len in [10_000, 300, 100_000] {
        let (db, space) = open(folder.path());
        let count = fill(&space, len);
        assert!(u64::from(count) * len as u64 > 500_000, "{count} records of {len} bytes");
        assert_eq!(space.len(), u64::from(count), "what was refused is not there");
        let over =
            db.batch().insert(&space, "a", vec![0; len]).insert(&space, "b", vec![0; 1 << 21]).remove(&space, [0; 4]);
        assert!(matches!(over.commit(), Err(Error::TooLarge { .. } | Error::NoSpace(_))));
        assert!(
            !space.contains_key("a").expect("sound") && space.contains_key([0; 4]).expect("sound"),
            "nothing was done"
        );
        assert_sound(&db);
        (0..count).for_each(|number| assert!(space.remove(number.to_be_bytes()).expect("sound")));
        (0..3).for_each(|_| db.sync().expect("a disk"));
        let again = fill(&space, len);
        assert!(again >= count / 2, "{again} records of {len} bytes after {count}");
        (0..again).for_each(|number| assert!(space.remove(number.to_be_bytes()).expect("sound")));
        assert_sound(&db);
        drop(space);
        db.close().expect("a sound close");
    }
    // More room may be chosen at the next open.
    let db = Database::open(folder.path()).expect("closed");
    let space = db.keyspace("s").expect("a name");
    space.insert("large", vec![1; 4 << 20]).expect("room");
    assert_sound(&db);
}
