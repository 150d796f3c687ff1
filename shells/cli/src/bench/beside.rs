//! `bench --beside`: what snapshots, backups and feeds cost a workload, as ratios of runs that follow each other.

use super::Companions;
use crate::args::Bench;
use crate::{output, stat};
use anyhow::anyhow;
use holm_bench::{Beside, Companion, Plan, Store, Workload};

/// Measures a workload beside each companion, in rounds that take the companions in turn.
pub(super) fn measure(args: &Bench, store: &Store, plan: &Plan, workload: Workload) -> anyhow::Result<()> {
    let mut scratch = args.database.clone().into_os_string();
    scratch.push(".backup");
    let mut runs: Vec<(Companion, Vec<Beside>)> =
        args.beside.iter().map(|chosen| (Companions::companion(*chosen), vec![])).collect();
    for _ in 0..args.rounds {
        for (companion, runs) in &mut runs {
            let run = holm_bench::run_beside(store, plan, workload, *companion, scratch.as_ref());
            let run = run.map_err(|error| anyhow!(error))?;
            if args.json {
                output::print(stat::json_line(&run)?)?;
            }
            runs.push(run);
        }
    }
    if args.json {
        return Ok(());
    }
    runs.iter().try_for_each(|(companion, runs)| output::print(lines(workload, *companion, runs)))
}

/// Returns what a companion has cost: medians of all rounds, least and greatest in parentheses.
fn lines(workload: Workload, companion: Companion, runs: &[Beside]) -> String {
    let name = format!("{workload:?} beside {companion:?}").to_lowercase();
    let alone = spread(runs.iter().map(|run| run.alone.per_second), 0);
    let ratio = spread(runs.iter().map(|run| run.beside.per_second / run.alone.per_second), 2);
    let p999 = spread(runs.iter().map(|run| run.beside.p999_ns as f64 / 1e3), 0);
    let mut lines = format!("{name}: {ratio} of {alone} operations per second, p99.9 {p999} us\n");
    let again = runs.iter().filter_map(|run| Some(run.again.as_ref()?.per_second / run.alone.per_second));
    if let Some(again) = some_spread(again, 2) {
        lines += &format!("  beside the same snapshot again: {again}\n");
    }
    if let Some(seconds) = some_spread(runs.iter().flat_map(|run| run.seconds.iter().copied()), 3) {
        let what = if companion == Companion::Feed { "reading the changes" } else { "each backup" };
        lines += &format!("  {what}: {seconds} s\n");
    }
    let bytes = |run: &Beside| run.bytes.iter().max().map(|bytes| *bytes as f64 / 1e6);
    if let Some(bytes) = some_spread(runs.iter().filter_map(bytes), 1) {
        let what = if companion == Companion::Snapshot { "held for the snapshot at its end" } else { "of each backup" };
        lines += &format!("  {bytes} MB {what}\n");
    }
    lines
}

/// As [`spread`]; `None` of no numbers.
fn some_spread(numbers: impl Iterator<Item = f64>, digits: usize) -> Option<String> {
    let mut numbers = numbers.peekable();
    numbers.peek().is_some().then_some(())?;
    Some(spread(numbers, digits))
}

/// Returns the median, and the least and the greatest in parentheses.
fn spread(numbers: impl Iterator<Item = f64>, digits: usize) -> String {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    let (least, median, greatest) = (numbers[0], numbers[numbers.len() / 2], numbers[numbers.len() - 1]);
    format!("{median:.digits$} ({least:.digits$} to {greatest:.digits$})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_stands_between_the_least_and_the_greatest() {
        assert_eq!(spread([3.0, 1.0, 2.0].into_iter(), 1), "2.0 (1.0 to 3.0)");
        assert_eq!(some_spread(std::iter::empty(), 1), None);
    }
}
