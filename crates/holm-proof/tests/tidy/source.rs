//! A source: one file of the tree with what rules often need: its kind, its code without comments and strings, and
//! which of its lines are tests. Also the listing of the tree, and the offence.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lexer;

/// Where a rule is broken, and how to repair it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Offence {
    path: String,
    line: usize,
    remedy: String,
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.remedy)
    }
}

/// One file, read once.
pub(crate) struct Source {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    /// For Rust: the text with comments, strings and characters blanked, line for line. Otherwise empty.
    pub(crate) code: String,
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let code = if path.ends_with(".rs") { lexer::code_of(text) } else { String::new() };
        let tests = lexer::test_items(&code);
        Self { path: path.to_owned(), text: text.to_owned(), code, tests }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_toml(&self) -> bool {
        self.path.ends_with(".toml")
    }

    pub(crate) fn is_prose(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// Part of a crate that others link: they own the terminal and the clock.
    pub(crate) fn is_library(&self) -> bool {
        let mut parts = self.path.split('/');
        let in_src = parts.next() == Some("crates") && parts.nth(1) == Some("src");
        in_src && !self.path.contains("/src/bin/") && !self.path.ends_with("/src/main.rs")
    }

    /// Whether a line (counted from one) belongs to a test.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
            || self.tests.iter().any(|item| item.contains(&line))
    }

    pub(crate) fn offence(&self, line: usize, remedy: impl Into<String>) -> Offence {
        Offence { path: self.path.clone(), line, remedy: remedy.into() }
    }

    /// One offence for each line of the text for which `broken` is true.
    pub(crate) fn lines_where(&self, remedy: &str, broken: impl Fn(&str) -> bool) -> Vec<Offence> {
        let lines = self.text.split('\n').enumerate();
        lines.filter(|(_, line)| broken(line)).map(|(index, _)| self.offence(index + 1, remedy)).collect()
    }

    /// The lines of the code, counted from one.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// Every text file that git tracks; where there is no git or no repository, every text file outside `target`.
pub(crate) fn tracked() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let paths = listed_by_git(&root).unwrap_or_else(|| walk(&root));
    let mut sources = Vec::new();
    for path in paths.iter().filter(|path| is_text(path)) {
        // A file that is tracked but deleted in the working tree has nothing to check.
        if let Ok(text) = std::fs::read_to_string(root.join(path)) {
            sources.push(Source::new(path, &text));
        }
    }
    sources
}

/// The project does not format data, lock files and licences.
fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let known = ["rs", "toml", "md", "sh", "yml", "yaml", "txt", "c", "cpp", "h", "hpp", "py"];
    path.starts_with(".ci/") || name.rsplit_once('.').is_some_and(|(_, kind)| known.contains(&kind))
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output().ok()?;
    let listing = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = listing.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    // An unpacked archive inside another repository: git answers, and knows none of these files.
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

fn walk(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(root.join(&folder)) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = folder.join(&name);
            if entry.path().is_dir() {
                if name != "target" && name != ".git" {
                    folders.push(path);
                }
            } else {
                paths.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walking_finds_what_git_finds() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let walked = walk(&root);
        assert!(walked.contains(&"Cargo.toml".to_owned()));
        assert!(walked.contains(&"crates/holm-proof/tests/tidy.rs".to_owned()));
        assert!(!walked.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
    }

    #[test]
    fn libraries_are_distinguished_from_programs() {
        let is_library = |path| Source::new(path, "").is_library();
        assert!(is_library("crates/holm/src/lib.rs") && is_library("crates/holm-tree/src/leaf/isle.rs"));
        assert!(!is_library("crates/holm-bench/src/main.rs") && !is_library("crates/holm-proof/src/bin/crash.rs"));
        assert!(!is_library("shells/cli/src/load.rs") && !is_library("crates/holm-proof/tests/tidy.rs"));
    }

    #[test]
    fn tests_are_distinguished_from_code() {
        let source =
            Source::new("crates/x/src/a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n");
        let tests: Vec<usize> = (1..=6).filter(|&line| source.is_test(line)).collect();
        assert_eq!(tests, [2, 3, 4, 5]);
        assert!(Source::new("crates/x/tests/a.rs", "fn a() {}\n").is_test(1));
    }
}
