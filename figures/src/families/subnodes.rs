//! SSTree: subnodes that are linked before a leaf splits, compared with LB+Tree and FAST-FAIR.

mod counts;
mod media;
mod splits;

use crate::axes::FOUR_MILLIONS;
use crate::claim::Cause;
use crate::measured_tree::{create, recovery, setup, unflushed};
use crate::study::{Absent, Axis, Cell, Claim, Family, Figure, Needs, Study};
use crate::traces::{all, ascending, eighty_twenty, uniform};
use anyhow::Result;

use counts::{LINES, MEMORY, READS};
use media::{MEDIA, MEDIA_LOAD, MEDIA_MOVES, MEDIA_WITHOUT};
use splits::{SPLITS, TAILS, WITHOUT, WITHOUT_READS};

pub(crate) const FAMILY: Family = Family {
    name: "SSTree",
    paper: "subnodes that are linked before a leaf splits, beside uTree, PACTree and LB+Tree",
    without: "uTree and PACTree with more threads than one, and in tails",
    expected: false,
    studies: &[
        SPLITS,
        WITHOUT,
        WITHOUT_READS,
        THREADS,
        MORE,
        TAILS,
        LINES,
        READS,
        MEMORY,
        LISTS,
        MOVEMENT,
        RECOVERY,
        PLAIN,
        MEDIA,
        MEDIA_WITHOUT,
        MEDIA_LOAD,
        MEDIA_MOVES,
    ],
    absent: &[Absent::new("SS-X1", "The crash matrix of reclamation", "explored by the tests of the design")],
    drawn: &[],
};

const LATENCY: u32 = 300;
const THREE: [(&str, &str); 3] = [("SS", "ss_tree"), ("LB", "lb_tree"), ("FF", "fast_fair")];
/// The rivals, which are timed with one thread alone.
const RIVALS: [(&str, &str); 2] = [("uTree, not proven", "utree"), ("PACTree, not proven", "pactree")];
/// All of them.
const COUNTED: [(&str, &str); 5] = {
    let ([ss, lb, ff], [utree, pactree]) = (THREE, RIVALS);
    [ss, lb, ff, utree, pactree]
};
const NOTE: &str = "Fewer keys and threads than in the paper. All trees stand on the same inner nodes, latches and \
                    allocator.";
const NOTE_OF_RIVALS: &str = "Fewer keys and threads than in the paper. SSTree, LB+-Tree and FAST-FAIR stand on the \
                              same inner nodes, latches and allocator. uTree and PACTree run on one thread alone, in \
                              our words: a map in memory behind a lock stands for what they have above their pairs.";

const IN_ORDER: &str = "The paper says 2 to 4.4 times as many, and not with how many threads: one here. SSTree flushes \
                        1.83 lines an insert, LB+-Tree 1.43, uTree 2.00 and PACTree 3.34 (SYN-D2).";
const AT_RANDOM: &str = "The paper says 1.2 to 2.7 times as many, and not with how many threads: one here. SSTree \
                         flushes 2.07 lines an insert, LB+-Tree 1.74, uTree 2.00 and PACTree 3.27 (SS-F9).";
const MOVED: &str = "The paper says 1.14 to 1.7 times as many, and not with how many threads: one here. SSTree flushes \
                     1.11 lines an update, the others 1.00 (SS-F9).";
const SORTED: &str = "The paper says 1.1 to 6 times as many; here every leaf is copied and sorted.";

/// Returns the nanoseconds of a put in ascending order, of a put in random order, of an update and of a lookup.
fn worked(design: &str, pairs: u64, threads: usize) -> Result<Vec<f64>> {
    let in_order = create(design, setup(pairs, LATENCY))?.put(&ascending(pairs), threads)?;
    let tree = create(design, setup(pairs, LATENCY))?;
    let load = tree.put(&all(pairs), threads)?;
    let update = tree.put(&eighty_twenty(pairs, pairs, 5), threads)?;
    Ok(vec![in_order, load, update, tree.get(&uniform(pairs, pairs, 7), threads)?])
}

