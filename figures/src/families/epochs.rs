//! BD+Tree: durability by epochs, beside trees that are durable when an operation returns.

use crate::grove::{Soil, counted, plant, recovery, soil};
use crate::study::{Absent, Cell, Claim, Family, Figure, Study};
use crate::traces::{all, uniform, zipf};
use anyhow::Result;
use std::time::Duration;

pub(crate) const FAMILY: Family = Family {
    name: "BD+Tree",
    paper: "durability by epochs, beside trees that are durable when an operation returns",
    studies: &[TRACES, TRAFFIC, RECOVERY, WORKING_SETS, EPOCHS, SPACE],
    absent: &[
        Absent::new("BD-F1", "A worked example: metadata", "asserted by the tests of the design"),
        Absent::new("BD-X1", "Memory used", "Montage, which the claim is about, is not here"),
    ],
};

const LATENCY: u32 = 300;
const FOUR: [(&str, &str); 4] = [("BD", "buffered"), ("FF", "fast_fair"), ("LB", "lb_tree"), ("ISLE", "isle")];
const NOTE: &str = "The paper does not name its traces; these are synthetic. Montage is not here.";

/// Millions of operations a second.
fn mops(ns: f64) -> f64 {
    1_000.0 / ns
}

/// Loaded, then half puts and half searches along a trace.
fn mixed(design: &str, soil: Soil, trace: &[u64], threads: usize) -> Result<f64> {
    let grove = plant(design, soil)?;
    grove.put(&all(soil.pairs), threads)?;
    // What the load has written is not the trace's.
    grove.settle()?;
    Ok(mops(grove.mix(trace, threads)?))
}

const TRACES: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms; t1: Zipf 0.99 over a \
                 million keys, t2: uniform over eight million; half puts",
    exact: false,
    cells: |setting| {
        let (near, far) = (setting.count(1_000_000), setting.count(8_000_000));
        let operations = setting.count(2_000_000);
        let cells = setting.threads().flat_map(|threads| {
            FOUR.map(|(name, design)| {
                Cell::new(name, threads as f64, move || {
                    let t1 = mixed(design, soil(near, LATENCY), &zipf(operations, near, 3), threads)?;
                    let t2 = mixed(design, soil(far, LATENCY), &uniform(operations, far, 3), threads)?;
                    Ok(vec![t1, t2])
                })
            })
        });
        cells.collect()
    },
    figures: &[
        Figure {
            id: "BD-F2-t1",
            title: "Throughput by threads, a local trace",
            measure: 0,
            unit: "million operations a second",
            axis: "threads",
            claims: &[Claim::new("BD", "LB", 1.0, 1.9)
                .because("The paper says 1.5 to 2.4; one epoch's flush serves many puts of a line.")],
            note: NOTE,
        },
        Figure {
            id: "BD-F2-t2",
            title: "Throughput by threads, a uniform trace over a large set",
            measure: 1,
            unit: "million operations a second",
            axis: "threads",
            claims: &[Claim::new("BD", "LB", 1.0, 1.15)
                .because("The paper says 1 to 1.3; here the flushes are made beside the operations.")],
            note: NOTE,
        },
    ],
};

const TRAFFIC: Study = Study {
    conditions: "exact counts, an epoch ends after a fiftieth of the operations; a million keys, half puts",
    exact: true,
    cells: |setting| {
        let (pairs, operations) = (setting.count(1_000_000), setting.count(1_000_000));
        let written = |design: &'static str, skewed: bool| {
            move || {
                let grove = plant(design, counted(pairs))?;
                grove.put(&all(pairs), 1)?;
                grove.end_epoch()?;
                let before = grove.counts();
                let trace = if skewed { zipf(operations, pairs, 3) } else { uniform(operations, pairs, 3) };
                for epoch in trace.chunks(operations as usize / 50) {
                    grove.mix(epoch, 1)?;
                    grove.end_epoch()?;
                }
                let lines = (grove.counts() - before).flushes as f64;
                Ok(vec![lines * 64.0 / (1 << 20) as f64 * 1e6 / operations as f64])
            }
        };
        let cells = FOUR.iter().flat_map(|(name, design)| {
            [Cell::new(name, 1.0, written(design, true)), Cell::new(name, 2.0, written(design, false))]
        });
        cells.collect()
    },
    figures: &[Figure {
        id: "BD-F3",
        title: "Written to persistent memory, t1 (1) and t2 (2)",
        measure: 0,
        unit: "MiB for a million operations",
        axis: "trace",
        claims: &[Claim::less("BD", "LB", 1.0).because(
            "The paper says up to 99 percent less; how much depends on how many puts of an epoch share a line.",
        )],
        note: NOTE,
    }],
};

