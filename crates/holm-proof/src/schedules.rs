//! Two to four threads over one small tree, crashed: under every order of steps that a few seeds draw, the trace of
//! stores, flushes and fences is crashed at every fence, and what is found must be explained by the history.
//!
//! For strict designs that is durable linearizability: what had returned is there, with all that its answers need, and
//! what was under way is there or not. For those that defer, the same of the history up to the cut. Beside it stand
//! callers that break their side of the bargain in ways that no single thread can show, and must be caught.
//!
//! `cargo xtask schedules` runs these; they are in no other build.

#[path = "../../holm-medium/tests/schedules/explore.rs"]
mod explore;

mod bare;
mod bugs;
mod crowd;
mod drops;
mod judge;
mod marks;

use crate::subject::Subject;
use crate::subjects::{self, canaries, chained, locked};
use crowd::{Crowd, Fault, Shape};
use explore::explore;
use judge::Tally;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Schedules of each kind for each design, where nobody asks for another number.
const FEW: usize = 30;

/// One schedule: draws what there is and what is to be done, does it, and crashes it.
fn crash(subject: &'static Subject, tally: &Tally) {
    let mut random = crowd::random();
    let crowd = Crowd::plant(subject, Shape::draw(&mut random));
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
    canaries: canary_0;
    subjects: borders buffered circ fast_fair fast_fair_sentinels fp_tree holm_strict isle lb_tree nv_tree ss_tree
        wb_tree;
    locked: isle_lock_array;
    chained: bd_tree_chained;
}
