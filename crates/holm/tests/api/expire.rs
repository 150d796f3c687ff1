//! New deadlines for keys that keep their values.

use crate::hands::{Hands, put_until, time};
use crate::tools::{builder, folder, relaxed};
use holm::{Database, Durability, Error, Expiry, Keyspace, KeyspaceOptions, Sweep};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

fn expiring() -> KeyspaceOptions {
    KeyspaceOptions::new().expires(true)
}

fn open(path: &Path, hands: &Hands) -> (Database, Keyspace) {
    let builder = builder().durability(Durability::OnSync).sweep(Sweep::Manual);
    let db = hands.move_time_of(builder).open(path).expect("a sound database");
    let space = db.keyspace_with("tides", &expiring()).expect("a name");
    (db, space)
}

#[test]
fn a_new_deadline_keeps_the_value() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    let expiry = |key: &str| tides.expiry(key).expect("sound");
    let at = |millis| Some(Expiry::At(time(millis)));
    let millis = Duration::from_millis;
    put_until(&tides, "north", "high", 2_000);
    tides.insert("south", vec![7; 5_000]).expect("room");
    assert!(tides.expire_in("north", millis(5_000)).expect("room"));
    assert!(tides.expire_at("south", time(4_000)).expect("room"));
    assert_eq!((expiry("north"), expiry("south")), (at(6_000), at(4_000)));
    hands.set(2_500);
    // Both would be gone, or stay for ever, with their old deadlines.
    assert_eq!(tides.get("north").expect("sound").as_deref(), Some(&b"high"[..]));
    assert!(tides.expire_at("north", time(3_000)).expect("room"), "also to an earlier time");
    assert!(tides.expire_at("north", time(3_000)).expect("room"), "there, although nothing changes");
    hands.set(3_000);
    assert!(!tides.expire_in("north", millis(5_000)).expect("sound"), "over is over");
    assert!(!tides.expire_at("west", time(9_000)).expect("sound"));
    assert_eq!((expiry("north"), expiry("west")), (None, None));
    drop(tides);
    db.close().expect("a sound close");

    let (db, tides) = open(folder.path(), &hands);
    assert_eq!(tides.get("south").expect("sound").expect("there").len(), 5_000);
    assert_eq!(tides.expiry("south").expect("sound"), at(4_000));
    assert!(tides.expire_in("south", Duration::ZERO).expect("room"));
    assert!(!tides.contains_key("south").expect("sound"));
    tides.insert("south", "low").expect("room");
    assert!(tides.expire_at("south", time(0)).expect("room"));
    assert_eq!(tides.expired(time(3_000), 9).expect("sound"), [&b"north"[..], b"south"]);
    assert_eq!((db.sweep().expect("room"), tides.len().expect("sound")), (2, 0));
    // As far away as it gets is as good as never.
    tides.insert("east", "low").expect("room");
    assert!(tides.expire_in("east", Duration::MAX).expect("room"));
    hands.set(u64::MAX / 2);
    assert!(tides.contains_key("east").expect("sound"));
    let long = vec![0; holm::MAX_KEY + 1];
    assert!(matches!(tides.expire_in(&long, millis(1)), Err(Error::TooLarge { .. })));
    db.drop_keyspace("tides").expect("a disk");
    assert!(matches!(tides.expire_in("east", millis(1)), Err(Error::Dropped { .. })));
}

/// Two threads count in a long value while a third gives it new deadlines: a deadline that came with the value that was
/// read before would take a count back.
#[test]
fn a_new_deadline_loses_no_write() {
    const EACH: u64 = 100;
    let folder = folder();
    let db = relaxed(folder.path());
    let tides = db.keyspace_with("tides", &expiring()).expect("a name");
    let hours = |count: u64| Duration::from_secs(3_600 * count);
    tides.insert_for("fish", vec![0; 50_000], hours(1)).expect("room");
    let number = |value: &[u8]| u64::from_le_bytes(*value.first_chunk().expect("eight bytes"));
    let (counted, renewed) = (AtomicU64::new(0), AtomicU64::new(0));
    let count = |value: Option<&[u8]>| {
        let mut value = value.expect("it stays for hours").to_vec();
        let more = number(&value) + 1;
        value[..8].copy_from_slice(&more.to_le_bytes());
        Some(value)
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // Until all have met.
                while counted.load(SeqCst) < 2 * EACH || renewed.load(SeqCst) < EACH {
                    tides.fetch_update("fish", count).expect("room");
                    counted.fetch_add(1, SeqCst);
                }
            });
        }
        while counted.load(SeqCst) < 2 * EACH || renewed.load(SeqCst) < EACH {
            let turn = renewed.fetch_add(1, SeqCst);
            assert!(tides.expire_in("fish", hours(turn + 1)).expect("room"));
        }
    });
    assert_eq!(number(&tides.get("fish").expect("sound").expect("there")), counted.load(SeqCst));
    assert!(matches!(tides.expiry("fish").expect("sound"), Some(Expiry::At(_))));
}

