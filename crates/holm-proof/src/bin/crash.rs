//! Explores the scenarios of the test suite, and then random scripts beyond it, seed after seed, until the time is up;
//! exits with 1 at the first violation. Alternatively makes the table of coverage; exits with 1 if a cell is empty.
//!
//! A scenario reaches in a second what random scripts reach in minutes: a merge, a root that grows, a second crash in
//! recovery. Each scenario is a property of a design and has no random choice. A seed determines a script, two models
//! of persistency (for the first crash and for later ones), and every random choice among many images. So a violation's
//! design and scenario, or its design, models and seed, repeat it.

#![forbid(unsafe_code)]

use clap::Parser;
use holm_proof::file_table::{FileBounds, FileTable, file_json, file_rows};
use holm_proof::scenarios::{self, Scenario, judged, owed};
use holm_proof::subjects::{APART, DESIGNS, VARIANTS, faulty};
use holm_proof::{Bounds, Persistency, Plan, Report, Subject, Violation, explore, script, table};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Crashes random scripts everywhere, recovers, checks, and crashes again.
#[derive(Parser)]
struct Arguments {
    /// One design only; this may also be a canary.
    #[arg(long)]
    design: Option<String>,
    /// The first seed; without one, the scenarios come first, and then the seeds from 1 on.
    #[arg(long)]
    seed: Option<u64>,
    /// How long to explore, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Prints the counts and the violation as JSON.
    #[arg(long)]
    json: bool,
    /// The case that a violation prints: design:scenario, or design:first:later:seed.
    #[arg(long)]
    replay: Option<String>,
    /// Makes the table of coverage instead: for each design, change and model, the number of images that were opened.
    #[arg(long)]
    table: bool,
    /// Makes the table of files instead: what a database does with them, and the images that a stop there leaves.
    #[arg(long)]
    files: bool,
    /// Explores the variants instead of the designs, in a program that is built with them.
    #[arg(long)]
    variants: bool,
}

/// One seed of one design. The seed determines the models unless they are given.
struct Case {
    seed: u64,
    models: Option<(Persistency, Persistency)>,
    deadline: Option<Instant>,
}

/// What to do next with a design.
enum Attempt {
    Scenario(&'static str, Scenario),
    Random(Case),
}

/// A violation as text, and what repeats it.
struct Found {
    violation: String,
    replay: Option<String>,
}

impl Attempt {
    /// The attempts in the order of their numbers: the scenarios, then the seeds. A seed alone means that an earlier
    /// run is repeated or continued: the scenarios are behind it.
    fn numbered(number: u64, arguments: &Arguments, deadline: Instant) -> Attempt {
        let scenarios = if arguments.seed.is_some() { &[] } else { scenarios::ALL };
        match scenarios.get(number as usize) {
            Some((name, scenario)) => Attempt::Scenario(name, *scenario),
            None => {
                let seed = arguments.seed.unwrap_or(1) + (number - scenarios.len() as u64);
                Attempt::Random(Case { seed, models: None, deadline: Some(deadline) })
            }
        }
    }

    /// Makes the attempt. A scenario reports no counts.
    fn on(&self, subject: &'static Subject) -> Result<Report, Found> {
        match self {
            Attempt::Scenario(name, scenario) => {
                judged(*scenario, subject).map(|_| Report::default()).map_err(|wrong| {
                    let replay = format!("{}:{name}", subject.name);
                    let violation = format!("{wrong}\n  scenario:   {name}, repeated with --replay {replay}");
                    Found { violation, replay: Some(replay) }
                })
            }
            Attempt::Random(case) => explored(subject, case)
                .map_err(|violation| Found { replay: violation.replay.clone(), violation: violation.to_string() }),
        }
    }
}

fn explored(subject: &'static Subject, case: &Case) -> Result<Report, Box<Violation>> {
    let owed: Vec<_> = owed(subject).collect();
    let draw = |number: u64| owed[number as usize % owed.len()];
    let (first, later) = case.models.unwrap_or((draw(case.seed), draw(case.seed / 3)));
    let plan = Plan { later, deadline: case.deadline, ..Plan::thorough(first, case.seed) };
    explore(subject, &script::random(case.seed, subject.capacity), &plan).map_err(|mut violation| {
        violation.replay = Some(format!("{}:{first}:{later}:{}", subject.name, case.seed));
        violation
    })
}

fn named(name: &str) -> Result<&'static Subject, String> {
    let apart = APART.iter().copied().flatten();
    let mut all = DESIGNS.iter().chain(VARIANTS).chain(apart).chain(faulty::CANARIES).chain(faulty::OTHERS).copied();
    let known = |(it, _): &(&str, _)| *it == name;
    all.find(|subject| subject.name == name).ok_or_else(|| {
        match holm_designs::variants::CAPABILITIES.iter().any(known) {
            true => format!("{name} is a variant, and this program was built without them"),
            false => format!("no design is called {name}"),
        }
    })
}

/// The designs to explore: one, or all of a list.
fn chosen(arguments: &Arguments) -> Result<Vec<&'static Subject>, String> {
    if let Some(name) = &arguments.design {
        return Ok(vec![named(name)?]);
    }
    if arguments.variants && VARIANTS.is_empty() {
        return Err("this program was built without the variants".into());
    }
    Ok(if arguments.variants { VARIANTS } else { DESIGNS }.to_vec())
}

fn replayed(text: &str) -> Option<(String, Attempt)> {
    let parts: Vec<_> = text.split(':').collect();
    if let [design, name] = parts[..] {
        let (name, scenario) = scenarios::ALL.iter().find(|(known, _)| *known == name)?;
        return Some((design.into(), Attempt::Scenario(name, *scenario)));
    }
    let [design, first, later, seed] = parts.try_into().ok()?;
    let model = |name: &str| Persistency::ALL.into_iter().find(|model| model.name() == name);
    let models = Some((model(first)?, model(later)?));
    Some((design.into(), Attempt::Random(Case { seed: seed.parse().ok()?, models, deadline: None })))
}

