//! A time series: temperatures of two sensors, read by window, by hour and from the end.
//!
//! The key is the sensor's name, a zero, and the time in seconds with its highest byte first: one sensor's readings are
//! neighbours, in the order of time.
//!
//! `cargo run --example time_series [FOLDER]`

use holm::{Database, Keyspace, Result};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Write, stdout};
use std::ops::Range;
use std::path::{Path, PathBuf};

const HOUR: u64 = 3_600;

struct Series(Keyspace);

fn key(sensor: &str, time: u64) -> Vec<u8> {
    [sensor.as_bytes(), &[0], &time.to_be_bytes()].concat()
}

impl Series {
    fn record(&self, sensor: &str, time: u64, celsius: f64) -> Result<()> {
        self.0.insert(key(sensor, time), celsius.to_be_bytes())
    }

    /// Readings in a window of time, in its order; from the back, the latest first.
    fn window(&self, sensor: &str, times: Range<u64>) -> impl DoubleEndedIterator<Item = Result<(u64, f64)>> + use<> {
        self.0.range(key(sensor, times.start)..key(sensor, times.end)).map(|reading| {
            let (key, value) = reading?;
            let time = key.last_chunk().map_or(0, |time| u64::from_be_bytes(*time));
            Ok((time, value.first_chunk().map_or(f64::NAN, |value| f64::from_be_bytes(*value))))
        })
    }

    /// The mean of each hour in a window.
    fn hourly(&self, sensor: &str, times: Range<u64>) -> Result<BTreeMap<u64, f64>> {
        let mut sums = BTreeMap::<u64, (f64, f64)>::new();
        for reading in self.window(sensor, times) {
            let (time, celsius) = reading?;
            let (sum, count) = sums.entry(time / HOUR).or_default();
            (*sum, *count) = (*sum + celsius, *count + 1.0);
        }
        Ok(sums.into_iter().map(|(hour, (sum, count))| (hour, sum / count)).collect())
    }

    /// Removes what is older than a time, and returns how many readings that were.
    fn forget(&self, sensor: &str, before: u64) -> Result<usize> {
        let mut forgotten = 0;
        for reading in self.0.range(key(sensor, 0)..key(sensor, before)) {
            forgotten += usize::from(self.0.remove(reading?.0)?);
        }
        Ok(forgotten)
    }
}

pub(crate) fn run(path: &Path, out: &mut dyn Write) -> std::result::Result<(), Box<dyn Error>> {
    let db = Database::open(path)?;
    let series = Series(db.keyspace("celsius")?);
    for minute in 0..240 {
        let (time, swing) = (minute * 60, minute as f64 / 60.0);
        series.record("attic", time, 20.0 + swing)?;
        series.record("cellar", time, 8.0)?;
    }
    db.sync()?;
    for (hour, mean) in series.hourly("attic", 0..4 * HOUR)? {
        writeln!(out, "attic, hour {hour}: {mean:.2} C on average")?;
    }
    let readings = series.window("cellar", HOUR..2 * HOUR).collect::<Result<Vec<_>>>()?;
    writeln!(out, "cellar, hour 1: {} readings", readings.len())?;
    if let Some((time, celsius)) = series.window("attic", 0..u64::MAX).next_back().transpose()? {
        writeln!(out, "attic, latest: {celsius:.2} C at {time} s")?;
    }
    writeln!(out, "attic, older than hour 3: {} readings removed", series.forget("attic", 3 * HOUR)?)?;
    writeln!(out, "attic, left: {}", series.window("attic", 0..u64::MAX).count())?;
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1).map_or(temporary.path().join("series.holm"), PathBuf::from);
    run(&path, &mut stdout())
}
