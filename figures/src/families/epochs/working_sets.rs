//! Throughput and traffic by the part of the keys that operations use.

use super::{FIVE, FIVE_AND_PRINTED, LATENCY, MONTAGE, MONTAGE_PRINTED, NOTE, REDUCES, mixed, written};
use crate::claim::Cause;
use crate::measured_tree::setup;
use crate::study::{Axis, Cell, Claim, Figure, Needs, Study};
use crate::traces::uniform;

/// The shares of all keys that operations use.
const PARTS: [f64; 4] = [0.001, 0.01, 0.1, 1.0];

pub(super) const WORKING_SETS: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms; four million keys, half \
                 puts to a part of them",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let (pairs, operations) = (setting.count(4_000_000), setting.count(2_000_000));
        let cells = PARTS.into_iter().flat_map(|part| {
            FIVE.map(|(name, design)| {
                Cell::new(name, part * 100.0, pairs + operations, move || {
                    let set = ((pairs as f64 * part) as u64).max(1);
                    Ok(vec![mixed(design, setup(pairs, LATENCY), &uniform(operations, set, 3), 1)?])
                })
            })
        });
        cells.collect()
    },
    figures: &[
        Figure {
            id: "BD-X3a",
            title: "Throughput by working set",
            measure: 0,
            unit: "million operations a second",
            axis: Axis::Numbers("working set, percent of the keys"),
            claims: &[
                Claim::new("BD", "LB", 0.1, 2.4)
                    .cause(Cause::Environment)
                    .because("The paper says up to 2.4 with small sets."),
                Claim::new("BD", "FF", 0.1, 2.4)
                    .cause(Cause::Environment)
                    .because("The paper says up to 2.4 with small sets."),
            ],
            note: NOTE,
        },
        Figure {
            id: "BD-X4",
            title: "Throughput by working set, beside the size of the cache",
            measure: 0,
            unit: "million operations a second",
            axis: Axis::Numbers("working set, percent of the keys"),
            claims: &[Claim::grows("BD", "LB", 100.0, 0.1).because(
                "The paper says that the advantage grows with the cache. A smaller \
                 set is to this cache what a larger cache is to the same set.",
            )],
            note: "The paper changes the cache size; here the working set changes. A pair takes some 30 bytes.",
        },
    ],
};

const AT_BEST: &str = "The paper says up to 99 percent less. An epoch has ten puts to each of the keys here.";
const IN_THE_CACHE: &str = "The paper says that locality lets the cache combine writes, and that a large uniform set \
                            does not.";

pub(super) const WORKING_WRITES: Study = Study {
    conditions: "exact counts, an epoch ends after a fiftieth of the operations; as many operations as keys, a \
                 million at scale 1, half puts to a part of them",
    exact: true,
    needs: Needs::Nothing,
    cells: |setting| {
        let (pairs, operations) = (setting.count(1_000_000), setting.count(1_000_000));
        let cells = PARTS.into_iter().flat_map(|part| {
            FIVE_AND_PRINTED.into_iter().chain([MONTAGE_PRINTED]).map(move |(name, design)| {
                Cell::new(name, part * 100.0, pairs + operations, move || {
                    let set = ((pairs as f64 * part) as u64).max(1);
                    written(design, pairs, &uniform(operations, set, 3), 50)
                })
            })
        });
        cells.collect()
    },
    figures: &[
        Figure {
            id: "BD-X3b",
            title: "Written to persistent memory by working set",
            measure: 0,
            unit: "MiB per million operations",
            axis: Axis::Numbers("working set, percent of the keys"),
            claims: &[
                Claim::new("BD, as printed", "LB", 0.1, 0.01)
                    .form_of_at(("BD-F3", 1.0), "BD, as printed", "LB")
                    .cause(Cause::Scale)
                    .because(AT_BEST),
                Claim::less("BD, as printed", "BD, as printed", 0.1).against_at(100.0).because(IN_THE_CACHE),
                Claim::less("BD, as printed", "BD, as printed", 1.0).against_at(100.0).because(IN_THE_CACHE),
                Claim::new("BD", "LB", 0.1, 0.01)
                    .form_of_at(("BD-F3", 1.0), "BD, as printed", "LB")
                    .cause(Cause::Scale)
                    .because(AT_BEST),
                Claim::less("BD", "BD", 0.1)
                    .against_at(100.0)
                    .form_of("BD-X3b", "BD, as printed", "BD, as printed")
                    .because(IN_THE_CACHE),
                Claim::less("BD", "BD", 1.0)
                    .against_at(100.0)
                    .form_of("BD-X3b", "BD, as printed", "BD, as printed")
                    .because(IN_THE_CACHE),
                Claim::less(MONTAGE_PRINTED.0, "LB", 0.1)
                    .form_of_at(("BD-F3", 0.0), MONTAGE_PRINTED.0, "LB")
                    .because(REDUCES),
                Claim::less(MONTAGE.0, "LB", 0.1).form_of_at(("BD-F3", 0.0), MONTAGE_PRINTED.0, "LB").because(REDUCES),
            ],
            note: NOTE,
        },
        Figure {
            id: "BD-X3c",
            title: "Written to persistent memory by working set, in blocks of 256 bytes",
            measure: 1,
            unit: "MiB per million operations",
            axis: Axis::Numbers("working set, percent of the keys"),
            claims: &[],
            note: NOTE,
        },
    ],
};
