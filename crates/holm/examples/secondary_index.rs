//! A secondary index: people by id, and their ids by city.
//!
//! One batch changes a record and its index entries, so after any crash both agree. A batch is not isolated: a reader
//! may meet an index entry whose record has just changed, and checks the record.
//!
//! `cargo run --example secondary_index [FOLDER]`

use holm::{Database, Keyspace, Result};
use std::error::Error;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

struct People {
    db: Database,
    /// id -> city
    records: Keyspace,
    /// city, 0, id -> nothing
    by_city: Keyspace,
    /// A change reads the record before it writes: one at a time.
    changes: Mutex<()>,
}

/// The key of an index entry. The zero ends the city, so that "Ham" is no prefix of "Hamburg".
fn entry(city: &[u8], id: &[u8]) -> Vec<u8> {
    [city, &[0], id].concat()
}

impl People {
    fn open(path: &Path) -> Result<Self> {
        let db = Database::open(path)?;
        let (records, by_city) = (db.keyspace("people")?, db.keyspace("people by city")?);
        Ok(People { db, records, by_city, changes: Mutex::default() })
    }

    /// Sets a person's city; `None` removes the person.
    fn set(&self, id: &str, city: Option<&str>) -> Result<()> {
        let _one_at_a_time = self.changes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut batch = self.db.batch();
        if let Some(old) = self.records.get(id)? {
            batch = batch.remove(&self.by_city, entry(&old, id.as_bytes())).remove(&self.records, id);
        }
        if let Some(city) = city {
            batch = batch.insert(&self.records, id, city);
            batch = batch.insert(&self.by_city, entry(city.as_bytes(), id.as_bytes()), "");
        }
        batch.commit()
    }

    /// The ids of those who live in a city, in order.
    fn in_city(&self, city: &str) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for found in self.by_city.prefix(entry(city.as_bytes(), b"")) {
            let (key, _) = found?;
            let id = &key[city.len() + 1..];
            // A batch may have moved the person since: the record decides.
            if self.records.get(id)?.as_deref() == Some(city.as_bytes()) {
                ids.push(String::from_utf8_lossy(id).into_owned());
            }
        }
        Ok(ids)
    }
}

pub(crate) fn run(path: &Path, out: &mut dyn Write) -> std::result::Result<(), Box<dyn Error>> {
    let people = People::open(path)?;
    let say = |out: &mut dyn Write| -> std::result::Result<(), Box<dyn Error>> {
        for city in ["Ham", "Hamburg", "Oslo"] {
            writeln!(out, "{city}: {}", people.in_city(city)?.join(", "))?;
        }
        Ok(())
    };
    for (id, city) in [("ada", "Oslo"), ("bo", "Hamburg"), ("cy", "Hamburg"), ("di", "Ham")] {
        people.set(id, Some(city))?;
    }
    say(out)?;
    people.set("bo", Some("Oslo"))?;
    people.set("di", None)?;
    writeln!(out, "bo moves, di leaves")?;
    say(out)?;
    people.db.sync()?; // all of this now survives a power cut
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1).map_or(temporary.path().join("people.holm"), PathBuf::from);
    run(&path, &mut stdout())
}
