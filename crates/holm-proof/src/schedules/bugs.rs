//! What no single thread can show: callers that are correct while they are alone, and caught beside others.

use super::crowd::{Crowd, Fault, Run, Shape, random};
use super::explore::{caught, caught_for_any, explore};
use super::judge::{Tally, judge};
use crate::subject::Subject;
use crate::subjects::faulty::canary;
use crate::subjects::{buffered, wb_tree};
use rand_pcg::Pcg64;

/// The number of schedules within which each is caught.
const ENOUGH: usize = 4_000;

/// A run without the fences with which calls end. The fault says which thread executes them instead.
fn without_last_fences(subject: &'static Subject, fault: Fault, work: fn(Crowd, &mut Pcg64, Fault) -> Run) {
    let mut random = random();
    let sound = Crowd::create(subject, Shape::Few).work_alone(&mut random, Fault::None);
    let crowd = Crowd::create(subject, Shape::Few);
    crowd.medium().leave_out(&Crowd::last_fences(&sound));
    judge(subject, &work(crowd, &mut random, fault), &mut random, &Tally::default());
}

/// Without other threads, nothing reads what is not durable yet.
#[test]
fn a_latch_released_before_the_fence_is_caught_by_a_reader() {
    explore(10, || without_last_fences(&canary, Fault::FencesLate, Crowd::work_alone));
    caught(ENOUGH, "no order explains", || without_last_fences(&canary, Fault::FencesLate, Crowd::work));
    // Without the fence a crash may also keep half of the change, and then the tree itself is not sound.
    caught(ENOUGH, "crashed at event", || without_last_fences(&wb_tree, Fault::FencesLate, Crowd::work));
}

/// The same fence at the same time, by the writer's own thread, is enough.
#[test]
fn a_fence_of_another_thread_is_caught() {
    explore(10, || without_last_fences(&canary, Fault::FencesLate, Crowd::work_alone));
    caught(ENOUGH, "no order explains", || without_last_fences(&canary, Fault::FencesElsewhere, Crowd::work_alone));
}

/// A run in which readers do something wrong.
fn read(subject: &'static Subject, fault: Fault, work: fn(Crowd, &mut Pcg64, Fault) -> Run) {
    let mut random = random();
    let run = work(Crowd::create(subject, Shape::Few), &mut random, fault);
    judge(subject, &run, &mut random, &Tally::default());
}

#[test]
fn a_reader_without_a_latch_is_caught() {
    explore(10, || read(&canary, Fault::Rash, Crowd::work_alone));
    caught(ENOUGH, "no order", || read(&canary, Fault::Rash, Crowd::work));
}

/// A write under an epoch that has ended, after other writes of the next epoch. Recovery then drops those and keeps
/// this one, or finds that the state it needs was overwritten.
#[test]
fn a_writer_that_does_not_validate_its_epoch_is_caught() {
    explore(10, || read(&buffered, Fault::None, Crowd::work));
    let reasons = ["no order explains", "only two epochs with changes go without a record"];
    caught_for_any(ENOUGH, &reasons, || read(&buffered, Fault::Unasking, Crowd::work));
}

#[test]
fn a_reader_that_does_not_wait_for_the_epoch_is_caught() {
    explore(10, || read(&buffered, Fault::None, Crowd::work));
    caught(ENOUGH, "no order explains", || read(&buffered, Fault::Hasty, Crowd::work));
}
