//! SSTree: subnodes that are linked before a leaf splits, beside LB+Tree and FAST-FAIR.

use crate::grove::{counted, plant, recovery, soil};
use crate::study::{Absent, Cell, Claim, Family, Figure, Study};
use crate::traces::{all, ascending, eighty_twenty, uniform};
use anyhow::Result;

const ONE_BY_ONE: &str = "operations are not timed one by one here";

pub(crate) const FAMILY: Family = Family {
    name: "SSTree",
    paper: "subnodes that are linked before a leaf splits, beside uTree, PACTree and LB+Tree",
    studies: &[THREADS, LINES, LISTS, MOVEMENT, RECOVERY],
    absent: &[
        Absent::new("SS-F1a", "Where LB+Tree's time goes", ONE_BY_ONE),
        Absent::new("SS-F1b", "Throughput with and without splits", "no tree here goes without splits"),
        Absent::new(
            "SS-F1c",
            "Persistent reads and writes of splits",
            "lines read are seen by the proof's builds alone",
        ),
        Absent::new("SS-F1d", "Tail latency of splits", ONE_BY_ONE),
        Absent::new("SS-F7", "Tail latency by percentile", ONE_BY_ONE),
        Absent::new("SS-F10", "Lines read an operation", "lines read are seen by the proof's builds alone"),
        Absent::new("SS-F11", "Memory after a load and a mix", "what lies beside the blocks is not counted here"),
        Absent::new("SS-F12", "Sequential load in other memory", "there is no other memory"),
        Absent::new("SS-X1", "The crash matrix of reclamation", "explored by the tests of the design"),
    ],
};

const LATENCY: u32 = 300;
const THREE: [(&str, &str); 3] = [("SS", "ss_tree"), ("LB", "lb_tree"), ("FF", "fast_fair")];
const NOTE: &str = "uTree and PACTree are not here; fewer keys and threads than in the paper. All trees stand on the \
                    same inner nodes, latches and allocator.";

/// Nanoseconds of a put in order, of a put in none, of an update and of a search.
fn worked(design: &str, pairs: u64, threads: usize) -> Result<Vec<f64>> {
    let in_order = plant(design, soil(pairs, LATENCY))?.put(&ascending(pairs), threads)?;
    let grove = plant(design, soil(pairs, LATENCY))?;
    let load = grove.put(&all(pairs), threads)?;
    let update = grove.put(&eighty_twenty(pairs, pairs, 5), threads)?;
    Ok(vec![in_order, load, update, grove.get(&uniform(pairs, pairs, 7), threads)?])
}

const THREADS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes",
    exact: false,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        let cells = setting.threads().flat_map(|threads| {
            THREE.map(|(name, design)| Cell::new(name, threads as f64, move || worked(design, pairs, threads)))
        });
        cells.collect()
    },
    figures: &[
        Figure {
            id: "SS-F6a",
            title: "Sequential load by threads",
            measure: 0,
            unit: "insert, ns",
            axis: "threads",
            claims: &[
                Claim::new("SS", "LB", 2.0, 0.5).because("The paper says 2 to 4.4 times; our LB splits in five lines."),
                Claim::new("SS", "FF", 2.0, 0.5).because("Appending shifts nothing, so FAST-FAIR is at its best here."),
            ],
            note: NOTE,
        },
        Figure {
            id: "SS-F6b",
            title: "Uniform load by threads",
            measure: 1,
            unit: "insert, ns",
            axis: "threads",
            claims: &[
                Claim::new("SS", "LB", 2.0, 0.83).because("The paper says 1.2 to 2.7 times; ours fences more often."),
                Claim::new("SS", "FF", 2.0, 0.83).because("FAST-FAIR flushes the lines that it shifts."),
            ],
            note: NOTE,
        },
        Figure {
            id: "SS-F6c",
            title: "Skewed updates by threads, 80 % of them to a fifth of the keys",
            measure: 2,
            unit: "update, ns",
            axis: "threads",
            claims: &[Claim::new("SS", "LB", 2.0, 0.625).because("Both flush one line; ours moves some pairs.")],
            note: NOTE,
        },
        Figure {
            id: "SS-F8",
            title: "Search by threads",
            measure: 3,
            unit: "search, ns",
            axis: "threads",
            claims: &[Claim::even("SS", "LB", 2.0).because("Ours asks memory beside the leaf which line to fetch.")],
            note: "As SS-F6; ranges are not scanned.",
        },
    ],
};

