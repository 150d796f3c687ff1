//! The combination of the papers' ideas: a leaf of segments with versions and fingerprints. Each idea's claim is
//! measured by its own paper's metric.

use super::epochs::{mixed, mops, written};
mod ablations;
mod epoch_lines;
mod media_metrics;
pub(crate) mod metrics;

use crate::claim::Cause;
use crate::measured_tree::{PERCENTILES, counted, create, setup, unflushed};
use crate::study::{Axis, Cell, Claim, Drawn, Family, Figure, Needs, Study};
use crate::traces::{all, ascending, uniform, zipf};
use ablations::{ASIDE, ASIDE_READS, BLOCKS, CODECS, DURABILITIES, EPOCHS, EPOCHS_BY_FENCE, ORDERS, PRINTS, ROOTS};
use anyhow::Result;
use media_metrics::MEDIA_METRICS;
use metrics::{METRICS, TIMES};

/// A design of each paper, and ours.
const DRAWN: &[Drawn] =
    &[Drawn { figures: &["SYN-D"], series: &["FF", "ISLE", "LB", "SS", "BD", "HOLM", "LINED", "BORDERS"] }];

pub(crate) const FAMILY: Family = Family {
    name: "Synthesis",
    paper: "the ideas of all five in one leaf, each against its own paper's metric",
    without: "",
    expected: true,
    studies: &[
        METRICS,
        TIMES,
        MEDIA_METRICS,
        epoch_lines::UNIFORM,
        epoch_lines::SKEWED,
        READS,
        FLUSHES,
        TRACES,
        SPLITS,
        PLAIN,
        CODECS,
        PRINTS,
        BLOCKS,
        ORDERS,
        ASIDE,
        ASIDE_READS,
        ROOTS,
        EPOCHS,
        EPOCHS_BY_FENCE,
        DURABILITIES,
    ],
    absent: &[],
    drawn: DRAWN,
};

const NOTE: &str = "No paper has this leaf: the claims are our expectations.";
const LATENCY: u32 = 300;

/// The leaf, and for each paper the tree that it is compared with.
const TREES: [(&str, &str); 5] =
    [("HOLM", "holm"), ("FF_S", "fast_fair_sentinels"), ("ISLE", "isle"), ("BD", "buffered"), ("SS", "ss_tree")];

const READS: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, twenty thousand of them, uniform; searches of a thousand",
    exact: true,
    needs: Needs::Reads,
    cells: |_| {
        let cells = TREES.map(|(name, design)| {
            Cell::new(name, 0.0, 20_000, move || {
                let (tree, keys) = (create(design, counted(20_000))?, all(20_000));
                for keys in keys.chunks(1_000) {
                    tree.put(keys, 1)?;
                    tree.end_epoch()?;
                }
                Ok(vec![tree.lines_got(&keys[..1_000])?])
            })
        });
        cells.into()
    },
    figures: &[Figure {
        id: "SYN-S0",
        title: "Against sentinels: lines of a leaf that a search reads",
        measure: 0,
        unit: "lines read a search",
        axis: Axis::Words("operation", &["search"]),
        claims: &[Claim::at_most("HOLM", "FF_S", 0.0, 1.0).cause(Cause::Idea).because(
            "Expected: a line of metadata and one of pairs. The sentinels lie in memory and are not counted, \
                      and a second block has metadata of its own.",
        )],
        note: NOTE,
    }],
};

const FLUSHES: Study = Study {
    conditions: "exact counts, an epoch ends after a fiftieth of the operations; a million keys at scale 1",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cells = TREES.into_iter().flat_map(|(name, design)| {
            [0, 1, 2].map(|place| {
                Cell::new(name, f64::from(place), 2 * pairs, move || {
                    let tree = create(design, counted(pairs))?;
                    let keys = match place {
                        0 => all(pairs),
                        1 => uniform(pairs, pairs, 3),
                        _ => zipf(pairs, pairs, 3),
                    };
                    if place > 0 {
                        tree.put(&all(pairs), 1)?;
                        tree.end_epoch()?;
                    }
                    let before = tree.counts();
                    for keys in keys.chunks(keys.len().div_ceil(50)) {
                        tree.put(keys, 1)?;
                        tree.end_epoch()?;
                    }
                    let spent = tree.counts() - before;
                    Ok([spent.flushes, spent.blocks].map(|count| count as f64 / pairs as f64).into())
                })
            })
        });
        cells.collect()
    },
    figures: &[
        Figure {
            id: "SYN-S1",
            title: "Against Isle-Tree: lines flushed per put",
            measure: 0,
            unit: "lines flushed a put",
            axis: Axis::Words("puts", &["inserts", "uniform updates", "Zipf updates"]),
            claims: &[
                Claim::at_most("HOLM", "ISLE", 0.0, 1.0).because("Expected: no more, but outside the operations."),
                Claim::less("HOLM", "ISLE", 2.0)
                    .cause(Cause::Scale)
                    .because("Expected: many puts of an epoch share a line."),
            ],
            note: NOTE,
        },
        Figure {
            id: "SYN-S1b",
            title: "Against Isle-Tree: blocks of 256 bytes written per put",
            measure: 1,
            unit: "blocks written a put",
            axis: Axis::Words("puts", &["inserts", "uniform updates", "Zipf updates"]),
            claims: &[],
            note: NOTE,
        },
    ],
};

