//! Times the opening of a database: `opening fill PATH RECORDS`, then `opening open PATH` as often as wanted.
//!
//! Records have keys of 16 bytes in random order and values of 8. `open` prints the time until the database is open,
//! the time of its first get, how many leaves an index has placed, how many blocks of leaves it has looked at, and the
//! greatest resident memory so far. `kill` opens, changes 1000 records, or as many as it is given, and exits without
//! closing, as a crash of the process would.

use holm::{Database, Error};
use std::time::Instant;

fn key(number: u64) -> [u8; 16] {
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (u128::from(mixed ^ mixed >> 29) << 64 | u128::from(number)).to_be_bytes()
}

fn peak_kib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or(" unknown").trim().into()
}

/// Returns how long the main thread has run on a processor. Other load on the machine does not count.
fn processor_ms() -> f64 {
    let times = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    times.split(' ').next().and_then(|run| run.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e6
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (verb, path) = (arguments[0].as_str(), arguments[1].as_str());
    let start = Instant::now();
    let db = Database::open(path)?;
    let (opened, processor) = (start.elapsed(), processor_ms());
    let space = db.keyspace("default")?;
    match verb {
        "fill" => {
            let count: u64 = arguments[2].parse().expect("a number of records");
            (0..count).try_for_each(|number| space.insert(key(number), number.to_le_bytes()))?;
        }
        "kill" => {
            let count = arguments.get(2).map_or(1000, |count| count.parse().expect("a number of records"));
            (0..count).try_for_each(|number| space.insert(key(number), [1; 8]))?;
            std::process::exit(0);
        }
        _ => {
            space.get(key(77))?;
            println!(
                "open {:.1} ms ({processor:.1} of processor), with a get {:.1} ms, {} of {} leaves by index, \
                 {} blocks read, peak {}",
                opened.as_secs_f64() * 1e3,
                start.elapsed().as_secs_f64() * 1e3,
                db.recovery().leaves_from_index,
                db.stats().space.leaves,
                db.recovery().blocks_read,
                peak_kib()
            );
        }
    }
    drop(space);
    let start = Instant::now();
    db.close()?;
    println!("close {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
