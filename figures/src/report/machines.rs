//! The machines of the results: a table with a row for each, and the letter by which a figure names its own. Runs of
//! several days and commits share the row of their machine; a figure states its date and its commit itself.

use crate::outcome::Outcome;
use crate::plot::escaped;
use crate::run_facts::{COMMIT, DATE, RunFacts, fact};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Facts of a run that the figure itself states.
const OF_FIGURES: [&str; 2] = [DATE, COMMIT];

/// Facts that differ between runs of one machine: a row has all of them.
const OF_RUNS: [&str; 3] = ["Compiler", "Measured here", "Flushes and fences"];

/// What all runs of a machine have in common.
type Identity = RunFacts;

/// All machines, those with the most figures first.
pub(super) struct Machines<'a>(Vec<(Identity, Vec<&'a Outcome>)>);

fn identity(outcome: &Outcome) -> Identity {
    // The load at the start of a run does not describe the machine, and its file system matters to no figure.
    let machine = outcome.machine.split(", load average").next().unwrap_or_default();
    let machine = machine.split(", ").filter(|part| !part.contains(" on /")).collect::<Vec<_>>().join(", ");
    let own = [("Machine", machine), ("Lines flushed by", outcome.flush.to_lowercase())];
    let others = outcome.run.iter().filter(|(name, _)| !OF_FIGURES.iter().chain(&OF_RUNS).any(|other| name == other));
    own.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(others.cloned()).collect()
}

impl<'a> Machines<'a> {
    pub(super) fn of(outcomes: &'a [Outcome]) -> Self {
        let mut machines: BTreeMap<Identity, Vec<&Outcome>> = BTreeMap::new();
        outcomes.iter().for_each(|outcome| machines.entry(identity(outcome)).or_default().push(outcome));
        let mut machines: Vec<_> = machines.into_iter().collect();
        machines.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.len()));
        Machines(machines)
    }

    /// Returns a sentence about the run of a figure: scale, rounds and threads, the machine, the date and the commit.
    pub(super) fn run_of(&self, outcome: &Outcome) -> String {
        let identity = identity(outcome);
        let index = self.0.iter().position(|(other, _)| *other == identity).unwrap_or(0);
        let rounds = match (outcome.exact, outcome.seed) {
            (true, _) => "exact counts of one round".to_owned(),
            (false, None) => format!("medians of {} rounds", outcome.rounds),
            (false, Some(seed)) => format!("medians of {} rounds, order of seed {seed}", outcome.rounds),
        };
        let fact = |name: &str, word: &str| {
            fact(&outcome.run, name)
                .map_or(format!("no {} kept", name.to_lowercase()), |value| format!("{word}{}", escaped(value)))
        };
        format!(
            "Scale {}; {rounds}; at most {} threads; machine <a href=\"#machine\">{}</a>; {}; {}.",
            outcome.scale,
            outcome.threads,
            letter(index),
            fact(DATE, ""),
            fact(COMMIT, "commit ")
        )
    }

    /// Returns the table.
    pub(super) fn table(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        let known = self.0.iter().flat_map(|(identity, _)| identity).map(|(name, _)| &**name);
        let is_kept = |name: &&str| self.0.iter().flat_map(|(_, all)| all).any(|it| fact(&it.run, name).is_some());
        for name in known.chain(OF_RUNS.into_iter().filter(is_kept)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut text = String::from("<div class=\"wide\"><table class=\"machines\">\n<tr><th></th>");
        names.iter().for_each(|name| text.push_str(&format!("<th>{}</th>", escaped(name))));
        text.push_str("<th>Figures</th></tr>\n");
        for (index, (identity, figures)) in self.0.iter().enumerate() {
            let _ = write!(text, "<tr><td>{}</td>", letter(index));
            for name in &names {
                let value = fact(identity, name).map_or_else(
                    || together(of_runs(figures).filter_map(|outcome| fact(&outcome.run, name))),
                    str::to_owned,
                );
                let _ = write!(text, "<td>{}</td>", escaped(&value));
            }
            let _ = writeln!(text, "<td>{}</td></tr>", figures.len());
        }
        text + "</table></div>\n"
    }
}

