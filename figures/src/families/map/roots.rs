//! The search of the root, the number of pairs below it, the number of levels, and the distribution of keys.

use super::parts::{Alone, At, Root, Three, Under, Value};
use super::subject::{Made, logarithmic, sample, sample_of};
use super::{CONDITIONS, GETS, PUTS, cell, figure, sizes};
use crate::axes::KEYS_OF_NODES;
use crate::claim::Cause;
use crate::setting::Setting;
use crate::study::{Axis, Cell, Claim, Needs, Study};
use holm_map::{Examining, HybridBinary, HybridInterpolation, Level, Map, Real, Unsorted};

/// Returns cells for the searches of a root, with `times` times the pairs.
fn roots(setting: &Setting, times: u64) -> Vec<Cell> {
    let (loaded, timed) = sizes(setting);
    fn cell<R: Level>(series: &'static str, loaded: u64, timed: u64) -> Cell {
        Cell::new(series, 32768.0, (loaded + 3 * timed) / 4, move || {
            sample::<Map<Real<f32>, Value, Under<R>>>(loaded, timed, false)
        })
    }
    vec![
        cell::<At<Examining, 32768>>("linear", times * loaded, timed),
        cell::<At<HybridBinary, 32768>>("hybrid binary", times * loaded, timed),
        cell::<Root>("hybrid interpolation", times * loaded, timed),
    ]
}

const ROOTS_NOTE: &str = "Level 2 and up have 32 KiB of keys; a small tree does not reach them.";

pub(super) const ROOTS: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| roots(setting, 1),
    figures: &[figure(
        "MB-F9",
        "Gets by search of the root",
        GETS,
        KEYS_OF_NODES,
        &[
            Claim::more("hybrid interpolation", "linear", 32768.0).form_of_at(("MB-F13", 4.0), "MB", "MB").because(
                "The paper says best, beside nodes of 512 bytes throughout. Here the root has 32 KiB in both.",
            ),
            Claim::more("hybrid interpolation", "hybrid binary", 32768.0)
                .cause(Cause::Environment)
                .because("The paper says best, without a number."),
        ],
        ROOTS_NOTE,
    )],
};

pub(super) const TWICE: Study = Study {
    conditions: "keys of 4 bytes (floats, uniform), values of 28; 24 million loaded at scale 1, 4 million puts timed, \
                 then gets of the last 4 million, removals of the first; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| roots(setting, 2),
    figures: &[figure(
        "MB-F10",
        "Gets by search of the root, twice the entries",
        GETS,
        KEYS_OF_NODES,
        &[
            Claim::more("hybrid interpolation", "linear", 32768.0).because(
                "The paper says by more than with half the entries (MB-F9), beside nodes of 512 bytes throughout. \
                     Here the root has 32 KiB in both.",
            ),
            Claim::more("hybrid interpolation", "hybrid binary", 32768.0)
                .cause(Cause::Environment)
                .because("The paper says best, without a number."),
        ],
        ROOTS_NOTE,
    )],
};

pub(super) const TWO_LEVELS: Study = Study {
    conditions: CONDITIONS,
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        type Giant = At<HybridInterpolation, 1_048_576>;
        vec![
            cell::<Under<Root>>(setting, "MB", 3.0, false),
            cell::<Three<At<Unsorted, 512>, Giant, Giant>>(setting, "MB", 2.0, false),
        ]
    },
    figures: &[
        figure(
            "MB-X1",
            "Gets by levels: a giant root",
            GETS,
            LEVELS,
            &[Claim::more("MB", "MB", 2.0)
                .against_at(3.0)
                .at_scale(1.0)
                .because("The paper says higher than any of three levels, 3.526 million per second.")],
            GIANT_NOTE,
        ),
        figure(
            "MB-X1b",
            "Puts by levels: a giant root",
            PUTS,
            LEVELS,
            &[Claim::less("MB", "MB", 2.0)
                .against_at(3.0)
                .because("The paper has 0.422 million per second: the entries behind a new separator are moved.")],
            GIANT_NOTE,
        ),
    ],
};

const LEVELS: Axis = Axis::Numbers("levels");
const GIANT_NOTE: &str = "Two levels: a root of a MiB of keys, interpolated with a guard, over leaves of 512 bytes of \
                          keys; three: as MB-F9. A small tree's three levels have a root of few entries.";

const SPREAD_NOTE: &str = "A root of 32 KiB. MB halves the range if interpolation fails to; the paper's does not.";

pub(super) const SPREAD: Study = Study {
    conditions: "keys of 4 bytes, floats uniform in -1..1 or spread over 64 powers of two, values of 28; 12 million \
                 loaded at scale 1, 4 million puts timed, then gets of the last 4 million; one thread",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let (loaded, timed) = sizes(setting);
        let cell = |x, made: fn(u64) -> Real<f32>| {
            Cell::new("MB", x, (loaded + 3 * timed) / 4, move || {
                sample_of::<Map<Real<f32>, Value, Under<Root>>>(loaded, timed, false, made)
            })
        };
        let alone = |x, made: fn(u64) -> Real<f32>| {
            Cell::new("interpolation alone", x, (loaded + 3 * timed) / 4, move || {
                sample_of::<Map<Real<f32>, Value, Under<Alone>>>(loaded, timed, false, made)
            })
        };
        vec![cell(0.0, Made::made), cell(1.0, logarithmic), alone(0.0, Made::made), alone(1.0, logarithmic)]
    },
    figures: &[
        figure(
            "MB-X2",
            "Gets by distribution of keys",
            GETS,
            Axis::Words("keys", &["uniform", "logarithmic"]),
            &[Claim::new("interpolation alone", "interpolation alone", 1.0, 0.088)
                .against_at(0.0)
                .at_scale(1.0)
                .because("The paper's falls from 4.463 to 0.393.")],
            SPREAD_NOTE,
        ),
        figure(
            "MB-X2b",
            "Puts by distribution of keys",
            PUTS,
            Axis::Words("keys", &["uniform", "logarithmic"]),
            &[Claim::new("interpolation alone", "interpolation alone", 1.0, 0.115)
                .against_at(0.0)
                .at_scale(1.0)
                .because("The paper's falls from 3.903 to 0.447.")],
            SPREAD_NOTE,
        ),
    ],
};
