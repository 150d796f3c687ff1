//! Counts: lines written and read, and bytes of leaves.

use super::COUNTED;
use crate::claim::Cause;
use crate::measured_tree::{counted, create};
use crate::study::{Axis, Cell, Claim, Figure, Needs, Study};
use crate::traces::{all, shuffled};

pub(super) const OPERATIONS: &[&str] = &["insert", "update", "removal", "search"];

pub(super) const LINES: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, uniform, splits included",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cells = COUNTED.into_iter().flat_map(|(name, design)| {
            [0, 1, 2].map(|operation| {
                Cell::new(name, f64::from(operation), 2 * pairs, move || {
                    let (garden, mut keys) = (create(design, counted(pairs))?, all(pairs));
                    if operation > 0 {
                        garden.put(&keys, 1)?;
                        keys = shuffled(&keys, pairs);
                    }
                    let before = garden.counts();
                    if operation < 2 {
                        garden.put(&keys, 1)?
                    } else {
                        garden.remove(&keys, 1)?
                    };
                    let spent = garden.counts() - before;
                    Ok([spent.flushes, spent.blocks].map(|count| count as f64 / pairs as f64).into())
                })
            })
        });
        cells.collect()
    },
    figures: &[
        Figure {
            id: "SS-F9",
            title: "Lines written per operation",
            measure: 0,
            unit: "lines flushed an operation",
            axis: Axis::Words("operation", OPERATIONS),
            claims: &[
                Claim::value("SS", 0.0, 2.0).because("The paper says about two lines."),
                Claim::value("SS", 1.0, 1.0).because("The paper says about one line."),
                Claim::value("SS", 2.0, 1.0).because(
                    "The paper says slightly less than a line, because it removes keys that are not there, too.",
                ),
                Claim::more("uTree, not proven", "SS", 0.0).cause(Cause::Scale).because(
                    "The paper says that uTree writes much, because threads contend for its list. One thread here.",
                ),
            ],
            note: "Searches write nothing; SS-F10 shows them. What PACTree's search layer writes is not counted.",
        },
        Figure {
            id: "SS-F9b",
            title: "Blocks of 256 bytes written per operation",
            measure: 1,
            unit: "blocks written an operation",
            axis: Axis::Words("operation", OPERATIONS),
            claims: &[],
            note: "Behind a buffer of sixteen blocks that combines lines, as persistent memory has it.",
        },
    ],
};

const UTREE_LOWEST: &str = "The paper says that uTree reads least in updates. Its tree, in memory, leads to the node \
                            of a key, and an update only writes there.";
const UTREE_ALONE: &str = "A node is 32 bytes; the paper's process has 29.8 a pair, or counts otherwise.";
const ROOMY: &str = "The paper's trees leave between 21 and 30.5 bytes a pair, allocators included.";

pub(super) const READS: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, uniform, a hundred thousand at scale 1",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| {
        let pairs = setting.count(100_000);
        let cells = COUNTED.into_iter().flat_map(|(name, design)| {
            [0, 1, 2, 3].map(|operation| {
                Cell::new(name, f64::from(operation), 2 * pairs, move || {
                    let (garden, keys) = (create(design, counted(2 * pairs))?, all(pairs + 1_000));
                    let (loaded, new) = keys.split_at(pairs as usize);
                    garden.put(loaded, 1)?;
                    let there = &loaded[..1_000];
                    let read = match operation {
                        0 => garden.lines_put(new)?,
                        1 => garden.lines_put(there)?,
                        2 => garden.lines_removed(there)?,
                        _ => garden.lines_got(there)?,
                    };
                    Ok(vec![read])
                })
            })
        });
        cells.collect()
    },
    figures: &[Figure {
        id: "SS-F10",
        title: "Lines of a leaf that an operation reads",
        measure: 0,
        unit: "lines read an operation",
        axis: Axis::Words("operation", OPERATIONS),
        claims: &[
            Claim::value("SS", 0.0, 2.0)
                .cause(Cause::Unequal)
                .because("The paper says about two. An insert that finds no fingerprint reads one line alone."),
            Claim::value("SS", 1.0, 2.0).because("The paper says about two."),
            Claim::value("SS", 2.0, 2.0).because("The paper says about two."),
            Claim::value("SS", 3.0, 2.0).because("The paper says about two."),
            Claim::at_most("uTree, not proven", "SS", 1.0, 1.0).because(UTREE_LOWEST),
            Claim::at_most("uTree, not proven", "LB", 1.0, 1.0).because(UTREE_LOWEST),
            Claim::at_most("uTree, not proven", "PACTree, not proven", 1.0, 1.0).because(UTREE_LOWEST),
        ],
        note: "Inner nodes are in memory in all trees, and are not counted.",
    }],
};

