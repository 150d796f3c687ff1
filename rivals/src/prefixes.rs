//! The cost of shared prefixes: the lines of a file as keys, compared with as many keys of the same lengths in random
//! bytes, which differ in their first few bytes. In every round each engine runs both, one after the other, so a ratio
//! compares neighbours in time. Memory is the increase since before the engine was opened, because the process holds
//! the keys too.

use crate::child::Order;
use crate::parent::{self, Run};
use crate::report::{CPU, FIGURES, RATE, Report, median, spread};
use crate::units::{megabytes, times};
use anyhow::{Context, Result, ensure};
use holm_bench::List;
use holm_bench::Table;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The source of a child's keys.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Source {
    file: PathBuf,
    seed: u64,
    /// Whether only the number and lengths of the lines are used.
    random: bool,
}

impl Source {
    pub(crate) fn list(&self) -> Result<List> {
        let lines = lines(&self.file, self.seed)?;
        // Created and kept in both cases, so that both kinds of run begin with the same memory.
        let random = lines.random(self.seed);
        Ok(if self.random { random } else { lines })
    }
}

fn lines(file: &Path, seed: u64) -> Result<List> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(List::of_lines(&text, seed))
}

/// Both kinds of runs, in the order in which they were made, and properties of the keys. Its fields are those of the
/// JSON.
#[derive(serde::Serialize)]
pub(crate) struct Comparison {
    keys: u64,
    key_bytes: u64,
    /// Bytes that a key shares with its predecessor in sorted order, on average.
    shared_by_lines: f64,
    shared_by_random: f64,
    lines: Report,
    random: Report,
}

/// Runs the steps of the report for every engine, `rounds` times, with both kinds of keys.
pub(crate) fn compare(
    conditions: Report,
    file: &Path,
    rounds: usize,
    limit: Duration,
    order: impl Fn(&String, usize) -> Order,
) -> Result<Comparison> {
    let list = lines(file, conditions.plan.seed)?;
    ensure!(!list.is_empty(), "{}: found no line that is not empty, expected one key a line", file.display());
    let mut comparison = Comparison {
        keys: list.len() as u64,
        key_bytes: list.key_bytes(),
        shared_by_lines: list.shared_prefix(),
        shared_by_random: list.random(conditions.plan.seed).shared_prefix(),
        lines: conditions.clone(),
        random: conditions,
    };
    for round in 1..=rounds {
        for engine in comparison.lines.engines.clone() {
            // The first kind alternates.
            for random in [round % 2 == 0, round % 2 != 0] {
                let mut order = order(&engine, round);
                order.plan.records = comparison.keys;
                order.source = Some(Source { file: file.to_owned(), seed: order.plan.seed, random });
                let (kind, report) = comparison.kind(random);
                eprint!("round {round} of {rounds}, {engine}, {kind}:");
                report.plan.records = order.plan.records;
                let run = parent::measure(&order, round, &report.steps, limit);
                report.runs.push(run);
            }
        }
    }
    Ok(comparison)
}

/// A figure of a run, if the run has it.
type Of = dyn Fn(&Run) -> Option<f64>;

/// A column: its heading, the figure, and its format.
struct Column {
    head: String,
    of: Box<Of>,
    show: fn(f64) -> String,
}

impl Comparison {
    fn kind(&mut self, random: bool) -> (&'static str, &mut Report) {
        if random { ("random bytes", &mut self.random) } else { ("lines", &mut self.lines) }
    }

    /// Returns the columns of each table: one of the report's figures for each step, then space.
    fn tables(&self) -> Vec<Table> {
        let of_steps = [&FIGURES[RATE], &FIGURES[CPU]].map(|figure| {
            let column = |&step| {
                let of = move |run: &Run| {
                    let found = run.steps.iter().find(|found| (found.outcome.workload, found.threads) == step);
                    found.and_then(figure.of)
                };
                Column { head: self.lines.label(step), of: Box::new(of), show: figure.show }
            };
            self.table(figure.title, &self.lines.steps.iter().map(column).collect::<Vec<_>>())
        });
        let spaces = self.table("Disk, and memory that the engine added", &Self::spaces());
        of_steps.into_iter().chain([spaces]).collect()
    }

    fn spaces() -> [Column; 4] {
        let space = |head: &str, of: fn(&Run) -> Option<u64>| {
            let of = move |run: &Run| of(run).map(|bytes| bytes as f64);
            Column { head: head.to_owned(), of: Box::new(of), show: megabytes }
        };
        [
            space("disk, loaded", |run| Some(run.loaded.as_ref()?.at_once.disk_bytes)),
            space("disk, settled", |run| Some(run.loaded.as_ref()?.settled.disk_bytes)),
            space("disk, closed", |run| Some(run.closed.as_ref()?.disk_bytes)),
            space("memory, settled", |run| {
                let loaded = run.loaded.as_ref()?;
                Some(loaded.settled.memory.bytes().saturating_sub(loaded.before.bytes()))
            }),
        ]
    }

