//! Runs studies: one warm-up round, then rounds that go through all cells, so that a slow minute of the machine affects
//! every one. Each round has an order of its own. Each figure's file is written as soon as its study is done.

use crate::catalog::Chosen;
use crate::judge::{Ran, judge};
use crate::outcome::{Outcome, Point, Series, Spread};
use crate::results::file_of;
use crate::run_facts::RunFacts;
use crate::sequence::sequence;
use crate::setting::Setting;
use crate::study::{Axis, Cell, Figure};
use anyhow::{Context, Result, ensure};
use holm_bench::machine;
use holm_medium::Flush;
use indicatif::{ProgressBar, ProgressStyle};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// A cell, and for each round a vector of its measures.
type Measured = (Cell, Vec<Vec<f64>>);

/// Returns the number of rounds of a study, and how many of them do not count.
fn rounds(chosen: &Chosen, setting: &Setting) -> (usize, usize) {
    if chosen.study.exact { (1, 0) } else { (setting.rounds, 1) }
}

pub(crate) fn run(studies: &[Chosen], setting: &Setting, out: &Path, facts: &RunFacts) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("creating {}", out.display()))?;
    // Before anything is measured, not after.
    for figure in studies.iter().flat_map(|chosen| &chosen.figures) {
        let path = file_of(out, figure.id);
        ensure!(!path.is_dir(), "writing {}: it is a folder", path.display());
    }
    let probe = out.join("figures.new");
    fs::write(&probe, "").with_context(|| format!("writing in {}", out.display()))?;
    fs::remove_file(&probe)?;
    println!("order of the cells: --seed {}", setting.seed);
    let machine = (machine::describe(Path::new(".")), facts.clone());
    let planned: Vec<_> = studies.iter().map(|chosen| (chosen, (chosen.study.cells)(setting))).collect();
    // The work of cells differs by a factor of a thousand, so the remaining time is estimated from operations, not
    // cells.
    let operations = planned.iter().map(|(chosen, cells)| {
        let (counted, idle) = rounds(chosen, setting);
        cells.iter().map(|cell| cell.operations).sum::<u64>() * (counted + idle) as u64
    });
    let bar = ProgressBar::new(operations.sum());
    bar.set_style(ProgressStyle::with_template("{wide_bar} {percent}%, {eta} left  {msg}")?);
    for (chosen, cells) in planned {
        let names: Vec<_> = chosen.figures.iter().map(|figure| figure.id).collect();
        bar.set_message(names.join(" "));
        let began = Instant::now();
        let measured = measure(chosen, cells, setting, &bar)?;
        let seconds = began.elapsed().as_secs_f64();
        for figure in &chosen.figures {
            let outcome = Outcome { seconds, ..outcome(chosen, figure, &measured, setting, &machine) };
            let path = file_of(out, figure.id);
            // All or nothing: the page could not be written from a truncated file.
            let fresh = path.with_extension("new");
            fs::write(&fresh, serde_json::to_vec_pretty(&outcome)?)
                .and_then(|()| fs::rename(&fresh, &path))
                .with_context(|| format!("writing {}", path.display()))?;
            bar.suspend(|| print!("{}", told(&outcome)));
        }
    }
    bar.finish_and_clear();
    Ok(())
}

fn measure(chosen: &Chosen, cells: Vec<Cell>, setting: &Setting, bar: &ProgressBar) -> Result<Vec<Measured>> {
    let mut measured: Vec<Measured> = cells.into_iter().map(|cell| (cell, Vec::new())).collect();
    let (counted, idle) = rounds(chosen, setting);
    for round in 0..counted + idle {
        for index in sequence(measured.len(), setting.seed, round) {
            let (cell, samples) = &mut measured[index];
            let sample = (cell.work)().with_context(|| format!("{} at {}", cell.series, cell.x))?;
            if round >= idle {
                samples.push(sample);
            }
            bar.inc(cell.operations);
        }
    }
    Ok(measured)
}

/// Returns the points of a figure that a cell provides, and the index of the measure for each.
fn given(figure: &Figure, cell: &Cell) -> Vec<(f64, usize)> {
    match figure.axis {
        Axis::Measures(_, words) => (0..words.len()).map(|index| (index as f64, figure.measure + index)).collect(),
        Axis::Numbers(_) | Axis::Counts(..) | Axis::Words(..) => vec![(cell.x, figure.measure)],
    }
}