const THREADS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        let work = move |design: &str, threads| worked(design, pairs, threads);
        Cell::by_threads_beside(setting, THREE, RIVALS, 4 * pairs, work)
    },
    figures: &[
        Figure {
            id: "SS-F6a",
            title: "Sequential load by threads",
            measure: 0,
            unit: "insert, ns",
            axis: Axis::Numbers("threads"),
            claims: &[
                Claim::new("SS", "LB", 2.0, 0.5)
                    .with_threads(8)
                    .cause(Cause::Environment)
                    .headline("SSTree loads keys in order 2 to 4.4 times as fast as the others")
                    .because(
                        "The paper says 2 to 4.4 times. By exact count SSTree writes about as many blocks of 256 \
                              bytes (SYN-D1); what is left are 32 threads and the medium's reads.",
                    ),
                Claim::less("SS", "LB", 1.0).cause(Cause::Environment).because(IN_ORDER),
                Claim::less("SS", "uTree, not proven", 1.0).because(IN_ORDER),
                Claim::less("SS", "PACTree, not proven", 1.0).because(IN_ORDER),
            ],
            note: NOTE_OF_RIVALS,
        },
        Figure {
            id: "SS-F6b",
            title: "Uniform load by threads",
            measure: 1,
            unit: "insert, ns",
            axis: Axis::Numbers("threads"),
            claims: &[
                Claim::new("SS", "LB", 2.0, 0.83)
                    .with_threads(8)
                    .cause(Cause::Environment)
                    .headline("SSTree loads uniform keys 1.2 to 2.7 times as fast as the others")
                    .because(
                        "The paper says 1.2 to 2.7 times. SSTree flushes 2.07 lines an insert, LB+-Tree 1.74 \
                              (SS-F9), and each costs its latency here.",
                    ),
                Claim::less("SS", "LB", 1.0).cause(Cause::Environment).because(AT_RANDOM),
                Claim::less("SS", "uTree, not proven", 1.0).cause(Cause::Environment).because(AT_RANDOM),
                Claim::less("SS", "PACTree, not proven", 1.0).because(AT_RANDOM),
            ],
            note: NOTE_OF_RIVALS,
        },
        Figure {
            id: "SS-F6c",
            title: "Skewed updates by threads, 80 % of them to a fifth of the keys",
            measure: 2,
            unit: "update, ns",
            axis: Axis::Numbers("threads"),
            claims: &[
                Claim::new("SS", "LB", 2.0, 0.625)
                    .with_threads(8)
                    .cause(Cause::Environment)
                    .because("SSTree flushes 1.11 lines an update, LB+-Tree 1.00 (SS-F9): it moves some pairs."),
                Claim::less("SS", "LB", 1.0).cause(Cause::Environment).because(MOVED),
                Claim::less("SS", "uTree, not proven", 1.0).cause(Cause::Environment).because(MOVED),
                Claim::less("SS", "PACTree, not proven", 1.0).cause(Cause::Environment).because(MOVED),
            ],
            note: NOTE_OF_RIVALS,
        },
        Figure {
            id: "SS-F8a",
            title: "Search by threads",
            measure: 3,
            unit: "search, ns",
            axis: Axis::Numbers("threads"),
            claims: &[
                Claim::at_most("SS", "LB", 2.0, 1.04).with_threads(8).cause(Cause::Environment).because(
                    "The paper says that at most 4 percent are lost. Ours waits for the record in memory, then for the \
                     head's line, then for the overflow's; LB+-Tree asks for its four lines at once.",
                ),
                Claim::at_most("SS", "uTree, not proven", 1.0, 1.04)
                    .form_of_at(("SS-F8d", 3.0), "SS", "uTree, not proven")
                    .cause(Cause::Environment)
                    .because(
                        "The paper says that at most 4 percent are lost. SSTree reads 1.98 lines of a leaf, and uTree \
                         one of its nodes (SS-F10).",
                    ),
            ],
            note: "As SS-F6.",
        },
    ],
};

/// Returns the nanoseconds of an insert into a tree of as many pairs, of a uniform update, of a removal, and of a scan
/// of a hundred pairs.
fn changed(design: &str, pairs: u64, threads: usize) -> Result<Vec<f64>> {
    let (garden, keys) = (create(design, setup(pairs, LATENCY))?, all(pairs));
    let (old, new) = keys.split_at(keys.len() / 2);
    garden.put(old, threads)?;
    let insert = garden.put(new, threads)?;
    let scan = garden.scan(&uniform(pairs / 50, pairs, 7), 100, threads)?;
    let update = garden.put(&uniform(pairs / 2, pairs, 5), threads)?;
    Ok(vec![insert, update, garden.remove(old, threads)?, scan])
}

const MORE: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes, uniform",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(2_000_000);
        let work = move |design: &str, threads| changed(design, pairs, threads);
        Cell::by_threads_beside(setting, THREE, RIVALS, 3 * pairs, work)
    },
    figures: &[
        changed_figure(
            "SS-F6d",
            "Uniform inserts by threads",
            (0, "insert, ns"),
            &[
                Claim::new("SS", "LB", 2.0, 0.83)
                    .with_threads(8)
                    .cause(Cause::Environment)
                    .because("The paper says 1.2 to 2.7 times, as for the load."),
                Claim::less("SS", "LB", 1.0).cause(Cause::Environment).because(AT_RANDOM),
                Claim::less("SS", "uTree, not proven", 1.0).cause(Cause::Environment).because(AT_RANDOM),
                Claim::less("SS", "PACTree, not proven", 1.0).because(AT_RANDOM),
            ],
        ),
        changed_figure("SS-F6e", "Uniform updates by threads", (1, "update, ns"), &[]),
        changed_figure("SS-F6f", "Removals by threads", (2, "removal, ns"), &[]),
        changed_figure(
            "SS-F8b",
            "Scans of a hundred pairs by threads",
            (3, "scan, ns"),
            &[
                Claim::less("SS", "LB", 2.0).cause(Cause::Unequal).because(SORTED),
                Claim::less("SS", "uTree, not proven", 1.0).because(SORTED),
                Claim::less("SS", "PACTree, not proven", 1.0).because(SORTED),
            ],
        ),
    ],
};

