//! Designs by metrics: what each leaf writes for each operation, in every unit in which a medium can be paid.

use crate::claim::Cause;
use crate::measured_tree::{MeasuredTree, counted, create, setup};
use crate::study::{Axis, Cell, Claim, Figure, Needs, Study};
use crate::traces::{all, ascending, shuffled, uniform};
use anyhow::Result;

/// The designs with their names in the papers, ours after them, and last the rivals, which are counted only.
pub(crate) const DESIGNS: [(&str, &str); 19] = [
    ("FF", "fast_fair"),
    ("CIRC", "circ"),
    ("wB+", "wb_tree"),
    ("wB+_ALL", "wb_tree_all"),
    ("NV", "nv_tree"),
    ("FP", "fp_tree"),
    ("ISLE", "isle"),
    ("LB", "lb_tree"),
    ("SS", "ss_tree"),
    ("SS, N = 3", "ss_tree_three"),
    ("BD", "buffered"),
    ("HOLM", "holm"),
    ("LINED", "lined"),
    ("HOLM, strict", "holm_strict"),
    ("BORDERS", "borders"),
    ("BORDERS, shared", "borders_shared"),
    ("uTree, not proven", "utree"),
    ("PACTree, not proven", "pactree"),
    ("Montage, not proven", "montage"),
];

/// What the figures of designs by metrics share.
pub(super) struct Metrics {
    pub(super) operations: &'static [&'static str],
    pub(super) note: &'static str,
}

impl Metrics {
    pub(super) const fn figure(
        self,
        id: &'static str,
        title: &'static str,
        (measure, unit): (usize, &'static str),
        claims: &'static [Claim],
    ) -> Figure {
        let axis = Axis::Words("operation", self.operations);
        Figure { id, title, measure, unit, axis, claims, note: self.note }
    }
}

const WRITTEN: Metrics = Metrics {
    operations: &["load", "load in order", "update", "removal"],
    note: "BD, HOLM, LINED and Montage are durable by epochs, the others when an operation returns. wB+_ALL has \
           durable inner nodes, as in its paper. What PACTree's search layer writes is not counted.",
};

/// Returns blocks, lines and fences an operation, how many of a hundred blocks are partial, and the bytes of the leaves
/// at the end for each operation.
fn spent(tree: &MeasuredTree, keys: &[u64], work: impl Fn(&[u64]) -> Result<f64>) -> Result<Vec<f64>> {
    let before = tree.counts();
    // An epoch has a tenth of the keys.
    for keys in keys.chunks(keys.len().div_ceil(10)) {
        work(keys)?;
        tree.end_epoch()?;
    }
    let spent = tree.counts() - before;
    let each = [spent.blocks, spent.flushes, spent.fences].map(|count| count as f64 / keys.len() as f64);
    let partial = 100.0 * spent.partial_blocks as f64 / spent.blocks.max(1) as f64;
    Ok([&each[..], &[partial, tree.leaf_bytes() as f64 / keys.len() as f64]].concat())
}

const FEWER_LINES: &str = "Expected: fewer lines (ISLE-F7b) are fewer blocks. Header and line lie in different halves \
                           of 512 bytes, and a split replaces two leaves.";

pub(super) const METRICS: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, splits included, a million keys at scale 1; an epoch ends \
                 after a tenth of the operations; blocks of 256 bytes behind a buffer of sixteen that combines lines",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cells = DESIGNS.into_iter().flat_map(|(name, design)| {
            [0, 1, 2, 3].map(|operation| {
                Cell::new(name, f64::from(operation), 2 * pairs, move || {
                    let tree = create(design, counted(pairs))?;
                    if operation >= 2 {
                        spent(&tree, &all(pairs), |keys| tree.put(keys, 1))?;
                    }
                    match operation {
                        0 => spent(&tree, &all(pairs), |keys| tree.put(keys, 1)),
                        1 => spent(&tree, &ascending(pairs), |keys| tree.put(keys, 1)),
                        2 => spent(&tree, &uniform(pairs, pairs, 3), |keys| tree.put(keys, 1)),
                        _ => spent(&tree, &all(pairs), |keys| tree.remove(keys, 1)),
                    }
                })
            })
        });
        cells.collect()
    },
    figures: &[
        WRITTEN.figure(
            "SYN-D1",
            "Designs by metrics: blocks of 256 bytes",
            (0, "blocks written an operation"),
            &[
                Claim::less("HOLM", "BD", 0.0).cause(Cause::Idea).because("Expected: no full leaf is copied whole."),
                Claim::less("BORDERS", "LB", 0.0)
                    .cause(Cause::Idea)
                    .because("Expected: a split of five lines in two blocks, half as often."),
                Claim::less("ISLE", "FF", 0.0).cause(Cause::Idea).because(FEWER_LINES),
                Claim::less("ISLE", "CIRC", 0.0).cause(Cause::Idea).because(FEWER_LINES),
                Claim::less("SS", "LB", 0.0).cause(Cause::Idea).because(
                    "Expected: fewer splits write less. A leaf of LB+-Tree is one block, a leaf of SSTree is two.",
                ),
            ],
        ),
        WRITTEN.figure(
            "SYN-D2",
            "Designs by metrics: lines",
            (1, "lines flushed an operation"),
            &[
                Claim::less("BORDERS", "LB", 0.0).cause(Cause::Idea).because("Expected: one line but for splits."),
                Claim::less("BORDERS, shared", "BORDERS", 0.0)
                    .cause(Cause::Idea)
                    .because("Expected: a split copies nothing, and is one line."),
            ],
        ),
        WRITTEN.figure("SYN-D3", "Designs by metrics: fences", (2, "fences an operation"), &[]),
        WRITTEN.figure("SYN-D4", "Designs by metrics: partial blocks", (3, "percent of the blocks"), &[]),
        WRITTEN.figure("SYN-D7", "Designs by metrics: bytes of leaves", (4, "bytes for a pair"), &[]),
    ],
};

