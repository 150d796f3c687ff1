//! What the kept databases have: how it is written, and how it is compared.

use holm::{Builder, Database, Durability, Error, KeyspaceOptions};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The deadline of what expires: in the year 2096.
const LATE: Duration = Duration::from_secs(4_000_000_000);

/// A large value of the keyspace `bulk`: its key, and its length in bytes.
pub(crate) type Bulk = (u32, usize);

/// What is written until the log has as many segments as it should, again and again.
pub(crate) const WAVES: [Bulk; 4] = [(0, 40_000), (1, 40_000), (2, 40_000), (3, 40_000)];

/// Values whose removal leaves large pages (2 MiB) with little.
pub(crate) fn before_compaction() -> Vec<Bulk> {
    (0..70).map(|number| (number, 100_000)).collect()
}

/// What stays of them.
pub(crate) const KEPT: [Bulk; 3] = [(9, 100_000), (39, 100_000), (69, 100_000)];

/// A value whose bytes are zero but for the last.
pub(crate) fn large(len: usize) -> Vec<u8> {
    let mut value = vec![0; len];
    value[len - 1] = 7;
    value
}

/// The options of the kept databases: a log that is small, so that it moves on soon.
pub(crate) fn builder() -> Builder {
    Database::builder().durability(Durability::OnSync).log_bytes(4 << 20)
}

pub(crate) fn open(folder: &Path) -> Database {
    builder().open(folder).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn key(number: u32) -> String {
    format!("reef/{}/{number:05}", ["north", "south"][number as usize % 2])
}

/// What a database has at the first time: splits, merges, a large value, deadlines, a mark, a keyspace that is gone,
/// empty keys and values.
pub(crate) fn first(db: &Database) -> Result<(), Error> {
    let reefs = db.keyspace("reefs")?;
    (0..150).try_for_each(|number| reefs.insert(key(number), number.to_string()))?;
    (0..150).step_by(3).try_for_each(|number| reefs.remove(key(number)).map(|found| assert!(found)))?;
    reefs.insert("", "the empty key")?;
    reefs.insert("nothing", "")?;
    reefs.insert("large", large(9_000))?;
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    tides.insert_until("late", "1", SystemTime::UNIX_EPOCH + LATE)?;
    tides.insert("never", "2")?;
    db.keyspace("gone")?.insert("a", "b")?;
    assert!(db.drop_keyspace("gone")?);
    db.batch().insert(&reefs, "batch/1", "1").insert(&tides, "batch/2", "2").set_mark(7).commit()?;
    db.sync()
}

/// What the second time adds, each pair in an epoch of its own.
pub(crate) fn second(db: &Database) -> Result<(), Error> {
    let reefs = db.keyspace("reefs")?;
    for number in 200..230 {
        reefs.insert(key(number), "later")?;
        db.sync()?;
    }
    reefs.insert(key(1), "changed")?;
    db.sync()
}

/// Writes large values, each in an epoch of its own.
pub(crate) fn write_bulk(db: &Database, bulk: &[Bulk]) -> Result<(), Error> {
    let space = db.keyspace("bulk")?;
    bulk.iter().try_for_each(|(number, len)| {
        space.insert(number.to_be_bytes(), large(*len))?;
        db.sync()
    })
}

/// The pairs of `reefs`, in the order of their keys.
fn reefs(is_second: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let value = |number: u32| if is_second && number == 1 { "changed".into() } else { number.to_string() };
    let first = (0..150).filter(|number| number % 3 != 0).map(|number| (key(number), value(number)));
    let second = (200..230).filter(|_| is_second).map(|number| (key(number), "later".into()));
    let others = [("", "the empty key"), ("nothing", ""), ("batch/1", "1")];
    let others = others.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let pairs = first.chain(second).chain(others).map(|(key, value)| (key.into_bytes(), value.into_bytes()));
    let mut pairs: Vec<_> = pairs.chain([(b"large".to_vec(), large(9_000))]).collect();
    pairs.sort();
    pairs
}

fn pairs_of(db: &Database, name: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let space = db.existing_keyspace(name).expect("sound").expect("kept");
    space.iter().map(|pair| pair.expect("sound")).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Compares everything that a database has, and lets it check itself.
pub(crate) fn expect_contents(db: &Database, is_second: bool, bulk: &[Bulk]) {
    let names = ["bulk", "default", "reefs", "tides"];
    assert_eq!(db.keyspaces().expect("sound"), names[usize::from(bulk.is_empty())..]);
    assert!(pairs_of(db, "reefs") == reefs(is_second), "another content");
    if !bulk.is_empty() {
        let expected: Vec<_> = bulk.iter().map(|(number, len)| (number.to_be_bytes().to_vec(), large(*len))).collect();
        assert!(pairs_of(db, "bulk") == expected, "another content");
    }
    let tides = ["batch/2", "late", "never"].map(|key| key.as_bytes().to_vec());
    let found = pairs_of(db, "tides");
    assert_eq!(found, tides.into_iter().zip(["2", "1", "2"].map(|it| it.as_bytes().to_vec())).collect::<Vec<_>>());
    let tides = db.keyspace("tides").expect("kept");
    assert!(tides.options().has_expiry());
    let late = tides.expiry("late").expect("sound");
    assert!(format!("{late:?}").contains("4000000000"), "{late:?}");
    assert_eq!(db.mark().expect("sound"), Some(7));
    assert!(pairs_of(db, "default").is_empty());
    let report = db.check().expect("sound");
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}
