//! Throughput along a local and a uniform trace, with a price for each line and with a price for each fence.

use super::{LATENCY, MONTAGE, NOTE, SIX, mixed};
use crate::claim::Cause;
use crate::measured_tree::{by_fence, setup};
use crate::study::{Axis, Cell, Claim, Figure, Needs, Study};
use crate::traces::{uniform, zipf};

const NO_PROCESSOR: &str = "Two threads of operations on two processors: the thread that ends epochs has none of its \
                            own.";
const ONE_BY_ONE: &str = "The paper says 1 to 1.3. Here the thread that ends epochs pays the latency of its lines one \
                          after the other, before one fence; persistent memory overlaps them.";
const ONCE_A_FENCE: &str = "As BD-F2-t2: but the thread that ends epochs waits once, not once a line.";
const ALL_VOLATILE: &str = "Montage's tree is all in volatile memory, and a pair of it is a line; BD+Tree searches \
                            leaves in persistent memory. This Montage is ours, with one thread.";

/// BD+Tree is ahead of a rival in the large trace, which takes the paper's scale.
const fn ahead_in_t2(
    of: &'static str,
    rival: &'static str,
    threads: f64,
    cause: Cause,
    because: &'static str,
) -> Claim {
    Claim::at_least(of, rival, threads, 1.0).at_scale(1.0).cause(cause).because(because)
}

/// The same as a form of what the paper's own leaf shows there.
const fn form_in_t2(of: &'static str, rival: &'static str, threads: f64, cause: Cause, because: &'static str) -> Claim {
    ahead_in_t2(of, rival, threads, cause, because).form_of("BD-F2-t2", "BD, as printed", rival)
}

pub(super) const TRACES: Study = Study {
    conditions: "plain memory, real flushes and 300 ns more for each line, epochs of 10 ms; t1: Zipf 0.99 over a \
                 million keys, t2: uniform over eight million; half puts",
    exact: false,
    needs: Needs::Nothing,
    cells: |setting| {
        let (near, far) = (setting.count(1_000_000), setting.count(8_000_000));
        // The local trace is long compared with the two epochs that are awaited at its end.
        let (long, short) = (setting.count(5_000_000), setting.count(2_000_000));
        Cell::by_threads_beside(setting, SIX, [MONTAGE], near + far + long + short, move |design, threads| {
            let t1 = mixed(design, setup(near, LATENCY), &zipf(long, near, 3), threads)?;
            let t2 = mixed(design, setup(far, LATENCY), &uniform(short, far, 3), threads)?;
            Ok(vec![t1, t2])
        })
    },
    figures: &[
        Figure {
            id: "BD-F2-t1",
            title: "Throughput by threads, a local trace",
            measure: 0,
            unit: "million operations a second",
            axis: Axis::Numbers("threads"),
            claims: &[
                Claim::new("BD", "LB", 1.0, 1.9)
                    .form_of("BD-F2-t1", "BD, as printed", "LB")
                    .cause(Cause::Environment)
                    .because("The paper says 1.5 to 2.4; one epoch's flush serves many puts of a line."),
                Claim::new("BD", "FF", 1.0, 1.9)
                    .form_of("BD-F2-t1", "BD, as printed", "FF")
                    .cause(Cause::Environment)
                    .because("The paper says 1.5 to 2.4; one epoch's flush serves many puts of a line."),
                Claim::new("BD, as printed", "LB", 1.0, 1.9)
                    .headline("BD+Tree runs local traces 1.5 to 2.4 times as fast as LB+-Tree")
                    .cause(Cause::Environment)
                    .because("The paper's own leaf, which has no fingerprints."),
                Claim::new("BD, as printed", "FF", 1.0, 1.9)
                    .headline("BD+Tree runs local traces 1.5 to 2.4 times as fast as FAST-FAIR")
                    .cause(Cause::Environment)
                    .because("The paper's own leaf, which has no fingerprints."),
                Claim::new("BD", "LB", 2.0, 1.9)
                    .form_of("BD-F2-t1", "BD, as printed", "LB")
                    .cause(Cause::Environment)
                    .because(NO_PROCESSOR),
                Claim::new("BD", "FF", 2.0, 1.9)
                    .form_of("BD-F2-t1", "BD, as printed", "FF")
                    .cause(Cause::Environment)
                    .because(NO_PROCESSOR),
                Claim::new("BD, as printed", "LB", 2.0, 1.9).cause(Cause::Environment).because(NO_PROCESSOR),
                Claim::new("BD, as printed", "FF", 2.0, 1.9).cause(Cause::Environment).because(NO_PROCESSOR),
                Claim::new("BD", MONTAGE.0, 1.0, 1.9)
                    .form_of("BD-F2-t1", "BD, as printed", MONTAGE.0)
                    .cause(Cause::Unequal)
                    .because(ALL_VOLATILE),
                Claim::new("BD, as printed", MONTAGE.0, 1.0, 1.9).cause(Cause::Unequal).because(ALL_VOLATILE),
            ],
            note: NOTE,
        },
        Figure {
            id: "BD-F2-t2",
            title: "Throughput by threads, a uniform trace over a large set",
            measure: 1,
            unit: "million operations a second",
            axis: Axis::Numbers("threads"),
            claims: &[
                ahead_in_t2("BD, as printed", "LB", 1.0, Cause::Environment, ONE_BY_ONE),
                ahead_in_t2("BD, as printed", "FF", 1.0, Cause::Environment, ONE_BY_ONE),
                ahead_in_t2("BD, as printed", "LB", 2.0, Cause::Environment, NO_PROCESSOR),
                ahead_in_t2("BD, as printed", "FF", 2.0, Cause::Environment, NO_PROCESSOR),
                ahead_in_t2("BD, as printed", MONTAGE.0, 1.0, Cause::Unequal, ALL_VOLATILE),
                form_in_t2("BD", "LB", 1.0, Cause::Environment, ONE_BY_ONE),
                form_in_t2("BD", "FF", 1.0, Cause::Environment, ONE_BY_ONE),
                form_in_t2("BD", "LB", 2.0, Cause::Environment, NO_PROCESSOR),
                form_in_t2("BD", "FF", 2.0, Cause::Environment, NO_PROCESSOR),
                form_in_t2("BD", MONTAGE.0, 1.0, Cause::Unequal, ALL_VOLATILE),
            ],
            note: NOTE,
        },
    ],
};

