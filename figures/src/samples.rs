//! Every sample as comma-separated values, for other programs: a line for each round of each point.

use crate::outcome::Outcome;
use crate::run_facts::{COMMIT, DATE, fact};
use anyhow::{Context, Result};
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// A line. Its fields are the columns, which the first line names.
#[derive(Serialize)]
struct Sample<'a> {
    figure: &'a str,
    series: &'a str,
    /// The number of the point on the axis.
    x: f64,
    /// The name of the point in the figure.
    place: String,
    /// The first is 1.
    round: usize,
    value: f64,
    unit: &'a str,
    /// Whether the value is a count, equal in every round.
    exact: bool,
    scale: f64,
    threads: usize,
    /// Empty, as the date and the commit are, if the run did not keep it.
    seed: Option<u64>,
    date: Option<&'a str>,
    commit: Option<&'a str>,
    machine: &'a str,
}

/// Writes the samples of all outcomes to a file, which is replaced.
pub(crate) fn write(path: &Path, outcomes: &[Outcome]) -> Result<()> {
    let file = File::create(path).with_context(|| format!("creating {}", path.display()))?;
    write_to(file, outcomes).with_context(|| format!("writing {}", path.display()))
}

fn write_to(writer: impl Write, outcomes: &[Outcome]) -> Result<()> {
    let mut lines = csv::Writer::from_writer(writer);
    outcomes.iter().flat_map(samples).try_for_each(|sample| lines.serialize(sample))?;
    Ok(lines.flush()?)
}

fn samples(outcome: &Outcome) -> impl Iterator<Item = Sample<'_>> {
    let points = outcome.series.iter().flat_map(|series| series.points.iter().map(move |point| (&*series.name, point)));
    points.flat_map(move |(series, point)| {
        point.samples.iter().zip(1..).map(move |(&value, round)| Sample {
            figure: &outcome.id,
            series,
            x: point.x,
            place: outcome.place(point.x),
            round,
            value,
            unit: &outcome.unit,
            exact: outcome.exact,
            scale: outcome.scale,
            threads: outcome.threads,
            seed: outcome.seed,
            date: fact(&outcome.run, DATE),
            commit: fact(&outcome.run, COMMIT),
            machine: &outcome.machine,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Point, Series, Spread};
    use crate::report::tests::outcome;

    #[test]
    fn every_round_of_every_point_is_a_line_of_as_many_fields_as_the_first() {
        let mut outcome = outcome();
        outcome.run.push((COMMIT.into(), "0123abc".into()));
        let spread = Spread { least: 1.0, median: 2.0, greatest: 3.0 };
        let points = vec![Point { x: 4.0, samples: vec![1.0, 2.0, 3.0], spread }];
        outcome.series.push(Series { name: "rock, \"wet\"".into(), points });
        let mut written = Vec::new();
        write_to(&mut written, &[outcome]).expect("memory");
        let mut reader = csv::Reader::from_reader(&*written);
        let of = |name: &str, reader: &mut csv::Reader<&[u8]>| {
            reader.headers().expect("a header").iter().position(|column| column == name).expect("a column")
        };
        let columns = ["series", "x", "round", "value", "seed", "date", "commit"].map(|name| of(name, &mut reader));
        let lines: Vec<_> = reader.records().collect::<Result<_, _>>().expect("equal lengths");
        assert_eq!(lines.len(), 2 + 2 + 3, "two series of two points and one round, and one point of three");
        let last: Vec<_> = columns.iter().map(|&column| &lines[6][column]).collect();
        assert_eq!(last, ["rock, \"wet\"", "4.0", "3", "3.0", "4711", "", "0123abc"]);
    }
}