pub(super) const MEMORY: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes; a uniform load, then twice as many operations, four in five \
                 of them updates, the others removals",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cells = COUNTED.map(|(name, design)| {
            Cell::new(name, 0.0, 3 * pairs, move || {
                let (garden, keys) = (create(design, counted(pairs))?, all(pairs));
                let bytes = || garden.leaf_bytes() as f64 / pairs as f64;
                garden.put(&keys, 1)?;
                let loaded = bytes();
                let volatile = garden.volatile_bytes() as f64 / pairs as f64;
                // Removed keys stay removed, as in the paper, where no operation updates an absent key.
                let (gone, kept) = keys.split_at(2 * keys.len() / 5);
                let updates: Vec<u64> = kept.iter().cycle().take(4 * gone.len()).copied().collect();
                let part = gone.len().div_ceil(100);
                for (gone, updates) in gone.chunks(part).zip(updates.chunks(4 * part)) {
                    garden.put(updates, 1)?;
                    garden.remove(gone, 1)?;
                }
                Ok(vec![loaded, bytes(), volatile])
            })
        });
        cells.into()
    },
    figures: &[
        Figure {
            id: "SS-F11b",
            title: "Bytes of memory beside the leaves after a load",
            measure: 2,
            unit: "bytes for a pair loaded",
            axis: Axis::Measures("after", &["the load"]),
            claims: &[
                Claim::new("SS", "LB", 0.0, 1.37)
                    .cause(Cause::Unequal)
                    .because("The paper has 356 MB and 259 MB for a hundred million pairs, inner nodes included."),
                Claim::new("uTree, not proven", "SS", 0.0, 6.87).cause(Cause::Unequal).because(
                    "The paper has 2447 MB and 356 MB. Here uTree has a key and a number a pair, and no nodes.",
                ),
                Claim::less("PACTree, not proven", "LB", 0.0)
                    .because("The paper has 0.02 MB: its search layer is persistent. Here it is in memory."),
            ],
            note: "Inner nodes, latches and what a leaf keeps in memory. Of uTree and PACTree 16 bytes an entry, which \
                   no tree takes less than.",
        },
        Figure {
            id: "SS-F11",
            title: "Bytes of leaves after a load and after a mix",
            measure: 0,
            unit: "bytes for a pair loaded",
            axis: Axis::Measures("after", &["the load", "the mix"]),
            claims: &[
                Claim::new("SS", "LB", 0.0, 0.837)
                    .cause(Cause::Unequal)
                    .headline("SSTree takes 16 percent less persistent memory than LB+-Tree after a load")
                    .because("Subnodes are smaller than leaves, and fuller; our splits keep half of a leaf in place."),
                Claim::new("SS", "LB", 1.0, 0.765).cause(Cause::Unequal).because(
                    "SSTree frees 31 percent of its bytes here, as 40 percent of the pairs are removed, where the \
                          paper has 9 percent; LB+-Tree frees none, there and here.",
                ),
                Claim::new("SS", "SS", 1.0, 0.914).against_at(0.0).cause(Cause::Unequal).because(
                    "Empty subnodes are freed. Bytes are for a pair that was loaded, and 40 percent of the pairs \
                          are removed here.",
                ),
                Claim::new("LB", "LB", 1.0, 1.0).against_at(0.0).because("The paper has 2.51 GB both times."),
                Claim::value("SS", 0.0, 21.0).because("The paper has 2.1 GB for a hundred million pairs."),
                Claim::value("LB", 0.0, 25.1).because("The paper has 2.51 GB for a hundred million pairs."),
                Claim::value("uTree, not proven", 0.0, 29.8).because(UTREE_ALONE),
                Claim::value("PACTree, not proven", 0.0, 30.5).cause(Cause::Unequal).because(ROOMY),
                Claim::value("SS", 1.0, 19.2)
                    .because("The paper has 1.92 GB for a hundred million pairs that were loaded."),
                Claim::value("PACTree, not proven", 1.0, 24.3)
                    .because("The paper has 2.43 GB for a hundred million pairs that were loaded."),
                Claim::new("PACTree, not proven", "PACTree, not proven", 1.0, 0.797)
                    .against_at(0.0)
                    .cause(Cause::Unequal)
                    .because("The paper has 2.43 GB after 3.05. Nodes of ours do not merge."),
                Claim::new("SS", "PACTree, not proven", 1.0, 0.79).cause(Cause::Unequal).because(
                    "The paper has 1.92 GB and 2.43. SSTree frees 31 percent of its bytes here, as 40 percent of the \
                     pairs are removed; nodes of our PACTree do not merge.",
                ),
                Claim::less("SS", "uTree, not proven", 0.0).because(ROOMY),
                Claim::less("SS", "PACTree, not proven", 0.0).because(ROOMY),
            ],
            note: "Only leaves are counted, without volatile memory.",
        },
    ],
};
