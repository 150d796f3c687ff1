//! `ycsb`: workloads A to F of YCSB, by its own core and its own binding for Redis, on `holm-server` and `redis-server`
//! in turns.
//!
//! The core and Jedis, the client under the binding, come from Maven's repository, which has no binding for Redis. The
//! binding is one file of YCSB's source and is compiled here. Both servers are emptied and loaded before each workload;
//! then they take turns, and who is first changes from round to round. An operation that fails ends the measurement.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::redis_bench::{RedisBench, Servers, load_average, median, spread};

/// The binding, in YCSB's source.
const BINDING: &str = "redis/src/main/java/site/ycsb/db/RedisClient.java";

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Ycsb {
    /// The folder of YCSB's source, of version 0.17.0, with `redis` and `workloads` in it. Maven's repository has no
    /// binding for Redis. `java`, `javac` and `mvn` must be installed.
    folder: PathBuf,
    /// Workloads.
    #[arg(long, value_delimiter = ',', default_values_t = ['a', 'b', 'c', 'd', 'e', 'f'])]
    workloads: Vec<char>,
    /// Rounds of each workload.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Records that are loaded.
    #[arg(long, default_value_t = 100_000)]
    records: usize,
    /// Operations of a round. Workload E has a tenth of them: each reads 50 records on average.
    #[arg(long, default_value_t = 100_000)]
    operations: usize,
    /// Threads of the client, each with a connection.
    #[arg(long, default_value_t = 16)]
    threads: usize,
    /// Operations per second that are offered to each server; 0 for as many as it takes.
    #[arg(long, default_value_t = 0)]
    target: usize,
    /// This program in place of the one that is built.
    #[arg(long)]
    server: Option<PathBuf>,
    /// The version of YCSB's core.
    #[arg(long, default_value = "0.17.0")]
    core: String,
    /// The version of Jedis: that of the binding.
    #[arg(long, default_value = "2.9.0")]
    jedis: String,
}

/// The programs' class path.
struct ClassPath(String);

fn output_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("starting {name}: is it installed?"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{name} has failed: {text}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(text)
}

impl ClassPath {
    /// Lets Maven find the libraries, and compiles the binding.
    fn make(settings: &Ycsb, folder: &Path) -> Result<Self> {
        let binding = settings.folder.join(BINDING);
        if !binding.is_file() {
            bail!("{} is not there: give the folder of YCSB's source", binding.display());
        }
        let dependency = |group: &str, artifact: &str, version: &str| {
            format!(
                "<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>\
                 </dependency>"
            )
        };
        let core = dependency("site.ycsb", "core", &settings.core);
        let jedis = dependency("redis.clients", "jedis", &settings.jedis);
        let project = format!(
            "<project><modelVersion>4.0.0</modelVersion><groupId>holm</groupId><artifactId>ycsb</artifactId>\
             <version>0</version><dependencies>{core}{jedis}</dependencies></project>"
        );
        std::fs::write(folder.join("pom.xml"), project)?;
        let path = folder.join("classpath");
        let goals = ["-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=classpath"];
        output_of(Command::new("mvn").current_dir(folder).args(goals))
            .context("Maven's repository has the core and Jedis")?;
        let libraries = std::fs::read_to_string(path)?;
        let classes = folder.join("classes");
        output_of(Command::new("javac").args(["-nowarn", "-cp", &libraries, "-d"]).arg(&classes).arg(&binding))?;
        Ok(ClassPath(format!("{}:{libraries}", classes.display())))
    }

    /// Runs the client once, and returns what it prints.
    fn client(&self, settings: &Ycsb, phase: &str, workload: char, port: u16) -> Result<String> {
        let file = settings.folder.join(format!("workloads/workload{workload}"));
        let operations = if workload == 'e' { settings.operations / 10 } else { settings.operations };
        let mut command = Command::new("java");
        command.args(["-cp", &self.0, "site.ycsb.Client", phase, "-db", "site.ycsb.db.RedisClient", "-P"]).arg(file);
        let target = if phase == "-t" { settings.target } else { 0 };
        for property in [
            "workload=site.ycsb.workloads.CoreWorkload".to_owned(),
            "redis.host=127.0.0.1".to_owned(),
            format!("redis.port={port}"),
            format!("recordcount={}", settings.records),
            format!("operationcount={operations}"),
            format!("threadcount={}", settings.threads),
            format!("target={target}"),
            "hdrhistogram.percentiles=99,99.9".to_owned(),
        ] {
            command.args(["-p", &property]);
        }
        let text = output_of(&mut command)?;
        match failures(&text) {
            0 => Ok(text),
            count => bail!("{count} operations of workload {workload} have failed: {text}"),
        }
    }
}

