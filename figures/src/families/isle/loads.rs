//! Times of inserts and of searches by the number of keys: the paper's first figures.

use super::{LATENCY, NOTE, SEARCHES, TREES, inserted};
use crate::axes::MILLIONS;
use crate::claim::Cause;
use crate::study::{Cell, Claim, Figure, Needs, Study};

const CONSISTENTLY: &str = "The paper says that both forms of Isle-Tree consistently outperform the others.";
const STALLS: &str = "The paper says consistently slower, because NV-Tree stops while it rebuilds its inner nodes. \
                      Ours has the inner nodes of all trees here.";
const ALL_AGAINST_VOLATILE: &str = "The paper's other trees have inner nodes in persistent memory or search them one \
                                    by one; here they are volatile, with vectors.";

pub(super) const LOADS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, nodes of 512 bytes, keys and values of 8 \
                 bytes, uniform",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let cells = setting.millions().flat_map(|millions| {
            let pairs = setting.count(millions * 1_000_000);
            TREES.into_iter().chain(SEARCHES).map(move |(name, design)| {
                Cell::new(name, millions as f64, 2 * pairs, move || inserted(design, pairs, LATENCY))
            })
        });
        cells.collect()
    },
    figures: &[
        Figure {
            id: "ISLE-F7a",
            title: "Insertion by number of keys",
            measure: 0,
            unit: "insert, ns",
            axis: MILLIONS,
            claims: &[
                Claim::new("NV", "ISLE", 10.0, 1.116)
                    .cause(Cause::Unequal)
                    .because("Splits of both flush only the lines that they fill: the paper's flush all of them."),
                Claim::new("FP", "ISLE", 10.0, 1.41)
                    .form_of("ISLE-F7a", "FP, one by one", "ISLE")
                    .cause(Cause::Unequal)
                    .because("Our FPTree compares fingerprints with vectors, Isle-Tree hops one by one."),
                Claim::new("FP, one by one", "ISLE", 10.0, 1.41).cause(Cause::Questionable).because(
                    "One by one, as the paper's: fingerprints of a line and one pair, 1.98 lines of a leaf, where \
                         hops read 2.97 (ISLE-F2).",
                ),
                Claim::new("wB+", "ISLE", 10.0, 2.243)
                    .form_of("ISLE-F7a", "wB+_ALL", "ISLE")
                    .cause(Cause::Unequal)
                    .because("Ours keeps its inner nodes in memory."),
                Claim::new("wB+_ALL", "ISLE", 10.0, 2.243)
                    .cause(Cause::Questionable)
                    .headline("wB+-Tree takes 124.3 percent longer to insert ten million pairs than Isle-Tree")
                    .because("With its inner nodes in persistent memory, as in the paper."),
                Claim::new("FP", "ISLE, vectors", 10.0, 1.41)
                    .form_of("ISLE-F7a", "FP, one by one", "ISLE")
                    .cause(Cause::Questionable)
                    .because("Both compare with vectors."),
                Claim::new("NV, vectors", "ISLE, vectors", 10.0, 1.116)
                    .form_of("ISLE-F7a", "NV", "ISLE")
                    .cause(Cause::Unequal)
                    .because("Both compare with vectors. Splits of both flush only the lines that they fill."),
                Claim::new("FF", "ISLE", 10.0, 1.55)
                    .cause(Cause::Unequal)
                    .headline("FAST-FAIR takes 55.0 percent longer to insert ten million pairs than Isle-Tree")
                    .because("It flushes the lines that it shifts (ISLE-F7b)."),
                Claim::new("CIRC", "ISLE", 10.0, 1.491)
                    .cause(Cause::Questionable)
                    .headline("Circ-Tree takes 49.1 percent longer to insert ten million pairs than Isle-Tree")
                    .because("The ratio of the lines flushed (ISLE-F7b) bounds it."),
                Claim::more("NV", "ISLE", 1.0).cause(Cause::Unequal).because(STALLS),
                Claim::more("FP, one by one", "ISLE", 1.0).because(CONSISTENTLY),
                Claim::more("wB+_ALL", "ISLE", 1.0).because(CONSISTENTLY),
                Claim::more("FF", "ISLE", 1.0).because(CONSISTENTLY),
                Claim::more("CIRC", "ISLE", 1.0).because(CONSISTENTLY),
                Claim::less("ISLE_ALL", "NV", 1.0).cause(Cause::Unequal).because(ALL_AGAINST_VOLATILE),
                Claim::less("ISLE_ALL", "FP, one by one", 1.0).cause(Cause::Unequal).because(ALL_AGAINST_VOLATILE),
                Claim::less("ISLE_ALL", "wB+_ALL", 1.0).because(CONSISTENTLY),
                Claim::less("ISLE_ALL", "FF", 1.0).because(CONSISTENTLY),
                Claim::less("ISLE_ALL", "CIRC", 1.0).cause(Cause::Unequal).because(ALL_AGAINST_VOLATILE),
                Claim::less("ISLE_ALL", "NV", 10.0).cause(Cause::Unequal).because(ALL_AGAINST_VOLATILE),
                Claim::less("ISLE_ALL", "FP, one by one", 10.0).cause(Cause::Unequal).because(ALL_AGAINST_VOLATILE),
                Claim::less("ISLE_ALL", "wB+_ALL", 10.0).because(CONSISTENTLY),
                Claim::less("ISLE_ALL", "FF", 10.0).because(CONSISTENTLY),
                Claim::less("ISLE_ALL", "CIRC", 10.0).cause(Cause::Unequal).because(ALL_AGAINST_VOLATILE),
                Claim::less("ISLE_ALL", "FP", 10.0)
                    .form_of("ISLE-F7a", "ISLE_ALL", "FP, one by one")
                    .cause(Cause::Unequal)
                    .because(ALL_AGAINST_VOLATILE),
                Claim::less("ISLE_ALL", "wB+", 10.0)
                    .form_of("ISLE-F7a", "ISLE_ALL", "wB+_ALL")
                    .cause(Cause::Unequal)
                    .because(ALL_AGAINST_VOLATILE),
            ],
            note: NOTE,
        },
        Figure {
            id: "ISLE-F7c",
            title: "Search by number of keys",
            measure: 1,
            unit: "search, ns",
            axis: MILLIONS,
            claims: &[
                Claim::new("NV", "ISLE", 10.0, 1.37)
                    .cause(Cause::Unequal)
                    .headline("Isle-Tree searches faster than NV-Tree, which takes 37.0 percent longer")
                    .because("NV searches appended entries from the last, and Isle-Tree hops: both one by one."),
                Claim::new("FP", "ISLE", 10.0, 1.189)
                    .form_of("ISLE-F7c", "FP, one by one", "ISLE")
                    .cause(Cause::Unequal)
                    .because("Our fingerprints are compared with vectors; Isle-Tree hops one by one."),
                Claim::new("FP, one by one", "ISLE", 10.0, 1.189)
                    .cause(Cause::Questionable)
                    .headline("Isle-Tree searches faster than FPTree, which takes 18.9 percent longer")
                    .because("The paper's own search of fingerprints."),
                Claim::new("FP", "ISLE, vectors", 10.0, 1.189)
                    .form_of("ISLE-F7c", "FP, one by one", "ISLE")
                    .cause(Cause::Questionable)
                    .because(
                        "Both compare with vectors: fingerprints of a line, or the keys of all lines, 1.98 and 8 \
                         lines of a leaf (ISLE-F2).",
                    ),
                Claim::new("NV, vectors", "ISLE, vectors", 10.0, 1.37)
                    .form_of("ISLE-F7c", "NV", "ISLE")
                    .cause(Cause::Questionable)
                    .because("Both compare with vectors, the one all records and the other all lines."),
                Claim::new("CIRC, vectors", "ISLE, vectors", 10.0, 1.183)
                    .form_of("ISLE-F7c", "CIRC", "ISLE")
                    .cause(Cause::Questionable)
                    .because(
                        "Both compare with vectors, the one a segment and the other all lines: 4.42 and 8 lines of a \
                         leaf (ISLE-F2).",
                    ),
                Claim::new("wB+_ALL", "ISLE", 10.0, 1.23)
                    .cause(Cause::Unequal)
                    .because("Its inner nodes halve in an array of slots; Isle-Tree's are volatile, with vectors."),
                Claim::new("wB+", "ISLE", 10.0, 1.23)
                    .form_of("ISLE-F7c", "wB+_ALL", "ISLE")
                    .cause(Cause::Environment)
                    .because("It searches an array of slots, and each slot leads to a line of its own."),
                Claim::new("CIRC", "ISLE", 10.0, 1.183).cause(Cause::Questionable).because(
                    "Both are searched without vectors here, Circ-Tree by segments, Isle-Tree by hops: 3.03 and \
                         2.97 lines of a leaf (ISLE-F2).",
                ),
                Claim::even("FF", "ISLE", 10.0).cause(Cause::Unequal).because(
                    "The paper says comparable. FF's inner nodes are durable here and searched one by one; \
                              Isle-Tree's are volatile, with vectors.",
                ),
                Claim::even("FF, inner nodes volatile", "ISLE", 10.0)
                    .form_of("ISLE-F7c", "FF", "ISLE")
                    .cause(Cause::Questionable)
                    .because("The same inner nodes above both: the leaves alone differ."),
            ],
            note: NOTE,
        },
    ],
};
