//! The library as a C program uses it. The test installs it under a prefix, finds it by its pkg-config file, and
//! compiles programs against its header with the system's compiler. It links them to either library, and runs them,
//! once more under the address sanitizer.
//!
//! Without a compiler the test checks nothing, and prints so past the capture of the test's output. Where Rust links
//! programs, there is a compiler.

#![forbid(unsafe_code)]

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// A prefix with all installed files.
struct Installed {
    folder: TempDir,
}

/// How a program is linked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Shared,
    Static,
    /// Fully static, including the C library.
    Alone,
    Sanitized,
}

impl Installed {
    /// Returns `None`, and prints so, if there is no C compiler.
    fn new() -> Option<Self> {
        if !compiles(&[]) {
            skip("there is no C compiler (`cc`, or what CC names): the library was not tried from C");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        install(folder.path());
        Some(Installed { folder })
    }

    fn lib(&self) -> PathBuf {
        self.folder.path().join("lib")
    }

    /// Returns the words of a line of the pkg-config file, with its variables substituted.
    fn flags(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.lib().join("pkgconfig/holm.pc")).expect("it was installed");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).expect("a line of it");
        let mut line = line.to_owned();
        for (variable, value) in text.lines().rev().filter_map(|line| line.split_once('=')) {
            line = line.replace(&format!("${{{variable}}}"), value);
        }
        line.split_whitespace().map(String::from).collect()
    }

    /// Compiles a program of this package.
    fn compiled(&self, source: &str, link: Link) -> PathBuf {
        let program = self.folder.path().join(Path::new(source).file_stem().unwrap_or(OsStr::new("program")));
        let mut compiler = compiler();
        compiler.args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-pthread"]);
        compiler.args(self.flags("Cflags")).arg(Path::new(PACKAGE).join(source)).arg("-o").arg(&program);
        if link == Link::Shared {
            compiler.args(self.flags("Libs"));
        } else {
            compiler.arg(self.lib().join("libholm.a")).args(self.flags("Libs.private"));
        }
        if link == Link::Sanitized {
            compiler.args(["-fsanitize=address", "-fno-omit-frame-pointer"]);
        }
        if link == Link::Alone {
            compiler.arg("-static");
        }
        let done = compiler.output().expect("it ran before");
        assert!(done.status.success(), "{source}: {}", String::from_utf8_lossy(&done.stderr));
        program
    }

    /// Runs a program in a folder, with folders of its own, and returns its output.
    fn run(&self, program: &Path, folders: &[&str]) -> String {
        let place = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(program);
        command.current_dir(place.path()).args(folders.iter().map(|folder| place.path().join(folder)));
        let done = command.env("LD_LIBRARY_PATH", self.lib()).output().expect("it was compiled");
        let (told, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success() && errors.is_empty(), "{}: {told}{errors}", done.status);
        told.into_owned()
    }
}

fn install(prefix: &Path) {
    let installer = Command::new(env!("CARGO_BIN_EXE_holm-install")).arg(prefix).output();
    let installed = installer.expect("the installer runs");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
}

fn compiler() -> Command {
    Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
}

/// Returns whether an empty program compiles with these flags.
fn compiles(flags: &[&str]) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("nothing.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("a file");
    let made = compiler().args(flags).arg(&source).arg("-o").arg(folder.path().join("nothing")).output();
    made.is_ok_and(|made| made.status.success())
}

/// Without `eprintln!`, because the harness hides its output when a test passes.
fn skip(what: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what}");
}

const REEFS: &str = "north = coral\nsouth is absent\nfar south was absent\n\
    east = sand\nfar south = coral\nwest = kelp\nfar south = coral\neast = sand\n3 records\n";

#[test]
fn the_example_runs_with_the_shared_library() {
    let Some(installed) = Installed::new() else { return };
    let program = installed.compiled("examples/reefs.c", Link::Shared);
    assert_eq!(installed.run(&program, &["reefs.holm"]), REEFS);
}

#[test]
fn a_prefix_may_have_spaces() {
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().join("two words");
    install(&prefix);
    let file = std::fs::read_to_string(prefix.join("lib/pkgconfig/holm.pc")).expect("it was installed");
    let told = file.lines().find_map(|line| line.strip_prefix("prefix=")).expect("a prefix");
    assert_eq!(told, prefix.to_string_lossy().replace(' ', "\\ "));
}

/// Each program of the tests, its folders, and what it prints.
const PROGRAMS: [(&str, &[&str], &str); 11] = [
    ("tests/doors.c", &["one.holm", "two.holm"], "every door\n"),
    ("tests/atomics.c", &["one.holm"], "every atom\n"),
    ("tests/transactions.c", &["one.holm", "two.holm"], "every transaction\n"),
    ("tests/snapshots.c", &["one.holm", "two.holm"], "every snapshot\n"),
    ("tests/marks.c", &["one.holm", "two.holm"], "every mark\n"),
    ("tests/expiry.c", &["one.holm", "two.holm"], "every expiry\n"),
    ("tests/feeds.c", &["one.holm", "two.holm"], "every feed\n"),
    ("tests/reading.c", &["one.holm"], "every answer\n"),
    ("tests/lists.c", &["one.holm"], "every list\n"),
    ("tests/backups.c", &["one.holm", "two.holm", "three.holm", "four.holm", "stream"], "every backup\n"),
    ("tests/salvage.c", &["one.holm", "two.holm", "three.holm", "four.holm"], "every salvage\n"),
];

fn run_all(installed: &Installed, link: Link) {
    for (source, folders, printed) in PROGRAMS {
        let program = installed.compiled(source, link);
        assert_eq!(installed.run(&program, folders), printed);
    }
}

#[test]
fn every_door_refuses_what_it_must() {
    let Some(installed) = Installed::new() else { return };
    run_all(&installed, Link::Static);
}

#[test]
fn a_program_can_be_wholly_static() {
    let Some(installed) = Installed::new() else { return };
    if !compiles(&["-static"]) {
        return skip("there is no static C library: no program was linked wholly statically");
    }
    let program = installed.compiled("examples/reefs.c", Link::Alone);
    assert_eq!(installed.run(&program, &["reefs.holm"]), REEFS);
}

#[test]
fn neither_leaks_nor_strays() {
    let Some(installed) = Installed::new() else { return };
    if !compiles(&["-fsanitize=address"]) {
        return skip("the C compiler has no address sanitizer: the library was not tried under it");
    }
    let program = installed.compiled("examples/reefs.c", Link::Sanitized);
    assert_eq!(installed.run(&program, &["reefs.holm"]), REEFS);
    run_all(&installed, Link::Sanitized);
}
