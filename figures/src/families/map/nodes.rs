//! Nodes of one type and of several sizes, beside trees with values in their nodes.

use super::parts::{INSIDE, Inside, Single, Typical};
use super::{CONDITIONS, GETS, NODES_NOTE, PUTS, REMOVALS, cell, cell_of, figure};
use crate::axes::KEYS_OR_PAIRS;
use crate::claim::Cause;
use crate::study::{Claim, Needs, Study};
use holm_map::Scalar;

const NODES_AND_LINES: &str = "The paper says that 1024 bytes are its best. Of a hundred thousand pairs, a search \
                               passes 6.8 nodes of 256 bytes and reads 11.9 lines; of 2 KiB it passes 3.0 nodes and \
                               reads 38.0 lines (counted). Which of the two decides was not measured.";
const BEST_HERE: &str = "The paper says that 256 bytes are its best.";
const BEST_INSIDE: &str = "The paper says that 512 bytes are its best.";
const BEST_OF_CHANGES: &str = "The paper says that 128 bytes are its best: fewer keys are moved.";
const BEST_OF_INSIDE: &str = "The paper says that 512 bytes are its best. MB-F4a says what a search passes and reads.";

pub(super) const NODES: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        vec![
            cell::<Single<Scalar, 128>>(setting, "MB", 128.0, false),
            cell::<Single<Scalar, 256>>(setting, "MB", 256.0, false),
            cell::<Single<Scalar, 512>>(setting, "MB", 512.0, false),
            cell::<Single<Scalar, 1024>>(setting, "MB", 1024.0, false),
            cell::<Single<Scalar, 2048>>(setting, "MB", 2048.0, false),
            cell_of::<Typical<28>>(setting, "standard library's", 256.0),
            cell_of::<Inside<3, 4>>(setting, INSIDE, 128.0),
            cell_of::<Inside<7, 8>>(setting, INSIDE, 256.0),
            cell_of::<Inside<15, 16>>(setting, INSIDE, 512.0),
            cell_of::<Inside<31, 32>>(setting, INSIDE, 1024.0),
            cell_of::<Inside<63, 64>>(setting, INSIDE, 2048.0),
        ]
    },
    figures: &[
        figure(
            "MB-F4a",
            "Gets by node size",
            GETS,
            KEYS_OR_PAIRS,
            &[
                Claim::new("MB", INSIDE, 256.0, 1.352)
                    .against_at(512.0)
                    .cause(Cause::Environment)
                    .headline("Keys apart from values raise gets by 35.2 percent")
                    .because("Keys apart from values: a search reads fewer lines."),
                Claim::new("MB", "standard library's", 256.0, 1.352)
                    .form_of("MB-F4a", "MB", INSIDE)
                    .cause(Cause::Unequal)
                    .because("Keys apart from values: a search reads fewer lines."),
                Claim::at_least("MB", "MB", 256.0, 1.0).against_at(128.0).cause(Cause::Environment).because(BEST_HERE),
                Claim::at_least("MB", "MB", 256.0, 1.0).against_at(512.0).because(BEST_HERE),
                Claim::at_least(INSIDE, INSIDE, 1024.0, 1.0)
                    .against_at(512.0)
                    .cause(Cause::Unknown)
                    .because(NODES_AND_LINES),
                Claim::at_least(INSIDE, INSIDE, 1024.0, 1.0)
                    .against_at(2048.0)
                    .cause(Cause::Unknown)
                    .because(NODES_AND_LINES),
            ],
            NODES_NOTE,
        ),
        figure(
            "MB-F4b",
            "Puts by node size",
            PUTS,
            KEYS_OR_PAIRS,
            &[
                Claim::new("MB", INSIDE, 256.0, 1.501)
                    .against_at(512.0)
                    .cause(Cause::Environment)
                    .headline("Keys apart from values raise puts by 50.1 percent")
                    .because("An insertion moves only keys and identifiers."),
                Claim::new("MB", "standard library's", 256.0, 1.501)
                    .form_of("MB-F4b", "MB", INSIDE)
                    .cause(Cause::Unequal)
                    .because("An insertion moves only keys and identifiers."),
                Claim::at_least("MB", "MB", 128.0, 1.0).against_at(256.0).because(BEST_OF_CHANGES),
                Claim::at_least(INSIDE, INSIDE, 512.0, 1.0).against_at(256.0).because(BEST_INSIDE),
                Claim::at_least(INSIDE, INSIDE, 512.0, 1.0)
                    .against_at(1024.0)
                    .cause(Cause::Environment)
                    .because(BEST_OF_INSIDE),
            ],
            NODES_NOTE,
        ),
        figure(
            "MB-F4c",
            "Removals by node size",
            REMOVALS,
            KEYS_OR_PAIRS,
            &[
                Claim::new("MB", INSIDE, 256.0, 1.3)
                    .against_at(512.0)
                    .cause(Cause::Environment)
                    .because("A removal moves only keys and identifiers."),
                Claim::new("MB", "standard library's", 256.0, 1.3)
                    .form_of("MB-F4c", "MB", INSIDE)
                    .cause(Cause::Unequal)
                    .because("A removal moves only keys and identifiers."),
                Claim::at_least("MB", "MB", 128.0, 1.0).against_at(256.0).because(BEST_OF_CHANGES),
                Claim::at_least(INSIDE, INSIDE, 512.0, 1.0).against_at(256.0).because(BEST_INSIDE),
                Claim::at_least(INSIDE, INSIDE, 512.0, 1.0)
                    .against_at(1024.0)
                    .cause(Cause::Environment)
                    .because(BEST_OF_INSIDE),
            ],
            NODES_NOTE,
        ),
    ],
};
