//! What else is to be known of a run: when, of which commit and compiler, on which caches, and what a flush, a fence, a
//! miss and the emulated latency cost on this machine. All of it is measured once, in about a second.

use anyhow::Result;
use holm_medium::{Area, Flush, Image, LINE, Latency, Mapped, MappedOptions, Medium, Word, atomics};
use std::fs::read_to_string;
use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// Names and values, in the order of the page.
pub(crate) type RunFacts = Vec<(String, String)>;

/// The names of facts that other parts of the program ask for.
pub(crate) const DATE: &str = "Date";
pub(crate) const COMMIT: &str = "Commit";

/// Returns the value of a name.
pub(crate) fn fact<'a>(facts: &'a RunFacts, name: &str) -> Option<&'a str> {
    facts.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
}

/// Bytes of the area whose misses are timed, more than most caches hold.
const FAR: usize = 256 << 20;

/// Flushes that are timed, and loads.
const FLUSHES: u64 = 20_000;
const LOADS: usize = 1_000_000;

/// Lines that are changed and flushed one after the other.
const CHANGED: usize = 4_096;

/// Returns what can be found out; what cannot be is left out.
pub(crate) fn gather() -> RunFacts {
    let mut facts = RunFacts::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
    };
    add(DATE, told("date", &["-u", "+%Y-%m-%d"]));
    add(COMMIT, told("git", &["describe", "--always", "--dirty", "--abbrev=9"]));
    add("Compiler", told("rustc", &["--version"]));
    add("Caches", Some(caches()));
    let cpu = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let is_guest = cpu.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
    add("Guest", Some(if is_guest { "of a hypervisor".into() } else { "no".into() }));
    let pages = read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let chosen = pages.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen.to_owned());
    add("Large pages", chosen);
    add("Measured here", measured().ok());
    add("Flushes and fences", Some(apart()));
    facts
}

/// Returns what a program prints, in one line; nothing if it fails.
fn told(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn caches() -> String {
    let of = |index: usize, what: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}");
        read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    let all = (0..8).map_while(|index| {
        let (level, kind, size) = (of(index, "level")?, of(index, "type")?, of(index, "size")?);
        Some(format!("L{level} {} {size}", kind.to_lowercase()))
    });
    all.collect::<Vec<_>>().join(", ")
}

/// Returns nanoseconds of a flushed and fenced line, as it is and with 300 ns added, and of a miss.
fn measured() -> Result<String> {
    let flushed = |latency| -> Result<f64> {
        let lines = 64;
        let options = MappedOptions { latency, ..MappedOptions::default() };
        let medium = Mapped::heap(lines * LINE as usize, 64, options);
        let began = Instant::now();
        for turn in 0..FLUSHES {
            medium.flush(Area::Leaves.at(turn % lines as u64 * LINE) / LINE);
            medium.fence();
        }
        Ok(began.elapsed().as_nanos() as f64 / FLUSHES as f64)
    };
    let [plain, slowed] = [flushed(Latency::Nothing)?, flushed(Latency::Line(300))?];
    Ok(format!(
        "{plain:.0} ns for {} and a fence, {slowed:.0} ns with 300 ns added; {:.0} ns for a dependent load from 256 \
         MiB",
        format!("{:?}", Flush::detect()).to_lowercase(),
        miss()
    ))
}

/// Returns nanoseconds of a flush, of a fence, and of both behind a store, each on its own. Lines are changed before
/// they are flushed, and each is another one.
fn apart() -> String {
    let flush = Flush::detect();
    let image = Image::heap(CHANGED * LINE as usize, 64);
    let lines: Vec<&[Word]> = (0..CHANGED as u64)
        .map(|line| image.words(Area::Leaves.at(line * LINE), 8).expect("a line of the image"))
        .collect();
    let change = |line: &[Word], value| atomics(line)[0].store(value, Relaxed);
    let per_line = |began: Instant| began.elapsed().as_nanos() as f64 / CHANGED as f64;

    lines.iter().for_each(|line| change(line, 1));
    flush.fence();
    let began = Instant::now();
    lines.iter().for_each(|line| flush.line(&line[0]));
    flush.fence();
    let together = per_line(began);

    lines.iter().for_each(|line| change(line, 2));
    let fence = |line: &&[Word]| {
        flush.line(&line[0]);
        nanoseconds(|| flush.fence())
    };
    // Reading the clock costs about as much as a fence that has nothing to wait for.
    let fence = median(lines.iter().map(fence).collect()) - median(lines.iter().map(|_| nanoseconds(|| ())).collect());

    let began = Instant::now();
    lines.iter().for_each(|line| {
        change(line, 3);
        flush.line(&line[0]);
        flush.fence();
    });
    format!(
        "{together:.0} ns a line for {} of {CHANGED} changed lines and one fence; {:.0} ns for the fence behind one; \
         {:.0} ns for a store, its flush and its fence",
        format!("{flush:?}").to_lowercase(),
        fence.max(0.0),
        per_line(began)
    )
}

fn nanoseconds(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_nanos() as f64
}

/// Returns the value in the middle; there is one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns nanoseconds of a load whose address depends on the load before, over an area that most caches do not hold.
fn miss() -> f64 {
    let lines = FAR / LINE as usize;
    // A permutation with one cycle: an odd step modulo a power of two, whose lines are far apart.
    let step = (lines / 2 + 0x9_E379) | 1;
    let mut next = vec![[0u32; LINE as usize / 4]; lines];
    (0..lines).for_each(|line| next[line][0] = ((line * 5 + step) % lines) as u32);
    let began = Instant::now();
    let mut at = 0;
    for _ in 0..LOADS {
        at = next[at][0] as usize;
    }
    black_box(at);
    began.elapsed().as_nanos() as f64 / LOADS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_tells_something_of_itself() {
        let facts = gather();
        assert!(facts.iter().all(|(name, value)| !name.is_empty() && !value.contains('\n')), "{facts:?}");
        assert!(
            facts.iter().any(|(name, value)| name == "Measured here" && value.contains("and a fence")),
            "{facts:?}"
        );
        let apart = fact(&facts, "Flushes and fences").expect("a fact");
        let numbers = apart.split(' ').filter_map(|word| word.parse::<f64>().ok());
        // Three times and the number of lines. A fence may take as long as reading the clock.
        assert_eq!(numbers.count(), 4, "{apart}");
    }

    #[test]
    fn a_median_is_the_value_in_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 4.0]), 4.0);
    }
}
