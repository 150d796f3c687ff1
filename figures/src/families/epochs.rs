//! BD+Tree: durability per epoch, compared with trees that are durable when an operation returns.

mod space;
mod traces;
mod working_sets;

use crate::claim::Cause;
use crate::measured_tree::{TreeSetup, by_fence, counted, create, recovery, setup};
use crate::setting::Setting;
use crate::study::{Absent, Axis, Cell, Claim, Family, Figure, Needs, Study};
use crate::traces::{all, uniform, zipf};
use anyhow::Result;
use holm_medium::Counts;
use space::{MEMORY, SPACE};
use std::time::Duration;
use traces::{TRACES, TRACES_BY_FENCE};
use working_sets::{WORKING_SETS, WORKING_WRITES};

pub(crate) const FAMILY: Family = Family {
    name: "BD+Tree",
    paper: "durability by epochs, beside trees that are durable when an operation returns",
    without: "Montage with more threads than one",
    expected: false,
    studies: &[
        TRACES,
        TRACES_BY_FENCE,
        RECORDED,
        TRAFFIC,
        RECORDED_TRAFFIC,
        RECOVERY,
        WORKING_SETS,
        WORKING_WRITES,
        EPOCHS,
        EPOCHS_BY_FENCE,
        WAITS,
        SPACE,
        MEMORY,
    ],
    absent: &[Absent::new("BD-F1", "A worked example: metadata", "asserted by the tests of the design")],
    drawn: &[],
};

const LATENCY: u32 = 300;
const FOUR: [(&str, &str); 4] = [("BD", "buffered"), ("FF", "fast_fair"), ("LB", "lb_tree"), ("ISLE", "isle")];
/// The same designs, the paper's own leaf without fingerprints, and ours with versions line by line.
const SIX: [(&str, &str); 6] = {
    let [bd, ff, lb, isle] = FOUR;
    [bd, ("BD, as printed", "bd_tree"), ("LINED", "lined"), ff, lb, isle]
};

const MONTAGE: (&str, &str) = ("Montage, not proven", "montage");
/// With payloads as published, where lines are counted.
const MONTAGE_PRINTED: (&str, &str) = ("Montage, two lines, not proven", "montage_two_lines");
/// Those six, and the rival, which is timed with one thread alone.
const SEVEN: [(&str, &str); 7] = {
    let [bd, printed, lined, ff, lb, isle] = SIX;
    [bd, printed, lined, ff, lb, isle, MONTAGE]
};
/// The designs of the paper's figures, and the rival.
const FIVE: [(&str, &str); 5] = {
    let [bd, ff, lb, isle] = FOUR;
    [bd, ff, lb, isle, MONTAGE]
};
/// The same, with the paper's own leaf without fingerprints.
const FIVE_AND_PRINTED: [(&str, &str); 6] = {
    let [bd, printed, _, ff, lb, isle] = SIX;
    [bd, printed, ff, lb, isle, MONTAGE]
};
/// The same designs, and two ways to find the leaves of one tree: region by region, and along their chain.
const FOUND: [(&str, &str); 6] = {
    let [bd, ff, lb, isle] = FOUR;
    [bd, ff, lb, isle, ("BD-SCAN", "bd_tree"), ("BD-CHAIN", "bd_tree_chained")]
};
const NOTE: &str = "The paper does not name its traces; these are synthetic. Montage runs on one thread alone, in our \
                    words: a map in memory behind a lock stands for its tree, and a pair takes one line, where the \
                    published payload takes two.";

/// Returns millions of operations per second.
pub(super) fn mops(ns: f64) -> f64 {
    1_000.0 / ns
}

/// Loads a tree, and then runs half puts and half lookups along a trace.
pub(super) fn mixed(design: &str, setup: TreeSetup, trace: &[u64], threads: usize) -> Result<f64> {
    let tree = create(design, setup)?;
    tree.put(&all(setup.pairs), threads)?;
    // The writes of the load do not belong to the trace.
    tree.settle()?;
    Ok(mops(tree.mix(trace, threads)?))
}

const OF_RECORDED: &str = "The user provides the trace. Keys are loaded first; values of any size are words.";

