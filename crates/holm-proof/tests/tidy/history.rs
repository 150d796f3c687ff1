//! Subjects of commits: at most 72 columns, and the component before an imperative.

use std::path::Path;
use std::process::Command;

/// The rule is as old as this commit; a shallow clone may not have it.
const SINCE: &str = "05e6626";

/// Returns what is wrong with a subject.
fn wrong(subject: &str) -> Option<&'static str> {
    let Some((component, rest)) = subject.split_once(": ") else { return Some("no component before a colon") };
    if component.is_empty() || !component.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        return Some("a component is one word in lower case");
    }
    if !rest.starts_with(|c: char| c.is_ascii_lowercase()) || rest.ends_with('.') {
        return Some("an imperative begins with a small letter and ends without a full stop");
    }
    (subject.chars().count() > 72).then_some("more than 72 columns")
}

#[test]
fn commits_have_short_subjects() {
    let (range, root) = (format!("{SINCE}..HEAD"), Path::new(env!("CARGO_MANIFEST_DIR")));
    let log = Command::new("git").args(["log", "--no-merges", "--format=%h %s", &range]).current_dir(root).output();
    let Some(log) = log.ok().filter(|log| log.status.success()) else {
        return println!("no history since {SINCE} here: nothing was judged");
    };
    let log = String::from_utf8_lossy(&log.stdout);
    let offences: Vec<_> = log
        .lines()
        .filter_map(|line| {
            let (hash, subject) = line.split_once(' ')?;
            wrong(subject).map(|wrong| format!("\n  {hash}: {subject:?}: {wrong}"))
        })
        .collect();
    assert!(offences.is_empty(), "subjects against STYLE.md:{}", offences.concat());
}

#[test]
fn samples_are_judged() {
    for right in ["log: refuse a damaged page", "holm-tree: split leaves at a separator"] {
        assert_eq!(wrong(right), None, "{right}");
    }
    let long = format!("log: {}", "x".repeat(68));
    for bad in ["refuse a damaged page", "Log: refuse it", "log: Refuse it", "log: refuse it.", ": refuse it", &long] {
        assert!(wrong(bad).is_some(), "{bad}");
    }
}
