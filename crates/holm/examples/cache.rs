//! A cache on disk: results of a slow computation, kept for a minute and across restarts.
//!
//! A cache may lose its newest entries, so it needs no sync: `Durability::OnSync`.
//!
//! `cargo run --example cache [FOLDER]`

use holm::{Database, Durability, Keyspace, Result};
use std::error::Error;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

const LIFETIME_SECONDS: u64 = 60;

struct Cache {
    db: Database,
    entries: Keyspace,
}

impl Cache {
    fn open(path: &Path) -> Result<Self> {
        let db = Database::builder().durability(Durability::OnSync).open(path)?;
        let entries = db.keyspace("primes")?;
        Ok(Cache { db, entries })
    }

    /// The value of a key, and whether it was computed for this call. A value is stored as its expiry time, in eight
    /// bytes, and its text.
    fn get_or_compute(&self, key: &str, now: u64, compute: impl FnOnce() -> String) -> Result<(String, bool)> {
        if let Some(entry) = self.entries.get(key)?
            && let Some((expiry, text)) = entry.split_first_chunk()
            && u64::from_be_bytes(*expiry) > now
        {
            return Ok((String::from_utf8_lossy(text).into_owned(), false));
        }
        let text = compute();
        let expiry = (now + LIFETIME_SECONDS).to_be_bytes();
        self.entries.insert(key, [&expiry, text.as_bytes()].concat())?;
        Ok((text, true))
    }

    /// Removes expired entries, and returns how many there were. Removing during a scan is safe: the scan has copied
    /// what it returns.
    fn evict(&self, now: u64) -> Result<usize> {
        let mut evicted = 0;
        for entry in self.entries.iter() {
            let (key, entry) = entry?;
            if entry.first_chunk().is_none_or(|expiry| u64::from_be_bytes(*expiry) <= now) {
                evicted += usize::from(self.entries.remove(key)?);
            }
        }
        Ok(evicted)
    }
}

fn nth_prime(n: usize) -> String {
    let is_prime = |candidate: &u64| (2..).take_while(|d| d * d <= *candidate).all(|d| !candidate.is_multiple_of(d));
    (2..).filter(is_prime).nth(n - 1).unwrap_or_default().to_string()
}

pub(crate) fn run(path: &Path, out: &mut dyn Write) -> std::result::Result<(), Box<dyn Error>> {
    let say = |out: &mut dyn Write, (prime, computed): (String, bool)| {
        writeln!(out, "prime 2000 is {prime} ({})", if computed { "computed" } else { "from the cache" })
    };
    let cache = Cache::open(path)?;
    cache.evict(u64::MAX)?; // what an earlier run has left
    say(out, cache.get_or_compute("2000", 0, || nth_prime(2000))?)?;
    say(out, cache.get_or_compute("2000", 1, || nth_prime(2000))?)?;
    let Cache { db, entries } = cache;
    drop(entries); // the last handle unlocks the database
    db.close()?;

    writeln!(out, "opened again, half a minute later:")?;
    let cache = Cache::open(path)?;
    say(out, cache.get_or_compute("2000", 30, || nth_prime(2000))?)?;
    writeln!(out, "a minute later: {} entry evicted", cache.evict(90)?)?;
    say(out, cache.get_or_compute("2000", 90, || nth_prime(2000))?)?;
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1).map_or(temporary.path().join("cache.holm"), PathBuf::from);
    run(&path, &mut stdout())
}
