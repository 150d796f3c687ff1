//! Times `get_many`, `insert_many` and batches against single calls: `many FOLDER [RECORDS] [ROUNDS]`.
//!
//! Records have keys of 16 bytes and values of 8. A round loads a new database by each way of writing, and reads it by
//! both ways of reading, in random or in ascending order. The figures are medians of the rounds, with the least and the
//! greatest, in nanoseconds for each record, and how many times as fast as single calls that is.

use holm::{Database, Keyspace};
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

type Pair = ([u8; 16], [u8; 8]);

/// A name, what it does with all pairs, and whether it loads a new database.
type Way = (&'static str, fn(&Database, &Keyspace, &[Pair]) -> Result<(), holm::Error>, bool);

const WAYS: [Way; 5] = [
    ("insert", |_, space, pairs| pairs.iter().try_for_each(|(key, value)| space.insert(key, value)), true),
    (
        "insert_many of 1000",
        |_, space, pairs| pairs.chunks(1000).try_for_each(|some| space.insert_many(some.iter().copied()).map(drop)),
        true,
    ),
    (
        "batches of 1000",
        |db, space, pairs| {
            let batch =
                |some: &[Pair]| some.iter().fold(db.batch(), |batch, (key, value)| batch.insert(space, key, value));
            pairs.chunks(1000).try_for_each(|some| batch(some).commit())
        },
        true,
    ),
    (
        "get",
        |_, space, pairs| pairs.iter().try_for_each(|(key, _)| space.get(key).map(|value| drop(black_box(value)))),
        false,
    ),
    (
        "get_many of 32",
        |_, space, pairs| {
            let keys: Vec<_> = pairs.iter().map(|pair| pair.0).collect();
            keys.chunks(32).try_for_each(|some| space.get_many(some).map(|values| drop(black_box(values))))
        },
        false,
    ),
];

/// Nanoseconds for each record, by way.
fn round(folder: &Path, pairs: &[Pair]) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut times = Vec::new();
    let mut loaded = None;
    for (_, way, loads) in WAYS {
        let (db, space) = match loaded.take().filter(|_| !loads) {
            Some(loaded) => loaded,
            None => {
                let _ = std::fs::remove_dir_all(folder);
                let db = Database::open(folder)?;
                let space = db.keyspace("many")?;
                (db, space)
            }
        };
        let start = Instant::now();
        way(&db, &space, pairs)?;
        times.push(start.elapsed().as_secs_f64() * 1e9 / pairs.len() as f64);
        loaded = Some((db, space));
    }
    Ok(times)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("arguments: FOLDER [RECORDS] [ROUNDS]")?;
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |argument| argument.parse());
    let (records, rounds) = (number(1_000_000)?, number(5)?);
    for order in ["random", "ascending"] {
        let pair = |number: u64| {
            let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (u128::from(mixed ^ mixed >> 29).to_be_bytes(), number.to_le_bytes())
        };
        let mut pairs: Vec<Pair> = (0..records).map(pair).collect();
        if order == "ascending" {
            pairs.sort_unstable();
        }
        let all = (0..rounds).map(|_| round(Path::new(&folder), &pairs)).collect::<Result<Vec<_>, _>>()?;
        println!("{records} records in {order} order, {rounds} rounds");
        for (index, (name, ..)) in WAYS.iter().enumerate() {
            let mut times: Vec<f64> = all.iter().map(|times| times[index]).collect();
            let single = if index < 3 { 0 } else { 3 };
            let mut ratios: Vec<f64> = all.iter().map(|times| times[single] / times[index]).collect();
            times.sort_unstable_by(f64::total_cmp);
            ratios.sort_unstable_by(f64::total_cmp);
            let spread = |of: &[f64]| (of[of.len() / 2], of[0], of[of.len() - 1]);
            let ((ns, least, most), (ratio, worst, best)) = (spread(&times), spread(&ratios));
            println!("{name:<20} {ns:6.0} ns ({least:.0} to {most:.0}), {ratio:.2}x ({worst:.2} to {best:.2})");
        }
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
