//! Databases that end with their last handle: without files, and in a folder for temporary files.

use holm::{Database, Durability, Error, KeyspaceOptions};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

type Tested = Result<(), Box<dyn std::error::Error>>;

/// Every kind of work, on a database that is made anew.
fn works(db: &Database) -> Tested {
    let reefs = db.keyspace("reefs")?;
    for number in 0..20_000_u32 {
        reefs.insert(number.to_be_bytes(), format!("{number:>100}"))?;
    }
    let before = db.snapshot()?;
    reefs.remove_range(1000_u32.to_be_bytes()..19_000_u32.to_be_bytes())?;
    db.transact(|transaction| transaction.insert(&reefs, "north", "coral"))?;
    db.batch().insert(&reefs, "south", vec![7; 3 << 20]).commit()?;
    assert_eq!(reefs.len()?, 2002);
    assert_eq!(before.keyspace("reefs").expect("it existed").len()?, 20_000);
    let mut feed = db.feed(16 << 20)?;
    reefs.insert("east", "kelp")?;
    db.sync()?;
    assert!(feed.next(Duration::from_secs(60))?.is_some_and(|changes| !changes.is_empty()));
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    tides.insert_for("high", "", Duration::ZERO)?;
    db.sweep()?; // if the background has not been here yet
    assert_eq!(tides.len()?, 0);
    db.drop_keyspace("tides")?;
    let report = db.check()?;
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    Ok(())
}

#[test]
fn a_database_in_memory_does_what_others_do() -> Tested {
    let db = Database::builder().in_memory()?;
    works(&db)?;
    let folder = tempfile::tempdir()?;
    db.backup(folder.path().join("copy"))?;
    let copy = Database::open(folder.path().join("copy"))?;
    assert_eq!(copy.keyspace("reefs")?.get("north")?.expect("it is in the backup"), "coral");
    let reefs = db.keyspace("reefs")?;
    db.close()?;
    assert!(matches!(reefs.insert("north", ""), Err(Error::Poisoned { .. })));
    Ok(())
}

/// Of many at once, each is by itself. Whatever a builder says about durability and creation has no effect.
#[test]
fn databases_in_memory_share_nothing() -> Tested {
    let builder = Database::builder().capacity(1 << 26).durability(Durability::Strict).create(false);
    let all: Vec<_> = (0..20).map(|_| builder.clone().in_memory()).collect::<holm::Result<_>>()?;
    for (number, db) in all.iter().enumerate() {
        db.keyspace("numbers")?.insert("number", number.to_string())?;
    }
    for (number, db) in all.iter().enumerate() {
        assert_eq!(db.keyspace("numbers")?.get("number")?.expect("its own"), number.to_string());
    }
    Ok(())
}

#[test]
fn a_capacity_in_memory_is_a_capacity() -> Tested {
    let db = Database::builder().capacity(1 << 20).in_memory()?;
    let large = db.keyspace("reefs")?.insert("north", vec![0; 2 << 20]);
    assert!(matches!(large, Err(Error::Capacity { .. })), "{large:?}");
    Ok(())
}

/// The folders of this process for temporary databases.
fn folders() -> BTreeSet<PathBuf> {
    let begin = format!("holm-{}-", std::process::id());
    let all = std::fs::read_dir(std::env::temp_dir()).expect("a folder").map(|entry| entry.expect("its entry").path());
    all.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&begin))).collect()
}

/// One test, because it looks at all the folders of the process.
#[test]
fn a_temporary_database_lies_in_a_folder_until_its_last_handle_ends() -> Tested {
    assert_eq!(folders().len(), 0);
    let db = Database::temporary()?;
    assert_eq!(folders().len(), 1);
    works(&db)?;
    let other = Database::builder().durability(Durability::Strict).temporary()?;
    other.keyspace("reefs")?.insert("north", "sand")?;
    assert_eq!(folders().len(), 2);
    let reefs = db.keyspace("reefs")?;
    db.close()?;
    assert_eq!(reefs.get("north")?.expect("handles outlive a close"), "coral");
    assert_eq!(folders().len(), 2);
    drop(reefs);
    assert_eq!(folders().len(), 1);
    drop(other);
    assert_eq!(folders().len(), 0);
    Ok(())
}
