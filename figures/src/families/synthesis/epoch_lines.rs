//! Lines that an update dirties, by the length of an epoch: versions for a whole leaf, versions line by line, and an
//! update in place.

use crate::axes::PUTS_OF_EPOCH;
use crate::claim::Cause;
use crate::measured_tree::{counted, create};
use crate::study::{Cell, Claim, Figure, Needs, Study};
use crate::traces::{all, uniform, zipf};
use anyhow::Result;

const DESIGNS: [(&str, &str); 4] = [("BD", "buffered"), ("HOLM", "holm"), ("LINED", "lined"), ("LB", "lb_tree")];

/// Puts of an epoch, for a million keys.
const EPOCHS: [u64; 4] = [4_000, 40_000, 160_000, 400_000];

/// Puts for each key before those that count: leaves that a load has filled first make room for copies.
const SETTLING: u64 = 3;

/// Returns the lines that a put of a loaded key dirties, once leaves have settled, the bytes of leaves for a pair at
/// the end, and the blocks of 256 bytes that a put writes.
pub(super) fn lines_of_a_put(design: &str, pairs: u64, epoch: u64, skewed: bool) -> Result<Vec<f64>> {
    let tree = create(design, counted(2 * pairs))?;
    let count = (SETTLING + 1) * pairs;
    let keys = if skewed { zipf(count, pairs, 3) } else { uniform(count, pairs, 3) };
    let (before, timed) = keys.split_at((SETTLING * pairs) as usize);
    let put = |keys: &[u64]| {
        keys.chunks(epoch as usize).try_for_each(|keys| tree.put(keys, 1).and_then(|_| tree.end_epoch()))
    };
    put(&all(pairs))?;
    put(before)?;
    let counts = tree.counts();
    put(timed)?;
    // The end of an epoch flushes the line of the clock, too, which is not the tree's.
    let ends = timed.len().div_ceil(epoch as usize) as u64;
    let spent = tree.counts() - counts;
    let totals = [spent.flushes - ends, tree.leaf_bytes(), spent.blocks];
    Ok(totals.map(|total| total as f64 / pairs as f64).into())
}

fn cells(setting: &crate::setting::Setting, skewed: bool) -> Vec<Cell> {
    let pairs = setting.count(1_000_000);
    let cells = DESIGNS.into_iter().flat_map(|(name, design)| {
        EPOCHS.map(|epoch| {
            let puts = (pairs * epoch / 1_000_000).max(1);
            Cell::new(name, epoch as f64, 5 * pairs, move || lines_of_a_put(design, pairs, puts, skewed))
        })
    });
    cells.collect()
}

pub(super) const UNIFORM: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, a million loaded at scale 1, then three times as many \
                 uniform puts of them that do not count, and as many again",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| cells(setting, false),
    figures: &[
        figure(
            "SYN-L1",
            "Lines written by an update, uniform, by length of an epoch",
            (0, "lines flushed an update"),
            &[
                Claim::at_most("LINED", "LB", 4_000.0, 1.0).cause(Cause::Idea).because(ONE_LINE),
                Claim::at_most("LINED", "LB", 40_000.0, 0.95).cause(Cause::Idea).because(ONE_LINE),
                Claim::at_most("LINED", "LB", 160_000.0, 0.95).cause(Cause::Idea).because(ONE_LINE),
            ],
        ),
        figure("SYN-L1b", "Bytes of leaves after uniform updates", (1, "bytes for a pair"), &[]),
        figure("SYN-L1c", "Blocks of 256 bytes written by an update, uniform", BLOCKS, &[]),
    ],
};

pub(super) const SKEWED: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, a million loaded at scale 1, then three times as many \
                 puts of them by Zipf 0.99 that do not count, and as many again",
    cells: |setting| cells(setting, true),
    figures: &[
        figure(
            "SYN-L2",
            "Lines written by an update, Zipf 0.99, by length of an epoch",
            (0, "lines flushed an update"),
            &[
                Claim::at_most("LINED", "LB", 4_000.0, 0.61).cause(Cause::Idea).because(ONE_LINE),
                Claim::at_most("LINED", "LB", 40_000.0, 0.45).cause(Cause::Idea).because(ONE_LINE),
                Claim::at_most("LINED", "LB", 160_000.0, 0.35).cause(Cause::Idea).because(ONE_LINE),
            ],
        ),
        figure("SYN-L2b", "Bytes of leaves after updates by Zipf 0.99", (1, "bytes for a pair"), &[]),
        figure("SYN-L2c", "Blocks of 256 bytes written by an update, Zipf 0.99", BLOCKS, &[]),
    ],
    ..UNIFORM
};

const BLOCKS: (usize, &str) = (2, "blocks written an update");

const ONE_LINE: &str = "Expected: a put dirties its own line, or one that is dirty already. LB+-Tree updates in place, \
                        one line a put.";

const fn figure(
    id: &'static str,
    title: &'static str,
    (measure, unit): (usize, &'static str),
    claims: &'static [Claim],
) -> Figure {
    let note = "BD has a line of versions for seven lines of pairs; LINED has versions in each line. \
                Blocks include that of the clock, one an epoch at most.";
    Figure { id, title, measure, unit, axis: PUTS_OF_EPOCH, claims, note }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts do not depend on the machine: these change only with a design. Of four thousand updates, in epochs that
    /// stand for 4,000, 40,000 and 160,000 updates of a million keys.
    /// An update writes a line at most in a block of its own, and the clock a block for each epoch.
    #[test]
    fn blocks_of_updates_are_no_more_than_their_lines() {
        for design in DESIGNS.map(|(_, design)| design) {
            let [lines, _, blocks] = lines_of_a_put(design, 4_000, 160, true).expect("memory")[..] else { panic!() };
            assert!(blocks > 0.0 && blocks <= lines + 1.0 / 160.0, "{design}: {blocks} blocks of {lines} lines");
        }
    }

    #[test]
    fn lines_of_updates_are_these() {
        let pairs = 4_000;
        let lines = |design: &str, epoch: u64, skewed: bool| {
            let each = lines_of_a_put(design, pairs, epoch, skewed).expect("memory")[0];
            (each * pairs as f64).round() as u64
        };
        // A line of versions and a line of the pair; in place.
        assert_eq!([lines("buffered", 16, false), lines("lb_tree", 16, false)], [7_860, 4_000]);
        // Its own line, or one that is dirty already.
        assert_eq!([16, 160, 640].map(|epoch| lines("lined", epoch, false)), [3_972, 3_654, 2_981]);
        assert_eq!([160, 640].map(|epoch| lines("lined", epoch, true)), [2_511, 1_791]);
    }
}
