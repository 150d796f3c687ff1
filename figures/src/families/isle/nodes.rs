//! Isle-Tree and its comparators by the size of their nodes: times, shares of splits, and what is written.

use super::{LATENCY, TREES, inserted};
use crate::axes::NODES_OF_ISLES;
use crate::claim::Cause;
use crate::measured_tree::{by_fence, counted, create, setup};
use crate::study::{Cell, Claim, Figure, Needs, Study};
use crate::traces::all;

const SPLIT_LINES: &str = "The paper says about 20 percent. Splits flush 22 percent of the lines: 2.56 an insert \
                           (ISLE-F7b), of which an insert without a split flushes two (ISLE-F1).";
const SPLIT_LINES_OF_FP: &str = "The paper says about 20 percent. Splits flush 19 percent of the lines: 3.69 an insert \
                                 (ISLE-F7b), of which an insert without a split flushes three (ISLE-F1).";
const SPLIT_LINES_OF_ALL: &str = "The paper says about 20 percent. Splits flush 30 percent of the lines: 2.87 an \
                                  insert (ISLE-F7b), of which an insert without a split flushes two.";
const MORE_LINES: &str = "The paper says about 20 percent. The more lines an insert without a split flushes, the \
                          smaller the share of splits: here 4 lines and more an insert, Isle-Tree 2.56 (ISLE-F7b).";

const LARGER: &str = "The papers of NV-Tree and wB+-Tree have one word of count or bitmap. NV-Tree of 2 KiB has three \
                      words here, each for its own records, and wB+-Tree of 1 and 2 KiB a bitmap beside the word that \
                      commits.";
const COMPARABLE: &str = "The paper says comparable. Of a leaf, Isle-Tree reads fewer lines than FAST-FAIR, 4.85 and \
                          5.68 of 1 KiB, 8.66 and 11.23 of 2 KiB (ISLE-F2b): the difference is not in their number.";
const COMPARABLE_TO_CIRC: &str = "The paper says comparable. Of 2 KiB, Isle-Tree reads 8.66 lines, and Circ-Tree, one \
                                  by one from its first pair, 12.57 (ISLE-F2b).";
const SCANNED: &str = "The paper says comparable. Circ-Tree is searched one by one from its first pair.";
const OUTPERFORMS: &str = "The paper says that it still outperforms NV-Tree.";
const LEVEL: &str = "The paper says that it does not change.";

const DEGRADES: &str = "The paper says that larger nodes make it badly slower.";
const ONE_LINE_STILL: &str = "The paper says that a longer array of slots takes more flushes. That of 56 slots is one \
                              line, as is that of a node of 512 bytes, and splits are rarer.";
const SECOND_LINE: &str = "The paper says that a longer array of slots takes more flushes: that of 116 slots is two \
                           lines, once it has more than 63.";
const SHIFTS: &str = "Its shifts cross more lines.";

