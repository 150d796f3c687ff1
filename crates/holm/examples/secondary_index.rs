//! A secondary index: people by id, and their ids by city.
//!
//! One transaction changes a record and its index entries, so both agree to every reader and after any crash. A city is
//! scanned at one instant.
//!
//! `cargo run --example secondary_index [FOLDER]`

use holm::{Database, Keyspace, Result};
use std::error::Error;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

struct People {
    db: Database,
    /// id -> city
    records: Keyspace,
    /// city, 0, id -> nothing
    by_city: Keyspace,
}

/// The key of an index entry. The zero ends the city, so that "Ham" is no prefix of "Hamburg".
fn entry(city: &[u8], id: &[u8]) -> Vec<u8> {
    [city, &[0], id].concat()
}

impl People {
    fn open(path: &Path) -> Result<Self> {
        let db = Database::open(path)?;
        let (records, by_city) = (db.keyspace("people")?, db.keyspace("people by city")?);
        Ok(People { db, records, by_city })
    }

    /// Sets a person's city; `None` removes the person.
    fn set(&self, id: &str, city: Option<&str>) -> Result<()> {
        self.db.transact(|transaction| {
            if let Some(old) = transaction.take(&self.records, id)? {
                transaction.remove(&self.by_city, entry(&old, id.as_bytes()))?;
            }
            if let Some(city) = city {
                transaction.insert(&self.records, id, city)?;
                transaction.insert(&self.by_city, entry(city.as_bytes(), id.as_bytes()), "")?;
            }
            Ok(())
        })
    }

    /// The ids of those who live in a city, in order.
    fn in_city(&self, city: &str) -> Result<Vec<String>> {
        self.db.read(|at| {
            let id = |key: &[u8]| String::from_utf8_lossy(&key[city.len() + 1..]).into_owned();
            at.prefix(&self.by_city, entry(city.as_bytes(), b""))?.map(|found| Ok(id(&found?.0))).collect()
        })
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
