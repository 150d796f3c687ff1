//! What else is to be known of a run: when, of which commit and compiler, on which caches, and what a flush, a fence, a
//! miss and the emulated latency cost on this machine. All of it is measured once, in about a second.

use anyhow::Result;
use holm_medium::{Area, Flush, LINE, Latency, Mapped, MappedOptions, Medium};
use std::fs::read_to_string;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

/// Names and values, in the order of the page.
pub(crate) type RunFacts = Vec<(String, String)>;

/// Bytes of the area whose misses are timed, more than most caches hold.
const FAR: usize = 256 << 20;

/// Flushes that are timed, and loads.
const FLUSHES: u64 = 20_000;
const LOADS: usize = 1_000_000;

/// Returns what can be found out; what cannot be is left out.
pub(crate) fn gather() -> RunFacts {
    let mut facts = RunFacts::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
    };
    add("Date", told("date", &["-u", "+%Y-%m-%d"]));
    add("Commit", told("git", &["describe", "--always", "--dirty", "--abbrev=9"]));
    add("Compiler", told("rustc", &["--version"]));
    add("Caches", Some(caches()));
    let cpu = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let is_guest = cpu.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
    add("Guest", Some(if is_guest { "of a hypervisor".into() } else { "no".into() }));
    let pages = read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let chosen = pages.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen.to_owned());
    add("Large pages", chosen);
    add("Measured here", measured().ok());
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
    }
}
