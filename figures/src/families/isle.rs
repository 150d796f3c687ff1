//! Isle-Tree compared with NV-Tree, FPTree, wB+-Tree, FAST-FAIR and Circ-Tree.

mod loads;
mod nodes;
mod reads;

use crate::axes::TENTH_OF_MILLIONS;
use crate::claim::Cause;
use crate::measured_tree::{counted, create, setup};
use crate::setting::Setting;
use crate::strings;
use crate::study::{Absent, Axis, Cell, Claim, Drawn, Family, Figure, Needs, Study};
use crate::traces::{all, uniform};
use anyhow::Result;
use loads::LOADS;
use nodes::{NODES, SHARES_BY_FENCE, SIZES};
use reads::{READS, READS_BY_SIZE};

pub(crate) const FAMILY: Family = Family {
    name: "Isle-Tree",
    paper: "lines sorted each on its own, beside NV, FP, wB+, FAST-FAIR and Circ",
    without: "",
    expected: false,
    studies: &[EXAMPLE, LOADS, FLUSHES, NODES, SHARES_BY_FENCE, SIZES, LATENCIES, STRINGS, READS, READS_BY_SIZE],
    absent: &[Absent::new("ISLE-X1", "The crash matrix", "explored by `cargo xtask crash`, and part of the report")],
    drawn: DRAWN,
};

/// Of what is measured, the forms that the paper has: FPTree compares one by one, wB+-Tree is all in persistent memory.
const DRAWN: &[Drawn] = &[
    Drawn {
        figures: &["ISLE-F7a", "ISLE-F7c"],
        series: &["NV", "FP, one by one", "wB+_ALL", "FF", "CIRC", "ISLE", "ISLE_ALL", "ISLE, vectors"],
    },
    Drawn {
        figures: &["ISLE-F7b", "ISLE-F7d"],
        series: &["NV", "FP", "wB+", "wB+_ALL", "FF", "CIRC", "ISLE", "ISLE_ALL"],
    },
    Drawn {
        figures: &["ISLE-F8a", "ISLE-F8a-fence"],
        series: &["NV", "FP", "wB+_ALL", "FF", "FF, inner nodes volatile", "CIRC", "ISLE", "ISLE_ALL"],
    },
    Drawn {
        figures: &["ISLE-F8b", "ISLE-F8d"],
        series: &["NV", "NV, vectors", "wB+", "FF, inner nodes volatile", "CIRC", "CIRC, linear", "ISLE", "ISLE_ALL"],
    },
    Drawn {
        figures: &["ISLE-F2b"],
        series: &["NV", "FF, inner nodes volatile", "CIRC", "CIRC, linear", "ISLE", "ISLE, vectors"],
    },
    Drawn {
        figures: &["ISLE-F2"],
        series: &["NV", "FP", "FP, one by one", "wB+", "FF, inner nodes volatile", "CIRC", "ISLE", "ISLE, vectors"],
    },
];

const TREES: [(&str, &str); 9] = [
    ("NV", "nv_tree"),
    ("FP", "fp_tree"),
    ("wB+", "wb_tree"),
    ("wB+_ALL", "wb_tree_all"),
    ("FF", "fast_fair_all"),
    ("FF, inner nodes volatile", "fast_fair"),
    ("CIRC", "circ"),
    ("ISLE", "isle"),
    ("ISLE_ALL", "isle_all"),
];

/// The other search of four of them: the paper's for FP, vectors for those that the paper searches one by one.
const SEARCHES: [(&str, &str); 4] = [
    ("FP, one by one", "fp_tree_scalar"),
    ("NV, vectors", "nv_tree_vectors"),
    ("CIRC, vectors", "circ_vectors"),
    ("ISLE, vectors", "isle_vectors"),
];

const LATENCY: u32 = 300;
const OF_LATENCY: &str = "FF has its inner nodes in persistent memory, as in the paper; those of the others are \
                          volatile. All trees stand on the same latches and allocator.";
const NOTE: &str = "FF and wB+_ALL have their inner nodes in persistent memory, as in the paper; wB+ has them in \
                    memory, which spares it what they cost there. All trees stand on the same latches and allocator.";

const RECORD: &str = "A record of a kilobyte is flushed first: 16 of the lines.";
const EVERY_CLIENT: &str = "The paper says that Isle-Tree is ahead of all with any number of clients. A record of a \
                            kilobyte is flushed first here, 16 lines, and inner nodes are volatile in all trees.";
const SIMILAR: &str = "The paper says that Isle-Tree's is similar or slightly better. A run lasts two seconds at scale \
                       1, and its 99th percentile differs from round to round.";
const ACCOUNT: &str = "The paper's account of splits or headers differs from ours.";

/// Returns the nanoseconds of an insert and of a lookup.
fn inserted(design: &str, pairs: u64, flush_ns: u32) -> Result<Vec<f64>> {
    let tree = create(design, setup(pairs, flush_ns))?;
    let insert = tree.put(&all(pairs), 1)?;
    Ok(vec![insert, tree.get(&uniform(pairs, pairs, 7), 1)?])
}