const LINES: Study = Study {
    conditions: "exact counts, keys and values of 8 bytes, uniform, splits included",
    exact: true,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cells = THREE.into_iter().flat_map(|(name, design)| {
            [false, true].map(|is_update| {
                Cell::new(name, f64::from(u8::from(is_update)), move || {
                    let grove = plant(design, counted(pairs))?;
                    if is_update {
                        grove.put(&all(pairs), 1)?;
                    }
                    let before = grove.counts().flushes;
                    grove.put(&all(pairs), 1)?;
                    Ok(vec![(grove.counts().flushes - before) as f64 / pairs as f64])
                })
            })
        });
        cells.collect()
    },
    figures: &[Figure {
        id: "SS-F9",
        title: "Lines written an operation",
        measure: 0,
        unit: "lines flushed an operation",
        axis: "0: insert, 1: update",
        claims: &[],
        note: "The paper says of SSTree: about two for an insert, about one for an update.",
    }],
};

const LISTS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes; one thread",
    exact: false,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        let cell = |name, design: &'static str| {
            Cell::new(name, 1.0, move || {
                let grove = plant(design, soil(pairs, LATENCY))?;
                let load = grove.put(&ascending(pairs), 1)?;
                let numbers: Vec<u64> = eighty_twenty(pairs, pairs, 9);
                Ok(vec![load, grove.get(&numbers, 1)?])
            })
        };
        vec![cell("N = 2", "ss_tree"), cell("N = 3", "ss_tree_three"), cell("N = 4", "ss_tree_four")]
    },
    figures: &[
        Figure {
            id: "SS-T1a",
            title: "Sequential load by the most subnodes of a leaf",
            measure: 0,
            unit: "insert, ns",
            axis: "threads",
            claims: &[Claim::new("N = 3", "N = 2", 1.0, 0.912), Claim::new("N = 4", "N = 2", 1.0, 0.900)],
            note: NOTE,
        },
        Figure {
            id: "SS-T1b",
            title: "Skewed search by the most subnodes of a leaf",
            measure: 1,
            unit: "search, ns",
            axis: "threads",
            claims: &[Claim::new("N = 3", "N = 2", 1.0, 1.080), Claim::new("N = 4", "N = 2", 1.0, 1.183)],
            note: NOTE,
        },
    ],
};

const MOVEMENT: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes; one thread",
    exact: false,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        let cell = |name, design: &'static str| {
            Cell::new(name, 1.0, move || {
                let grove = plant(design, soil(pairs, LATENCY))?;
                grove.put(&all(pairs), 1)?;
                Ok(vec![grove.put(&eighty_twenty(pairs, pairs, 5), 1)?])
            })
        };
        vec![cell("moving", "ss_tree"), cell("staying", "ss_tree_staying")]
    },
    figures: &[Figure {
        id: "SS-T2",
        title: "Skewed updates, with pairs that move and without",
        measure: 0,
        unit: "update, ns",
        axis: "threads",
        claims: &[Claim::new("moving", "staying", 1.0, 0.881).because(
            "A line in the cache is written as fast wherever it lies: there is no memory here that combines.",
        )],
        note: NOTE,
    }],
};

const RECOVERY: Study = Study {
    conditions: "plain memory, one pass over all blocks and one over all leaves",
    exact: false,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        let both = [("SS", "ss_tree"), ("LB", "lb_tree")];
        let cells = setting.threads().flat_map(|threads| {
            both.map(|(name, design)| {
                Cell::new(name, threads as f64, move || Ok(vec![recovery(design, &all(pairs), threads)?]))
            })
        });
        cells.collect()
    },
    figures: &[Figure {
        id: "SS-R1",
        title: "Recovery by threads",
        measure: 0,
        unit: "ns for a pair",
        axis: "threads",
        claims: &[Claim::new("SS", "SS", 2.0, 0.7)
            .against_at(1.0)
            .because("The paper has a sixth with 32 threads, which is 0.7 for each doubling.")],
        note: NOTE,
    }],
};
