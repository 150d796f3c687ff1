//! The library as PiBench uses it: a driver in C++ loads it and checks every function, for designs, media and sizes.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The driver, compiled once.
fn driver() -> &'static Path {
    static DRIVER: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, driver) = DRIVER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("driver");
        // The library was built with a C++ compiler, so there is one.
        let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
        let mut compiler = Command::new(compiler);
        compiler.args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]);
        compiler.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/driver.cpp"));
        let made = compiler.arg("-o").arg(&program).arg("-ldl").output().expect("a C++ compiler");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        (folder, program)
    });
    driver
}

/// Returns the library among the dependencies of this test.
fn library() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    own.parent().expect("and a folder").join("libholm_pibench.so")
}

fn drive(sizes: [usize; 2], variables: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(driver());
    command.arg(library()).args(sizes.map(|size| size.to_string())).arg(folder.path().join("pool"));
    for name in ["DESIGN", "MEDIUM", "FLUSH_NS", "DURABILITY", "STATS"] {
        command.env_remove(format!("HOLM_{name}"));
    }
    let output = command.envs(variables.iter().copied()).output().expect("the driver runs");
    let left = std::fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0, "something is left where the storage was");
    output
}

/// Runs the driver on a tree, and returns its output.
fn well(sizes: [usize; 2], variables: &[(&str, &str)]) -> String {
    let output = drive(sizes, variables);
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told == "well\n", "{sizes:?} {variables:?}: {}: {told}{errors}", output.status);
    errors.into_owned()
}

#[test]
fn words_in_memory_of_every_design() {
    let designs = holm_designs::designs::CAPABILITIES.iter().filter(|(_, capabilities)| capabilities.stores_pairs);
    for (design, _) in designs {
        well([8, 8], &[("HOLM_DESIGN", design)]);
    }
}

#[test]
fn words_on_a_mapped_file_with_emulated_latency_and_counts() {
    let counts = well([8, 8], &[("HOLM_MEDIUM", "tmpfs"), ("HOLM_FLUSH_NS", "50"), ("HOLM_STATS", "1")]);
    assert!(counts.contains("+50 ns a line") && !counts.contains(" 0 lines flushed"), "{counts}");
    let counts = well([8, 8], &[("HOLM_DESIGN", "isle"), ("HOLM_DURABILITY", "strict"), ("HOLM_STATS", "1")]);
    assert!(counts.contains("isle on dram") && !counts.contains(" 0 fences"), "{counts}");
}

#[test]
fn each_operation_waits_where_it_is_to_be_durable_at_once() {
    well([8, 8], &[("HOLM_DURABILITY", "strict")]);
    well([8, 20], &[("HOLM_DURABILITY", "strict")]);
}

#[test]
fn other_sizes_in_memory() {
    for (sizes, design) in [([8, 100], "buffered"), ([16, 8], "fast_fair"), ([24, 1], "fp_tree"), ([200, 3000], "circ")]
    {
        well(sizes, &[("HOLM_DESIGN", design)]);
    }
    let counts = well([32, 64], &[("HOLM_MEDIUM", "tmpfs"), ("HOLM_STATS", "1")]);
    assert!(!counts.contains(" 0 lines flushed"), "{counts}");
}

#[test]
fn files() {
    well([8, 8], &[("HOLM_MEDIUM", "file")]);
    well([12, 40], &[("HOLM_MEDIUM", "file"), ("HOLM_DESIGN", "nv_tree"), ("HOLM_DURABILITY", "onsync")]);
    let counts = well([8, 8], &[("HOLM_MEDIUM", "file"), ("HOLM_DURABILITY", "buffered:1ms"), ("HOLM_STATS", "1")]);
    assert!(counts.contains("bytes logged"), "{counts}");
}

#[test]
fn what_cannot_be_had_is_refused_with_a_word() {
    for (sizes, variables, word) in [
        ([8, 8], &[("HOLM_DESIGN", "reef")][..], "there are buffered"),
        ([0, 8], &[], "keys of 0 bytes"),
        ([8, (1 << 30) + 1], &[], "values at most 1073741824"),
        ([8, 8], &[("HOLM_STATS", "yes")], "there are 0 and 1"),
        // This design needs whole keys in its slots, and these are longer.
        ([16, 8], &[("HOLM_DESIGN", "borders")], "whole keys"),
        ([8, 8], &[("HOLM_MEDIUM", "file"), ("HOLM_FLUSH_NS", "300")], "synced"),
        // The folder for temporary files is not on persistent memory.
        ([8, 8], &[("HOLM_MEDIUM", "dax")], "HOLM_MEDIUM=dax in "),
        ([8, 8], &[("HOLM_MEDIUM", "dax")], "is not DAX"),
        ([16, 100], &[("HOLM_MEDIUM", "dax")], "is not DAX"),
    ] {
        let output = drive(sizes, variables);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.stdout, b"refused\n", "{errors}");
        assert!(errors.contains(word), "{errors}");
    }
}
