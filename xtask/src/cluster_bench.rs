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
        ];
        let mut words: Vec<_> = valued.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
        words.extend(self.etcd_everywhere.then(|| "--etcd-everywhere".to_owned()));
        words
    }
}

pub(crate) fn run(root: &Path, settings: &ClusterBench) -> Result<()> {
    let cluster = match &settings.cluster {
        Some(program) => std::path::absolute(program)?,
        None => crate::cluster::build(root)?,
    };
    let server = match &settings.server {
        Some(program) => std::path::absolute(program)?,
        None => crate::redis_suite::built()?,
    };
    let mut command = Command::new("go");
    command.current_dir(root.join("shells/cluster/bench")).args(["run", "."]).args(settings.words());
    command.arg("--server").arg(server);
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
        let given = ["cluster-bench", "--rounds", "2", "--seconds", "0.5", "--pipelines", "1,4", "--etcd-everywhere"];
        let words = <Alone as clap::Parser>::parse_from(given).settings.words().join(" ");
        assert_eq!(
            words,
            "--rounds 2 --seconds 0.5 --connections 50 --pipelines 1,4 --keys 100000 --bytes 100 --groups 16 \
             --etcd-everywhere"
        );
    }
}
