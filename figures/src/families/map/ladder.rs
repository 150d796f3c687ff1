//! Pages, and the sequence of all choices, one added after the other.

use super::parts::{Ahead, At, INSIDE, Inside, Large, Over, Root, Single, Three, Typical, Under};
use super::{CONDITIONS, GETS, PUTS, REMOVALS, cell, cell_of, figure};
use crate::claim::Cause;
use crate::study::{Axis, Claim, Figure, Needs, Study};
use holm_map::{Examining, Scalar, Unsorted};

const PAGES_OF: Axis = Axis::Words("large pages", &["none", "inner nodes", "all"]);

const FEW_PERCENT: &str = "A few percent in the paper; the rounds of one place differ by more here.";
const GETS_ALONE: &str = "Gets of the same trees gain as in the paper (MB-F11), so their pages are large. Puts take \
                          fresh nodes besides; why they gain less or lose was not measured.";

pub(super) const LARGE_PAGES: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        type First = At<Examining, 512>;
        type Inner = Three<At<Unsorted, 512>, Large<First>, Large<Root>>;
        type All = Three<Large<At<Unsorted, 512>>, Large<First>, Large<Root>>;
        vec![
            cell::<Under<Root>>(setting, "MB", 0.0, false),
            cell::<Inner>(setting, "MB", 1.0, false),
            cell::<All>(setting, "MB", 2.0, false),
            cell::<Under<Root>>(setting, "MB, unique", 0.0, true),
            cell::<Inner>(setting, "MB, unique", 1.0, true),
            cell::<All>(setting, "MB, unique", 2.0, true),
        ]
    },
    figures: &[
        figure(
            "MB-F11",
            "Gets by pages",
            GETS,
            PAGES_OF,
            &[
                Claim::new("MB", "MB", 1.0, 1.028).against_at(0.0).because(FEW_PERCENT),
                Claim::new("MB", "MB", 2.0, 1.232)
                    .against_at(0.0)
                    .cause(Cause::Environment)
                    .because("The system decides where to use large pages, and translations cost more in a guest."),
            ],
            "",
        ),
        figure(
            "MB-F11b",
            "Puts by pages",
            PUTS,
            PAGES_OF,
            &[
                Claim::new("MB", "MB", 1.0, 1.032).against_at(0.0).because(FEW_PERCENT),
                Claim::new("MB", "MB", 2.0, 1.177).against_at(0.0).cause(Cause::Unknown).because(GETS_ALONE),
                Claim::new("MB, unique", "MB, unique", 1.0, 1.041).against_at(0.0).because(FEW_PERCENT),
                Claim::new("MB, unique", "MB, unique", 2.0, 1.151)
                    .against_at(0.0)
                    .cause(Cause::Unknown)
                    .because(GETS_ALONE),
            ],
            "",
        ),
    ],
};