const RECORDED: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms; a recorded trace, its \
                 first ten million requests at scale 1",
    exact: false,
    needs: Needs::Trace,
    cells: |setting| {
        let Some(trace) = setting.trace.clone() else { return vec![] };
        let operations = (trace.keys.len() + trace.requests.len()) as u64;
        Cell::by_threads(setting, FOUR, operations, move |design, threads| {
            let garden = create(design, setup(trace.keys.len() as u64, LATENCY))?;
            garden.put(&trace.keys, threads)?;
            garden.settle()?;
            Ok(vec![mops(garden.replay(&trace.requests, threads)?)])
        })
    },
    figures: &[Figure {
        id: "BD-F2-own",
        title: "Throughput by threads, a recorded trace",
        measure: 0,
        unit: "million operations a second",
        axis: Axis::Numbers("threads"),
        claims: &[],
        note: OF_RECORDED,
    }],
};

const RECORDED_TRAFFIC: Study = Study {
    conditions: "exact counts, an epoch ends after a fiftieth of the requests of a recorded trace",
    exact: true,
    needs: Needs::Trace,
    cells: |setting| {
        let Some(trace) = &setting.trace else { return vec![] };
        let cells = FOUR.map(|(name, design)| {
            let trace = trace.clone();
            Cell::new(name, 0.0, (trace.keys.len() + trace.requests.len()) as u64, move || {
                let garden = create(design, counted(trace.keys.len() as u64))?;
                garden.put(&trace.keys, 1)?;
                garden.end_epoch()?;
                let before = garden.counts();
                for epoch in trace.requests.chunks(trace.requests.len().div_ceil(50)) {
                    garden.replay(epoch, 1)?;
                    garden.end_epoch()?;
                }
                Ok(traffic_of(garden.counts() - before, trace.requests.len() as u64))
            })
        });
        cells.into()
    },
    figures: &[
        Figure {
            id: "BD-F3-own",
            title: "Written to persistent memory, a recorded trace",
            measure: 0,
            unit: "MiB per million operations",
            axis: Axis::Words("trace", &["recorded"]),
            claims: &[],
            note: OF_RECORDED,
        },
        Figure {
            id: "BD-F3b-own",
            title: "Written to persistent memory in blocks of 256 bytes, a recorded trace",
            measure: 1,
            unit: "MiB per million operations",
            axis: Axis::Words("trace", &["recorded"]),
            claims: &[],
            note: OF_RECORDED,
        },
    ],
};

/// Returns mebibytes per million operations, from the lines of `operations` operations.
fn mebibytes(lines: u64, operations: u64) -> f64 {
    (lines * 64) as f64 / f64::from(1 << 20) * 1e6 / operations as f64
}

/// Returns the mebibytes written per million operations along a trace over a tree of `pairs` pairs: in lines, and in
/// blocks of 256 bytes behind a buffer that combines lines. Half of the operations are puts, and they take `epochs`
/// epochs.
pub(super) fn written(design: &str, pairs: u64, trace: &[u64], epochs: usize) -> Result<Vec<f64>> {
    let tree = create(design, counted(pairs))?;
    tree.put(&all(pairs), 1)?;
    tree.end_epoch()?;
    let before = tree.counts();
    for epoch in trace.chunks(trace.len().div_ceil(epochs)) {
        tree.mix(epoch, 1)?;
        tree.end_epoch()?;
    }
    Ok(traffic_of(tree.counts() - before, trace.len() as u64))
}

/// Returns the mebibytes per million operations in lines and in blocks of 256 bytes.
fn traffic_of(spent: Counts, operations: u64) -> Vec<f64> {
    vec![mebibytes(spent.flushes, operations), mebibytes(4 * spent.blocks, operations)]
}

