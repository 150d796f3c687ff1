//! The outcomes of many damages, as a table.

use std::collections::BTreeMap;
use std::fmt;

/// What an open made of a damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Opening {
    Refused,
    Right,
    /// `check` reports a fault.
    Unsound,
    /// A database that was not closed, and whose answers are those of an earlier moment, or of a leaf that was
    /// damaged where nothing has a checksum: docs/durability.md, "what stays open".
    Undetected,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    trials: u64,
    refused: u64,
    right: u64,
    unsound: u64,
    undetected: u64,
    pairs: u64,
    lost: u64,
    most_lost: u64,
    older: u64,
}

/// Rows by end and damage.
#[derive(Default)]
pub(crate) struct Outcomes(BTreeMap<String, Row>);

impl Outcomes {
    pub(crate) fn total(&self) -> u64 {
        self.0.values().map(|row| row.trials).sum()
    }

    /// Counts a trial: the number of pairs, of those that are gone, and of those that have an earlier value.
    pub(crate) fn count(&mut self, row: &str, opening: Opening, [pairs, lost, older]: [u64; 3]) {
        let row = self.0.entry(row.into()).or_default();
        row.trials += 1;
        match opening {
            Opening::Refused => row.refused += 1,
            Opening::Right => row.right += 1,
            Opening::Unsound => row.unsound += 1,
            Opening::Undetected => row.undetected += 1,
        }
        row.pairs += pairs;
        row.lost += lost;
        row.older += older;
        row.most_lost = row.most_lost.max(lost);
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<30} {:>7} {:>7} {:>6} {:>7} {:>6} | {:>9} {:>7} {:>5} {:>6}",
            "damage", "trials", "refused", "right", "unsound", "silent", "pairs", "lost", "most", "older"
        )?;
        for (name, row) in &self.0 {
            writeln!(
                f,
                "{name:<30} {:>7} {:>7} {:>6} {:>7} {:>6} | {:>9} {:>7} {:>5} {:>6}",
                row.trials,
                row.refused,
                row.right,
                row.unsound,
                row.undetected,
                row.pairs,
                row.lost,
                row.most_lost,
                row.older
            )?;
        }
        Ok(())
    }
}
