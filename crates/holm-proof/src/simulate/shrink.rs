//! Makes a failing plan smaller.

use super::plan::{Plan, When};
use super::run::{Outcome, run};

/// The most runs that shrinking takes.
const MOST_RUNS: usize = 400;

/// Returns a smaller plan that fails, too, and its outcome. Each change that keeps a failure is kept: fewer threads,
/// fewer operations, fewer faults and crashes, and earlier ones. At most 400 runs.
pub fn shrink(plan: &Plan, outcome: Outcome) -> (Plan, Outcome) {
    let (mut plan, mut outcome, mut runs) = (plan.clone(), outcome, 0);
    loop {
        let mut is_smaller = false;
        for smaller in smaller(&plan) {
            runs += 1;
            if runs > MOST_RUNS {
                return (plan, outcome);
            }
            let tried = run(&smaller);
            if tried.failure.is_some() {
                (plan, outcome, is_smaller) = (smaller, tried, true);
                break;
            }
        }
        if !is_smaller {
            return (plan, outcome);
        }
    }
}

/// Plans that are smaller in one way, the greatest steps first.
fn smaller(plan: &Plan) -> Vec<Plan> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Plan)| {
        let mut changed = plan.clone();
        change(&mut changed);
        if changed != *plan {
            all.push(changed);
        }
    };
    add(&|plan| plan.faults.clear());
    add(&|plan| plan.crashes.truncate(1));
    (0..plan.crashes.len()).for_each(|at| {
        add(&|plan| {
            plan.crashes.remove(at);
        })
    });
    (0..plan.faults.len()).for_each(|at| {
        add(&|plan| {
            plan.faults.remove(at);
        })
    });
    add(&|plan| plan.copies = false);
    add(&|plan| plan.peeks = false);
    add(&|plan| plan.markers = 0);
    add(&|plan| plan.markers = plan.markers.min(1));
    add(&|plan| plan.bulk /= 2);
    add(&|plan| plan.compacts = false);
    add(&|plan| plan.moves_leaves = false);
    add(&|plan| plan.lays = 0);
    add(&|plan| plan.closing.clear());
    add(&|plan| plan.reopening.clear());
    add(&|plan| plan.expires = false);
    add(&|plan| plan.drops = false);
    add(&|plan| plan.heavy = false);
    add(&|plan| plan.fills_rooms = false);
    add(&|plan| plan.solo = false);
    add(&|plan| plan.registers = 0);
    add(&|plan| plan.registers = plan.registers.saturating_sub(1));
    add(&|plan| plan.workers = plan.workers.saturating_sub(1).max(1));
    add(&|plan| plan.operations = plan.operations.div_ceil(2));
    add(&|plan| plan.operations = plan.operations.saturating_sub(1).max(1));
    add(&|plan| (plan.fillers, plan.long_batch) = (0, 0));
    add(&|plan| plan.long_batch = 0);
    add(&|plan| plan.crashes.iter_mut().for_each(|crash| crash.again = None));
    add(&|plan| plan.crashes.iter_mut().for_each(|crash| crash.within.truncate(1)));
    add(&|plan| plan.crashes.iter_mut().for_each(|crash| crash.within.clear()));
    add(&|plan| {
        plan.crashes.iter_mut().for_each(|crash| {
            crash.within.iter_mut().for_each(|within| within.within.clear());
        })
    });
    add(&|plan| {
        plan.crashes.iter_mut().for_each(|crash| {
            if let When::Step(at) = &mut crash.when {
                *at = *at * 3 / 4;
            }
        })
    });
    add(&|plan| plan.loaded = 0);
    add(&|plan| plan.loaded /= 2);
    add(&|plan| plan.stalls = 0);
    all
}