pub(super) const TRACES_BY_FENCE: Study = Study {
    conditions: "plain memory, real flushes, 300 ns more for each fence and 32 ns for each line before it (2 GB a \
                 second); epochs of 10 ms; t1: Zipf 0.99 over a million keys, t2: uniform over eight million; half \
                 puts",
    cells: |setting| {
        let (near, far) = (setting.count(1_000_000), setting.count(8_000_000));
        let (long, short) = (setting.count(5_000_000), setting.count(2_000_000));
        Cell::by_threads_beside(setting, SIX, [MONTAGE], near + far + long + short, move |design, threads| {
            let t1 = mixed(design, by_fence(near), &zipf(long, near, 3), threads)?;
            let t2 = mixed(design, by_fence(far), &uniform(short, far, 3), threads)?;
            Ok(vec![t1, t2])
        })
    },
    figures: &[
        Figure {
            id: "BD-F2-t1-fence",
            title: "Throughput by threads, a local trace; lines overlap",
            measure: 0,
            unit: "million operations a second",
            axis: Axis::Numbers("threads"),
            claims: &[
                Claim::new("BD", "LB", 1.0, 1.9)
                    .form_of("BD-F2-t1", "BD, as printed", "LB")
                    .cause(Cause::Environment)
                    .because("As BD-F2-t1, at another price."),
                Claim::new("BD", "FF", 1.0, 1.9)
                    .form_of("BD-F2-t1", "BD, as printed", "FF")
                    .cause(Cause::Environment)
                    .because("As BD-F2-t1, at another price."),
                Claim::new("BD, as printed", "LB", 1.0, 1.9)
                    .form_of("BD-F2-t1", "BD, as printed", "LB")
                    .cause(Cause::Environment)
                    .because("As BD-F2-t1, at another price."),
                Claim::new("BD, as printed", "FF", 1.0, 1.9)
                    .form_of("BD-F2-t1", "BD, as printed", "FF")
                    .cause(Cause::Environment)
                    .because("As BD-F2-t1, at another price."),
            ],
            note: NOTE,
        },
        Figure {
            id: "BD-F2-t2-fence",
            title: "Throughput by threads, a uniform trace over a large set; lines overlap",
            measure: 1,
            unit: "million operations a second",
            axis: Axis::Numbers("threads"),
            claims: &[
                form_in_t2("BD", "LB", 1.0, Cause::Environment, ONCE_A_FENCE),
                form_in_t2("BD", "FF", 1.0, Cause::Environment, ONCE_A_FENCE),
                form_in_t2("BD", "LB", 2.0, Cause::Environment, NO_PROCESSOR),
                form_in_t2("BD", "FF", 2.0, Cause::Environment, NO_PROCESSOR),
                form_in_t2("BD", MONTAGE.0, 1.0, Cause::Unequal, ALL_VOLATILE),
                form_in_t2("BD, as printed", "LB", 1.0, Cause::Environment, ONCE_A_FENCE),
                form_in_t2("BD, as printed", "FF", 1.0, Cause::Environment, ONCE_A_FENCE),
                form_in_t2("BD, as printed", "LB", 2.0, Cause::Environment, NO_PROCESSOR),
                form_in_t2("BD, as printed", "FF", 2.0, Cause::Environment, NO_PROCESSOR),
                form_in_t2("BD, as printed", MONTAGE.0, 1.0, Cause::Unequal, ALL_VOLATILE),
            ],
            note: NOTE,
        },
    ],
    ..TRACES
};