fn series(figure: &Figure, measured: &[Measured]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    let given = |(cell, samples)| given(figure, cell).into_iter().map(move |given| (given, cell, samples));
    for ((x, measure), cell, samples) in measured.iter().map(|(cell, samples)| (cell, samples)).flat_map(given) {
        let samples: Vec<f64> = samples.iter().filter_map(|sample: &Vec<f64>| sample.get(measure).copied()).collect();
        let Some(spread) = Spread::of(samples.iter().copied()).filter(|spread| spread.median.is_finite()) else {
            continue;
        };
        let point = Point { x, samples, spread };
        match all.iter_mut().find(|series| series.name == cell.series) {
            Some(series) => series.points.push(point),
            None => all.push(Series { name: cell.series.into(), points: vec![point] }),
        }
    }
    all
}

fn outcome(
    chosen: &Chosen,
    figure: &Figure,
    measured: &[Measured],
    setting: &Setting,
    machine: &(String, RunFacts),
) -> Outcome {
    let series = series(figure, measured);
    let ran = Ran { expected: chosen.family.expected, scale: setting.scale, threads: setting.threads };
    Outcome {
        id: figure.id.into(),
        title: figure.title.into(),
        family: chosen.family.name.into(),
        paper: chosen.family.paper.into(),
        expected: chosen.family.expected,
        unit: figure.unit.into(),
        axis: figure.axis.label().into(),
        words: figure.axis.words().iter().map(ToString::to_string).collect(),
        name_of: figure.axis.name_of(),
        continuous: !matches!(figure.axis, Axis::Words(..)),
        conditions: chosen.study.conditions.into(),
        note: figure.note.into(),
        machine: machine.0.clone(),
        run: machine.1.clone(),
        flush: format!("{:?}", Flush::detect()),
        scale: setting.scale,
        threads: setting.threads,
        rounds: rounds(chosen, setting).0,
        seed: Some(setting.seed),
        exact: chosen.study.exact,
        seconds: 0.0,
        claims: figure.claims.iter().map(|claim| judge(claim, ran, &series)).collect(),
        series,
    }
}

