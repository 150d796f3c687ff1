//! Runs a program that may do anything: hang, take all memory, write without end, leave children.

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a program has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// With success.
    Well,
    /// With another code, or by a signal: what it said.
    Badly(String),
    /// It took longer than it may.
    Late,
    /// It took more memory than it may.
    Large,
}

/// The most memory that a program may take, in bytes.
const MOST_MEMORY: u64 = 3 << 30;

/// The most bytes of one file, in units of the shell.
const MOST_FILE: &str = "ulimit -f 4194304; exec \"$0\" \"$@\"";

/// Runs a program in a folder of its own for temporary files, and ends it with all its children.
pub(crate) fn run(
    (program, arguments): (&Path, &[String]),
    current: &Path,
    variables: &[(&str, String)],
    temporary: &Path,
    limit: Duration,
) -> Result<Ended> {
    // What an earlier one has left.
    let _ = fs::remove_dir_all(temporary);
    fs::create_dir_all(temporary)?;
    let said = temporary.join("said");
    let mut command = Command::new("sh");
    command.args(["-c", MOST_FILE]).arg(program).args(arguments).current_dir(current);
    command.envs(variables.iter().map(|(name, value)| (name, value))).env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(File::create(&said)?).stderr(File::options().append(true).open(&said)?);
    let started = Instant::now();
    let mut child = command.process_group(0).spawn().with_context(|| program.display().to_string())?;
    let mut pause = Duration::from_millis(1);
    let cut = loop {
        if let Some(status) = child.try_wait()? {
            if status.success() {
                break Ended::Well;
            }
            break Ended::Badly(reason(&fs::read_to_string(&said).unwrap_or_default(), &status.to_string()));
        }
        if started.elapsed() > limit {
            break Ended::Late;
        }
        if memory(child.id()) > MOST_MEMORY {
            break Ended::Large;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    };
    // The group: a test may have children of its own.
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    let _ = child.wait();
    Ok(cut)
}

/// The memory that a process has, in bytes; 0 where that is unknown.
fn memory(id: u32) -> u64 {
    let told = fs::read_to_string(format!("/proc/{id}/statm")).unwrap_or_default();
    told.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// The line of an output that says what was wrong.
fn reason(said: &str, status: &str) -> String {
    let lines: Vec<_> = said.lines().collect();
    let after_panic = || {
        let at = lines.iter().position(|line| line.contains("panicked at"))?;
        lines.get(at + 1).copied()
    };
    let line = lines.iter().find(|line| line.starts_with("FAILED seed")).copied().or_else(after_panic);
    let line = line.or_else(|| lines.iter().rev().find(|line| !line.trim().is_empty()).copied()).unwrap_or(status);
    line.chars().take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_what_was_wrong_is_found() {
        assert_eq!(reason("running\nthread 't' panicked at a.rs:1:\nleft: 1\nnote\n", "1"), "left: 1");
        assert_eq!(reason("x\nFAILED seed 4 profile all: a cycle\ny\n", "1"), "FAILED seed 4 profile all: a cycle");
        assert_eq!(reason("", "signal: 11"), "signal: 11");
    }
}
