//! Ends of epochs done wrong, each caught: the net under the clock has no hole either.
//!
//! That each flush and fence of the right one is needed is in `mutants`.

use holm_medium::{Ground, Quill, Result};
use holm_proof::script::{change, merge, split};
use holm_proof::subjects::buffered;
use holm_proof::{Mark, Order, Persistency, Plan, Recorded, Site, Ticker, Violation, explore, trace};

/// Ends the epoch in an order of its own.
fn publish_first(quill: &Quill<Recorded>) -> Result<()> {
    let pool = quill.pool();
    let ended = pool.clock.raise();
    pool.clock.drain(ended, |first, count| {
        (first..first + count).for_each(|line| holm_medium::Medium::flush(&pool.medium, line))
    });
    let mut pen = quill.cut_at(ended);
    pen.fence();
    pool.clock.publish(ended);
    pool.medium.mark(Mark::Published(ended));
    pen.write(&pool.root()?.durable, ended);
    pen.persist(&pool.root()?.durable);
    Ok(())
}

/// The clock's word is durable before the lines are.
fn word_first(quill: &Quill<Recorded>) -> Result<()> {
    let pool = quill.pool();
    let ended = pool.clock.raise();
    let mut pen = quill.cut_at(ended);
    pen.write(&pool.root()?.durable, ended);
    pen.persist(&pool.root()?.durable);
    pool.clock.drain(ended, |first, count| {
        (first..first + count).for_each(|line| holm_medium::Medium::flush(&pool.medium, line))
    });
    pen.fence();
    pool.clock.publish(ended);
    pool.medium.mark(Mark::Published(ended));
    Ok(())
}

/// The lines of the epoch are taken and not written back.
fn forgetful(quill: &Quill<Recorded>) -> Result<()> {
    quill.clock().drain(quill.clock().active(), |_, _| {});
    holm_proof::advance(quill)
}

fn caught(ticker: Ticker) -> Violation {
    let plan = Plan { ticker, ..Plan::suite(Persistency::Line) };
    match explore(&buffered, &change(), &plan) {
        Err(violation) => *violation,
        Ok(report) => panic!("it survives: {report}"),
    }
}

#[test]
fn an_epoch_published_before_it_is_durable_is_caught() {
    assert!(caught(publish_first).wrong.contains("has been declared durable"));
}

#[test]
fn a_clock_that_is_durable_before_its_epoch_is_caught() {
    assert_eq!(caught(word_first).wrong, "the contents");
}

#[test]
fn an_epoch_whose_lines_are_forgotten_is_caught() {
    assert_eq!(caught(forgetful).wrong, "the contents");
}

/// Recovery without its scrub: the stores that blot out what belongs to lost epochs do not last, so that a second
/// crash, after epochs of the same numbers, brings it back.
#[test]
fn a_recovery_that_does_not_scrub_is_caught_by_the_second_crash() {
    let plan = Plan::twice(Persistency::Line);
    let report = explore(&buffered, &split(28), &plan).expect("a sound design");
    let running = trace(&buffered, &split(28), &plan).expect("a sound design");
    let running = holm_proof::sites(&running);
    let scrubs: Vec<Site> = report.sites.into_iter().filter(|site| !running.contains(site)).collect();
    let scrubs: Vec<_> = scrubs.into_iter().filter(|site| site.place.file().contains("leaf/buffered")).collect();
    let stores: Vec<_> = scrubs.iter().filter(|site| site.order == Order::Store).collect();
    assert!(!stores.is_empty(), "recovery writes");
    let first = Plan { without: scrubs.iter().copied().collect(), ..Plan::suite(Persistency::Line) };
    assert!(explore(&buffered, &split(28), &first).is_ok(), "a single crash cannot show it");
    let second = Plan { without: scrubs.into_iter().collect(), ..plan };
    let violation = explore(&buffered, &split(28), &second).expect_err("what is lost stays lost");
    assert!(violation.script.ends_with("recovered"), "{violation}");
}

/// A process died within a merge, when the left leaf was empty and the right one was not yet; recovery emptied that one
/// under its own tag, long durable; then the power failed, the cut took back the merge, and the right leaf was gone.
/// All images of the death are gone on from, for one of them alone lies there.
#[test]
fn a_merge_that_recovery_finished_is_taken_back_whole() {
    let plan = Plan { nested: 1_000, ..Plan::mixed(Persistency::Visible, Persistency::Line) };
    let report = explore(&buffered, &merge(28), &plan).unwrap_or_else(|violation| panic!("{violation}"));
    assert!((10..1_000).contains(&report.rounds), "{report}");
}