/// Returns a number of the client's report, whose lines are `[OPERATION], name, number`.
fn figure(text: &str, operation: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| {
        let mut parts = line.split(", ");
        let is_meant = parts.next()? == format!("[{operation}]") && parts.next()? == name;
        is_meant.then(|| parts.next()?.trim().parse().ok())?
    })
}

/// Returns how many operations have not returned OK.
fn failures(text: &str) -> u64 {
    let lines = text.lines().filter(|line| line.contains("Return=") && !line.contains("Return=OK"));
    lines.filter_map(|line| line.rsplit(", ").next()?.trim().parse::<u64>().ok()).sum()
}

/// What a run has shown: operations per second, and the 99.9th percentile of its reads or scans in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measured {
    rate: f64,
    tail: f64,
}

fn parse(text: &str) -> Option<Measured> {
    let rate = figure(text, "OVERALL", "Throughput(ops/sec)")?;
    let tail = |operation| figure(text, operation, "99.9PercentileLatency(us)");
    Some(Measured { rate, tail: tail("READ").or_else(|| tail("SCAN"))? / 1e3 })
}

fn flush(port: u16) -> Result<()> {
    output_of(Command::new("redis-cli").args(["-p", &port.to_string(), "flushall"])).map(drop)
}

/// Measures one workload, and prints its row.
fn measure(settings: &Ycsb, classes: &ClassPath, ports: [u16; 2], workload: char) -> Result<()> {
    for port in ports {
        flush(port)?;
        classes.client(settings, "-load", workload, port)?;
    }
    let (mut measured, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
    for round in 0..settings.rounds {
        for which in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let text = classes.client(settings, "-t", workload, ports[which])?;
            measured[which].push(parse(&text).with_context(|| format!("no figures in {text}"))?);
        }
        let last = measured.each_ref().map(|all| all.last().map_or(f64::NAN, |one| one.rate));
        ratios.push(last[1] / last[0]);
    }
    let of =
        |part: fn(&Measured) -> f64| measured.each_ref().map(|all| median(&all.iter().map(part).collect::<Vec<_>>()));
    let (rates, tails) = (of(|one| one.rate / 1e3), of(|one| one.tail));
    let (low, high) = spread(&ratios);
    println!(
        "| {} | {:.1} | {:.1} | {:.2} | {low:.2} to {high:.2} | {:.2} | {:.2} |",
        workload.to_ascii_uppercase(),
        rates[0],
        rates[1],
        median(&ratios),
        tails[0],
        tails[1]
    );
    Ok(())
}

pub(crate) fn run(settings: &Ycsb) -> Result<()> {
    let servers = Servers::start("ycsb", settings.server.as_deref(), &RedisBench::default())?;
    let classes = ClassPath::make(settings, servers.folder())?;
    println!("load before: {}", load_average());
    println!(
        "thousands of operations a second, and the 99.9th percentile of reads or scans in milliseconds; medians of {} \
         rounds, {} records, {} threads\n",
        settings.rounds, settings.records, settings.threads
    );
    println!("| workload | redis-server | holm-server | ratio | spread | p99.9 Redis | p99.9 Holm |");
    println!("|---|---|---|---|---|---|---|");
    for workload in &settings.workloads {
        measure(settings, &classes, servers.ports(), *workload)?;
    }
    println!("\nload after: {}", load_average());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Measured, failures, parse};

    #[test]
    fn figures_and_failures_are_read_from_the_report() {
        let text = "[OVERALL], RunTime(ms), 250\n[OVERALL], Throughput(ops/sec), 4000.5\n[READ], Operations, 90\n\
                    [READ], 99.9PercentileLatency(us), 1500\n[READ], Return=OK, 90\n[INSERT], Return=ERROR, 7\n\
                    [CLEANUP], 99.9PercentileLatency(us), 3\n";
        assert_eq!(parse(text), Some(Measured { rate: 4000.5, tail: 1.5 }));
        assert_eq!(failures(text), 7);
        assert_eq!(failures("[READ], Return=OK, 90\n"), 0);
        assert_eq!(parse("[READ], Operations, 90\n"), None);
    }
}