const TRAFFIC: Study = Study {
    conditions: "exact counts, an epoch ends after a fiftieth of the operations, or after a fifth; as many operations \
                 as keys, a million at scale 1, half puts",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let (pairs, operations) = (setting.count(1_000_000), setting.count(1_000_000));
        let cells = SEVEN.into_iter().chain([MONTAGE_PRINTED]).flat_map(|(name, design)| {
            [(true, 50), (true, 5), (false, 50)].into_iter().enumerate().map(move |(place, (skewed, epochs))| {
                Cell::new(name, place as f64, pairs + operations, move || {
                    let trace = if skewed { zipf(operations, pairs, 3) } else { uniform(operations, pairs, 3) };
                    written(design, pairs, &trace, epochs)
                })
            })
        });
        cells.collect()
    },
    figures: &[
        traffic("BD-F3", "Written to persistent memory, in lines", 0, TRAFFIC_CLAIMS),
        traffic("BD-F3b", "Written to persistent memory, in blocks of 256 bytes", 1, BLOCK_CLAIMS),
    ],
};

const fn traffic(id: &'static str, title: &'static str, measure: usize, claims: &'static [Claim]) -> Figure {
    let unit = "MiB per million operations";
    let axis = Axis::Words("trace", &["t1: Zipf", "t1, ten times the epoch", "t2: uniform"]);
    Figure { id, title, measure, unit, axis, claims, note: NOTE }
}

/// By blocks: the same statements as by lines.
const BLOCK_CLAIMS: &[Claim] = &[
    Claim::less("BD", "LB", 0.0)
        .form_of("BD-F3", "BD, as printed", "LB")
        .cause(Cause::Scale)
        .because("A medium that writes blocks. An epoch has a fiftieth of the operations here."),
    Claim::new("BD", "LB", 1.0, 0.01)
        .form_of("BD-F3", "BD, as printed", "LB")
        .cause(Cause::Scale)
        .because("More puts of an epoch share a block than in BD-F3 share a line."),
    Claim::less(MONTAGE_PRINTED.0, "LB", 0.0).form_of("BD-F3", MONTAGE_PRINTED.0, "LB").because(REDUCES),
    Claim::less(MONTAGE.0, "LB", 0.0).form_of("BD-F3", MONTAGE_PRINTED.0, "LB").because(REDUCES),
];

const REDUCES: &str = "The paper says that Montage reduces the traffic of strict durability. A pair has lines of its \
                       own, two as published, written once an epoch. An epoch has a fiftieth of the operations here.";
const TWO_LINES: &str = "An epoch has a fiftieth of the operations here, 20,000 at scale 1, and half of them are puts. \
                         A put out of place dirties a line of metadata and a line of pairs, LB+-Tree's in place one; \
                         an epoch ten times as long writes less.";
const FEWER_OF_A_LINE: &str =
    "Puts of an epoch share a line, and an epoch has fewer of them here (see SYN-L1, BD-X3b).";

/// FAST-FAIR is in none of them: the paper leaves it out of this figure.
const TRAFFIC_CLAIMS: &[Claim] = &[
    Claim::less("BD, as printed", "LB", 0.0).cause(Cause::Scale).because(TWO_LINES),
    Claim::new("BD, as printed", "LB", 1.0, 0.01)
        .cause(Cause::Scale)
        .headline("BD+Tree writes up to 99 percent less to persistent memory")
        .because(FEWER_OF_A_LINE),
    Claim::less("BD", "LB", 0.0).form_of("BD-F3", "BD, as printed", "LB").cause(Cause::Scale).because(TWO_LINES),
    Claim::new("BD", "LB", 1.0, 0.01)
        .form_of("BD-F3", "BD, as printed", "LB")
        .cause(Cause::Scale)
        .because(FEWER_OF_A_LINE),
    Claim::less(MONTAGE_PRINTED.0, "LB", 0.0).cause(Cause::Scale).because(REDUCES),
    Claim::less(MONTAGE_PRINTED.0, "LB", 1.0)
        .form_of_at(("BD-F3", 0.0), MONTAGE_PRINTED.0, "LB")
        .cause(Cause::Scale)
        .because(REDUCES),
    Claim::less(MONTAGE.0, "LB", 0.0).form_of("BD-F3", MONTAGE_PRINTED.0, "LB").cause(Cause::Unequal).because(REDUCES),
];

