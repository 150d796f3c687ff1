//! Runs studies: one round that warms up, then rounds that go through all cells, so that a slow minute of the machine
//! hits every one; a file for each figure as soon as its study is done.

use crate::catalog::Chosen;
use crate::claim::judge;
use crate::outcome::{Outcome, Point, Series, Spread};
use crate::setting::Setting;
use crate::study::{Cell, Figure};
use anyhow::{Context, Result};
use holm_bench::machine;
use holm_medium::Flush;
use indicatif::{ProgressBar, ProgressStyle};
use std::fs;
use std::path::Path;

/// A cell, and a vector of its measures for each round.
type Measured = (Cell, Vec<Vec<f64>>);

/// Rounds of a study, and how many of them do not count.
fn rounds(chosen: &Chosen, setting: &Setting) -> (usize, usize) {
    if chosen.study.exact { (1, 0) } else { (setting.rounds, 1) }
}

pub(crate) fn run(studies: &[Chosen], setting: &Setting, out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("creating {}", out.display()))?;
    let machine = machine::describe(Path::new("."));
    let planned: Vec<_> = studies.iter().map(|chosen| (chosen, (chosen.study.cells)(setting))).collect();
    let steps = planned.iter().map(|(chosen, cells)| {
        let (counted, idle) = rounds(chosen, setting);
        (cells.len() * (counted + idle)) as u64
    });
    let bar = ProgressBar::new(steps.sum());
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len}, {eta} left  {msg}")?;
    bar.set_style(style);
    for (chosen, cells) in planned {
        let names: Vec<_> = chosen.figures.iter().map(|figure| figure.id).collect();
        bar.set_message(names.join(" "));
        let measured = measure(chosen, cells, setting, &bar)?;
        for figure in &chosen.figures {
            let outcome = outcome(chosen, figure, &measured, setting, &machine);
            let path = out.join(format!("{}.json", figure.id));
            fs::write(&path, serde_json::to_vec_pretty(&outcome)?)
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
        for (cell, samples) in &mut measured {
            let sample = (cell.work)().with_context(|| format!("{} at {}", cell.series, cell.x))?;
            if round >= idle {
                samples.push(sample);
            }
            bar.inc(1);
        }
    }
    Ok(measured)
}

fn outcome(chosen: &Chosen, figure: &Figure, measured: &[Measured], setting: &Setting, machine: &str) -> Outcome {
    let mut series: Vec<Series> = Vec::new();
    for (cell, samples) in measured {
        let samples: Vec<_> = samples.iter().filter_map(|sample| sample.get(figure.measure).copied()).collect();
        let Some(spread) = Spread::of(samples.iter().copied()).filter(|spread| spread.median.is_finite()) else {
            continue;
        };
        let point = Point { x: cell.x, samples, spread };
        match series.iter_mut().find(|series| series.name == cell.series) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name: cell.series.into(), points: vec![point] }),
        }
    }
    Outcome {
        id: figure.id.into(),
        title: figure.title.into(),
        family: chosen.family.name.into(),
        paper: chosen.family.paper.into(),
        unit: figure.unit.into(),
        axis: figure.axis.into(),
        conditions: chosen.study.conditions.into(),
        note: figure.note.into(),
        machine: machine.into(),
        flush: format!("{:?}", Flush::detect()),
        scale: setting.scale,
        threads: setting.threads,
        rounds: rounds(chosen, setting).0,
        exact: chosen.study.exact,
        claims: figure.claims.iter().map(|claim| judge(claim, &series)).collect(),
        series,
    }
}

/// A figure in a few lines.
fn told(outcome: &Outcome) -> String {
    let mut text = format!("{}: {} ({} by {})\n", outcome.id, outcome.title, outcome.unit, outcome.axis);
    for series in &outcome.series {
        let points = series.points.iter().map(|point| format!("{}: {:.2}", point.x, point.spread.median));
        text.push_str(&format!("  {:<26} {}\n", series.name, points.collect::<Vec<_>>().join("   ")));
    }
    for claim in &outcome.claims {
        let ours = claim
            .ours
            .map_or("-".into(), |ours| format!("{:.2} ({:.2}..{:.2})", ours.median, ours.least, ours.greatest));
        let verdict = claim.verdict.name();
        text.push_str(&format!("  {} / {}: {ours}, paper {}: {verdict}\n", claim.of, claim.against, claim.paper));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::chosen;

    fn read(folder: &Path, id: &str) -> Outcome {
        let text = fs::read_to_string(folder.join(format!("{id}.json"))).expect("a file");
        serde_json::from_str(&text).expect("an outcome")
    }

    /// Everything that can be run, as small as it gets; then the page.
    #[test]
    fn all_of_it_runs_and_is_reported() {
        let folder = std::env::temp_dir().join(format!("holm-figures-{}", std::process::id()));
        let studies = chosen(&["all".into()]).expect("all are there");
        let setting = Setting::new(0.000_1, Some(2), 1).expect("a setting");
        run(&studies, &setting, &folder).expect("it runs");
        crate::report::write(&folder, None).expect("it is told");
        let exact = read(&folder, "SENT-X1");
        assert!(exact.exact && exact.series.len() == 6 && exact.series[0].points[0].samples.len() == 1);
        // Counts are the same on every machine: this claim holds or a design has changed.
        assert!(exact.claims.iter().all(|claim| claim.ours.is_some_and(|ours| ours.median == 1.0)));
        let timed = read(&folder, "BD-X5");
        assert_eq!(timed.series[0].points.len(), 5);
        assert!(timed.series[0].points.iter().all(|point| point.samples.len() == 1));
        let page = fs::read_to_string(folder.join("report.html")).expect("a page");
        assert!(page.contains("SENT-F4a") && page.contains("MB-F13") && page.contains("ISLE-F7a"));
        fs::remove_dir_all(&folder).expect("it was made");
    }
}
