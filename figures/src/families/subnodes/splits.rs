//! The cost of splits: their share of the time, inserts with and without them, and tails.

use super::{LATENCY, NOTE, THREE};
use crate::claim::Cause;
use crate::measured_tree::{MeasuredTree, PERCENTILES, TAIL, TreeSetup, counted, create, setup};
use crate::setting::Setting;
use crate::study::{Axis, Cell, Claim, Figure, Needs, Study};
use crate::traces::{all, ascending, eighty_twenty};
use anyhow::Result;

pub(super) const SPLITS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cells = THREE.into_iter().flat_map(|(name, design)| {
            [all as fn(u64) -> Vec<u64>, ascending].into_iter().enumerate().map(move |(place, keys)| {
                Cell::new(name, place as f64, pairs, move || {
                    Ok(vec![create(design, setup(pairs, LATENCY))?.split_share(&keys(pairs))?])
                })
            })
        });
        cells.collect()
    },
    figures: &[Figure {
        id: "SS-F1a",
        title: "Share of the time in inserts that allocate a block",
        measure: 0,
        unit: "share, percent",
        axis: Axis::Words("load", &["uniform", "sequential"]),
        claims: &[
            Claim::less("SS", "LB", 0.0).because("The paper says 20 to 25 percent of LB, and less of its own."),
            Claim::less("SS", "LB", 1.0).because("The paper says 20 to 25 percent of LB, and less of its own."),
            Claim::value("LB", 0.0, 22.5).cause(Cause::Environment).because(
                "The paper says 20 to 25 percent, with 32 threads. Every line of a split costs its latency \
                          here, one after the other.",
            ),
        ],
        note: "The paper has 32 threads. The clock is read twice per insert.",
    }],
};

/// A tree that lacks half of its keys and splits when they arrive; and a tree that has removed them again, and has room
/// for them.
const STATES: [(&str, bool); 2] = [("splitting", false), ("with room", true)];

/// The keys that are present, and those that arrive later.
type Halves = fn(u64) -> (Vec<u64>, Vec<u64>);

fn at_random(pairs: u64) -> (Vec<u64>, Vec<u64>) {
    let mut old = all(2 * pairs);
    let new = old.split_off(pairs as usize);
    (old, new)
}

/// Every other key arrives later, in order, so leaf after leaf. The keys between them are present and arrived at
/// random, so leaves have the usual fill.
fn in_order(pairs: u64) -> (Vec<u64>, Vec<u64>) {
    let mut old = all(2 * pairs);
    let mut keys = old.clone();
    keys.sort_unstable();
    let new: Vec<u64> = keys.into_iter().skip(1).step_by(2).collect();
    old.retain(|key| new.binary_search(key).is_err());
    (old, new)
}

fn halves(setup: TreeSetup, (old, new): &(Vec<u64>, Vec<u64>), has_room: bool) -> Result<MeasuredTree> {
    let garden = create("lb_tree", setup)?;
    garden.put(old, 1)?;
    if has_room {
        garden.put(new, 1)?;
        garden.remove(new, 1)?;
    }
    Ok(garden)
}

/// The cells of exact counts: what the keys that arrive at random cost a tree in each state.
pub(super) fn exact_cells(setting: &Setting, count: fn(&MeasuredTree, &[u64]) -> Result<Vec<f64>>) -> Vec<Cell> {
    let pairs = setting.count(20_000);
    let cells = STATES.map(|(name, has_room)| {
        Cell::new(name, 0.0, 4 * pairs, move || {
            let keys = at_random(pairs);
            count(&halves(counted(2 * pairs), &keys, has_room)?, &keys.1)
        })
    });
    cells.into()
}

const QUEUES: &str = "The paper says 1.9 to 3.5 times better at p99 and up to 62 times at p99.999, with 32 threads \
                      that wait for each other's splits.";
pub(super) const ROOM_NOTE: &str = "The paper removes all and has leaves stay empty; here half of each leaf is \
                         removed, which leaves room for as many and merges few. \
                         Sequential: every other key of all, in order.";

