//! Pairs that are loaded before the first child, and that no child changes: they make the files large.

use super::Mode;
use clap::Args;
use holm::{Database, Error};
use std::path::Path;

/// The keyspace of the loaded pairs.
const NAME: &str = "loaded";

/// Bytes of a value.
const VALUE: usize = 1000;

/// Pairs that one batch inserts.
const AT_ONCE: u64 = 1000;

/// Data that a database has before anything is killed.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Preload {
    /// Loads as many mebibytes of pairs first; no child changes them, and each is compared after each end.
    #[arg(long = "preload", value_name = "MEBIBYTES", default_value_t = 0)]
    pub mebibytes: u64,
}

impl Preload {
    fn pairs(self) -> u64 {
        (self.mebibytes << 20) / VALUE as u64
    }

    /// Loads the pairs into a new database, and closes it.
    ///
    /// # Errors
    /// A description.
    pub fn load(self, dir: &Path, mode: Mode) -> Result<(), String> {
        if self.pairs() == 0 {
            return Ok(());
        }
        self.insert(dir, mode).map_err(|error| format!("loading: {error}"))
    }

    fn insert(self, dir: &Path, mode: Mode) -> Result<(), Error> {
        let db = mode.builder().log_bytes(256 << 20).open(dir)?;
        let loaded = db.keyspace(NAME)?;
        for first in (0..self.pairs()).step_by(AT_ONCE as usize) {
            let numbers = first..self.pairs().min(first + AT_ONCE);
            numbers.fold(db.batch(), |batch, number| batch.insert(&loaded, key(number), value(number))).commit()?;
            // The changes of an epoch are in memory until it ends, and memory may be limited.
            db.sync()?;
        }
        db.close()
    }

    /// Compares each loaded pair.
    ///
    /// # Errors
    /// The first pair that differs.
    pub(super) fn verify(self, db: &Database) -> Result<(), String> {
        let wrong = |error: Error| format!("the loaded pairs: {error}");
        let Some(loaded) = db.existing_keyspace(NAME).map_err(wrong)? else {
            return if self.pairs() == 0 { Ok(()) } else { Err(format!("there is no keyspace {NAME:?}")) };
        };
        let mut numbers = 0..self.pairs();
        for pair in loaded.iter() {
            let (found, number) = (pair.map_err(wrong)?, numbers.next());
            let expected = number.map(|number| (key(number), value(number)));
            if !expected.is_some_and(|(key, value)| *found.0 == key && *found.1 == *value) {
                return Err(format!("{:?} is not the loaded pair {number:?}", found.0));
            }
        }
        if numbers.is_empty() { Ok(()) } else { Err(format!("the loaded pairs from {} on are missing", numbers.start)) }
    }
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// The bytes of a number, each time multiplied by an odd constant.
fn value(number: u64) -> Vec<u8> {
    let words = (1..).map(|place: u64| (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_mul(2 * place + 1));
    words.flat_map(u64::to_le_bytes).take(VALUE).collect()
}
