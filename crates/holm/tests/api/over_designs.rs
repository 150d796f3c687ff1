//! The tests of the interface over each other design that ships. This program starts itself once more for each of them.

use crate::tools::{DEFAULT, DESIGN};
use std::process::Command;

/// The modules whose tests depend on the leaf: contents, growth, space, durability, threads. In the others a leaf has
/// no part: errors, files, traits, and the sizes that are those of the default design.
const MODULES: &[&str] = &[
    "atomic::",
    "back_in_time::",
    "batches::",
    "dropping::",
    "durability::",
    "expiry::",
    "expiry_model::",
    "emptied::",
    "full::",
    "gaps::",
    "growth::",
    "histories::",
    "limits::",
    "model::",
    "ranges::",
    "scans::",
    "threads::",
];

#[test]
fn the_interface_is_the_same_over_each_design() {
    if std::env::var_os(DESIGN).is_some() {
        return;
    }
    let shipped = holm_tree::designs::CAPABILITIES.iter().map(|(name, _)| *name);
    for design in shipped.filter(|name| *name != DEFAULT) {
        let program = std::env::current_exe().expect("a program");
        let output = Command::new(program).args(MODULES).env(DESIGN, design).output().expect("a child");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("test result: ok."), "{design}: {said}");
        assert!(!said.contains(" 0 passed"), "{design}: {said}");
    }
}
