//! Tables of the runs: medians over the rounds, their spread, and Holm's ratio to every rival and to the best one. A
//! ratio is the median of the rounds' ratios, because engines of one round are neighbours in time. Every ratio is
//! oriented so that Holm is better above 1. Ratios below 1 are bold, and are listed again at the end.

use crate::engines::{Durability, Entry, entry};
use crate::parent::{Closed, Kill, Loaded, Run, Step};
use crate::units::{latency, megabytes, rate, times};
use holm_bench::Table;
use holm_bench::{KEY_BYTES, Plan, Workload};

/// All measurements; its fields are those of the JSON file.
#[derive(Clone, serde::Serialize)]
pub(crate) struct Report {
    pub(crate) machine: String,
    pub(crate) durability: Durability,
    pub(crate) engines: Vec<String>,
    pub(crate) steps: Vec<(Workload, usize)>,
    /// Seconds that each engine stays idle after the load.
    pub(crate) settle_seconds: f64,
    /// Its number of threads is replaced by that of each step.
    pub(crate) plan: Plan,
    pub(crate) runs: Vec<Run>,
    pub(crate) kills: Vec<Kill>,
}

/// A figure of a step, and its format.
pub(crate) struct Figure {
    pub(crate) title: &'static str,
    pub(crate) of: fn(&Step) -> Option<f64>,
    pub(crate) show: fn(f64) -> String,
    more_is_better: bool,
}

/// The indices of the rate, and of the processor time per operation, among the figures.
pub(crate) const RATE: usize = 0;
pub(crate) const CPU: usize = 5;

pub(crate) static FIGURES: [Figure; 6] = [
    Figure { title: "Operations per second", of: |s| Some(s.outcome.per_second), show: rate, more_is_better: true },
    Figure {
        title: "Writes, p99.9",
        of: |s| Some(s.outcome.writes?.p999_ns as f64),
        show: latency,
        more_is_better: false,
    },
    Figure {
        title: "Writes, p99.99",
        of: |s| Some(s.outcome.writes?.p9999_ns as f64),
        show: latency,
        more_is_better: false,
    },
    Figure {
        title: "Writes, median",
        of: |s| Some(s.outcome.writes?.p50_ns as f64),
        show: latency,
        more_is_better: false,
    },
    Figure {
        title: "Reads and scans, p99",
        of: |s| Some(s.outcome.reads?.p99_ns as f64),
        show: latency,
        more_is_better: false,
    },
    Figure { title: "Processor time per operation, all threads", of: cpu, show: latency, more_is_better: false },
];

fn cpu(step: &Step) -> Option<f64> {
    (step.outcome.operations > 0).then(|| step.cpu_seconds * 1e9 / step.outcome.operations as f64)
}

/// Returns the middle value, or the mean of the two middle ones.
pub(crate) fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let (lower, upper) = (figures.get(figures.len().checked_sub(1)? / 2)?, figures.get(figures.len() / 2)?);
    Some((lower + upper) / 2.0)
}