const RECOVERY: Study = Study {
    conditions: "plain memory; every leaf looked at and all that is volatile made anew, after a load of uniform keys",
    exact: false,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        let cells = setting.threads().flat_map(|threads| {
            FOUR.map(|(name, design)| {
                Cell::new(name, threads as f64, move || Ok(vec![recovery(design, &all(pairs), threads)?]))
            })
        });
        cells.collect()
    },
    figures: &[Figure {
        id: "BD-X2",
        title: "Recovery by threads",
        measure: 0,
        unit: "ns for a pair",
        axis: "threads",
        claims: &[Claim::even("BD", "LB", 1.0).because("A pass over leaves in both; the paper's slow one is Montage.")],
        note: NOTE,
    }],
};

const WORKING_SETS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms; four million keys, half \
                 puts to a part of them",
    exact: false,
    cells: |setting| {
        let (pairs, operations) = (setting.count(4_000_000), setting.count(2_000_000));
        let cells = [0.001, 0.01, 0.1, 1.0].into_iter().flat_map(|part: f64| {
            FOUR.map(|(name, design)| {
                Cell::new(name, part * 100.0, move || {
                    let set = ((pairs as f64 * part) as u64).max(1);
                    Ok(vec![mixed(design, soil(pairs, LATENCY), &uniform(operations, set, 3), 1)?])
                })
            })
        });
        cells.collect()
    },
    figures: &[
        Figure {
            id: "BD-X3",
            title: "Throughput by working set",
            measure: 0,
            unit: "million operations a second",
            axis: "working set, percent of the keys",
            claims: &[Claim::new("BD", "LB", 0.1, 2.4).because("The paper says up to 2.4 with small sets.")],
            note: NOTE,
        },
        Figure {
            id: "BD-X4",
            title: "The same beside the cache's size",
            measure: 0,
            unit: "million operations a second",
            axis: "working set, percent of the keys",
            claims: &[],
            note: "The paper changes the cache; here the set changes beside it. A pair takes some 30 bytes.",
        },
    ],
};

const EPOCHS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line; Zipf 0.99 over a million keys, half puts",
    exact: false,
    cells: |setting| {
        let (pairs, operations) = (setting.count(1_000_000), setting.count(4_000_000));
        let cells = [1, 5, 10, 50, 100].map(|milliseconds: u64| {
            Cell::new("BD", milliseconds as f64, move || {
                let epoch = Duration::from_millis(milliseconds);
                let grove = plant("buffered", Soil { epoch, ..soil(pairs, LATENCY) })?;
                grove.put(&all(pairs), 1)?;
                grove.settle()?;
                Ok(vec![mops(grove.mix(&zipf(operations, pairs, 3), 1)?)])
            })
        });
        cells.into()
    },
    figures: &[Figure {
        id: "BD-X5",
        title: "Throughput by length of an epoch",
        measure: 0,
        unit: "million operations a second",
        axis: "ms of an epoch",
        claims: &[],
        note: "Without the cost of a sync after every k operations.",
    }],
};

const SPACE: Study = Study {
    conditions: "exact counts, an epoch ends after a fiftieth of the keys; two uniform updates for each",
    exact: true,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cell = |name, design: &'static str| {
            Cell::new(name, 2.0, move || {
                let (grove, epoch) = (plant(design, counted(pairs))?, pairs as usize / 50);
                for keys in all(pairs).chunks(epoch).chain(uniform(2 * pairs, pairs, 3).chunks(epoch)) {
                    grove.put(keys, 1)?;
                    grove.end_epoch()?;
                }
                Ok(vec![grove.pair_bytes()])
            })
        };
        FOUR.map(|(name, design)| cell(name, design)).into()
    },
    figures: &[Figure {
        id: "BD-X6",
        title: "Bytes of leaves after many updates",
        measure: 0,
        unit: "bytes for a pair",
        axis: "updates of a key",
        claims: &[Claim::even("BD", "LB", 2.0).because("The paper says that the increase is negligible, against LB+.")],
        note: NOTE,
    }],
};