pub(super) const LADDER: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        type First = At<Examining, 512>;
        type All = Three<Large<At<Unsorted, 512>>, Large<First>, Large<Root>>;
        type Last = Three<Large<At<Unsorted, 512>>, Ahead<Large<First>>, Large<Root>>;
        vec![
            cell_of::<Inside<15, 16>>(setting, INSIDE, 0.0),
            cell_of::<Typical<28>>(setting, STANDARD, 0.0),
            cell::<Single<Scalar, 256>>(setting, "MB", 1.0, false),
            cell::<Single<Examining, 512>>(setting, "MB", 2.0, false),
            cell::<Over<At<Unsorted, 512>>>(setting, "MB", 3.0, false),
            cell::<Under<Root>>(setting, "MB", 4.0, false),
            cell::<All>(setting, "MB", 5.0, false),
            cell::<Last>(setting, "MB", 6.0, false),
            cell::<Last>(setting, "MB, unique", 6.0, true),
        ]
    },
    figures: &[
        rung(
            "MB-F13",
            "Gets, one choice after the other",
            GETS,
            &[
                Claim::new("MB", INSIDE, 6.0, 2.453)
                    .against_at(0.0)
                    .headline("Modular levels make gets 2.453 times as fast")
                    .because(FIRST_RUNG),
                Claim::new("MB", STANDARD, 6.0, 2.453)
                    .against_at(0.0)
                    .form_of("MB-F13", "MB", INSIDE)
                    .cause(Cause::Unequal)
                    .because(OTHER_RUNG),
                Claim::new("MB", INSIDE, 1.0, 1.352)
                    .against_at(0.0)
                    .form_of_at(("MB-F4a", 256.0), "MB", INSIDE)
                    .cause(Cause::Environment)
                    .because("As MB-F4a."),
                Claim::new("MB", "MB", 2.0, 1.377)
                    .against_at(1.0)
                    .form_of_at(("MB-F7a", 512.0), "AVX", "linear")
                    .cause(Cause::Environment)
                    .because("As MB-F7a."),
                Claim::more("MB", "MB", 4.0).against_at(3.0).cause(Cause::Unknown).because(
                    "The paper says that a root with interpolation makes gets faster, by little. Why it makes them \
                     slower here was not measured.",
                ),
                Claim::new("MB", "MB", 5.0, 1.232)
                    .against_at(4.0)
                    .form_of_at(("MB-F11", 2.0), "MB", "MB")
                    .cause(Cause::Environment)
                    .because("As MB-F11."),
                Claim::new("MB", "MB", 6.0, 1.1)
                    .against_at(5.0)
                    .form_of_at(("MB-F12", 4.0), "MB", "MB")
                    .because("As MB-F12."),
            ],
        ),
        rung(
            "MB-F13b",
            "Removals, one choice after the other",
            REMOVALS,
            &[
                Claim::new("MB", INSIDE, 6.0, 2.564)
                    .against_at(0.0)
                    .headline("Modular levels make removals 2.564 times as fast")
                    .because(FIRST_RUNG),
                Claim::new("MB", STANDARD, 6.0, 2.564)
                    .against_at(0.0)
                    .form_of("MB-F13b", "MB", INSIDE)
                    .cause(Cause::Unequal)
                    .because(OTHER_RUNG),
                Claim::new("MB", INSIDE, 1.0, 1.3)
                    .against_at(0.0)
                    .form_of_at(("MB-F4c", 256.0), "MB", INSIDE)
                    .cause(Cause::Environment)
                    .because("As MB-F4c."),
                Claim::more("MB", "MB", 3.0)
                    .against_at(2.0)
                    .form_of_at(("MB-F8c", 512.0), "unsorted", "sorted")
                    .because("As MB-F8c."),
                Claim::less("MB", "MB", 4.0).against_at(3.0).because(LARGE_ROOT),
                Claim::more("MB", "MB", 5.0).against_at(4.0).because("The paper says slightly more than puts gain."),
                Claim::more("MB", "MB", 6.0).against_at(5.0).because(AHEAD),
            ],
        ),
        rung(
            "MB-F13c",
            "Puts, one choice after the other",
            PUTS,
            &[
                Claim::new("MB", INSIDE, 6.0, 3.186)
                    .against_at(0.0)
                    .headline("Modular levels make puts 3.186 times as fast")
                    .because(FIRST_RUNG),
                Claim::new("MB", STANDARD, 6.0, 3.186)
                    .against_at(0.0)
                    .form_of("MB-F13c", "MB", INSIDE)
                    .cause(Cause::Unequal)
                    .because(OTHER_RUNG),
                Claim::new("MB", INSIDE, 1.0, 1.501)
                    .against_at(0.0)
                    .form_of_at(("MB-F4b", 256.0), "MB", INSIDE)
                    .because("As MB-F4b."),
                Claim::new("MB", "MB", 2.0, 1.062)
                    .against_at(1.0)
                    .form_of_at(("MB-F7b", 512.0), "AVX", "linear")
                    .cause(Cause::Unknown)
                    .because("As MB-F7b."),
                Claim::less("MB", "MB", 4.0).against_at(3.0).because(LARGE_ROOT),
                Claim::new("MB", "MB", 5.0, 1.177)
                    .against_at(4.0)
                    .form_of_at(("MB-F11b", 2.0), "MB", "MB")
                    .cause(Cause::Unknown)
                    .because("As MB-F11b."),
                Claim::more("MB", "MB", 6.0).against_at(5.0).because(AHEAD),
                Claim::new("MB, unique", INSIDE, 6.0, 4.016)
                    .against_at(0.0)
                    .headline("Modular levels make puts of unique keys 4.016 times as fast")
                    .cause(Cause::Unequal)
                    .because(FIRST_RUNG),
                Claim::new("MB, unique", STANDARD, 6.0, 4.016)
                    .against_at(0.0)
                    .form_of("MB-F13c", "MB, unique", INSIDE)
                    .cause(Cause::Unequal)
                    .because(OTHER_RUNG),
            ],
        ),
    ],
};

const LARGE_ROOT: &str = "The paper says slightly less: an entry of a large root moves more of them.";
const AHEAD: &str = "The paper says that puts and removals gain, too, if the identifiers of level 1 are asked for.";
const FIRST_RUNG: &str = "The first rung has pairs in nodes of 512 bytes, as the paper's.";
const OTHER_RUNG: &str = "The first rung is the standard library's map, not the paper's B-tree with larger nodes.";
const RUNGS_NOTE: &str = "Two trees have values inside: a B-tree of our own after Google's, with fifteen pairs of 32 \
                          bytes in a node, searched one by one, and the standard library's map, with eleven.";

/// The series of the standard library's map.
const STANDARD: &str = "standard library's";

const fn rung(
    id: &'static str,
    title: &'static str,
    measure: (usize, &'static str),
    claims: &'static [Claim],
) -> Figure {
    let steps = Axis::Words(
        "each with all that stands left of it",
        &["values inside", "keys apart", "vectors", "unsorted leaves", "large root", "large pages", "ahead"],
    );
    figure(id, title, measure, steps, claims, RUNGS_NOTE)
}
