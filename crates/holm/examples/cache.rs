//! A cache on disk: results of a slow computation, kept for some time and across restarts.
//!
//! A cache may lose its newest entries, so it needs no sync: `Durability::OnSync`. Its entries expire by themselves: a
//! thread of the database removes them.
//!
//! `cargo run --example cache [FOLDER]`

use holm::{Database, Durability, Keyspace, KeyspaceOptions, Result};
use std::error::Error;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

struct Cache {
    db: Database,
    entries: Keyspace,
}

impl Cache {
    fn open(path: &Path) -> Result<Self> {
        let db = Database::builder().durability(Durability::OnSync).open(path)?;
        let entries = db.keyspace_with("primes", &KeyspaceOptions::new().expires(true))?;
        Ok(Cache { db, entries })
    }

    /// The value of a key, and whether it was computed for this call.
    fn get_or_compute(
        &self,
        key: &str,
        lifetime: Duration,
        compute: impl FnOnce() -> String,
    ) -> Result<(String, bool)> {
        if let Some(text) = self.entries.get(key)? {
            return Ok((String::from_utf8_lossy(&text).into_owned(), false));
        }
        let text = compute();
        self.entries.insert_for(key, &text, lifetime)?;
        Ok((text, true))
    }
}

fn nth_prime(n: usize) -> String {
    let is_prime = |candidate: &u64| (2..).take_while(|d| d * d <= *candidate).all(|d| !candidate.is_multiple_of(d));
    (2..).filter(is_prime).nth(n - 1).unwrap_or_default().to_string()
}

pub(crate) fn run(path: &Path, out: &mut dyn Write) -> std::result::Result<(), Box<dyn Error>> {
    let say = |out: &mut dyn Write, n: usize, (prime, computed): (String, bool)| {
        writeln!(out, "prime {n} is {prime} ({})", if computed { "computed" } else { "from the cache" })
    };
    let cache = Cache::open(path)?;
    cache.entries.remove("2000")?; // what an earlier run has left
    say(out, 2000, cache.get_or_compute("2000", MINUTE, || nth_prime(2000))?)?;
    say(out, 2000, cache.get_or_compute("2000", MINUTE, || nth_prime(2000))?)?;
    let Cache { db, entries } = cache;
    drop(entries); // the last handle unlocks the database
    db.close()?;

    writeln!(out, "opened again, within the minute:")?;
    let cache = Cache::open(path)?;
    say(out, 2000, cache.get_or_compute("2000", MINUTE, || nth_prime(2000))?)?;
    writeln!(out, "kept for no time at all:")?;
    say(out, 1000, cache.get_or_compute("1000", Duration::ZERO, || nth_prime(1000))?)?;
    say(out, 1000, cache.get_or_compute("1000", Duration::ZERO, || nth_prime(1000))?)?;
    cache.db.sweep()?; // a thread does it every few minutes, and perhaps has just now
    writeln!(out, "swept: {} left", cache.entries.len()?)?;
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1).map_or(temporary.path().join("cache.holm"), PathBuf::from);
    run(&path, &mut stdout())
}