const RECOVERY: Study = Study {
    conditions: "plain memory; every leaf is read and all volatile state is rebuilt, after a load of uniform keys",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        Cell::by_threads_beside(setting, FOUND, [MONTAGE], 2 * pairs, move |design, threads| {
            Ok(vec![recovery(design, &all(pairs), threads)?])
        })
    },
    figures: &[Figure {
        id: "BD-X2",
        title: "Recovery by threads",
        measure: 0,
        unit: "ns for a pair",
        axis: Axis::Numbers("threads"),
        claims: &[
            Claim::at_most("BD", "LB", 1.0, 1.0)
                .because("The paper says that a fast pass over the leaves is all; its slow one is Montage."),
            Claim::at_most("BD", "FF", 1.0, 1.0).because("A pass over the leaves in both."),
            Claim::less("BD", MONTAGE.0, 1.0).because("The paper says that Montage's is far more costly."),
        ],
        note: NOTE,
    }],
};

/// Returns a cell for each design and each length of an epoch: millions of operations a second, half of them puts by
/// Zipf, at the price of `setup`.
pub(super) fn by_epochs<const DESIGNS: usize>(
    setting: &Setting,
    designs: [(&'static str, &'static str); DESIGNS],
    priced: fn(u64) -> TreeSetup,
) -> Vec<Cell> {
    let (pairs, operations) = (setting.count(1_000_000), setting.count(4_000_000));
    let cells = [1, 5, 10, 50, 100].into_iter().flat_map(|milliseconds: u64| {
        designs.map(|(name, design)| {
            Cell::new(name, milliseconds as f64, pairs + operations, move || {
                let epoch = Duration::from_millis(milliseconds);
                let tree = create(design, TreeSetup { epoch, ..priced(pairs) })?;
                tree.put(&all(pairs), 1)?;
                tree.settle()?;
                Ok(vec![mops(tree.mix(&zipf(operations, pairs, 3), 1)?)])
            })
        })
    });
    cells.collect()
}

const EPOCHS_BY_FENCE: Study = Study {
    conditions: "plain memory, real flushes, 300 ns more for each fence and 32 ns for each line before it (2 GB a \
                 second); Zipf 0.99 over a million keys, half puts",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| by_epochs(setting, [("BD", "buffered")], by_fence),
    figures: &[Figure {
        id: "BD-X5a-fence",
        title: "Throughput by length of an epoch; lines overlap",
        measure: 0,
        unit: "million operations a second",
        axis: Axis::Numbers("ms of an epoch"),
        claims: &[],
        note: "As BD-X5a, at the other price: the lines of an epoch wait for one fence.",
    }],
};

const EPOCHS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line; Zipf 0.99 over a million keys, half puts",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| by_epochs(setting, [("BD", "buffered")], |pairs| setup(pairs, LATENCY)),
    figures: &[Figure {
        id: "BD-X5a",
        title: "Throughput by length of an epoch",
        measure: 0,
        unit: "million operations a second",
        axis: Axis::Numbers("ms of an epoch"),
        claims: &[],
        note: "BD-X5b shows the cost of waiting.",
    }],
};

const WAITS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms at most; uniform puts over \
                 a hundred thousand keys, one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let (pairs, operations) = (setting.count(100_000), setting.count(200_000));
        let all_of = [("BD", "buffered"), ("ISLE", "isle")];
        let cells = [10, 100, 1_000, 10_000].into_iter().flat_map(|every: usize| {
            all_of.map(|(name, design)| {
                Cell::new(name, every as f64, pairs + 2 * operations, move || {
                    let garden = create(design, setup(pairs, LATENCY))?;
                    garden.put(&all(pairs), 1)?;
                    garden.settle()?;
                    Ok(vec![mops(garden.put_and_wait(&uniform(operations, pairs, 3), every)?)])
                })
            })
        });
        cells.collect()
    },
    figures: &[Figure {
        id: "BD-X5b",
        title: "Throughput by frequency of waits for durability",
        measure: 0,
        unit: "million operations a second",
        axis: Axis::Numbers("puts between two waits"),
        claims: &[],
        note: "A wait ends the epoch at once. Isle-Tree never waits, and is shown for comparison.",
    }],
};