const TRACES: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms; t1: Zipf 0.99 over a \
                 million keys, t2: uniform over eight million; half puts; one thread; traffic by exact counts",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let (near, far) = (setting.count(1_000_000), setting.count(8_000_000));
        let operations = setting.count(2_000_000);
        let cells = TREES.map(|(name, design)| {
            Cell::new(name, 0.0, 2 * near + far + 3 * operations, move || {
                let t1 = mixed(design, setup(near, LATENCY), &zipf(operations, near, 3), 1)?;
                let t2 = mixed(design, setup(far, LATENCY), &uniform(operations, far, 3), 1)?;
                let [traffic, ..] = written(design, near, &zipf(operations, near, 3), 50)?[..] else { unreachable!() };
                Ok(vec![t1, t2, traffic])
            })
        });
        cells.into()
    },
    figures: &[
        Figure {
            id: "SYN-S2a",
            title: "Against BD+Tree: throughput",
            measure: 0,
            unit: "million operations a second",
            axis: Axis::Measures("trace", &["t1: Zipf", "t2: uniform"]),
            claims: &[
                Claim::more("HOLM", "BD", 0.0)
                    .cause(Cause::Idea)
                    .because("Expected: a leaf that is full of old versions grows."),
                Claim::more("HOLM", "BD", 1.0)
                    .cause(Cause::Idea)
                    .because("Expected: fingerprints avoid reads of lines of pairs."),
            ],
            note: NOTE,
        },
        Figure {
            id: "SYN-S2b",
            title: "Against BD+Tree: written to persistent memory",
            measure: 2,
            unit: "MiB per million operations",
            axis: Axis::Measures("trace", &["t1: Zipf"]),
            claims: &[Claim::less("HOLM", "BD", 0.0)
                .cause(Cause::Idea)
                .because("Expected: no full leaf is copied whole.")],
            note: NOTE,
        },
    ],
};

const SPLITS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(2_000_000);
        let cells = TREES.into_iter().filter(|(name, _)| *name != "FF_S").map(|(name, design)| {
            Cell::new(name, 0.0, 3 * pairs, move || {
                let in_order = create(design, setup(pairs, LATENCY))?.put(&ascending(pairs), 1)?;
                let share = create(design, setup(pairs, LATENCY))?.split_share(&all(pairs))?;
                let tail = create(design, setup(pairs, LATENCY))?.tail(&all(pairs), 1)?;
                Ok([vec![in_order, share], tail].concat())
            })
        });
        cells.collect()
    },
    figures: &[
        syn_split(
            "SYN-S3a",
            "Against SSTree: sequential load",
            0,
            "insert, ns",
            Axis::Measures("load", &["sequential"]),
        ),
        syn_split("SYN-S3b", "Against SSTree: time of inserts that allocate a block", 1, "share, percent", UNIFORM),
        syn_split("SYN-S3c", "Against SSTree: the tail of inserts", 2, "insert, ns", TAIL_AXIS),
    ],
};

const FEWER: &[Claim] = &[Claim::less("HOLM", "SS", 0.0)
    .cause(Cause::Idea)
    .because("Expected: twice as many pairs before a split, and no flush in the insert.")];
const UNIFORM: Axis = Axis::Measures("load", &["uniform"]);
const TAIL_AXIS: Axis = Axis::Measures("percentile", PERCENTILES);

const fn syn_split(id: &'static str, title: &'static str, measure: usize, unit: &'static str, axis: Axis) -> Figure {
    Figure { id, title, measure, unit, axis, claims: FEWER, note: NOTE }
}

/// Returns millions per second of puts and of gets, without flushes.
fn plainly(design: &str, pairs: u64) -> Result<Vec<f64>> {
    let tree = create(design, unflushed(pairs))?;
    let put = tree.put(&all(pairs), 1)?;
    Ok(vec![mops(put), mops(tree.get(&uniform(pairs, pairs, 7), 1)?)])
}

const PLAIN: Study = Study {
    conditions: "plain memory, nothing is flushed, keys and values of 8 bytes, uniform; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        TREES.map(|(name, design)| Cell::new(name, 0.0, 2 * pairs, move || plainly(design, pairs))).into()
    },
    figures: &[Figure {
        id: "SYN-S4",
        title: "Without persistence: puts and gets",
        measure: 0,
        unit: "million operations a second",
        axis: Axis::Measures("operation", &["put", "get"]),
        claims: &[
            Claim::more("HOLM", "BD", 0.0)
                .cause(Cause::Idea)
                .because("Expected: a put appends, and a leaf splits later."),
            Claim::more("HOLM", "BD", 1.0)
                .cause(Cause::Idea)
                .because("Expected: one comparison of fingerprints finds the pair."),
        ],
        note: "MB+-tree's own numbers, of a map that is not durable at all, are those of MB-F13.",
    }],
};
