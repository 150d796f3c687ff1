//! Compares Holm with the stores that a user would otherwise choose: the same workloads, the same durability, one
//! table. Rounds interleave the engines, so that a slow minute of the machine affects all of them. Each engine and
//! round has a fresh process and a fresh folder. This package is the only one that depends on other engines.
#![deny(unsafe_code)]

mod child;
mod engines;
mod limit;
mod memory;
mod parent;
mod prefixes;
mod report;
mod units;

use anyhow::{Context, Result, bail};
use child::{Order, Task};
use clap::Parser;
use engines::{Durability, ENGINES, Entry, entry};
use holm_bench::confine::Group;
use holm_bench::{Plan, Workload, machine};
use limit::Limit;
use report::Report;
use std::path::PathBuf;
use std::time::Duration;

/// Measures Holm and other embedded stores in one run.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    child: Option<Child>,
    /// Engines, separated by commas [default: those that are compared in mixes; with transfers among the workloads:
    /// those with transactions; with --memory: those for data larger than memory]
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,
    /// Workloads in the order in which they run [default: load,c,b,a,f,d,e; if synced: batches,updates,a; with
    /// --keys-from: load,gets,scans; with --memory: load,gets,scans,overwrites,updates]
    #[arg(long, value_delimiter = ',')]
    workloads: Vec<Workload>,
    /// Records [default: 1000000; if synced: 100000; with --memory: 4000000]
    #[arg(long)]
    records: Option<u64>,
    /// Bytes of a value [default: 100; with --keys-from: 8]
    #[arg(long)]
    value_bytes: Option<usize>,
    /// Take the keys from the lines of a file, and compare them with random bytes of the same number and lengths
    #[arg(long, value_name = "FILE")]
    keys_from: Option<PathBuf>,
    /// Numbers of threads, separated by commas; load uses the first only [default: 1; if synced: 1,2,8]
    #[arg(long, value_delimiter = ',')]
    threads: Vec<usize>,
    /// Seconds per mix [default: 5; if synced: 1]
    #[arg(long)]
    seconds: Option<f64>,
    /// Seconds after which a load ends and a kill comes; batches then insert the remaining records unmeasured [default:
    /// none; if synced: those per mix]
    #[arg(long)]
    load_seconds: Option<f64>,
    /// Seconds that an engine stays idle after the load, before its disk and memory are measured again
    #[arg(long, default_value_t = 2.0)]
    settle: f64,
    /// Rounds over all engines
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Rounds of killing and reopening [default: 1; with --memory: 0]
    #[arg(long)]
    kills: Option<usize>,
    /// The failures that a returned write survives
    #[arg(long, value_enum, default_value = "relaxed")]
    durability: Durability,
    /// Folder for the files of the runs; synced means nothing on a memory file system
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Mebibytes of memory for each engine, pages of files included, for data larger than memory; or `quarter`: that of
    /// the bytes of all keys and values. Each engine is set for so much memory [default: no limit]
    #[arg(long, value_name = "MIB")]
    memory: Option<Limit>,
    /// Also write all figures to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// Seconds after which a child is killed [default: 600; with --memory: 3600]
    #[arg(long)]
    limit: Option<u64>,
    /// Seed of keys, values and choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(clap::Subcommand)]
enum Child {
    /// Runs one order of the parent
    #[command(hide = true)]
    Child { order: String },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match &arguments.child {
        Some(Child::Child { order }) => child::obey(order),
        None => compare(&arguments),
    }
}

