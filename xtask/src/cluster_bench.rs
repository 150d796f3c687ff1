//! `cluster-bench`: `holm-cluster` beside `holm-server` and etcd, each with its clients, in the same minutes.
//!
//! The programs are built here. The program of Go in `shells/cluster/bench` starts them, measures and prints the
//! tables.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct ClusterBench {
    /// Rounds of each cell.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of a cell in a round; a sixth more comes before it, and is not counted.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Connections.
    #[arg(long, default_value_t = 50)]
    connections: usize,
    /// Requests that a connection has under way: a pipeline of Holm, as many calls at once of etcd.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16])]
    pipelines: Vec<usize>,
    /// Keys, of 16 bytes, that are drawn from.
    #[arg(long, default_value_t = 100_000)]
    keys: usize,
    /// Bytes of a value.
    #[arg(long, default_value_t = 100)]
    bytes: usize,
    /// Measures `holm-cluster` alone, with all of its nodes and with one less.
    #[arg(long, conflicts_with = "catch_up")]
    one_less: bool,
    /// Measures `holm-cluster` alone: how long a node without replicas takes to get all that another one has, and what
    /// clients see meanwhile. A round makes a cluster of its own.
    #[arg(long)]
    catch_up: bool,
    /// Measures `holm-cluster` alone: how long a backup of all keys takes, and its restore into another cluster.
    #[arg(long, conflicts_with_all = ["catch_up", "one_less", "beside"])]
    backup: bool,
    /// Requests per second of the clients that go on while a node catches up.
    #[arg(long, default_value_t = 1000)]
    rate: usize,
    /// Measures these other builds of `holm-cluster` in place of `holm-server`; `lease` is the build itself, with reads
    /// by leases.
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["catch_up", "one_less"])]
    beside: Vec<PathBuf>,
    /// Groups of `holm-cluster`.
    #[arg(long, default_value_t = 16)]
    groups: usize,
    /// Clients of etcd ask all of its members, and not its leader alone.
    #[arg(long)]
    etcd_everywhere: bool,
    /// A folder on the disk that is measured, in place of that for temporary files.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// This program in place of the `holm-cluster` that is built.
    #[arg(long)]
    cluster: Option<PathBuf>,
    /// This program in place of the `holm-server` that is built.
    #[arg(long)]
    server: Option<PathBuf>,
}

impl ClusterBench {
    /// The options of the program of Go, which has the same names for them.
    fn words(&self) -> Vec<String> {
        let pipelines: Vec<_> = self.pipelines.iter().map(usize::to_string).collect();
        let valued = [
            ("--rounds", self.rounds.to_string()),
            ("--seconds", self.seconds.to_string()),
            ("--connections", self.connections.to_string()),
            ("--pipelines", pipelines.join(",")),
            ("--keys", self.keys.to_string()),
            ("--bytes", self.bytes.to_string()),
            ("--groups", self.groups.to_string()),
            ("--rate", self.rate.to_string()),
        ];
        let mut words: Vec<_> = valued.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
        let chosen = [
            ("--etcd-everywhere", self.etcd_everywhere),
            ("--one-less", self.one_less),
            ("--catch-up", self.catch_up),
            ("--backup", self.backup),
        ];
        words.extend(chosen.into_iter().filter(|(_, is_chosen)| *is_chosen).map(|(name, _)| name.to_owned()));
        words
    }
}

pub(crate) fn run(root: &Path, settings: &ClusterBench) -> Result<()> {
    let cluster = match &settings.cluster {
        Some(program) => std::path::absolute(program)?,
        None => crate::cluster::build(root)?,
    };
    let server = match &settings.server {
        Some(program) => Some(std::path::absolute(program)?),
        None if settings.one_less || settings.catch_up || settings.backup || !settings.beside.is_empty() => None,
        None => Some(crate::redis_suite::built()?),
    };
    let mut command = Command::new("go");
    command.current_dir(root.join("shells/cluster/bench")).args(["run", "."]).args(settings.words());
    if let Some(server) = server {
        command.arg("--server").arg(server);
    }
    if !settings.beside.is_empty() {
        let place = |one: &PathBuf| if one == Path::new("lease") { Ok(one.clone()) } else { std::path::absolute(one) };
        let programs: Result<Vec<_>, _> = settings.beside.iter().map(place).collect();
        let programs: Vec<_> = programs?.iter().map(|one| one.display().to_string()).collect();
        command.arg("--beside").arg(programs.join(","));
    }
    if let Some(folder) = &settings.folder {
        command.arg("--folder").arg(std::path::absolute(folder)?);
    }
    command.env("CGO_ENABLED", "0").env("HOLM_CLUSTER", cluster);
    let status = command.status().context("go did not start")?;
    if !status.success() {
        bail!("the measurement failed: {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_go_to_the_program_that_measures() {
        #[derive(clap::Parser)]
        struct Alone {
            #[command(flatten)]
            settings: ClusterBench,
        }
        let given = [
            "cluster-bench",
            "--rounds",
            "2",
            "--seconds",
            "0.5",
            "--pipelines",
            "1,4",
            "--etcd-everywhere",
            "--one-less",
        ];
        let words = <Alone as clap::Parser>::parse_from(given).settings.words().join(" ");
        assert_eq!(
            words,
            "--rounds 2 --seconds 0.5 --connections 50 --pipelines 1,4 --keys 100000 --bytes 100 --groups 16 \
             --rate 1000 --etcd-everywhere --one-less"
        );
    }
}
