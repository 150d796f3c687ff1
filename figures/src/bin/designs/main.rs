//! Compares the leaf designs over plain memory, with keys of 8 bytes. Flushes and fences cost what they cost on this
//! processor, plus emulated latency. Rounds go over all designs, so that a slow minute of the machine affects every one
//! of them, and each round has a fresh tree. Every table states the cost of a flush and the emulated latency, because
//! no figure means anything without them.

#![forbid(unsafe_code)]

mod trial;

use anyhow::{Context, Result, bail};
use clap::Parser;
use holm_bench::{Table, machine};
use holm_lab::measured::Measurable;
use holm_medium::Flush;
use serde::Serialize;
use std::path::{Path, PathBuf};
use trial::{Measure, Sample, Setting, count, entries, measure};

/// Measures the leaf designs in one run.
#[derive(Parser)]
struct Arguments {
    /// Designs, separated by commas [default: all of the list; `all` adds the variants]
    #[arg(long, value_delimiter = ',')]
    designs: Vec<String>,
    /// Pairs in the tree
    #[arg(long, default_value_t = 1_000_000)]
    pairs: u64,
    /// Emulated latency of a flushed line in nanoseconds, in addition to its cost here; several separated by commas
    #[arg(long, value_delimiter = ',', default_value = "0,300")]
    flush_ns: Vec<u32>,
    /// Numbers of threads, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "1")]
    threads: Vec<usize>,
    /// Insert keys in ascending order; otherwise they are scattered
    #[arg(long)]
    ascending: bool,
    /// Rounds over all designs
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Also write all figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

/// The measurements of one design under one setting.
#[derive(Serialize)]
struct Row {
    design: &'static str,
    setting: Setting,
    /// One sample per round: nanoseconds of wall-clock time per operation, over all threads.
    samples: Vec<Sample>,
}

/// A run.
#[derive(Serialize)]
struct Report {
    machine: String,
    /// The flush instruction in use.
    flush: String,
    pairs: u64,
    ascending: bool,
    rows: Vec<Row>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let chosen = chosen(&arguments.designs)?;
    if arguments.pairs == 0 || arguments.rounds == 0 || arguments.threads.contains(&0) {
        bail!("pairs, rounds and threads are 1 at least");
    }
    let mut rows = Vec::new();
    for (&threads, &flush_ns) in arguments.threads.iter().flat_map(|t| arguments.flush_ns.iter().map(move |f| (t, f))) {
        let setting = Setting { flush_ns, threads, ascending: arguments.ascending };
        rows.extend(chosen.iter().map(|entry| Row { design: entry.name, setting, samples: Vec::new() }));
    }
    for round in 1..=arguments.rounds {
        for row in &mut rows {
            let entry = chosen.iter().find(|entry| entry.name == row.design).expect("a row of each");
            row.samples.push(measure(entry, arguments.pairs, row.setting)?);
        }
        eprintln!("round {round} of {}", arguments.rounds);
    }
    let machine = machine::describe(Path::new("."));
    let (flush, ascending) = (format!("{:?}", Flush::detect()), arguments.ascending);
    let report = Report { machine, flush, pairs: arguments.pairs, ascending, rows };
    print!("{}", told(&report, &chosen)?);
    if let Some(path) = &arguments.json {
        let file = std::fs::File::create(path).with_context(|| format!("creating {}", path.display()))?;
        serde_json::to_writer_pretty(file, &report)?;
    }
    Ok(())
}

/// Returns the requested designs, in the order of the lists.
fn chosen(names: &[String]) -> Result<Vec<Measurable>> {
    let all = entries();
    if let Some(unknown) = names.iter().find(|name| *name != "all" && all.iter().all(|entry| entry.name != **name)) {
        let names: Vec<_> = all.iter().map(|entry| entry.name).collect();
        bail!("there is no design named {unknown}; there are {}", names.join(", "));
    }
    let wanted = |entry: &Measurable| match names {
        [] => !entry.is_variant,
        names => names.iter().any(|name| name == "all" || name == entry.name),
    };
    Ok(all.into_iter().filter(wanted).collect())
}

/// Returns a table for each setting, with median, minimum and maximum, and one table of counts.
fn told(report: &Report, chosen: &[Measurable]) -> Result<String> {
    let mut settings: Vec<Setting> = Vec::new();
    report.rows.iter().for_each(|row| {
        if !settings.contains(&row.setting) {
            settings.push(row.setting);
        }
    });
    let mut text = format!("{}; {}; {} pairs\n\n", report.machine, report.flush, report.pairs);
    for setting in settings {
        let rows = report.rows.iter().filter(|row| row.setting == setting);
        let header = std::iter::once("design").chain(Measure::ALL.map(Measure::name)).map(String::from).collect();
        let title = format!("ns an operation, {} thread(s), +{} ns a line", setting.threads, setting.flush_ns);
        let rows = rows.map(|row| {
            let cells = Measure::ALL.map(|measure| spread(row.samples.iter().map(|sample| sample.of(measure))));
            std::iter::once(row.design.to_owned()).chain(cells).collect()
        });
        text.push_str(&format!("{}\n", Table { title, header, rows: rows.collect() }));
    }
    let header = ["design", "insert", "update", "remove"].map(String::from).to_vec();
    let title = "lines flushed / fences an operation, splits and merges included".to_owned();
    let rows = chosen.iter().map(|entry| {
        let counts = count(entry, report.pairs.min(100_000), report.ascending)?;
        let cells = counts.map(|[lines, fences]| format!("{lines:.2} / {fences:.2}"));
        Ok(std::iter::once(entry.name.to_owned()).chain(cells).collect())
    });
    let rows = rows.collect::<Result<_>>()?;
    text.push_str(&Table { title, header, rows }.to_string());
    Ok(text)
}

/// Returns the median, the minimum and the maximum.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    match &values[..] {
        [] => "-".into(),
        [only] => format!("{only:.0}"),
        [least, .., greatest] => format!("{:.0} ({least:.0}..{greatest:.0})", values[values.len() / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn designs_are_chosen_by_name_and_unknown_ones_refused() {
        let names = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            chosen(&names).map(|entries| entries.iter().map(|entry| entry.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["isle", "buffered"]).expect("both are there"), ["buffered", "isle"]);
        assert!(names(&[]).expect("the list").contains(&"borders"));
        assert!(names(&["all"]).expect("both lists").contains(&"circ_linear_4k"));
        assert!(names(&["reef"]).expect_err("no such design").to_string().contains("reef"));
    }

    #[test]
    fn a_small_run_tells_every_figure() {
        let chosen = chosen(&["fast_fair".into(), "buffered".into()]).expect("both are there");
        let setting = Setting { flush_ns: 0, threads: 2, ascending: false };
        let rows = chosen.iter().map(|entry| {
            let samples = vec![measure(entry, 3_000, setting).expect("memory")];
            Row { design: entry.name, setting, samples }
        });
        let report = Report {
            machine: "one".into(),
            flush: "clwb".into(),
            pairs: 3_000,
            ascending: false,
            rows: rows.collect(),
        };
        let text = told(&report, &chosen).expect("memory");
        assert!(!text.contains(" - |") && text.contains("| fast_fair |"), "{text}");
    }
}
