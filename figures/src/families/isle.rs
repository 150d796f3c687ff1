//! Isle-Tree compared with NV-Tree, FPTree, wB+-Tree, FAST-FAIR and Circ-Tree.

use crate::measured_tree::{counted, create, setup};
use crate::setting::Setting;
use crate::strings;
use crate::study::{Absent, Axis, Cell, Claim, Family, Figure, Needs, Study};
use crate::traces::{all, uniform};
use anyhow::Result;

pub(crate) const FAMILY: Family = Family {
    name: "Isle-Tree",
    paper: "lines sorted each on its own, beside NV, FP, wB+, FAST-FAIR and Circ",
    without: "",
    expected: false,
    studies: &[EXAMPLE, LOADS, FLUSHES, NODES, LATENCIES, STRINGS, READS],
    absent: &[Absent::new("ISLE-X1", "The crash matrix", "explored by `cargo xtask crash`, and part of the report")],
};

const EIGHT: [(&str, &str); 8] = [
    ("NV", "nv_tree"),
    ("FP", "fp_tree"),
    ("wB+", "wb_tree"),
    ("FF", "fast_fair_all"),
    ("FF, inner nodes volatile", "fast_fair"),
    ("CIRC", "circ"),
    ("ISLE", "isle"),
    ("ISLE_ALL", "isle_all"),
];

const LATENCY: u32 = 300;
const NOTE: &str = "FF has its inner nodes in persistent memory, as in the paper; wB+ has them in memory here, which \
                    spares it what they cost there. All trees stand on the same inner nodes, latches and allocator.";

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
        claims: &[Claim::even("ISLE", "FF", 0.0)
            .because("The paper counts only lines of pairs, one and two; Isle-Tree's header is one more.")],
        note: "FAST and FAIR shifts four pairs, which lie in two lines, as in the paper.",
    }],
};

const LOADS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, nodes of 512 bytes, keys and values of 8 \
                 bytes, uniform",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let cells = setting.millions().flat_map(|millions| {
            let pairs = setting.count(millions * 1_000_000);
            EIGHT.map(|(name, design)| {
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
            axis: Axis::Numbers("millions of keys, at scale 1"),
            claims: &[
                Claim::new("NV", "ISLE", 10.0, 1.116).because("Both flush two lines; NV appends and searches more."),
                Claim::new("FP", "ISLE", 10.0, 1.41).because("It flushes one line more than Isle in a common insert."),
                Claim::new("wB+", "ISLE", 10.0, 2.243).because("Ours keeps its inner nodes in memory."),
                Claim::new("FF", "ISLE", 10.0, 1.55).because("It flushes the lines that it shifts."),
                Claim::new("CIRC", "ISLE", 10.0, 1.491).because("It shifts the shorter side, so fewer lines."),
            ],
            note: NOTE,
        },
        Figure {
            id: "ISLE-F7c",
            title: "Search by number of keys",
            measure: 1,
            unit: "search, ns",
            axis: Axis::Numbers("millions of keys, at scale 1"),
            claims: &[
                Claim::new("NV", "ISLE", 10.0, 1.37).because("NV searches all appended entries, here with vectors."),
                Claim::new("FP", "ISLE", 10.0, 1.189).because("Our fingerprints are compared with vectors."),
                Claim::new("wB+", "ISLE", 10.0, 1.23).because("It searches an array of slots."),
                Claim::new("CIRC", "ISLE", 10.0, 1.183).because("Ours is searched by segments, with vectors."),
                Claim::even("FF", "ISLE", 10.0).because("The paper says comparable."),
            ],
            note: NOTE,
        },
    ],
};

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
                Ok(vec![tree.counts().flushes as f64 / pairs as f64])
            })
        };
        EIGHT.map(|(name, design)| cell(name, design)).into()
    },
    figures: &[Figure {
        id: "ISLE-F7b",
        title: "Lines flushed by inserts",
        measure: 0,
        unit: "lines flushed an insert",
        axis: Axis::Numbers("millions of keys, at scale 1"),
        claims: &[
            Claim::new("FF", "ISLE", 10.0, 2.092)
                .because("The paper's account of splits or headers differs from ours."),
            Claim::new("CIRC", "ISLE", 10.0, 1.532)
                .because("The paper's account of splits or headers differs from ours."),
            Claim::new("FP", "ISLE", 10.0, 1.44).because("The paper's account of splits or headers differs from ours."),
            Claim::new("NV", "ISLE", 10.0, 1.0).because("Both flush two lines for a common insert."),
            Claim::new("wB+", "ISLE", 10.0, 2.6).because("Ours keeps its inner nodes in memory."),
        ],
        note: "A million keys instead of ten: counts for an insert do not depend on it.",
    }],
};

