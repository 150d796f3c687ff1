//! Real files and real processes: a few rounds of what the programs run by the thousand.

use std::process::Command;

fn run(program: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(program).args(arguments).arg("--dir").arg(folder.path()).output().expect("starting");
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {told}");
    told
}

/// Two modes each, so that all six are tested.
#[test]
fn processes_killed_while_they_write() {
    for seed in ["0", "2", "4"] {
        run(env!("CARGO_BIN_EXE_kill-loop"), &["--kills", "18", "--seed", seed]);
    }
}

/// The same for processes that run transactions.
#[test]
fn processes_killed_in_transactions() {
    for seed in ["0", "2", "4"] {
        run(env!("CARGO_BIN_EXE_kill-loop"), &["--transactions", "--kills", "36", "--seed", seed]);
    }
}

/// Skipped, with a message, where there is no root or no loop device.
#[test]
fn a_file_system_shut_down() {
    print!("{}", run(env!("CARGO_BIN_EXE_power-cut"), &["--cuts", "2", "--seed", "1"]));
}