const fn changed_figure(
    id: &'static str,
    title: &'static str,
    (measure, unit): (usize, &'static str),
    claims: &'static [Claim],
) -> Figure {
    Figure { id, title, measure, unit, axis: Axis::Numbers("threads"), claims, note: NOTE_OF_RIVALS }
}

const FEWER_SPLITS: &str = "A longer list splits less often, but by our protocol its splits flush more: 5 lines for 14 \
                            inserts with two subnodes, 9 for 21 with three, 10 for 28 with four.";
const MORE_TO_SEARCH: &str = "A longer list has more subnodes that may hold the key.";

const LISTS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        let cell = |name, design: &'static str| {
            Cell::new(name, 1.0, 2 * pairs, move || {
                let tree = create(design, setup(pairs, LATENCY))?;
                let load = tree.put(&ascending(pairs), 1)?;
                let numbers: Vec<u64> = eighty_twenty(pairs, pairs, 9);
                Ok(vec![load, tree.get(&numbers, 1)?])
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
            axis: FOUR_MILLIONS,
            claims: &[
                Claim::new("N = 3", "N = 2", 1.0, 0.912).cause(Cause::Unequal).because(FEWER_SPLITS),
                Claim::new("N = 4", "N = 2", 1.0, 0.900).cause(Cause::Unequal).because(FEWER_SPLITS),
            ],
            note: NOTE,
        },
        Figure {
            id: "SS-T1b",
            title: "Skewed search by the most subnodes of a leaf",
            measure: 1,
            unit: "search, ns",
            axis: FOUR_MILLIONS,
            claims: &[
                Claim::new("N = 3", "N = 2", 1.0, 1.080).cause(Cause::Scale).because(MORE_TO_SEARCH),
                Claim::new("N = 4", "N = 2", 1.0, 1.183).cause(Cause::Scale).because(MORE_TO_SEARCH),
            ],
            note: NOTE,
        },
    ],
};

const MOVEMENT: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, keys and values of 8 bytes; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        let cell = |name, design: &'static str| {
            Cell::new(name, 1.0, 2 * pairs, move || {
                let tree = create(design, setup(pairs, LATENCY))?;
                tree.put(&all(pairs), 1)?;
                Ok(vec![tree.put(&eighty_twenty(pairs, pairs, 5), 1)?])
            })
        };
        vec![cell("moving", "ss_tree"), cell("staying", "ss_tree_staying")]
    },
    figures: &[Figure {
        id: "SS-T2",
        title: "Skewed updates, with moving pairs and without",
        measure: 0,
        unit: "update, ns",
        axis: FOUR_MILLIONS,
        claims: &[Claim::new("moving", "staying", 1.0, 0.881).cause(Cause::Environment).because(
            "A line in the cache is written equally fast everywhere: no memory here combines writes. The \
                      paper has two updates a pair, this figure one.",
        )],
        note: NOTE,
    }],
};

const RECOVERY: Study = Study {
    conditions: "plain memory, one pass over all blocks and one over all leaves",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        let both = [("SS", "ss_tree"), ("LB", "lb_tree")];
        Cell::by_threads(setting, both, 2 * pairs, move |design, threads| {
            Ok(vec![recovery(design, &all(pairs), threads)?])
        })
    },
    figures: &[Figure {
        id: "SS-R1",
        title: "Recovery by threads",
        measure: 0,
        unit: "ns for a pair",
        axis: Axis::Numbers("threads"),
        claims: &[Claim::new("SS", "SS", 2.0, 0.7)
            .against_at(1.0)
            .cause(Cause::Environment)
            .because("The paper has a sixth with 32 threads, which is 0.7 for each doubling.")],
        note: NOTE,
    }],
};

const PLAIN: Study = Study {
    conditions: "plain memory, nothing is flushed, keys and values of 8 bytes, in order",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let pairs = setting.count(4_000_000);
        Cell::by_threads_beside(setting, THREE, RIVALS, pairs, move |design, threads| {
            Ok(vec![create(design, unflushed(pairs))?.put(&ascending(pairs), threads)?])
        })
    },
    figures: &[Figure {
        id: "SS-F12",
        title: "Sequential load in memory, by threads",
        measure: 0,
        unit: "insert, ns",
        axis: Axis::Numbers("threads"),
        claims: &[
            Claim::less("SS", "LB", 2.0).cause(Cause::Environment).because("The paper says 1.1 to 13 times as many."),
            Claim::less("SS", "uTree, not proven", 1.0)
                .because("The paper says 1.1 to 13 times as many. One thread here."),
        ],
        note: "There is no remote memory here, which is the figure's other half: SS-F12b counts its lines. The paper's \
               has no PACTree, and none of its figures has FAST-FAIR.",
    }],
};
