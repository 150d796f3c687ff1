//! Shows how many bytes of the log an overwrite takes, by the overwrites of an epoch: `log_bytes FOLDER`.
//!
//! A million records with keys of 8 bytes are overwritten at random, with values of 8 bytes and of 100. An epoch ends
//! when `sync` asks for that, so its length is a number of overwrites and the bytes are no matter of time. Each column
//! is the mean over 1,600,000 overwrites.

use holm::{Database, Durability};
use std::error::Error;
use std::path::Path;
use std::time::Duration;

const RECORDS: u64 = 1_000_000;
const OVERWRITES: u64 = 1_600_000;

/// Returns the bytes that the log takes for an overwrite, with epochs of `epoch` overwrites.
fn measure(folder: &Path, value: &[u8], epoch: u64) -> Result<f64, Box<dyn Error>> {
    let _ = std::fs::remove_dir_all(folder);
    let durability = Durability::Buffered { interval: Duration::from_secs(60) };
    let database = Database::builder().durability(durability).open(folder)?;
    let records = database.keyspace("records")?;
    let mut state = 0_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % RECORDS
    };
    for number in 0..RECORDS {
        records.insert(number.to_be_bytes(), value)?;
    }
    database.sync()?;
    let before = database.stats().log.bytes;
    for _ in 0..OVERWRITES / epoch {
        for _ in 0..epoch {
            records.insert(draw().to_be_bytes(), value)?;
        }
        database.sync()?;
    }
    let bytes = database.stats().log.bytes - before;
    database.close()?;
    Ok(bytes as f64 / OVERWRITES as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("argument: FOLDER")?;
    println!("{:>12} {:>14} {:>14}", "an epoch", "value 8", "value 100");
    for epoch in [4_000, 40_000, 160_000] {
        let [small, large] = [8, 100].map(|length| measure(Path::new(&folder), &vec![7; length], epoch));
        println!("{epoch:>12} {:>14.1} {:>14.1}", small?, large?);
    }
    Ok(())
}