pub(super) const NODES: Study = Study {
    conditions: "plain memory, 300 ns more for each flushed line, keys and values of 8 bytes, uniform; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let work = |design: &'static str| {
            move || {
                let share = create(design, setup(pairs, LATENCY))?.split_share(&all(pairs))?;
                let mut both = inserted(design, pairs, LATENCY)?;
                both.push(share);
                Ok(both)
            }
        };
        let small = TREES.map(|(name, design)| Cell::new(name, 512.0, 4 * pairs, work(design)));
        let large = [
            ("FF, inner nodes volatile", 1024.0, "fast_fair_1k"),
            ("FF, inner nodes volatile", 2048.0, "fast_fair_2k"),
            ("NV", 1024.0, "nv_tree_1k"),
            ("NV", 2048.0, "nv_tree_2k"),
            ("NV, vectors", 512.0, "nv_tree_vectors"),
            ("NV, vectors", 1024.0, "nv_tree_vectors_1k"),
            ("NV, vectors", 2048.0, "nv_tree_vectors_2k"),
            ("wB+", 1024.0, "wb_tree_1k"),
            ("wB+", 2048.0, "wb_tree_2k"),
            ("ISLE", 1024.0, "isle_1k"),
            ("ISLE", 2048.0, "isle_2k"),
            ("ISLE, vectors", 512.0, "isle_vectors"),
            ("ISLE, vectors", 1024.0, "isle_vectors_1k"),
            ("ISLE, vectors", 2048.0, "isle_vectors_2k"),
            ("CIRC", 1024.0, "circ_1k"),
            ("CIRC", 2048.0, "circ_2k"),
            ("CIRC, vectors", 512.0, "circ_vectors"),
            ("CIRC, vectors", 1024.0, "circ_vectors_1k"),
            ("CIRC, vectors", 2048.0, "circ_vectors_2k"),
            ("ISLE_ALL", 1024.0, "isle_all_1k"),
            ("ISLE_ALL", 2048.0, "isle_all_2k"),
            ("CIRC, linear", 512.0, "circ_linear"),
            ("CIRC, linear", 1024.0, "circ_linear_1k"),
            ("CIRC, linear", 2048.0, "circ_linear_2k"),
        ];
        small.into_iter().chain(large.map(|(name, x, design)| Cell::new(name, x, 4 * pairs, work(design)))).collect()
    },
    figures: &[
        Figure {
            id: "ISLE-F8a",
            title: "Share of the time in inserts that split",
            measure: 2,
            unit: "share of splits, percent",
            axis: NODES_OF_ISLES,
            claims: &[
                Claim::value("ISLE", 512.0, 20.0).cause(Cause::Environment).because(SPLIT_LINES),
                Claim::value("FP", 512.0, 20.0).cause(Cause::Environment).because(SPLIT_LINES_OF_FP),
                Claim::value("FF", 512.0, 20.0).cause(Cause::Environment).because(MORE_LINES),
                Claim::value("CIRC", 512.0, 20.0).cause(Cause::Environment).because(MORE_LINES),
                Claim::value("wB+_ALL", 512.0, 20.0).cause(Cause::Environment).because(MORE_LINES),
                Claim::value("ISLE_ALL", 512.0, 20.0).cause(Cause::Environment).because(SPLIT_LINES_OF_ALL),
                Claim::more("NV", "ISLE", 512.0)
                    .cause(Cause::Environment)
                    .because("Splits of both flush the lines that they fill, each of which costs its latency here."),
            ],
            note: "An insert splits if it allocates a block. The clock is read twice per insert.",
        },
        Figure {
            id: "ISLE-F8b",
            title: "Insertion by node size",
            measure: 0,
            unit: "insert, ns",
            axis: NODES_OF_ISLES,
            claims: &[
                Claim::more("FF, inner nodes volatile", "FF, inner nodes volatile", 1024.0)
                    .against_at(512.0)
                    .because(DEGRADES),
                Claim::more("FF, inner nodes volatile", "FF, inner nodes volatile", 2048.0)
                    .against_at(512.0)
                    .because(DEGRADES),
                Claim::more("CIRC, linear", "CIRC, linear", 1024.0).against_at(512.0).because(DEGRADES),
                Claim::more("CIRC, linear", "CIRC, linear", 2048.0).against_at(512.0).because(DEGRADES),
                Claim::more("wB+", "wB+", 1024.0).against_at(512.0).cause(Cause::Questionable).because(ONE_LINE_STILL),
                Claim::more("wB+", "wB+", 2048.0).against_at(512.0).because(SECOND_LINE),
                Claim::even("ISLE", "ISLE", 1024.0).against_at(512.0).because(LEVEL),
                Claim::even("ISLE", "ISLE", 2048.0).against_at(512.0).because(LEVEL),
                Claim::even("NV", "NV", 1024.0).against_at(512.0).because(LEVEL),
                Claim::even("NV", "NV", 2048.0).against_at(512.0).because(LEVEL),
            ],
            note: LARGER,
        },
        Figure {
            id: "ISLE-F8d",
            title: "Search by node size",
            measure: 1,
            unit: "search, ns",
            axis: NODES_OF_ISLES,
            claims: &[
                Claim::less("ISLE", "NV", 1024.0).because(OUTPERFORMS),
                Claim::less("ISLE", "NV", 2048.0).because(OUTPERFORMS),
                Claim::less("ISLE, vectors", "NV, vectors", 2048.0)
                    .form_of("ISLE-F8d", "ISLE", "NV")
                    .because(OUTPERFORMS),
                Claim::even("ISLE, vectors", "FF, inner nodes volatile", 2048.0)
                    .form_of("ISLE-F8d", "ISLE", "FF, inner nodes volatile")
                    .because(COMPARABLE),
                Claim::even("ISLE", "FF, inner nodes volatile", 1024.0).cause(Cause::Unknown).because(COMPARABLE),
                Claim::even("ISLE", "FF, inner nodes volatile", 2048.0).cause(Cause::Unknown).because(COMPARABLE),
                Claim::even("ISLE", "CIRC, linear", 1024.0).cause(Cause::Environment).because(SCANNED),
                Claim::even("ISLE", "CIRC, linear", 2048.0).cause(Cause::Questionable).because(COMPARABLE_TO_CIRC),
            ],
            note: LARGER,
        },
    ],
};

