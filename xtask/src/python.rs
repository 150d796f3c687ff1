//! The Python package: its wheel, by maturin, which `pip install maturin` installs.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// Builds a wheel in `target/wheels`: for manylinux if its container runs this, and for this system's C library
/// otherwise. Arguments go to `maturin build`.
pub(crate) fn wheel(root: &Path, arguments: &[String]) -> Result<()> {
    let (program, before) = maturin()?;
    let status = Command::new(program)
        .current_dir(root)
        .args(before)
        .args(["build", "--release", "--locked", "--manifest-path", "shells/python/Cargo.toml", "--out"])
        .arg(root.join("target/wheels"))
        .args(arguments)
        .status()
        .context("maturin did not start")?;
    if !status.success() {
        bail!("maturin failed: {status}");
    }
    Ok(())
}

/// Returns how maturin is called: by its name, or as a module of Python.
fn maturin() -> Result<(&'static str, &'static [&'static str])> {
    let calls: [(_, &[&str]); 2] = [("maturin", &[]), ("python3", &["-m", "maturin"])];
    let answers = |(program, before): &(&str, &[&str])| {
        let mut asked = Command::new(program);
        asked.args(*before).arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    };
    calls.into_iter().find(answers).context("maturin builds wheels, and is not installed: `pip install maturin`")
}