impl Report {
    /// Returns all tables and notes as Markdown.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n{}\n\n", self.machine, self.conditions());
        let mut behind = Vec::new();
        for figure in &FIGURES {
            if self.runs.iter().flat_map(|run| &run.steps).any(|step| (figure.of)(step).is_some()) {
                text += &format!("{}\n", self.figure_table(figure, &mut behind));
            }
        }
        text += &format!("{}\n", self.space_table());
        if !self.kills.is_empty() {
            text += &format!("{}\n", self.kill_table());
        }
        if !behind.is_empty() {
            text += &format!("Behind a rival (ratio below 1):\n- {}\n\n", behind.join("\n- "));
        }
        let troubles = self.troubles();
        if !troubles.is_empty() {
            text += &format!("Failed or doubtful:\n- {}\n", troubles.join("\n- "));
        }
        text
    }

    fn conditions(&self) -> String {
        let Plan { records, value_bytes, seconds, .. } = self.plan;
        let rounds = self.runs.iter().map(|run| run.round).max().unwrap_or(0);
        let modes = self.entries().map(|entry| format!("{}: {}", entry.name, entry.mode(self.durability)));
        let boxed = self.plan.load_seconds.map(|seconds| format!(", at most {seconds} s per load"));
        format!(
            "{records} records of {KEY_BYTES} + {value_bytes} bytes, {seconds} s per mix{}, {rounds} rounds, {:?} \
             ({})\n\
             Figures are medians (least..greatest); ratios above 1 are in favour of the engine named first, \
             and those below 1 are bold.",
            boxed.unwrap_or_default(),
            self.durability,
            modes.collect::<Vec<_>>().join("; ")
        )
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        self.engines.iter().filter_map(|name| entry(name).ok())
    }

    fn figures(&self, engine: &str, step: (Workload, usize), figure: &Figure) -> Vec<f64> {
        self.figures_by_round(engine, step, figure).map(|(_, value)| value).collect()
    }

    fn figures_by_round(
        &self,
        engine: &str,
        step: (Workload, usize),
        figure: &Figure,
    ) -> impl Iterator<Item = (usize, f64)> {
        let runs = self.runs.iter().filter(move |run| run.engine == engine);
        let steps = runs.flat_map(|run| run.steps.iter().map(|found| (run.round, found)));
        let steps = steps.filter(move |(_, found)| (found.outcome.workload, found.threads) == step);
        steps.filter_map(|(round, found)| Some((round, (figure.of)(found)?)))
    }

    pub(crate) fn label(&self, (workload, threads): (Workload, usize)) -> String {
        let wide = self.steps.iter().any(|step| step.1 != 1);
        if wide { format!("{workload} t={threads}") } else { workload.to_string() }
    }

    fn figure_table(&self, figure: &Figure, behind: &mut Vec<String>) -> Table {
        let mut header = vec!["engine".to_owned()];
        header.extend(self.steps.iter().map(|&step| self.label(step)));
        let mut rows = Vec::new();
        for engine in &self.engines {
            let cells = self.steps.iter().map(|&step| spread(self.figures(engine, step, figure), figure.show));
            rows.push(std::iter::once(engine.clone()).chain(cells).collect());
        }
        for ours in self.entries().filter(|entry| entry.ours) {
            for rival in self.entries().filter(|entry| !entry.ours) {
                let mut row = vec![format!("{} / {}", ours.name, rival.name)];
                for &step in &self.steps {
                    let ratios = self.ratios(ours.name, rival.name, step, figure);
                    row.push(ratio_cell(ratios.clone()));
                    if let Some(ratio) = median(ratios).filter(|&ratio| ratio < 1.0) {
                        let (title, label) = (figure.title, self.label(step));
                        behind.push(format!("{title}, {label}: {} / {} is {}", ours.name, rival.name, times(ratio)));
                    }
                }
                rows.push(row);
            }
            rows.push(self.best_row(ours, figure));
        }
        Table { title: figure.title.to_owned(), header, rows }
    }

    /// Compares Holm with the best rival at each step.
    fn best_row(&self, ours: &Entry, figure: &Figure) -> Vec<String> {
        let best = |&step: &(Workload, usize)| {
            let rivals = self.entries().filter(|entry| !entry.ours && entry.counts(self.durability));
            let ratios = rivals.filter_map(|rival| {
                let ratios = self.ratios(ours.name, rival.name, step, figure);
                Some((median(ratios.clone())?, ratios, rival.name))
            });
            let least = ratios.min_by(|one, two| one.0.total_cmp(&two.0));
            least.map_or("-".to_owned(), |(_, ratios, name)| format!("{}, {name}", ratio_cell(ratios)))
        };
        std::iter::once(format!("{} / best", ours.name)).chain(self.steps.iter().map(best)).collect()
    }

    /// Returns the ratio of each round in which both have run: neighbours in time.
    fn ratios(&self, ours: &str, rival: &str, step: (Workload, usize), figure: &Figure) -> Vec<f64> {
        let rivals: Vec<_> = self.figures_by_round(rival, step, figure).collect();
        let pairs = self.figures_by_round(ours, step, figure).filter_map(|(round, ours)| {
            let (_, rival) = rivals.iter().find(|(other, _)| *other == round)?;
            Some(if figure.more_is_better { (ours, *rival) } else { (*rival, ours) })
        });
        pairs.filter(|&(_, below)| below > 0.0).map(|(above, below)| above / below).collect()
    }

    fn space_table(&self) -> Table {
        let raw = self.plan.records as f64 * (KEY_BYTES + self.plan.value_bytes) as f64;
        let header = ["engine", "disk, loaded", "disk, settled", "/ raw", "anonymous, settled", "file, settled"];
        let later = ["memory / raw", "disk, closed", "peak anonymous", "peak file", "close"];
        let row = |engine: &String| {
            let runs = || self.runs.iter().filter(|run| run.engine == *engine);
            let loaded = |of: fn(&Loaded) -> u64| {
                median(runs().filter_map(|run| run.loaded.as_ref()).map(|loaded| of(loaded) as f64).collect())
            };
            let closed =
                |of: fn(&Closed) -> f64| median(runs().filter_map(|run| run.closed.as_ref()).map(of).collect());
            let (at_once, disk) = (loaded(|at| at.at_once.disk_bytes), loaded(|at| at.settled.disk_bytes));
            let (anonymous, file) = (loaded(|at| at.settled.memory.anonymous), loaded(|at| at.settled.memory.file));
            let all = loaded(|at| at.settled.memory.bytes());
            let seconds = |seconds: f64| latency(seconds * 1e9);
            let show = |figure: Option<f64>, show: fn(f64) -> String| figure.map_or("-".to_owned(), show);
            vec![
                engine.clone(),
                show(at_once, megabytes),
                show(disk, megabytes),
                show(disk.map(|disk| disk / raw), times),
                show(anonymous, megabytes),
                show(file, megabytes),
                show(all.map(|all| all / raw), times),
                show(closed(|at| at.disk_bytes as f64), megabytes),
                show(closed(|at| at.peak.anonymous as f64), megabytes),
                show(closed(|at| at.peak.file as f64), megabytes),
                closed(|at| at.close_seconds).map_or("-".to_owned(), seconds),
            ]
        };
        let seconds = self.settle_seconds;
        let title =
            format!("Disk and resident memory (raw data: {}; settled: {seconds} s after the load)", megabytes(raw));
        let header = header.into_iter().chain(later).map(str::to_owned).collect();
        Table { title, header, rows: self.engines.iter().map(row).collect() }
    }

    fn kill_table(&self) -> Table {
        let header =
            ["engine", "acknowledged", "open and first read", "first", "last", "lost", "a prefix", "wrong values"];
        let mut rows = Vec::new();
        for engine in &self.engines {
            let found: Vec<_> = self
                .kills
                .iter()
                .filter(|kill| kill.engine == *engine)
                .filter_map(|kill| kill.found.as_ref())
                .collect();
            let Some(least) = found.iter().map(|found| found.acknowledged).min() else {
                rows.push(vec![engine.clone()]);
                continue;
            };
            let there = |every: bool| if every { "there" } else { "lost" }.to_owned();
            rows.push(vec![
                engine.clone(),
                least.to_string(),
                spread(found.iter().map(|found| found.seconds * 1e9).collect(), latency),
                there(found.iter().all(|found| found.first)),
                there(found.iter().all(|found| found.last)),
                found.iter().map(|found| found.lost).max().unwrap_or(0).to_string(),
                if found.iter().all(|found| found.prefix) { "yes" } else { "no" }.to_owned(),
                found.iter().map(|found| found.wrong).max().unwrap_or(0).to_string(),
            ]);
        }
        let title = "Opened after SIGKILL during single inserts".to_owned();
        Table { title, header: header.map(str::to_owned).to_vec(), rows }
    }

    /// Returns failures, and runs that read absent records.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        for run in &self.runs {
            if let Some(reason) = &run.failure {
                troubles.push(format!("{}, round {}: {reason}", run.engine, run.round));
            }
            for step in run.steps.iter().filter(|step| step.outcome.misses * 100 > step.outcome.operations) {
                let (misses, of) = (step.outcome.misses, step.outcome.operations);
                let label = self.label((step.outcome.workload, step.threads));
                troubles.push(format!("{}, round {}, {label}: {misses} of {of} found nothing", run.engine, run.round));
            }
        }
        for kill in &self.kills {
            if let Some(reason) = &kill.failure {
                troubles.push(format!("{}, kill {}: {reason}", kill.engine, kill.round));
            }
        }
        let weak = self.entries().filter(|entry| !entry.counts(self.durability));
        troubles.extend(weak.map(|entry| {
            format!("{} is never the best rival here: a power failure may lose its synced writes", entry.name)
        }));
        troubles
    }
}