/// The latencies of a line at which designs are compared, in nanoseconds.
const ADDED: [u32; 3] = [0, 300, 600];

pub(super) const TIMES: Study = Study {
    conditions: "plain memory, real flushes and the given latency more for each line, keys and values of 8 bytes, \
                 uniform, a million keys at scale 1; epochs of 10 ms",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        // What is not proven is counted, and never timed.
        let timed = DESIGNS.into_iter().filter(|(name, _)| !name.ends_with("not proven"));
        let cells = timed.flat_map(|(name, design)| {
            ADDED.map(|added_ns| {
                Cell::new(name, f64::from(added_ns), 2 * pairs, move || {
                    let (tree, keys) = (create(design, setup(pairs, added_ns))?, all(pairs));
                    Ok(vec![tree.put(&keys, 1)?, tree.get(&shuffled(&keys, pairs), 1)?])
                })
            })
        });
        cells.collect()
    },
    figures: &[
        timed("SYN-D8", "Designs by metrics: times of inserts", (0, "ns an insert")),
        timed("SYN-D9", "Designs by metrics: times of searches", (1, "ns a search")),
    ],
};

const fn timed(id: &'static str, title: &'static str, (measure, unit): (usize, &'static str)) -> Figure {
    let axis = Axis::Numbers("ns added to each flushed line");
    let note = "BD, HOLM and LINED are durable by epochs, the others when an operation returns. wB+_ALL has durable \
                inner nodes, as in its paper. What is not proven is counted alone. The kept times of BORDERS, shared \
                are older than splits that neither sort pairs nor read blocks again: 0.90 of them at +0 ns, 0.95 at \
                +300 ns, by five rounds beside the code before.";
    Figure { id, title, measure, unit, axis, claims: &[], note }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts do not depend on the machine: these change only with a design.
    #[test]
    fn blocks_of_a_load_are_these() {
        let pairs = 20_000;
        let blocks = |design: &str| {
            let tree = create(design, counted(pairs)).expect("memory");
            spent(&tree, &all(pairs), |keys| tree.put(keys, 1)).expect("memory");
            let counts = tree.counts();
            [counts.flushes, counts.blocks, counts.partial_blocks]
        };
        // Lines, blocks, and blocks that left the buffer without all of their lines.
        let expected = [
            ("borders", [23_790, 19_400, 18_436]),
            ("borders_shared", [20_873, 17_697, 17_615]),
            ("lb_tree", [34_730, 21_051, 20_004]),
            ("ss_tree", [41_295, 23_434, 22_416]),
            ("fast_fair", [84_433, 34_051, 27_501]),
            ("isle", [51_297, 41_363, 39_284]),
            ("buffered", [22_045, 12_488, 10_265]),
            ("holm", [18_808, 7_345, 4_738]),
            ("lined", [31_077, 11_741, 6_378]),
        ];
        assert_eq!(expected.map(|(design, _)| (design, blocks(design))), expected);
    }
}