fn compare(arguments: &Arguments) -> Result<()> {
    let engines = engines(arguments)?;
    let steps = steps(arguments);
    let plan = plan(arguments);
    for &(_, threads) in &steps {
        Plan { threads, ..plan.clone() }.check()?;
    }
    Duration::try_from_secs_f64(arguments.settle).context("--settle")?;
    parent::check_folder(&arguments.dir)?;
    let usual_limit = if arguments.memory.is_some() { 3600 } else { 600 };
    let (durability, limit) = (arguments.durability, Duration::from_secs(arguments.limit.unwrap_or(usual_limit)));
    let settle_seconds = arguments.settle;
    let machine = format!("{}; built with the profile `{}`", machine::describe(&arguments.dir), env!("HOLM_PROFILE"));
    let (mut runs, mut kills) = (Vec::new(), Vec::new());
    let group = limited(arguments, &plan)?;
    let confined = group.as_ref().map(Group::confinement);
    let machine = match &confined {
        Some(confined) => {
            let mebibytes = confined.bytes() as f64 / f64::from(1 << 20);
            format!("{machine}; {mebibytes:.0} MiB of memory for each engine, pages of files included")
        }
        None => machine,
    };
    let order = |engine: &String, round: usize| {
        let plan = Plan { seed: plan.seed.wrapping_add(1000 * round as u64), ..plan.clone() };
        let (engine, folder) = (engine.clone(), arguments.dir.clone());
        let (task, confined) = (Task::Measure(Vec::new()), confined.clone());
        Order { engine, durability, folder, task, plan, source: None, settle_seconds, confined }
    };
    if let Some(file) = &arguments.keys_from {
        let conditions =
            Report { machine, durability, engines, steps, settle_seconds, plan: plan.clone(), runs, kills };
        let comparison = prefixes::compare(conditions, file, arguments.rounds, limit, order)?;
        return tell(&comparison.text(), &comparison, arguments);
    }
    for round in 1..=arguments.rounds {
        for engine in &engines {
            eprint!("round {round} of {}, {engine}:", arguments.rounds);
            runs.push(parent::measure(&order(engine, round), round, &steps, limit));
        }
    }
    let all_kills = arguments.kills.unwrap_or(usize::from(confined.is_none()));
    for round in 1..=all_kills {
        for engine in &engines {
            eprintln!("kill {round} of {all_kills}, {engine}");
            kills.push(parent::kill(&order(engine, round), round, limit));
        }
    }
    let report = Report { machine, durability, engines, steps, settle_seconds, plan, runs, kills };
    tell(&report.text(), &report, arguments)
}

/// Returns the group with little memory in which each child runs, if that was asked for.
fn limited(arguments: &Arguments, plan: &Plan) -> Result<Option<Group>> {
    let Some(limit) = arguments.memory else { return Ok(None) };
    if limit == Limit::Quarter && arguments.keys_from.is_some() {
        bail!("--memory quarter needs keys of one length, and not those of a file");
    }
    Ok(Some(Group::create(limit.bytes(plan)?).context("cannot limit the memory")?))
}

/// Writes the text to standard output, and the figures to the file that was named.
fn tell(text: &str, figures: &impl serde::Serialize, arguments: &Arguments) -> Result<()> {
    println!("{text}");
    if let Some(path) = &arguments.json {
        let file = std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        serde_json::to_writer_pretty(std::io::BufWriter::new(file), figures)?;
    }
    Ok(())
}

fn engines(arguments: &Arguments) -> Result<Vec<String>> {
    if arguments.engines.is_empty() {
        let transfers = arguments.workloads.iter().any(|workload| workload.transacts());
        let limited = arguments.memory.is_some();
        let usual = |entry: &&Entry| match entry.usual {
            usual if transfers => usual.transfers,
            usual if limited => usual.limited,
            usual => usual.mixes,
        };
        return Ok(ENGINES.iter().filter(usual).map(|entry| entry.name.to_owned()).collect());
    }
    arguments.engines.iter().map(|name| Ok(entry(name)?.name.to_owned())).collect()
}

/// Returns the workloads and their numbers of threads, in order.
fn steps(arguments: &Arguments) -> Vec<(Workload, usize)> {
    use Workload::{A, B, Batches, C, D, E, F, Gets, Load, Overwrites, Scans, Updates};
    let synced = arguments.durability == Durability::Synced;
    let usual: &[Workload] = match synced {
        _ if arguments.keys_from.is_some() => &[Load, Gets, Scans],
        _ if arguments.memory.is_some() => &[Load, Gets, Scans, Overwrites, Updates],
        true => &[Batches, Updates, A],
        false => &[Load, C, B, A, F, D, E],
    };
    let usual_threads: &[usize] = if synced && arguments.keys_from.is_none() { &[1, 2, 8] } else { &[1] };
    let workloads = if arguments.workloads.is_empty() { usual } else { &arguments.workloads };
    let threads = if arguments.threads.is_empty() { usual_threads } else { &arguments.threads };
    let widths = |workload| if workload == Load { &threads[..1] } else { threads };
    let of = |&workload: &Workload| widths(workload).iter().map(move |&threads| (workload, threads));
    workloads.iter().flat_map(of).collect()
}

fn plan(arguments: &Arguments) -> Plan {
    let synced = arguments.durability == Durability::Synced;
    let seconds = arguments.seconds.unwrap_or(if synced { 1.0 } else { 5.0 });
    Plan {
        records: arguments.records.unwrap_or(match arguments.memory {
            Some(_) => 4_000_000,
            None if synced => 100_000,
            None => 1_000_000,
        }),
        value_bytes: arguments.value_bytes.unwrap_or(if arguments.keys_from.is_some() { 8 } else { 100 }),
        seconds,
        load_seconds: arguments.load_seconds.or(synced.then_some(seconds)),
        seed: arguments.seed,
        ..Plan::default()
    }
}
