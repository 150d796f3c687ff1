//! The cluster: its node is a program of Go over the state machine's static library. Both are built here, and tested.

use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What `cargo xtask cluster` does.
#[derive(clap::Args)]
pub(crate) struct Cluster {
    /// Runs the quick tests too: three nodes on this machine, and clients of Go.
    #[arg(long)]
    test: bool,
}

/// Builds `holm-cluster` in the folder of cargo's artifacts.
pub(crate) fn cluster(root: &Path, settings: &Cluster) -> Result<()> {
    let program = build(root)?;
    println!("{}", program.display());
    if settings.test {
        go(root, "shells/cluster", &["test", "-count=1", "-timeout=30m", "./..."], Some(&program))?;
        go(root, "shells/cluster/kubernetes", &["test", "-count=1", "./..."], Some(&program))?;
    }
    Ok(())
}

/// Runs a program of Go against clusters, such as the suite of histories; arguments go to it. It takes the place of
/// this process: a signal that is to end it reaches it.
pub(crate) fn run(root: &Path, name: &str, arguments: &[String]) -> Result<()> {
    let program = build(root)?;
    let trial = target(root).join("holm-cluster-trials").join(name);
    let text = trial.to_str().context("the path of the program is no text")?;
    go(root, "shells/cluster", &["build", "-o", text, &format!("./{name}")], None)?;
    let failed = Command::new(&trial).args(arguments).env("HOLM_CLUSTER", program).exec();
    Err(failed).with_context(|| format!("{} did not start", trial.display()))
}

fn target(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Builds `holm-cluster`, and returns its path.
pub(crate) fn build(root: &Path) -> Result<PathBuf> {
    let answers = Command::new("go").arg("version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !answers {
        bail!(
            "a node of the cluster is a program of Go, and there is no `go`: install Go 1.26 or later, and a C compiler"
        );
    }
    crate::cargo(&["build", "--release", "--package", "holm-node-capi"], &[])?;
    let program = target(root).join("holm-cluster");
    let text = program.to_str().context("the path of the program is no text")?;
    go(root, "shells/cluster", &["build", "-o", text, "."], None)?;
    Ok(program)
}

/// Runs Go in the folder of a module. Tests get the path of the program.
fn go(root: &Path, module: &str, words: &[&str], program: Option<&Path>) -> Result<()> {
    let mut command = Command::new("go");
    command.current_dir(root.join(module)).args(words).env("CGO_ENABLED", "1");
    command.env("CGO_LDFLAGS", target(root).join("release/libholm_node_capi.a"));
    if let Some(program) = program {
        command.env("HOLM_CLUSTER", program);
    }
    let status = command.status().context("go did not start")?;
    if !status.success() {
        bail!("go {}: {status}", words.join(" "));
    }
    Ok(())
}