/// The shares of splits at the other price: lines that are flushed before one fence overlap.
pub(super) const SHARES_BY_FENCE: Study = Study {
    conditions: "plain memory, real flushes, 300 ns more for each fence and 32 ns for each line before it (2 GB a \
                 second); nodes of 512 bytes, keys and values of 8 bytes, uniform; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cells = TREES.map(|(name, design)| {
            Cell::new(name, 512.0, pairs, move || Ok(vec![create(design, by_fence(pairs))?.split_share(&all(pairs))?]))
        });
        cells.into()
    },
    figures: &[Figure {
        id: "ISLE-F8a-fence",
        title: "Share of the time in inserts that split; lines overlap",
        measure: 0,
        unit: "share of splits, percent",
        axis: NODES_OF_ISLES,
        claims: &[
            of_fence("ISLE"),
            of_fence("FP"),
            of_fence("FF"),
            of_fence("CIRC"),
            of_fence("wB+_ALL"),
            of_fence("ISLE_ALL"),
            Claim::more("NV", "ISLE", 512.0)
                .form_of("ISLE-F8a", "NV", "ISLE")
                .cause(Cause::Environment)
                .because(AT_A_FENCE),
        ],
        note: "As ISLE-F8a, at the other price: the lines of a split are flushed before two fences.",
    }],
};

const AT_A_FENCE: &str = "As ISLE-F8a, at another price.";

const fn of_fence(of: &'static str) -> Claim {
    Claim::value(of, 512.0, 20.0).form_of_value("ISLE-F8a", of).cause(Cause::Environment).because(AT_A_FENCE)
}

/// What node sizes change in what is written. The second axis of the paper, time, is `NODES`.
pub(super) const SIZES: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, uniform, splits included; inner nodes volatile, but those \
                 of ISLE_ALL",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let trees = [
            ("NV", ["nv_tree", "nv_tree_1k", "nv_tree_2k"]),
            ("wB+", ["wb_tree", "wb_tree_1k", "wb_tree_2k"]),
            ("FF", ["fast_fair", "fast_fair_1k", "fast_fair_2k"]),
            ("CIRC", ["circ", "circ_1k", "circ_2k"]),
            ("ISLE", ["isle", "isle_1k", "isle_2k"]),
            ("ISLE_ALL", ["isle_all", "isle_all_1k", "isle_all_2k"]),
        ];
        let cell = |name, at, design: &'static str| {
            Cell::new(name, at, pairs, move || {
                let tree = create(design, counted(pairs))?;
                tree.put(&all(pairs), 1)?;
                let spent = tree.counts();
                Ok([spent.flushes, spent.blocks].map(|count| count as f64 / pairs as f64).into())
            })
        };
        let sizes = [512.0, 1024.0, 2048.0];
        trees.iter().flat_map(|(name, designs)| (0..3).map(move |at| cell(name, sizes[at], designs[at]))).collect()
    },
    figures: &[
        Figure {
            id: "ISLE-F8e",
            title: "Lines flushed by inserts, by node size",
            measure: 0,
            unit: "lines flushed an insert",
            axis: NODES_OF_ISLES,
            claims: &[
                Claim::even("ISLE", "ISLE", 1024.0).against_at(512.0).because(LEVEL),
                Claim::even("ISLE", "ISLE", 2048.0).against_at(512.0).because(LEVEL),
                Claim::even("ISLE_ALL", "ISLE_ALL", 1024.0)
                    .against_at(512.0)
                    .form_of("ISLE-F8e", "ISLE", "ISLE")
                    .because(LEVEL),
                Claim::even("ISLE_ALL", "ISLE_ALL", 2048.0)
                    .against_at(512.0)
                    .form_of("ISLE-F8e", "ISLE", "ISLE")
                    .because(LEVEL),
                Claim::even("NV", "NV", 1024.0).against_at(512.0).because(LEVEL),
                Claim::even("NV", "NV", 2048.0).against_at(512.0).because(LEVEL),
                Claim::more("FF", "FF", 1024.0).against_at(512.0).because(SHIFTS),
                Claim::more("FF", "FF", 2048.0).against_at(512.0).because(SHIFTS),
                Claim::more("CIRC", "CIRC", 1024.0).against_at(512.0).because(SHIFTS),
                Claim::more("CIRC", "CIRC", 2048.0).against_at(512.0).because(SHIFTS),
                Claim::more("wB+", "wB+", 1024.0).against_at(512.0).cause(Cause::Questionable).because(ONE_LINE_STILL),
                Claim::more("wB+", "wB+", 2048.0).against_at(512.0).because(SECOND_LINE),
            ],
            note: LARGER,
        },
        Figure {
            id: "ISLE-F8f",
            title: "Blocks of 256 bytes written by inserts, by node size",
            measure: 1,
            unit: "blocks written an insert",
            axis: NODES_OF_ISLES,
            claims: &[],
            note: LARGER,
        },
    ],
};