/// Returns the figures whose runs describe a machine: those with times, if there are any. Counts may be of a time when
/// the machine has other work.
fn of_runs<'a>(figures: &[&'a Outcome]) -> impl Iterator<Item = &'a Outcome> {
    let times = figures.iter().any(|outcome| !outcome.exact);
    figures.iter().copied().filter(move |outcome| !times || !outcome.exact)
}

/// Returns the name of a machine on the page.
fn letter(index: usize) -> String {
    char::from_u32('A' as u32 + index as u32).filter(char::is_ascii_uppercase).map_or(index.to_string(), String::from)
}

/// Returns texts as one: if they differ in numbers alone, with the range of each number, and one after the other
/// otherwise.
fn together<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = Vec::new();
    texts.for_each(|text| {
        if !all.contains(&text) {
            all.push(text);
        }
    });
    let words: Vec<Vec<&str>> = all.iter().map(|text| text.split(' ').collect()).collect();
    let count = words.first().map_or(0, Vec::len);
    let range = |place: usize| {
        let column: Vec<&str> = words.iter().filter_map(|words| words.get(place).copied()).collect();
        if column.iter().all(|word| *word == column[0]) {
            return Some(column[0].to_owned());
        }
        let mut numbers = column.iter().map(|word| word.parse::<f64>().ok()).collect::<Option<Vec<_>>>()?;
        numbers.sort_by(f64::total_cmp);
        Some(format!("{} to {}", numbers.first()?, numbers.last()?))
    };
    let ranges = (0..count).map(range).collect::<Option<Vec<_>>>().filter(|_| words.iter().all(|it| it.len() == count));
    ranges.map_or_else(|| all.join("; "), |ranges| ranges.join(" "))
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;

    fn of(machine: &str, facts: &[(&str, &str)]) -> Outcome {
        let run = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Outcome { machine: machine.into(), run, ..outcome() }
    }

    #[test]
    fn a_machine_has_one_row_whatever_the_day_the_commit_and_the_load() {
        let caches = ("Caches", "L1 data 32K");
        let outcomes = [
            of("reef, load average 3", &[("Date", "2026-11-27"), ("Commit", "a"), caches]),
            of("shoal", &[]),
            of("reef, load average 1", &[("Date", "2026-11-28"), ("Commit", "b"), caches]),
        ];
        let machines = Machines::of(&outcomes);
        let table = machines.table();
        assert_eq!((table.matches("<tr>").count(), table.matches("<td>reef</td>").count()), (3, 1), "{table}");
        assert!(!table.contains("2026") && table.find("reef") < table.find("shoal"), "{table}");
        let run = machines.run_of(&outcomes[2]);
        let wanted = "Scale 1; medians of 5 rounds, order of seed 4711; at most 2 threads; machine \
                      <a href=\"#machine\">A</a>; 2026-11-28; commit b.";
        assert_eq!(run, wanted);
        let older = Outcome { seed: None, ..of("shoal", &[]) };
        let run = machines.run_of(&older);
        assert!(run.contains("5 rounds;") && run.contains(">B</a>; no date kept; no commit kept"), "{run}");
    }

    #[test]
    fn what_another_cache_or_another_flush_tells_apart_is_another_machine() {
        let mut outcomes = [of("reef", &[("Caches", "L1 32K")]), of("reef", &[("Caches", "L1 48K")]), of("reef", &[])];
        outcomes[2].flush = "Clflush".into();
        assert_eq!(Machines::of(&outcomes).0.len(), 3);
    }

    #[test]
    fn what_a_run_of_counts_has_measured_does_not_describe_the_machine() {
        let measured = |ns: &'static str| of("reef", &[("Measured here", ns)]);
        let counts = Outcome { exact: true, ..measured("900 ns") };
        let table = Machines::of(&[measured("9 ns"), counts.clone()]).table();
        assert!(table.contains("<td>9 ns</td>") && table.contains("<td>2</td>"), "{table}");
        assert!(Machines::of(&[counts]).table().contains("<td>900 ns</td>"));
    }

    #[test]
    fn texts_that_differ_in_numbers_give_ranges() {
        let ranged = together(["9 ns for a fence", "12 ns for a fence", "10 ns for a fence"].into_iter());
        assert_eq!(ranged, "9 to 12 ns for a fence");
        assert_eq!(together(["rustc 1", "rustc 1"].into_iter()), "rustc 1");
        assert_eq!(together(["one", "two words"].into_iter()), "one; two words");
    }
}
