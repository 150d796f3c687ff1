//! The net has no hole: each of the canary's four bugs is caught by a scenario of its own, and named by its place.

use holm_proof::script::{change, split};
use holm_proof::{Persistency, Plan, Script, Violation, explore};
use holm_tree::Design;
use holm_tree::designs::canaries::{canary_0, canary_1, canary_2, canary_3, canary_4};

fn caught<D: Design>(script: &Script, persistency: Persistency) -> Violation {
    assert!(explore::<canary_0>(script, &Plan::suite(persistency)).is_ok(), "without a bug there is nothing to find");
    match explore::<D>(script, &Plan::suite(persistency)) {
        Err(violation) => *violation,
        Ok(report) => panic!("{} survives {persistency}: {report}", D::NAME),
    }
}

#[test]
fn a_missing_flush_is_caught_and_the_lost_store_is_named() {
    let violation = caught::<canary_1>(&change(), Persistency::Line);
    assert!(violation.lost.contains("canary.rs"), "{violation}");
    assert!(violation.lost.contains("write of"), "{violation}");
    caught::<canary_1>(&change(), Persistency::Word);
}

/// Every store of it is there when only the process dies: such a bug is not for that model to see.
#[test]
fn a_missing_flush_does_not_show_when_only_the_process_dies() {
    assert!(explore::<canary_1>(&change(), &Plan::suite(Persistency::Visible)).is_ok());
}

#[test]
fn a_bitmap_published_before_its_pair_is_caught() {
    for persistency in Persistency::ALL {
        caught::<canary_2>(&change(), persistency);
    }
}

#[test]
fn a_torn_commit_of_two_words_is_caught() {
    for persistency in Persistency::ALL {
        caught::<canary_3>(&change(), persistency);
    }
}

#[test]
fn a_lost_split_is_caught() {
    for persistency in Persistency::ALL {
        let violation = caught::<canary_4>(&split(28), persistency);
        assert!(violation.operation.contains("Put"), "{violation}");
    }
}
