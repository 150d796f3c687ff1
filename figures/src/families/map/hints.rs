//! Prefetches of identifiers, by level and by hint: into which caches they go.

use super::parts::{Ahead, At, Large, NonTemporal, Root, T0, T1, T2, Three};
use super::{CONDITIONS, GETS, cell, figure};
use crate::claim::Cause;
use crate::study::{Axis, Claim, Needs, Study};
use holm_map::{Examining, Unsorted};

const PLACES: [&str; 5] = ["none", "root", "level 1", "leaf", "level 1, and root by T0"];

const WHOLE_ROOT: &str = "The paper says no significant effect. Before it searches, ours asks for the identifiers of \
                          the whole root; the paper's asks for those of the segment of eight keys in which its search \
                          ends.";
const T0_IS_BEST: &str = "The paper says that T0 is the best hint for the root, by little.";
const STRONGER: &str = "The paper says that stronger hints make gets faster: identifiers of level 1 are not in the \
                        second level of the cache.";
const LEAVES: &str = "The paper says negative, without a number: identifiers of inner nodes are evicted.";
const ARRIVE: &str = "The identifiers arrive while the keys are compared.";

pub(super) const PREFETCHES: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        type First = Large<At<Examining, 512>>;
        type Leaf = Large<At<Unsorted, 512>>;
        type Top = Large<Root>;
        type Both<H> = Three<Leaf, Ahead<First, H>, Ahead<Top, T0>>;
        vec![
            cell::<Three<Leaf, First, Top>>(setting, "MB", 0.0, false),
            cell::<Three<Leaf, First, Ahead<Top, T0>>>(setting, "MB", 1.0, false),
            cell::<Three<Leaf, First, Ahead<Top, T1>>>(setting, "MB, T1", 1.0, false),
            cell::<Three<Leaf, First, Ahead<Top, T2>>>(setting, "MB, T2", 1.0, false),
            cell::<Three<Leaf, First, Ahead<Top, NonTemporal>>>(setting, "MB, NTA", 1.0, false),
            cell::<Three<Leaf, Ahead<First, T0>, Top>>(setting, "MB", 2.0, false),
            cell::<Three<Leaf, Ahead<First, T1>, Top>>(setting, "MB, T1", 2.0, false),
            cell::<Three<Leaf, Ahead<First, T2>, Top>>(setting, "MB, T2", 2.0, false),
            cell::<Three<Leaf, Ahead<First, NonTemporal>, Top>>(setting, "MB, NTA", 2.0, false),
            cell::<Three<Ahead<Leaf, T0>, First, Top>>(setting, "MB", 3.0, false),
            cell::<Three<Ahead<Leaf, T1>, First, Top>>(setting, "MB, T1", 3.0, false),
            cell::<Three<Ahead<Leaf, T2>, First, Top>>(setting, "MB, T2", 3.0, false),
            cell::<Three<Ahead<Leaf, NonTemporal>, First, Top>>(setting, "MB, NTA", 3.0, false),
            cell::<Both<T0>>(setting, "MB", 4.0, false),
            cell::<Both<T1>>(setting, "MB, T1", 4.0, false),
            cell::<Both<T2>>(setting, "MB, T2", 4.0, false),
            cell::<Both<NonTemporal>>(setting, "MB, NTA", 4.0, false),
        ]
    },
    figures: &[figure(
        "MB-F12",
        "Gets by what is prefetched",
        GETS,
        Axis::Words("identifiers asked for ahead", &PLACES),
        &[
            Claim::new("MB", "MB", 4.0, 1.1).against_at(1.0).at_scale(1.0).because(ARRIVE),
            Claim::new("MB", "MB", 2.0, 1.1)
                .against_at(0.0)
                .at_scale(1.0)
                .form_of_at(("MB-F12", 4.0), "MB", "MB")
                .because(ARRIVE),
            Claim::more("MB, T2", "MB", 4.0).against_at(1.0).at_scale(1.0).because(
                "The paper says that gets are faster even if the identifiers go to the third level of the cache alone.",
            ),
            Claim::more("MB, T1", "MB, T2", 4.0).at_scale(1.0).because(STRONGER),
            Claim::more("MB", "MB, T1", 4.0).at_scale(1.0).because(STRONGER),
            Claim::even("MB", "MB", 1.0).against_at(0.0).at_scale(1.0).cause(Cause::Unequal).because(WHOLE_ROOT),
            Claim::even("MB, T1", "MB", 1.0).against_at(0.0).at_scale(1.0).cause(Cause::Unequal).because(WHOLE_ROOT),
            Claim::even("MB, T2", "MB", 1.0).against_at(0.0).at_scale(1.0).cause(Cause::Unequal).because(WHOLE_ROOT),
            Claim::even("MB, NTA", "MB", 1.0).against_at(0.0).at_scale(1.0).cause(Cause::Unequal).because(WHOLE_ROOT),
            Claim::at_least("MB", "MB, T1", 1.0, 1.0).at_scale(1.0).because(T0_IS_BEST),
            Claim::at_least("MB", "MB, T2", 1.0, 1.0).at_scale(1.0).because(T0_IS_BEST),
            Claim::at_least("MB", "MB, NTA", 1.0, 1.0).at_scale(1.0).because(T0_IS_BEST),
            Claim::less("MB", "MB", 3.0)
                .against_at(0.0)
                .at_scale(1.0)
                .cause(Cause::Unknown)
                .because("The paper says negative, without a number. Why it is positive here was not measured."),
            Claim::less("MB, T1", "MB", 3.0).against_at(0.0).at_scale(1.0).because(LEAVES),
            Claim::less("MB, T2", "MB", 3.0).against_at(0.0).at_scale(1.0).because(LEAVES),
            Claim::less("MB, NTA", "MB", 3.0).against_at(0.0).at_scale(1.0).cause(Cause::Unknown).because(LEAVES),
        ],
        "MB has the hint T0, into all levels of the cache; T1 and T2 leave out the first and the first two, NTA all \
         but the first. All identifiers of a node are asked for; of the root, the paper's asks for those of one \
         segment.",
    )],
};
