//! Two to four threads over one small tree, crashed. Under every order of steps that a few seeds draw, the trace of
//! stores, flushes and fences is crashed at every fence, and the history must explain what is found.
//!
//! For strict designs this is durable linearizability: operations that had returned are present, with all that their
//! answers need; operations in progress are present or not. For designs durable per epoch, the same is true of the
//! history up to the recovery point. Beside these stand callers that break their obligations in ways that no single
//! thread can show, and the test must catch them.
//!
//! `cargo xtask schedules` runs these; they are in no other build.

#[path = "../../holm-medium/tests/schedules/explore.rs"]
mod explore;

mod bare;
mod bugs;
mod commits;
mod crowd;
mod drops;
mod histories;
mod judge;
mod lists;
mod marks;
mod ranges;
mod simulations;
mod snapshots;

use crate::subject::Subject;
use crate::subjects::{self, chained, faulty, locked};
use crowd::{Crowd, Fault, Shape};
use explore::explore;
use judge::Tally;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The number of schedules of each kind for each design, by default.
const FEW: usize = 30;

/// One schedule: draws a tree and its operations, executes them, and crashes them.
fn crash(subject: &'static Subject, tally: &Tally) {
    let mut random = crowd::random();
    let crowd = Crowd::create(subject, Shape::draw(&mut random));
    let run = crowd.work(&mut random, Fault::None);
    judge::judge(subject, &run, &mut random, tally);
}

fn crashed(subject: &'static Subject) {
    let tally = Arc::new(Tally::default());
    let within = tally.clone();
    explore(FEW, move || crash(subject, &within));
    assert!(tally.opened.load(Relaxed) > tally.runs.load(Relaxed), "hardly anything was opened: {tally:?}");
    assert!(tally.splits.load(Relaxed) > 0 || tally.runs.load(Relaxed) < 2 * FEW as u64, "nothing split: {tally:?}");
}

macro_rules! crashed {
    ($($list:ident: $($design:ident)*;)*) => {
        $($(
            #[test]
            fn $design() {
                crashed(&$list::$design);
            }
        )*)*
    };
}

crashed! {
    faulty: canary;
    subjects: borders buffered circ fast_fair fast_fair_sentinels fp_tree holm_strict isle lb_tree lined nv_tree
        ss_tree wb_tree;
    locked: isle_lock_array;
    chained: bd_tree_chained;
}