    /// Returns the table and its conditions as Markdown.
    pub(crate) fn text(&self) -> String {
        let Report { machine, plan, durability, settle_seconds, runs, .. } = &self.lines;
        let raw = self.key_bytes + self.keys * plan.value_bytes as u64;
        let modes = self.lines.entries().map(|entry| format!("{}: {}", entry.name, entry.mode(*durability)));
        let mut text = format!(
            "{machine}\n{} keys of {:.1} bytes on average and values of {}: {} raw; {} s per mix, {} rounds, \
             {durability:?} ({})\nA line shares {:.1} bytes with the one before it in order, random bytes of the same \
             lengths {:.1}. Loaded in random order.\nGets and scans of 10 begin anywhere. Settled: {settle_seconds} s \
             after the load. Figures are medians (least..greatest).\nRatios are lines / random bytes: above 1 lines \
             are faster, or cost more.\n\n",
            self.keys,
            self.key_bytes as f64 / self.keys as f64,
            plan.value_bytes,
            megabytes(raw as f64),
            plan.seconds,
            runs.iter().map(|run| run.round).max().unwrap_or(0),
            modes.collect::<Vec<_>>().join("; "),
            self.shared_by_lines,
            self.shared_by_random,
        );
        text += &self.tables().iter().map(Table::to_string).collect::<Vec<_>>().join("\n");
        let failed = [&self.lines, &self.random].map(|report| report.troubles());
        for trouble in failed.iter().flatten() {
            text += &format!("\nFailed or doubtful: {trouble}");
        }
        text
    }

    fn table(&self, title: &str, columns: &[Column]) -> Table {
        let header = std::iter::once("engine, keys".to_owned()).chain(columns.iter().map(|column| column.head.clone()));
        let mut rows = Vec::new();
        for engine in &self.lines.engines {
            let pairs = || self.lines.runs.iter().zip(&self.random.runs).filter(|pair| pair.0.engine == *engine);
            let row = |kind: &str, cells: Vec<String>| [vec![format!("{engine}, {kind}")], cells].concat();
            let absolute = |runs: Vec<&Run>| {
                let cell =
                    |column: &Column| spread(runs.iter().filter_map(|run| (column.of)(run)).collect(), column.show);
                columns.iter().map(cell).collect()
            };
            rows.push(row("lines", absolute(pairs().map(|pair| pair.0).collect())));
            rows.push(row("random bytes", absolute(pairs().map(|pair| pair.1).collect())));
            let ratio = |column: &Column| {
                let ratios = pairs().filter_map(|(lines, random)| Some((column.of)(lines)? / (column.of)(random)?));
                let ratios: Vec<_> = ratios.filter(|ratio| ratio.is_finite()).collect();
                median(ratios.clone()).map_or("-".to_owned(), |_| spread(ratios, times))
            };
            rows.push(row("ratio", columns.iter().map(ratio).collect()));
        }
        Table { title: title.to_owned(), header: header.collect(), rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Durability;
    use crate::memory::{Memory, Space};
    use crate::parent::Loaded;
    use holm_bench::{Plan, Workload};

    fn report(disks: [u64; 3]) -> Report {
        let run = |(round, disk_bytes): (usize, u64)| {
            let memory = |anonymous| Memory { anonymous, file: 0 };
            let space = Space { disk_bytes, memory: memory(disk_bytes + 5_000_000) };
            let loaded = Some(Loaded { before: memory(5_000_000), at_once: space, settled: space });
            Run { engine: "holm".into(), round, steps: Vec::new(), loaded, closed: None, failure: None }
        };
        Report {
            machine: "a machine".into(),
            durability: Durability::Relaxed,
            engines: vec!["holm".into()],
            steps: vec![(Workload::Load, 1)],
            settle_seconds: 2.0,
            plan: Plan::default(),
            runs: (1..).zip(disks).map(run).collect(),
            kills: Vec::new(),
        }
    }

    #[test]
    fn ratios_are_those_of_each_round() {
        let (lines, random) = (report([2_000_000, 6_000_000, 9_000_000]), report([1_000_000, 2_000_000, 9_000_000]));
        let comparison =
            Comparison { keys: 4, key_bytes: 20, shared_by_lines: 3.0, shared_by_random: 0.5, lines, random };
        let tables = comparison.tables();
        assert_eq!(tables[0].header, ["engine, keys", "load"]);
        assert_eq!(tables[0].rows[2], ["holm, ratio", "-"]);
        let spaces = &tables[2].rows;
        assert_eq!(spaces[0][..2], ["holm, lines", "6.00 MB (2.00 MB..9.00 MB)"]);
        assert_eq!(spaces[2][..2], ["holm, ratio", "2.00x (1.00x..3.00x)"]);
        // The program's own memory does not count as the engine's.
        assert_eq!(spaces[2][4], "2.00x (1.00x..3.00x)");
        assert!(comparison.text().contains("4 keys of 5.0 bytes"), "{}", comparison.text());
    }

    #[test]
    fn both_kinds_of_keys_come_from_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lines");
        std::fs::write(&file, "one\ntwo\nthree\n\ntwo\n").unwrap();
        let list = |random| Source { file: file.clone(), seed: 1, random }.list().unwrap();
        let (lines, random) = (list(false), list(true));
        assert_eq!((lines.len(), lines.key_bytes()), (3, 11));
        assert!(lines != random && (0..3).all(|key| lines.key(key).len() == random.key(key).len()));
        let missing = Source { file: folder.path().join("none"), seed: 1, random: false }.list().unwrap_err();
        assert!(missing.to_string().contains("none"), "{missing}");
    }
}
