//! Explores random scripts beyond the test suite, seed after seed, until the time is up; exits with 1 at the first
//! violation. Alternatively makes the table of coverage; exits with 1 if a cell is empty.
//!
//! Each seed determines a script, two models of persistency (for the first crash and for later ones), and every random
//! choice among many images. So a violation's design, models and seed repeat it.

#![forbid(unsafe_code)]

use clap::Parser;
use holm_proof::scenarios::owed;
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
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long to explore, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Prints the counts and the violation as JSON.
    #[arg(long)]
    json: bool,
    /// The case that a violation prints: design:first:later:seed.
    #[arg(long)]
    replay: Option<String>,
    /// Makes the table of coverage instead: for each design, change and model, the number of images that were opened.
    #[arg(long)]
    table: bool,
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

fn replayed(text: &str) -> Option<(String, Case)> {
    let [design, first, later, seed] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    let model = |name: &str| Persistency::ALL.into_iter().find(|model| model.name() == name);
    let models = Some((model(first)?, model(later)?));
    Some((design.into(), Case { seed: seed.parse().ok()?, models, deadline: None }))
}

/// Explores until the time is up; returns the report, the number of seeds, and the violation if there is one.
fn survey(arguments: &Arguments) -> Result<(Report, u64, Option<Box<Violation>>), String> {
    let total = Report::default();
    if let Some(replay) = &arguments.replay {
        let (design, it) = replayed(replay).ok_or("a replay reads design:first:later:seed")?;
        return Ok(match explored(named(&design)?, &it) {
            Ok(report) => (report, 1, None),
            Err(violation) => (total, 1, Some(violation)),
        });
    }
    let deadline = Instant::now() + Duration::from_secs(arguments.seconds);
    let subjects = chosen(arguments)?;
    let subjects: Vec<_> = subjects
        .into_iter()
        .filter(|subject| subject.capabilities.stores_pairs || arguments.design.is_some())
        .collect();
    let (begun, found) = (AtomicU64::new(0), Mutex::new((total, None)));
    // All designs with one seed, then with the next, on all cores.
    let work = || {
        let found = || found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        while Instant::now() < deadline && found().1.is_none() {
            let number = begun.fetch_add(1, Relaxed);
            let (round, subject) = (number / subjects.len() as u64, subjects[number as usize % subjects.len()]);
            let it = Case { seed: arguments.seed + round, models: None, deadline: Some(deadline) };
            match explored(subject, &it) {
                Ok(report) => found().0 += report,
                Err(violation) => drop(found().1.get_or_insert(violation)),
            }
        }
    };
    thread::scope(|scope| {
        (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)));
    });
    let (total, violation) = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    Ok((total, begun.into_inner().div_ceil(subjects.len() as u64), violation))
}

/// Makes the table and prints it; fails if a cell is empty, or if a design fails.
fn table(arguments: &Arguments) -> ExitCode {
    let bounds = Bounds { exhaustive: 20_000, pairs: 100, random: 100 };
    let subjects = match chosen(arguments) {
        Ok(subjects) => subjects,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    let rows: Result<Vec<_>, _> = subjects.into_iter().map(|subject| table::rows(subject, bounds)).collect();
    let rows = match rows {
        Ok(rows) => rows.concat(),
        Err(violation) => {
            println!("{violation}");
            return ExitCode::FAILURE;
        }
    };
    match arguments.json {
        true => println!("{}", table::json(&rows)),
        false => println!("{}", table::Table(&rows)),
    }
    let holes: Vec<_> = rows.iter().flat_map(|row| row.holes().map(move |hole| (row, hole))).collect();
    for (row, (change, why)) in &holes {
        eprintln!("nothing was looked at: {}, {}, {}: {why}", row.design, row.persistency, change.name());
    }
    if holes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.table {
        return table(&arguments);
    }
    let (report, seeds, violation) = match survey(&arguments) {
        Ok(done) => done,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    if arguments.json {
        let text = serde_json::json!({
            "seeds": seeds,
            "images": report.images,
            "stood_for": report.stood_for as f64,
            "judged": report.judged,
            "windows": report.windows,
            "sampled": report.sampled,
            "second_crashes": report.rounds,
            "violation": violation.as_ref().map(ToString::to_string),
            "replay": violation.as_ref().and_then(|violation| violation.replay.clone()),
        });
        println!("{text}");
    } else {
        println!("{seeds} seeds: {report}");
        match &violation {
            Some(violation) => println!("{violation}"),
            None => println!("no violation"),
        }
    }
    if violation.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