pub(super) const WITHOUT: Study = Study {
    conditions: "LB+-Tree in plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes; \
                 as many new keys as there were, with leaves that are full and with leaves that have room",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(1_000_000);
        let cells = STATES.map(|(name, has_room)| {
            Cell::new(name, 0.0, 6 * pairs, move || {
                let put = |keys: Halves| {
                    let keys = keys(pairs);
                    halves(setup(2 * pairs, LATENCY), &keys, has_room)?.put(&keys.1, 1)
                };
                let keys = at_random(pairs);
                let tail = halves(setup(2 * pairs, LATENCY), &keys, has_room)?.tail(&keys.1, 1)?;
                Ok([vec![put(at_random)?, put(in_order)?], tail].concat())
            })
        });
        cells.into()
    },
    figures: &[
        Figure {
            id: "SS-F1b",
            title: "Inserts with and without splits",
            measure: 0,
            unit: "insert, ns",
            axis: Axis::Measures("LB", &["uniform", "sequential"]),
            claims: &[
                Claim::new("splitting", "with room", 0.0, 1.316)
                    .because("The paper has 0.76 of the throughput, with 32 threads."),
                Claim::new("splitting", "with room", 1.0, 2.5)
                    .with_threads(8)
                    .headline("Splits cost up to 60 percent of LB+-Tree's insert throughput")
                    .because("The paper has 0.4 of the throughput, with 32 threads that all split at one end."),
            ],
            note: ROOM_NOTE,
        },
        Figure {
            id: "SS-F1d",
            title: "The tail of inserts with and without splits",
            measure: 2,
            unit: "insert, ns",
            axis: Axis::Measures("percentile", PERCENTILES),
            claims: &[
                Claim::new("splitting", "with room", 1.0, 4.0)
                    .cause(Cause::Environment)
                    .because("The paper's value is for 32 threads, which wait as well."),
                Claim::new("splitting", "with room", 5.0, 7.0)
                    .with_threads(8)
                    .because("Events this rare come from the machine, not from a tree."),
            ],
            note: ROOM_NOTE,
        },
    ],
};

pub(super) const WITHOUT_READS: Study = Study {
    conditions: "exact counts, LB+-Tree, keys and values of 8 bytes, uniform, twenty thousand at scale 1 and as many \
                 new ones",
    exact: true,
    needs: Needs::Reads,
    cells: |setting| {
        exact_cells(setting, |tree, new| {
            let before = tree.counts();
            let read = tree.lines_put(new)?;
            Ok(vec![(tree.counts() - before).flushes as f64 / new.len() as f64, read])
        })
    },
    figures: &[Figure {
        id: "SS-F1c",
        title: "Lines written and read, with and without splits",
        measure: 0,
        unit: "lines an insert",
        axis: Axis::Measures("LB", &["written", "read"]),
        claims: &[
            Claim::new("splitting", "with room", 0.0, 1.5)
                .cause(Cause::Environment)
                .because("A split flushes a new leaf, once for many inserts."),
            Claim::new("splitting", "with room", 1.0, 6.5)
                .cause(Cause::Environment)
                .because("The paper counts what the memory reads ahead in blocks of 256 bytes, too."),
        ],
        note: ROOM_NOTE,
    }],
};

pub(super) const TAILS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes, as many threads \
                 as there may be; a clock is read twice for each operation",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let (pairs, threads) = (setting.count(2_000_000), setting.threads);
        let cells = THREE.map(|(name, design)| {
            Cell::new(name, 0.0, 3 * pairs, move || {
                let sequential = create(design, setup(pairs, LATENCY))?.tail(&ascending(pairs), threads)?;
                let garden = create(design, setup(pairs, LATENCY))?;
                let uniform = garden.tail(&all(pairs), threads)?;
                Ok([uniform, sequential, garden.tail(&eighty_twenty(pairs, pairs, 5), threads)?].concat())
            })
        });
        cells.into()
    },
    figures: &[
        tail_figure(
            "SS-F7a",
            "The tail of uniform inserts",
            0,
            &[
                Claim::less("SS", "LB", 1.0)
                    .because("Ours is here: LB+-Tree splits once for seven inserts, SSTree once for fourteen."),
                Claim::new("SS", "LB", 2.0, 0.4).with_threads(8).because(QUEUES),
                Claim::new("SS", "LB", 3.0, 0.556)
                    .with_threads(8)
                    .because("The paper says 1.8 times better than LB, with 32 threads that wait for each other."),
            ],
        ),
        tail_figure(
            "SS-F7b",
            "The tail of sequential inserts",
            TAIL.len(),
            &[
                Claim::new("SS", "LB", 2.0, 0.4).with_threads(8).because(QUEUES),
                Claim::new("SS", "LB", 5.0, 0.016)
                    .with_threads(8)
                    .headline("SSTree's p99.999 of inserts is up to 62 times as short as the others'")
                    .because(QUEUES),
            ],
        ),
        tail_figure(
            "SS-F7c",
            "The tail of skewed updates",
            2 * TAIL.len(),
            &[
                Claim::more("SS", "LB", 3.0)
                    .cause(Cause::Environment)
                    .because("The paper says slightly worse than LB."),
                Claim::at_most("SS", "LB", 5.0, 1.0).with_threads(8).because("The paper says the lowest of all."),
            ],
        ),
    ],
};

const fn tail_figure(id: &'static str, title: &'static str, measure: usize, claims: &'static [Claim]) -> Figure {
    let axis = Axis::Measures("percentile", PERCENTILES);
    Figure { id, title, measure, unit: "an operation, ns", axis, claims, note: NOTE }
}