const EXAMPLE: Study = Study {
    conditions: "exact counts, one leaf of nine pairs, whose keys are even and not 12, and then 12",
    exact: true,
    needs: Needs::Nothing,
    cells: |_| {
        let cells = [("FF", "fast_fair"), ("NV", "nv_tree"), ("FP", "fp_tree"), ("ISLE", "isle")];
        let cells = cells.map(|(name, design)| {
            Cell::new(name, 0.0, 10, move || {
                let tree = create(design, counted(10))?;
                tree.put(&[2, 4, 6, 8, 10, 14, 16, 18, 20], 1)?;
                let before = tree.counts().flushes;
                tree.put(&[12], 1)?;
                Ok(vec![(tree.counts().flushes - before) as f64])
            })
        });
        cells.into()
    },
    figures: &[Figure {
        id: "ISLE-F1",
        title: "A worked example: key 12 is inserted",
        measure: 0,
        unit: "lines flushed",
        axis: Axis::Words("key", &["12"]),
        claims: &[Claim::new("FF", "ISLE", 0.0, 2.0)
            .cause(Cause::Questionable)
            .because("The paper counts lines of pairs alone, two and one; Isle-Tree's header is flushed, too.")],
        note: "FAST and FAIR shifts four pairs, which lie in two lines, as in the paper. Blocks are not counted: the \
               puts before have brought the leaf's into the buffer, which combines lines.",
    }],
};

const FLUSHED_NOTE: &str = "A million keys instead of ten: an insert's counts do not depend on it. Blocks are those of \
                            a medium that writes 256 bytes at once, behind a buffer of sixteen that combines lines.";

const FLUSHES: Study = Study {
    conditions: "exact counts, nodes of 512 bytes, keys and values of 8 bytes, uniform, splits included",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cell = |name, design: &'static str| {
            Cell::new(name, 10.0, pairs, move || {
                let tree = create(design, counted(pairs))?;
                tree.put(&all(pairs), 1)?;
                let spent = tree.counts();
                Ok([spent.flushes, spent.blocks, spent.fences].map(|count| count as f64 / pairs as f64).into())
            })
        };
        TREES.map(|(name, design)| cell(name, design)).into()
    },
    figures: &[
        Figure {
            id: "ISLE-F7b",
            title: "Lines flushed by inserts",
            measure: 0,
            unit: "lines flushed an insert",
            axis: TENTH_OF_MILLIONS,
            claims: &[
                Claim::new("FF", "ISLE", 10.0, 2.092)
                    .cause(Cause::Questionable)
                    .headline("FAST-FAIR executes 109.2 percent more flushes than Isle-Tree")
                    .because(
                        "109 percent more than Isle-Tree's common insert are more lines than FAST-FAIR's shifts and \
                          splits write.",
                    ),
                Claim::new("CIRC", "ISLE", 10.0, 1.532)
                    .cause(Cause::Questionable)
                    .headline("Circ-Tree executes 53.2 percent more flushes than Isle-Tree")
                    .because(ACCOUNT),
                Claim::new("FP", "ISLE", 10.0, 1.44).cause(Cause::Questionable).because(ACCOUNT),
                Claim::new("NV", "ISLE", 10.0, 1.0).because("Both flush two lines for a common insert."),
                Claim::new("wB+", "ISLE", 10.0, 2.6)
                    .form_of("ISLE-F7b", "wB+_ALL", "ISLE")
                    .cause(Cause::Unequal)
                    .because("Ours keeps its inner nodes in memory, and needs no log for the array of slots."),
                Claim::new("wB+_ALL", "ISLE", 10.0, 2.6).cause(Cause::Questionable).because(
                    "Inner nodes in persistent memory add four lines to a split of a leaf, or 0.2 to an insert.",
                ),
            ],
            note: FLUSHED_NOTE,
        },
        Figure {
            id: "ISLE-F7d",
            title: "Blocks of 256 bytes written by inserts",
            measure: 1,
            unit: "blocks written an insert",
            axis: TENTH_OF_MILLIONS,
            claims: &[],
            note: FLUSHED_NOTE,
        },
    ],
};

const WIDER: &str = "The paper says that the gaps become wider from 0 to 600 ns. A flush costs time here without added \
                     latency, too: trees that flush more lines are behind at 0 already.";
const WIDER_THAN_AN_EQUAL: &str = "The paper says that the gaps become wider from 0 to 600 ns. Both flush as many \
                                   lines an insert (ISLE-F7b), so that each line's latency costs both the same.";