/// Summarizes a figure in a few lines.
fn told(outcome: &Outcome) -> String {
    let Outcome { id, title, unit, axis, seconds, .. } = outcome;
    let mut text = format!("{id}: {title} ({unit} by {axis}; {seconds:.1} s)\n");
    for series in &outcome.series {
        let points =
            series.points.iter().map(|point| format!("{}: {:.2}", outcome.place(point.x), point.spread.median));
        text.push_str(&format!("  {:<26} {}\n", series.name, points.collect::<Vec<_>>().join("   ")));
    }
    for claim in &outcome.claims {
        let ours = claim
            .ours
            .map_or("-".into(), |ours| format!("{:.2} ({:.2}..{:.2})", ours.median, ours.least, ours.greatest));
        let verdict = claim.verdict.name_of(outcome.expected);
        text.push_str(&format!(
            "  {} / {}: {ours}, {} {}: {verdict}\n",
            claim.of,
            claim.against,
            outcome.claimant(),
            claim.paper
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Given, chosen};
    use crate::recorded::Recorded;
    use crate::study::Study;
    use holm_lab::measured::{Request, What};
    use std::sync::{Arc, Mutex};

    /// Reads an outcome from the one file into which the report packs all of them.
    fn read(folder: &Path, id: &str) -> Outcome {
        assert!(!file_of(folder, id).exists(), "the report packs {id}");
        let text = fs::read_to_string(folder.join("results.json")).expect("a file");
        let outcomes: Vec<Outcome> = serde_json::from_str(&text).expect("outcomes");
        outcomes.into_iter().find(|outcome| outcome.id == id).expect("an outcome")
    }

    /// Runs everything that can run, as small as possible, and then writes the page.
    #[test]
    fn all_of_it_runs_and_is_reported() {
        let folder = std::env::temp_dir().join(format!("holm-figures-{}", std::process::id()));
        let everything = Given { reads: true, times: true, trace: true };
        let studies = chosen(&["all".into()], everything).expect("all are there");
        let mut setting = Setting::new(0.000_1, Some(2), 1).expect("a setting");
        let request = |number: u64| Request {
            key: number % 50,
            what: [What::Get, What::Put, What::Put, What::Remove][number as usize % 4],
        };
        let requests = (0..1_000).map(request).collect();
        setting.trace = Some(Arc::new(Recorded { requests, keys: (0..50).collect() }));
        run(&studies, &setting, &folder, &crate::run_facts::gather()).expect("it runs");
        crate::report::write(&folder, None).expect("written");
        let exact = read(&folder, "SENT-X1");
        assert_eq!(exact.seed, Some(setting.seed));
        assert!(exact.exact && exact.series.len() == 6 && exact.series[0].points[0].samples.len() == 1);
        // Counts are equal on every machine: this claim holds, or a design has changed.
        assert!(exact.claims.iter().all(|claim| claim.ours.is_some_and(|ours| ours.median == 1.0)));
        let timed = read(&folder, "BD-X5a");
        assert_eq!(timed.series[0].points.len(), 5);
        assert!(timed.series[0].points.iter().all(|point| point.samples.len() == 1));
        // A tail is a line of one cell.
        assert_eq!(read(&folder, "SS-F7c").series[0].points.len(), 6);
        assert!(read(&folder, "BD-F2-own").series.len() == 4);
        if cfg!(debug_assertions) {
            let lines = |id: &str, series: &str, x: f64| {
                let outcome = read(&folder, id);
                let series = outcome.series.iter().find(|it| it.name == series).expect("a series").points.clone();
                series.iter().find(|point| point.x == x).expect("a point").spread.median
            };
            // A search reads a header, and the line that the sentinel names. Without sentinels it reads half of all
            // lines in use.
            assert!((1.0..=2.5).contains(&lines("SENT-X2", "FF_S", 2048.0)));
            assert!((8.0..=20.0).contains(&lines("SENT-X2", "FF", 2048.0)));
        }
        let page = fs::read_to_string(folder.join("report.html")).expect("a page");
        assert!(page.contains("SENT-F4a") && page.contains("MB-F13") && page.contains("ISLE-F7a"));
        fs::remove_dir_all(&folder).expect("it was made");
    }

    #[test]
    fn rounds_differ_in_their_order_and_samples_stay_with_their_series() {
        static ORDER: Mutex<Vec<f64>> = Mutex::new(Vec::new());
        let cell = |x: f64| {
            let work = move || {
                ORDER.lock().expect("no panic").push(x);
                Ok(vec![x])
            };
            Cell::new("reef", x, 1, work)
        };
        let all = Given { reads: false, times: true, trace: false };
        let studies = chosen(&["SENT-F1".into()], all).expect("it is there");
        let setting = Setting::new(0.000_1, Some(1), 3).expect("a setting").with_seed(7);
        let cells = (0..6).map(|x| cell(f64::from(x))).collect();
        let measured = measure(&studies[0], cells, &setting, &ProgressBar::hidden()).expect("it runs");
        let order = ORDER.lock().expect("no panic").clone();
        let rounds: Vec<_> = order.chunks(6).collect();
        assert!(rounds.len() == 4 && rounds.windows(2).all(|two| two[0] != two[1]), "{rounds:?}");
        for (x, (cell, samples)) in measured.iter().enumerate() {
            assert_eq!((cell.x, samples), (x as f64, &vec![vec![x as f64]; 3]));
        }
    }

    /// One study of each kind of count: after a load, after updates by epochs, and of bytes.
    #[test]
    fn exact_counts_do_not_depend_on_the_order() {
        let all = Given { reads: false, times: true, trace: false };
        let names = ["SENT-X1", "ISLE-F1", "BD-F3", "SS-F11"].map(String::from);
        for chosen in chosen(&names, all).expect("they are there") {
            let of = |seed| {
                let setting = Setting::new(0.001, Some(1), 1).expect("a setting").with_seed(seed);
                let cells = (chosen.study.cells)(&setting);
                let measured = measure(&chosen, cells, &setting, &ProgressBar::hidden()).expect("it runs");
                measured.into_iter().map(|(cell, samples)| (cell.series, cell.x, samples)).collect::<Vec<_>>()
            };
            assert!(chosen.study.exact && of(1) == of(2), "{}", chosen.figures[0].id);
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told_before_anything_is_measured() {
        let folder = std::env::temp_dir().join(format!("holm-figures-occupied-{}", std::process::id()));
        fs::create_dir_all(folder.join("SENT-X1.json")).expect("a folder in the file's place");
        let all = Given { reads: false, times: true, trace: false };
        let mut studies = chosen(&["SENT-X1".into()], all).expect("it is there");
        let study = Study { cells: |_| vec![Cell::new("never", 0.0, 1, || panic!("measured"))], ..*studies[0].study };
        studies[0].study = Box::leak(Box::new(study));
        let setting = Setting::new(0.000_1, Some(1), 1).expect("a setting");
        let refused = run(&studies, &setting, &folder, &RunFacts::new()).expect_err("it cannot be written").to_string();
        assert!(refused.contains("SENT-X1.json"), "{refused}");
        fs::remove_dir_all(&folder).expect("it was made");
    }
}