/// Formats ratios of rounds, in bold if their median is below 1: the engine named first is behind.
fn ratio_cell(ratios: Vec<f64>) -> String {
    let cell = spread(ratios.clone(), times);
    if median(ratios).is_some_and(|ratio| ratio < 1.0) { format!("**{cell}**") } else { cell }
}

/// Formats `median (least..greatest)`, or the only value.
pub(crate) fn spread(figures: Vec<f64>, show: fn(f64) -> String) -> String {
    let (least, greatest) = figures.iter().fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
    let several = figures.len() > 1;
    match median(figures) {
        None => "-".to_owned(),
        Some(middle) if several => format!("{} ({}..{})", show(middle), show(least), show(greatest)),
        Some(middle) => show(middle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holm_bench::{Outcome, Percentiles};

    fn step(per_second: f64, write_p999_ns: u64, misses: u64) -> Step {
        let [p999_ns, p9999_ns, max_ns] = [write_p999_ns; 3];
        let writes = Percentiles { count: 1, p50_ns: 100, p99_ns: 100, p999_ns, p9999_ns, max_ns };
        let outcome = Outcome {
            workload: Workload::A,
            operations: 1000,
            seconds: 1.0,
            per_second,
            p50_ns: 100,
            p99_ns: 100,
            p999_ns: 100,
            max_ns: 100,
            writes: Some(writes),
            reads: None,
            sampled_every: 1,
            misses,
        };
        Step { threads: 1, cpu_seconds: 0.001, outcome }
    }

    fn report(durability: Durability) -> Report {
        let run = |engine: &str, round, per_second, p999, misses| Run {
            engine: engine.to_owned(),
            round,
            steps: vec![step(per_second, p999, misses)],
            loaded: None,
            closed: None,
            failure: None,
        };
        let runs = vec![
            run("holm", 1, 100_000.0, 4000, 0),
            run("holm", 2, 300_000.0, 4000, 0),
            run("holm", 3, 200_000.0, 4000, 0),
            run("redb", 1, 50_000.0, 8000, 0),
            run("redb", 2, 50_000.0, 8000, 0),
            run("redb", 3, 20_000.0, 8000, 0),
            run("sled", 1, 400_000.0, 2000, 900),
        ];
        let plan = Plan { records: 1000, seconds: 1.0, ..Plan::default() };
        let engines = ["holm", "redb", "sled"].map(str::to_owned).to_vec();
        let (machine, steps, kills) = ("a machine".to_owned(), vec![(Workload::A, 1)], Vec::new());
        Report { machine, durability, engines, steps, settle_seconds: 2.0, plan, runs, kills }
    }

    fn cell(report: &Report, figure: usize, row: &str) -> String {
        let table = report.figure_table(&FIGURES[figure], &mut Vec::new());
        table.rows.iter().find(|cells| cells[0] == row).map(|cells| cells[1].clone()).expect("the row is there")
    }

    #[test]
    fn medians_spreads_and_ratios_point_the_right_way() {
        let report = report(Durability::Relaxed);
        assert_eq!(cell(&report, 0, "holm"), "200k (100k..300k)");
        // Of the rounds 2, 6 and 10; the ratio of the medians would be 4.
        assert_eq!(cell(&report, 0, "holm / redb"), "6.00x (2.00x..10.0x)");
        assert_eq!(cell(&report, 0, "holm / sled"), "**0.25x**");
        assert_eq!(cell(&report, 0, "holm / best"), "**0.25x**, sled");
        assert_eq!(cell(&report, 1, "holm / redb"), "2.00x (2.00x..2.00x)");
        assert_eq!(cell(&report, 1, "holm / best"), "**0.50x**, sled");
    }

    #[test]
    fn a_rival_that_is_not_synced_is_shown_but_not_the_best_one() {
        let report = report(Durability::Synced);
        assert_eq!(cell(&report, 0, "holm / sled"), "**0.25x**");
        assert_eq!(cell(&report, 0, "holm / best"), "6.00x (2.00x..10.0x), redb");
        assert!(report.text().contains("sled is never the best rival here"));
    }

    #[test]
    fn losses_and_misses_are_listed() {
        let text = report(Durability::Relaxed).text();
        assert!(text.contains("- Operations per second, a: holm / sled is 0.25x"), "{text}");
        assert!(text.contains("- sled, round 1, a: 900 of 1000 found nothing"), "{text}");
        assert!(!text.contains("holm / redb is"), "{text}");
    }

    #[test]
    fn medians_of_few() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
    }
}