const NODES: Study = Study {
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
        let small = EIGHT.map(|(name, design)| Cell::new(name, 512.0, 4 * pairs, work(design)));
        let large = [
            ("FF, inner nodes volatile", 1024.0, "fast_fair_1k"),
            ("FF, inner nodes volatile", 2048.0, "fast_fair_2k"),
        ];
        small.into_iter().chain(large.map(|(name, x, design)| Cell::new(name, x, 4 * pairs, work(design)))).collect()
    },
    figures: &[
        Figure {
            id: "ISLE-F8a",
            title: "Share of the time in inserts that split",
            measure: 2,
            unit: "share of splits, percent",
            axis: Axis::Numbers("bytes of a node"),
            claims: &[Claim::more("NV", "ISLE", 512.0)
                .because("The paper says about 20 percent for all but NV, which takes more.")],
            note: "An insert splits if it allocates a block. The clock is read twice per insert.",
        },
        Figure {
            id: "ISLE-F8b",
            title: "Insertion by node size",
            measure: 0,
            unit: "insert, ns",
            axis: Axis::Numbers("bytes of a node"),
            claims: &[Claim::more("FF, inner nodes volatile", "FF, inner nodes volatile", 2048.0)
                .against_at(512.0)
                .because("The paper says that FF degrades.")],
            note: "Larger nodes exist here only of FAST-FAIR.",
        },
    ],
};

const LATENCIES: Study = Study {
    conditions: "plain memory, real flushes and the given latency more for each line, a million keys at scale 1",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let trees = EIGHT.into_iter().filter(|(name, _)| *name != "ISLE_ALL");
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
            Claim::new("FF", "ISLE", 0.0, 1.2).because("Without latency what remains is shifting and real flushes."),
            Claim::new("FF", "ISLE", 600.0, 1.708).because("With it the ratio nears that of the lines flushed."),
        ],
        note: NOTE,
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
                Claim::new("NV", "ISLE", 4.0, 1.495)
                    .because("A record of a kilobyte is flushed first: 16 of the lines."),
                Claim::new("FP", "ISLE", 4.0, 1.383)
                    .because("A record of a kilobyte is flushed first: 16 of the lines."),
                Claim::new("FF", "ISLE", 4.0, 1.567)
                    .because("A record of a kilobyte is flushed first: 16 of the lines."),
                Claim::new("CIRC", "ISLE", 4.0, 1.289)
                    .because("A record of a kilobyte is flushed first: 16 of the lines."),
            ],
        ),
        string_figure(
            "ISLE-F9b",
            "p99 of YCSB A's searches by clients",
            1,
            &[Claim::even("FF", "ISLE", 1.0).because("The paper says similar or slightly better.")],
        ),
        string_figure(
            "ISLE-F9c",
            "p99 of YCSB A's updates by clients",
            2,
            &[Claim::even("FF", "ISLE", 1.0).because("The paper says similar or slightly better.")],
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

const READS: Study = Study {
    conditions: "exact counts, nodes of 512 bytes, keys and values of 8 bytes, uniform, a hundred thousand at scale 1",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| {
        let pairs = setting.count(100_000);
        let cell = |name, at, design: &'static str| {
            Cell::new(name, at, 2 * pairs, move || {
                let (tree, keys) = (create(design, counted(pairs))?, all(pairs));
                tree.put(&keys, 1)?;
                Ok(vec![if at == 0.0 { tree.lines_got(&keys[..1_000])? } else { tree.lines_put(&keys[..1_000])? }])
            })
        };
        let trees = EIGHT.into_iter().filter(|(name, _)| !name.contains("_ALL") && *name != "FF");
        trees.flat_map(|(name, design)| [cell(name, 0.0, design), cell(name, 1.0, design)]).collect()
    },
    figures: &[Figure {
        id: "ISLE-F2",
        title: "Lines of a leaf that are read",
        measure: 0,
        unit: "lines read an operation",
        axis: Axis::Words("operation", &["search", "update"]),
        claims: &[],
        note: "In place of the paper's worked example, which is of one node and one key. What vectors compare is read \
               whole.",
    }],
};