/// What a run has done.
#[derive(Default)]
struct Survey {
    report: Report,
    scenarios: u64,
    seeds: u64,
    found: Option<Found>,
}

impl Survey {
    fn note(&mut self, attempt: &Attempt, outcome: Result<Report, Found>) {
        match attempt {
            Attempt::Scenario(..) => self.scenarios += 1,
            Attempt::Random(_) => self.seeds += 1,
        }
        match outcome {
            Ok(report) => self.report += report,
            Err(found) => drop(self.found.get_or_insert(found)),
        }
    }
}

/// Explores until the time is up, or repeats one case.
fn survey(arguments: &Arguments) -> Result<Survey, String> {
    let mut done = Survey::default();
    if let Some(replay) = &arguments.replay {
        let (design, attempt) = replayed(replay).ok_or("a replay reads design:scenario or design:first:later:seed")?;
        done.note(&attempt, attempt.on(named(&design)?));
        return Ok(done);
    }
    let deadline = Instant::now() + Duration::from_secs(arguments.seconds);
    let subjects = chosen(arguments)?;
    let subjects: Vec<_> = subjects
        .into_iter()
        .filter(|subject| subject.capabilities.stores_pairs || arguments.design.is_some())
        .collect();
    let (begun, done) = (AtomicU64::new(0), Mutex::new(done));
    // All designs with one attempt, then with the next, on all cores.
    let work = || {
        let done = || done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while Instant::now() < deadline && done().found.is_none() {
            let number = begun.fetch_add(1, Relaxed);
            let (round, subject) = (number / subjects.len() as u64, subjects[number as usize % subjects.len()]);
            let attempt = Attempt::numbered(round, arguments, deadline);
            let outcome = attempt.on(subject);
            done().note(&attempt, outcome);
        }
    };
    thread::scope(|scope| {
        (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)));
    });
    Ok(done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Says which design is explored, and how long the rest takes if the others take as long as those before.
fn progress(done: usize, count: usize, taken: Duration, design: &str) -> String {
    let left = match done {
        0 => String::new(),
        _ => format!(", about {} s left", taken.as_secs() * (count - done) as u64 / done as u64),
    };
    format!("{} of {count}: {design}{left}", done + 1)
}

/// Makes the table of designs and prints it; fails if a cell is empty, or if a design fails. Where all designs are
/// meant, the table of files follows, which does not depend on them.
fn table(arguments: &Arguments) -> ExitCode {
    let bounds = Bounds { exhaustive: 20_000, pairs: 100, random: 100 };
    let subjects = match chosen(arguments) {
        Ok(subjects) => subjects,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    let (count, began) = (subjects.len(), Instant::now());
    let rows = subjects.into_iter().enumerate().map(|(done, subject)| {
        eprintln!("{}", progress(done, count, began.elapsed(), subject.name));
        table::rows(subject, bounds)
    });
    let rows: Result<Vec<_>, _> = rows.collect();
    let rows = match rows {
        Ok(rows) => rows.concat(),
        Err(violation) => {
            println!("{violation}");
            return ExitCode::FAILURE;
        }
    };
    match arguments.json {
        true => {
            let faulty = [faulty::CANARIES, faulty::OTHERS].concat();
            println!("{}", table::json(&rows, &table::controls(&faulty, table::quick())));
        }
        false => println!("{}", table::Table(&rows)),
    }
    let holes: Vec<_> = rows.iter().flat_map(|row| row.holes().map(move |hole| (row, hole))).collect();
    for (row, (change, why)) in &holes {
        eprintln!("nothing was looked at: {}, {}, {}: {why}", row.design, row.persistency, change.name());
    }
    if !holes.is_empty() {
        return ExitCode::FAILURE;
    }
    match arguments.design.is_none() && !arguments.variants && !arguments.json {
        true => files(arguments),
        false => ExitCode::SUCCESS,
    }
}

/// Makes the table of what a database does with its files, and prints it; fails if a cell is empty, or if an image is
/// wrong.
fn files(arguments: &Arguments) -> ExitCode {
    let rows = match file_rows(FileBounds::ALL) {
        Ok(rows) => rows,
        Err(wrong) => {
            println!("{wrong}");
            return ExitCode::FAILURE;
        }
    };
    match arguments.json {
        true => println!("{}", file_json(&rows)),
        false => println!("\n{}", FileTable(&rows)),
    }
    let holes: Vec<_> = rows.iter().flat_map(|row| row.holes().map(move |work| (row, work))).collect();
    for (row, work) in &holes {
        eprintln!("nothing was opened: {}, {:?}, {}", work.name(), row.mode, row.left);
    }
    if holes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.table {
        return table(&arguments);
    }
    if arguments.files {
        return files(&arguments);
    }
    let Survey { report, scenarios, seeds, found } = match survey(&arguments) {
        Ok(done) => done,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    if arguments.json {
        let text = serde_json::json!({
            "scenarios": scenarios,
            "seeds": seeds,
            "images": report.images,
            "stood_for": report.stood_for as f64,
            "judged": report.judged,
            "windows": report.windows,
            "sampled": report.sampled,
            "second_crashes": report.rounds,
            "violation": found.as_ref().map(|found| &found.violation),
            "replay": found.as_ref().and_then(|found| found.replay.as_ref()),
        });
        println!("{text}");
    } else {
        println!("{scenarios} scenarios; {seeds} seeds: {report}");
        match &found {
            Some(found) => println!("{}", found.violation),
            None => println!("no violation"),
        }
    }
    if found.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
