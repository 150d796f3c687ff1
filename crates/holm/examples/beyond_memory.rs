//! Times a database that is larger than memory: `beyond_memory fill PATH RECORDS`, perhaps `beyond_memory order PATH`,
//! then `beyond_memory run PATH RECORDS SECONDS WORKLOADS` in a control group with little memory. The design of the
//! leaves comes from the environment's `HOLM_DESIGN`, `buffered` if that is not set.
//!
//! Records have keys of 23 bytes, which arrive in no order, and values of 100. Workloads are `get`, `get_many`, `scan`,
//! `put` and `put_many`, separated by commas: at random, 32 keys at a time, 50 records from a random key on. `run`
//! prints how many records a second each of them does, after a third of the seconds as a warm-up, and how many faults
//! waited for the disk for each record. `order` lays records together in the order of their keys.

use holm::{Database, Error, Keyspace};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const MANY: u64 = 32;
const SCAN: u64 = 50;
const VALUE: [u8; 100] = [7; 100];

fn key(number: u64) -> String {
    format!("user{:019}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 10_000_000_000_000_000_000)
}

/// Faults of this process that waited for the disk.
fn faults() -> u64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    status.split(' ').nth(11).and_then(|faults| faults.parse().ok()).unwrap_or(0)
}

/// Random numbers of the records, by xorshift.
struct Numbers {
    state: u64,
    records: u64,
}

impl Numbers {
    fn key(&mut self) -> String {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        key(self.state % self.records)
    }
}

/// Runs a workload once, and returns the number of its records.
fn step(space: &Keyspace, workload: &str, numbers: &mut Numbers) -> Result<u64, Error> {
    match workload {
        "get" => {
            assert!(space.get(numbers.key())?.is_some(), "every number has a record");
            Ok(1)
        }
        "put" => {
            space.insert(numbers.key(), VALUE)?;
            Ok(1)
        }
        "get_many" => {
            let keys: Vec<_> = (0..MANY).map(|_| numbers.key()).collect();
            assert!(space.get_many(&keys)?.iter().all(Option::is_some), "every number has a record");
            Ok(MANY)
        }
        "put_many" => space.insert_many((0..MANY).map(|_| (numbers.key(), VALUE))),
        "scan" => {
            let pairs = space.range(numbers.key()..).take(SCAN as usize);
            let bytes = pairs.map(|pair| Ok(pair?.1.len())).sum::<Result<usize, Error>>()?;
            std::hint::black_box(bytes);
            Ok(SCAN)
        }
        _ => panic!("a workload is get, get_many, scan, put or put_many, not {workload}"),
    }
}

fn measure(space: &Keyspace, workload: &str, numbers: &mut Numbers, time: Duration) -> Result<(), Error> {
    for (time, shown) in [(time / 3, false), (time, true)] {
        let (begun, before, mut records) = (Instant::now(), faults(), 0);
        while begun.elapsed() < time {
            records += step(space, workload, numbers)?;
        }
        if shown {
            let (speed, each) =
                (records as f64 / begun.elapsed().as_secs_f64(), (faults() - before) as f64 / records as f64);
            println!("{workload}: {speed:.0} records a second, {each:.2} faults a record");
        }
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments[at].parse::<f64>().expect("a number");
    let design = std::env::var("HOLM_DESIGN").unwrap_or_else(|_| "buffered".into());
    let db = Database::builder().design(&design).open(&arguments[1])?;
    let space = db.keyspace("default")?;
    match arguments[0].as_str() {
        "fill" => drop(space.insert_many((0..number(2) as u64).map(|number| (key(number), VALUE)))?),
        "order" => println!("{:?}", db.compact().in_key_order().run(|_| ControlFlow::Continue(()))?),
        _ => {
            let mut numbers = Numbers { state: 88_172_645_463_325_252, records: number(2) as u64 };
            let time = Duration::from_secs_f64(number(3));
            arguments[4].split(',').try_for_each(|workload| measure(&space, workload, &mut numbers, time))?;
        }
    }
    drop(space);
    db.close()
}
