//! Sorted and unsorted leaves of several sizes, under inner nodes of one size.

use super::parts::{At, Over};
use super::{CONDITIONS, GETS, PUTS, REMOVALS, cell, figure};
use crate::axes::KEYS_OF_NODES;
use crate::claim::Cause;
use crate::study::{Claim, Needs, Study};
use holm_map::{Examining, Sorted, Unsorted};

const SORTED_GETS: &str = "The paper says that gets of sorted leaves are faster, because unsorted ones are emptier.";
const ALIKE: &str = "The paper says almost the same: the same search of the same leaves.";
const UNMOVED: &str = "The paper says that unsorted leaves are faster, because a removal moves one key alone.";
const UNMOVED_HERE: &str = "The paper says that unsorted leaves are faster, because a removal moves one key alone. Why \
                            small ones are slower here was not measured.";

const BEST_SORTED: &str = "The paper says that smaller sorted leaves copy less: 256 bytes are its best.";
const FEWER_SPLITS: &str = "The paper says that larger leaves split less often, and are not searched.";

pub(super) const LEAVES: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        vec![
            cell::<Over<At<Sorted<Examining>, 128>>>(setting, "sorted", 128.0, false),
            cell::<Over<At<Sorted<Examining>, 256>>>(setting, "sorted", 256.0, false),
            cell::<Over<At<Sorted<Examining>, 512>>>(setting, "sorted", 512.0, false),
            cell::<Over<At<Sorted<Examining>, 1024>>>(setting, "sorted", 1024.0, false),
            cell::<Over<At<Sorted<Examining>, 2048>>>(setting, "sorted", 2048.0, false),
            cell::<Over<At<Unsorted, 128>>>(setting, "unsorted", 128.0, false),
            cell::<Over<At<Unsorted, 256>>>(setting, "unsorted", 256.0, false),
            cell::<Over<At<Unsorted, 512>>>(setting, "unsorted", 512.0, false),
            cell::<Over<At<Unsorted, 1024>>>(setting, "unsorted", 1024.0, false),
            cell::<Over<At<Unsorted, 2048>>>(setting, "unsorted", 2048.0, false),
            cell::<Over<At<Unsorted, 128>>>(setting, "unsorted, unique", 128.0, true),
            cell::<Over<At<Unsorted, 256>>>(setting, "unsorted, unique", 256.0, true),
            cell::<Over<At<Unsorted, 512>>>(setting, "unsorted, unique", 512.0, true),
            cell::<Over<At<Unsorted, 1024>>>(setting, "unsorted, unique", 1024.0, true),
            cell::<Over<At<Unsorted, 2048>>>(setting, "unsorted, unique", 2048.0, true),
        ]
    },
    figures: &[
        figure(
            "MB-F8a",
            "Gets by leaf",
            GETS,
            KEYS_OF_NODES,
            &[
                Claim::new("unsorted, unique", "unsorted, unique", 2048.0, 0.837)
                    .against_at(512.0)
                    .cause(Cause::Scale)
                    .because("The paper has 2.666 million a second against 3.185."),
                Claim::more("sorted", "unsorted", 128.0).because(SORTED_GETS),
                Claim::more("sorted", "unsorted", 256.0).because(SORTED_GETS),
                Claim::more("sorted", "unsorted", 512.0).because(SORTED_GETS),
                Claim::more("sorted", "unsorted", 1024.0).because(SORTED_GETS),
                Claim::more("sorted", "unsorted", 2048.0).because(SORTED_GETS),
                Claim::even("unsorted, unique", "unsorted", 128.0).because(ALIKE),
                Claim::even("unsorted, unique", "unsorted", 256.0).cause(Cause::Environment).because(ALIKE),
                Claim::even("unsorted, unique", "unsorted", 512.0).cause(Cause::Environment).because(ALIKE),
                Claim::even("unsorted, unique", "unsorted", 1024.0).because(ALIKE),
                Claim::even("unsorted, unique", "unsorted", 2048.0).cause(Cause::Environment).because(ALIKE),
            ],
            "Inner nodes of 512 bytes throughout.",
        ),
        figure(
            "MB-F8b",
            "Puts by leaf",
            PUTS,
            KEYS_OF_NODES,
            &[
                Claim::new("unsorted", "sorted", 512.0, 1.395)
                    .cause(Cause::Environment)
                    .against_at(256.0)
                    .because("An append instead of a shift, but the whole leaf is searched for the key."),
                Claim::new("unsorted, unique", "sorted", 512.0, 1.775)
                    .against_at(256.0)
                    .cause(Cause::Unequal)
                    .because("An append without a search."),
                Claim::new("unsorted, unique", "unsorted, unique", 2048.0, 1.25)
                    .against_at(512.0)
                    .cause(Cause::Scale)
                    .because("The paper has 4.857 million a second against 3.884."),
                Claim::new("sorted", "sorted", 256.0, 1.114).against_at(512.0).because(BEST_SORTED),
                Claim::at_least("sorted", "sorted", 256.0, 1.0).against_at(128.0).because(BEST_SORTED),
                Claim::at_least("sorted", "sorted", 256.0, 1.0).against_at(1024.0).because(BEST_SORTED),
                Claim::at_least("sorted", "sorted", 256.0, 1.0).against_at(2048.0).because(BEST_SORTED),
                Claim::more("unsorted, unique", "unsorted, unique", 256.0).against_at(128.0).because(FEWER_SPLITS),
                Claim::more("unsorted, unique", "unsorted, unique", 512.0).against_at(256.0).because(FEWER_SPLITS),
                Claim::more("unsorted, unique", "unsorted, unique", 1024.0).against_at(512.0).because(FEWER_SPLITS),
                Claim::more("unsorted, unique", "unsorted, unique", 2048.0).against_at(1024.0).because(FEWER_SPLITS),
            ],
            "Inner nodes of 512 bytes throughout.",
        ),
        figure(
            "MB-F8c",
            "Removals by leaf",
            REMOVALS,
            KEYS_OF_NODES,
            &[
                Claim::more("unsorted", "sorted", 128.0).because(UNMOVED),
                Claim::more("unsorted", "sorted", 256.0).cause(Cause::Environment).because(UNMOVED_HERE),
                Claim::more("unsorted", "sorted", 512.0).because(UNMOVED),
                Claim::more("unsorted", "sorted", 1024.0).because(UNMOVED),
                Claim::more("unsorted", "sorted", 2048.0).because(UNMOVED),
                Claim::even("unsorted, unique", "unsorted", 128.0).because(ALIKE),
                Claim::even("unsorted, unique", "unsorted", 256.0).cause(Cause::Environment).because(ALIKE),
                Claim::even("unsorted, unique", "unsorted", 512.0).cause(Cause::Environment).because(ALIKE),
                Claim::even("unsorted, unique", "unsorted", 1024.0).because(ALIKE),
                Claim::even("unsorted, unique", "unsorted", 2048.0).cause(Cause::Environment).because(ALIKE),
            ],
            "Inner nodes of 512 bytes throughout.",
        ),
    ],
};
