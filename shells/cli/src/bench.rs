//! `bench`: the YCSB workloads of `holm-bench` on a keyspace of their own, in this process.
//!
//! The keyspace must not exist, and is dropped at the end, so no existing record is measured or lost.

mod beside;

use anyhow::{Context, anyhow, bail};
use clap::ValueEnum;
use holm::{Database, Durability};
use holm_bench::{Companion, Plan, Store, Workload};
use serde_json::Value;

use crate::args::Bench;
use crate::exit::Exit;
use crate::{opened, output, stat};

/// A workload after the load.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Choice {
    /// 50% reads, 50% updates
    A,
    /// 95% reads, 5% updates
    B,
    /// Reads
    C,
    /// 95% reads of the latest, 5% inserts
    D,
    /// 95% short scans, 5% inserts
    E,
    /// 50% reads, 50% read-modify-writes
    F,
    /// Updates alone
    Updates,
    /// Updates alone, all records equally often
    Overwrites,
    /// New records in atomic batches of 1000
    Batches,
}

impl Choice {
    fn workload(self) -> Workload {
        match self {
            Self::A => Workload::A,
            Self::B => Workload::B,
            Self::C => Workload::C,
            Self::D => Workload::D,
            Self::E => Workload::E,
            Self::F => Workload::F,
            Self::Updates => Workload::Updates,
            Self::Overwrites => Workload::Overwrites,
            Self::Batches => Workload::Batches,
        }
    }
}

/// What runs beside the workloads.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Companions {
    /// An open snapshot
    Snapshot,
    /// Whole backups, one after the other
    Backup,
    /// Whole backups, one after the other, with at most 192 MiB a second
    PacedBackup,
    /// The reader of a change feed
    Feed,
}

impl Companions {
    fn companion(self) -> Companion {
        match self {
            Self::Snapshot => Companion::Snapshot,
            Self::Backup => Companion::Backup,
            Self::PacedBackup => Companion::PacedBackup,
            Self::Feed => Companion::Feed,
        }
    }
}

pub(crate) fn run(args: &Bench) -> anyhow::Result<Exit> {
    let name = args.keyspace.as_str();
    opened::closing(opened::writable(&args.database, &args.writing, true)?, |database| {
        if database.existing_keyspace(name)?.is_some() {
            bail!("found a keyspace named {name}, expected none: its records would be lost; choose another --keyspace");
        }
        let measured = measure(args, database);
        let dropped = database.drop_keyspace(name).with_context(|| format!("cannot drop keyspace {name}"));
        measured.and(dropped).map(|_| Exit::Found)
    })
}

fn measure(args: &Bench, database: &Database) -> anyhow::Result<()> {
    let engine = Store::new("holm", database.clone(), &args.keyspace)?;
    let plan = Plan {
        records: args.records,
        value_bytes: args.value_bytes as usize,
        threads: usize::from(args.threads),
        seconds: args.seconds,
        // Single inserts that wait for the disk run only for the given time; batches insert the other records.
        load_seconds: (args.writing.durability == Some(Durability::Strict)).then_some(args.seconds),
        seed: args.seed,
        ..Plan::default()
    };
    let chosen = args.workloads.iter().map(|choice| choice.workload());
    if !args.beside.is_empty() {
        holm_bench::fill(&engine, &plan, 0).map_err(|error| anyhow!(error))?;
        return chosen.into_iter().try_for_each(|workload| beside::measure(args, &engine, &plan, workload));
    }
    if !args.json {
        output::print(HEADER)?;
    }
    for workload in std::iter::once(Workload::Load).chain(chosen) {
        let outcome = holm_bench::run(&engine, &plan, workload).map_err(|error| anyhow!(error))?;
        output::print(if args.json { stat::json_line(&outcome)? } else { row(&serde_json::to_value(&outcome)?) })?;
        if workload == Workload::Load {
            holm_bench::fill(&engine, &plan, outcome.operations).map_err(|error| anyhow!(error))?;
        }
    }
    Ok(())
}

const HEADER: &str = "workload  operations   seconds   per second    p50 us    p99 us  p99.9 us\n";

/// Returns the table row of one workload; a missing number is a dash.
fn row(outcome: &Value) -> String {
    let name = outcome["workload"].as_str().unwrap_or("-").to_lowercase();
    let operations = outcome["operations"].as_u64().map_or("-".to_owned(), |count| count.to_string());
    let number = |name: &str, digits: usize, per: f64| match outcome[name].as_f64() {
        Some(number) => format!("{:.digits$}", number / per),
        None => "-".to_owned(),
    };
    format!(
        "{name:<8}  {operations:>10}  {:>8}  {:>11}  {:>8}  {:>8}  {:>8}\n",
        number("seconds", 2, 1.0),
        number("per_second", 0, 1.0),
        number("p50_ns", 2, 1e3),
        number("p99_ns", 2, 1e3),
        number("p999_ns", 2, 1e3),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_with_their_heads() {
        let outcome = serde_json::json!({
            "workload": "Load", "operations": 100_000, "seconds": 1.5, "per_second": 66_666.6,
            "p50_ns": 900, "p99_ns": 12_345,
        });
        let row = row(&outcome);
        assert_eq!(row.len(), HEADER.len());
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>(),
            ["load", "100000", "1.50", "66667", "0.90", "12.35", "-"]
        );
    }
}