#[test]
fn a_transaction_gives_deadlines_too() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    put_until(&tides, "north", "high", 2_000);
    put_until(&tides, "past", "high", 500);
    let transaction = db.begin();
    assert!(transaction.expire_at(&tides, "north", time(3_000)).expect("alone"));
    assert!(!transaction.expire_at(&tides, "past", time(3_000)).expect("alone"));
    transaction.insert(&tides, "south", "low").expect("room");
    assert!(transaction.expire_in(&tides, "south", Duration::from_millis(700)).expect("its own write"));
    assert!(transaction.expire_in(&tides, "south", Duration::ZERO).expect("its own write"));
    assert!(!transaction.expire_in(&tides, "south", Duration::from_millis(700)).expect("over is over"));
    assert_eq!(tides.expiry("north").expect("sound"), Some(Expiry::At(time(2_000))), "nobody sees it yet");
    transaction.commit().expect("alone");
    assert_eq!(tides.expiry("north").expect("sound"), Some(Expiry::At(time(3_000))));
    assert_eq!(tides.get("north").expect("sound").as_deref(), Some(&b"high"[..]));
    assert!(!tides.contains_key("south").expect("sound") && !tides.contains_key("past").expect("sound"));

    let transaction = db.begin();
    assert!(transaction.expire_at(&tides, "north", time(4_000)).expect("alone"));
    put_until(&tides, "north", "low", 5_000);
    assert!(matches!(transaction.commit(), Err(Error::Conflict)), "it would bring the old value back");
    assert_eq!(tides.expiry("north").expect("sound"), Some(Expiry::At(time(5_000))));
    let transaction = db.begin();
    assert!(!transaction.expire_in(&tides, "west", Duration::from_millis(9)).expect("alone"));
    put_until(&tides, "west", "low", 5_000);
    transaction.insert(&tides, "east", "").expect("room");
    assert!(matches!(transaction.commit(), Err(Error::Conflict)), "it was absent");
}

#[test]
fn a_transaction_sees_deadlines_and_its_own() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    put_until(&tides, "north", "high", 2_000);
    put_until(&tides, "past", "high", 500);
    tides.insert("ever", "low").expect("room");
    let transaction = db.begin();
    let expiry = |key| transaction.expiry(&tides, key).expect("alone");
    let all = || ["north", "past", "ever", "absent"].map(expiry);
    assert_eq!(all(), [Some(Expiry::At(time(2_000))), None, Some(Expiry::Never), None]);
    let persist = |key| transaction.persist(&tides, key).expect("alone");
    assert_eq!(["north", "past", "ever", "absent"].map(persist), [true, false, false, false]);
    assert_eq!((expiry("north"), persist("north")), (Some(Expiry::Never), false), "its own");
    assert!(transaction.expire_at(&tides, "ever", time(500)).expect("alone"));
    assert_eq!((expiry("ever"), persist("ever")), (None, false), "over is over");
    assert_eq!(tides.expiry("north").expect("sound"), Some(Expiry::At(time(2_000))), "nobody sees it yet");
    transaction.commit().expect("alone");
    assert_eq!(tides.expiry("north").expect("sound"), Some(Expiry::Never));
    assert_eq!(tides.get("north").expect("sound").as_deref(), Some(&b"high"[..]));

    let plain = db.keyspace("plain").expect("room");
    for refused in [db.begin().expiry(&plain, "north").err(), db.begin().persist(&plain, "north").err()] {
        assert!(matches!(refused, Some(Error::Invalid { .. })), "{refused:?}");
    }
}

/// The value stays the same, and the answer is another one. After many reads, it comes from a snapshot.
#[test]
fn another_deadline_conflicts_with_a_transaction_that_has_read_it() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    for key in 0..4_000u32 {
        tides.insert(key.to_be_bytes(), "low").expect("room");
    }
    put_until(&tides, "north", "high", 2_000);
    for reads in [0, 4_000] {
        let transaction = db.begin();
        for key in (0..reads).step_by(17) {
            transaction.get(&tides, u32::to_be_bytes(key)).expect("alone");
        }
        assert!(matches!(transaction.expiry(&tides, "north"), Ok(Some(Expiry::At(_)))), "after {reads}");
        let later = tides.expiry("north").expect("sound");
        let Some(Expiry::At(now)) = later else { panic!("{later:?}") };
        assert!(tides.expire_at("north", now + Duration::from_millis(1)).expect("room"));
        transaction.insert(&tides, "east", "").expect("room");
        assert!(matches!(transaction.commit(), Err(Error::Conflict)), "after {reads}");
    }
}