const LATENCIES: Study = Study {
    conditions: "plain memory, real flushes and the given latency more for each line, a million keys at scale 1",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let trees = TREES.into_iter().filter(|(name, _)| !name.contains("_ALL"));
        let cells = trees.flat_map(|(name, design)| {
            (0..=600).step_by(100).map(move |flush_ns| {
                Cell::new(name, f64::from(flush_ns), pairs, move || {
                    Ok(vec![create(design, setup(pairs, flush_ns))?.put(&all(pairs), 1)?])
                })
            })
        });
        cells.collect()
    },
    figures: &[Figure {
        id: "ISLE-F8c",
        title: "Insertion by write latency",
        measure: 0,
        unit: "insert, ns",
        axis: Axis::Numbers("ns added to each flushed line"),
        claims: &[
            Claim::new("FF", "ISLE", 0.0, 1.2)
                .cause(Cause::Environment)
                .because("Without latency what remains is shifting and real flushes."),
            Claim::new("FF", "ISLE", 600.0, 1.708)
                .cause(Cause::Environment)
                .because("With it the ratio nears that of the lines flushed."),
            Claim::grows("FF", "ISLE", 0.0, 600.0).cause(Cause::Environment).because(WIDER),
            Claim::grows("CIRC", "ISLE", 0.0, 600.0).because(WIDER),
            Claim::grows("wB+", "ISLE", 0.0, 600.0).because(WIDER),
            Claim::grows("FP", "ISLE", 0.0, 600.0).cause(Cause::Environment).because(WIDER),
            Claim::grows("NV", "ISLE", 0.0, 600.0).cause(Cause::Questionable).because(WIDER_THAN_AN_EQUAL),
        ],
        note: OF_LATENCY,
    }],
};

const STRINGS: Study = Study {
    conditions: "plain memory, 300 ns more for each flushed line, keys of 23 bytes, values of 1000 in records; load, \
                 then YCSB A (Zipf 0.99, half updates)",
    exact: false,
    needs: Needs::Nothing,
    cells: strings_cells,
    figures: &[
        string_figure(
            "ISLE-F9a",
            "p99 of YCSB inserts by clients",
            0,
            &[
                Claim::more("NV", "ISLE", 1.0).cause(Cause::Unequal).because(EVERY_CLIENT),
                Claim::more("NV", "ISLE", 2.0).cause(Cause::Unequal).because(EVERY_CLIENT),
                Claim::more("FP", "ISLE", 1.0).because(EVERY_CLIENT),
                Claim::more("FP", "ISLE", 2.0).because(EVERY_CLIENT),
                Claim::more("FF", "ISLE", 1.0).cause(Cause::Unequal).because(EVERY_CLIENT),
                Claim::more("FF", "ISLE", 2.0).cause(Cause::Unequal).because(EVERY_CLIENT),
                Claim::more("CIRC", "ISLE", 1.0).cause(Cause::Unequal).because(EVERY_CLIENT),
                Claim::more("CIRC", "ISLE", 2.0).cause(Cause::Unequal).because(EVERY_CLIENT),
                Claim::new("NV", "ISLE", 4.0, 1.495).with_threads(4).because(RECORD),
                Claim::new("FP", "ISLE", 4.0, 1.383).with_threads(4).because(RECORD),
                Claim::new("FF", "ISLE", 4.0, 1.567)
                    .with_threads(4)
                    .headline(
                        "With four clients of YCSB, Isle-Tree's inserts are 36.2 percent shorter than FAST-FAIR's",
                    )
                    .because(RECORD),
                Claim::new("CIRC", "ISLE", 4.0, 1.289)
                    .with_threads(4)
                    .headline(
                        "With four clients of YCSB, Isle-Tree's inserts are 22.4 percent shorter than Circ-Tree's",
                    )
                    .because(RECORD),
            ],
        ),
        string_figure(
            "ISLE-F9b",
            "p99 of YCSB A's searches by clients",
            1,
            &[
                Claim::at_least("NV", "ISLE", 1.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("FP", "ISLE", 1.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("FF", "ISLE", 1.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("CIRC", "ISLE", 1.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("NV", "ISLE", 2.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("FP", "ISLE", 2.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("FF", "ISLE", 2.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("CIRC", "ISLE", 2.0, 1.0).at_scale(1.0).because(SIMILAR),
            ],
        ),
        string_figure(
            "ISLE-F9c",
            "p99 of YCSB A's updates by clients",
            2,
            &[
                Claim::at_least("NV", "ISLE", 1.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("FP", "ISLE", 1.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("FF", "ISLE", 1.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("CIRC", "ISLE", 1.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("NV", "ISLE", 2.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("FP", "ISLE", 2.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("FF", "ISLE", 2.0, 1.0).at_scale(1.0).because(SIMILAR),
                Claim::at_least("CIRC", "ISLE", 2.0, 1.0).at_scale(1.0).because(SIMILAR),
            ],
        ),
    ],
};

const fn string_figure(id: &'static str, title: &'static str, measure: usize, claims: &'static [Claim]) -> Figure {
    let note = "Inner nodes are volatile in all trees: the store knows no others.";
    Figure { id, title, measure, unit: "p99, ns", axis: Axis::Numbers("clients"), claims, note }
}

fn strings_cells(setting: &Setting) -> Vec<Cell> {
    let (records, seconds) = (setting.count(1_000_000), setting.seconds(2.0));
    let designs = [("NV", "nv_tree"), ("FP", "fp_tree"), ("FF", "fast_fair"), ("CIRC", "circ"), ("ISLE", "isle")];
    Cell::by_threads(setting, designs, strings::operations(records, seconds), move |design, threads| {
        strings::percentiles(design, LATENCY, threads, records, seconds)
    })
}
