//! The tests have no hole: each bug of the canary, re-created from published indexes, is caught by a test of its own.
//!
//! `docs/designs/canary.md` says which index had which bug, and where the other published bugs are. Other files
//! re-create more of them: wrong ends of epochs in `epochs`, a reader that does not wait in `readers`, a latch that is
//! released too early in `schedules` of the crate.

use holm_proof::Subject;
use holm_proof::scenarios::{
    self, Verdict, judged, survives_creating_and_dropping_trees, survives_reuse_of_what_recovery_freed,
};
use holm_proof::script::{change, ends, inserts, overflow, removals, split, updates};
use holm_proof::subjects::faulty::*;
use holm_proof::{Persistency, Plan, Script, Step, Violation, explore};

fn caught(subject: &'static Subject, script: &Script, persistency: Persistency) -> Violation {
    assert!(explore(&canary, script, &Plan::suite(persistency)).is_ok(), "without a bug there is nothing to find");
    match explore(subject, script, &Plan::suite(persistency)) {
        Err(violation) => {
            println!("{violation}");
            *violation
        }
        Ok(report) => panic!("{} survives {persistency}: {report}", subject.name),
    }
}

#[test]
fn a_missing_flush_is_caught_and_the_lost_store_is_named() {
    let violation = caught(&canary_unflushed, &change(), Persistency::Line);
    assert!(violation.lost.contains("canary.rs"), "{violation}");
    assert!(violation.lost.contains("write of"), "{violation}");
    caught(&canary_unflushed, &change(), Persistency::Word);
}

/// If only the process dies, every store is present, so that model cannot show this bug.
#[test]
fn a_missing_flush_does_not_show_when_only_the_process_dies() {
    assert!(explore(&canary_unflushed, &change(), &Plan::suite(Persistency::Visible)).is_ok());
}

#[test]
fn a_bitmap_published_before_its_pair_is_caught() {
    for persistency in Persistency::ALL {
        caught(&canary_early, &change(), persistency);
    }
}

#[test]
fn a_torn_commit_of_two_words_is_caught() {
    for persistency in Persistency::ALL {
        caught(&canary_torn, &change(), persistency);
    }
}

#[test]
fn a_lost_split_is_caught() {
    for persistency in Persistency::ALL {
        let violation = caught(&canary_lost, &split(28), persistency);
        assert!(violation.operation.contains("Put"), "{violation}");
    }
}

#[test]
fn an_unflushed_removal_is_caught() {
    let violation = caught(&canary_unflushed_removal, &removals(), Persistency::Line);
    assert!(violation.operation.contains("Remove"), "the key resurrects: {violation}");
    assert_eq!(violation.words, "0x200 was 0x1f, stored 0x1e, left 0x1f", "the bitmap, as the errata print it");
    caught(&canary_unflushed_removal, &removals(), Persistency::Word);
}

#[test]
fn a_flush_of_another_line_is_caught() {
    let violation = caught(&canary_misaimed, &change(), Persistency::Line);
    assert!(violation.lost.contains("write of"), "{violation}");
}

#[test]
fn a_link_to_a_leaf_that_is_not_durable_is_caught() {
    for persistency in [Persistency::Line, Persistency::Word] {
        caught(&canary_hollow, &overflow(28), persistency);
    }
}

/// Answers are wrong even without a crash.
#[test]
fn a_key_of_zero_that_counts_as_nothing_is_caught() {
    let steps = vec![Step::Put(0, 7), Step::Put(10, 8), Step::Put(0, 9), Step::Remove(0)];
    let zero = Script { name: "zero".into(), past: vec![Step::Put(10, 5)], steps, blocks: 8 };
    caught(&canary_zero, &zero, Persistency::Visible);
}

#[test]
fn a_recovery_that_does_not_finish_a_split_is_caught() {
    for persistency in Persistency::ALL {
        let violation = caught(&canary_unmended, &overflow(28), persistency);
        assert!(violation.operation.contains("Put"), "{violation}");
    }
}

/// The first crash cannot show it: until power fails, the recovered tree is correct.
#[test]
fn a_recovery_that_is_not_durable_is_caught_by_the_second_crash() {
    for first in [Persistency::Line, Persistency::Visible] {
        let plan = Plan { nested: 64, ..Plan::mixed(first, Persistency::Line) };
        assert!(explore(&canary, &overflow(28), &plan).is_ok());
        assert!(explore(&canary_fleeting, &overflow(28), &Plan::suite(first)).is_ok());
        let violation = explore(&canary_fleeting, &overflow(28), &plan).expect_err("half a split is back");
        assert!(violation.script.ends_with("recovered"), "{violation}");
    }
}

#[test]
fn a_count_that_lags_behind_the_bitmap_is_caught_by_the_next_insert() {
    for persistency in Persistency::ALL {
        caught(&canary_counted, &inserts(), persistency);
    }
}

#[test]
fn a_pair_that_is_in_two_slots_is_caught() {
    for persistency in Persistency::ALL {
        let violation = caught(&canary_twice, &updates(), persistency);
        assert!(violation.wrong.contains("twice"), "{violation}");
    }
}

#[test]
fn a_pair_that_is_in_neither_slot_is_caught() {
    for persistency in Persistency::ALL {
        assert_eq!(caught(&canary_nowhere, &updates(), persistency).wrong, "the contents");
    }
}

#[test]
fn a_lock_that_is_never_released_is_caught() {
    for persistency in Persistency::ALL {
        caught(&canary_stuck, &inserts(), persistency);
    }
}

/// One leaf, and steps after which answers or contents are wrong even without a crash.
fn simply_caught(subject: &'static Subject, past: &[(u64, u64)], steps: &[Step]) {
    let past = past.iter().map(|(key, payload)| Step::Put(*key, *payload)).collect();
    let script = Script { name: "values".into(), past, steps: steps.to_vec(), blocks: 8 };
    caught(subject, &script, Persistency::Visible);
}

#[test]
fn a_payload_of_zero_that_counts_as_nothing_is_caught() {
    simply_caught(&canary_null, &[(10, 5)], &[Step::Put(20, 0), Step::Remove(20)]);
}

#[test]
fn equal_payloads_taken_for_a_pair_in_transit_are_caught() {
    simply_caught(&canary_equal, &[(10, 5)], &[Step::Put(20, 5), Step::Put(30, 6), Step::Remove(20)]);
}

#[test]
fn a_greatest_key_that_counts_as_nothing_is_caught() {
    simply_caught(&canary_greatest, &[(10, 5)], &[Step::Put(u64::MAX, 6), Step::Remove(u64::MAX)]);
    caught(&canary_greatest, &ends(), Persistency::Visible);
}

/// Link and bitmap share a line, whose stores persist in order on x86: there the bitmap's flush covers the link.
#[test]
fn a_link_that_is_not_flushed_is_caught_where_words_persist_alone() {
    let violation = caught(&canary_unlinked, &overflow(28), Persistency::Word);
    assert!(violation.lost.contains("write of"), "{violation}");
    assert!(explore(&canary_unlinked, &overflow(28), &Plan::suite(Persistency::Line)).is_ok());
}

#[test]
fn a_missing_fence_between_a_pair_and_its_bitmap_is_caught() {
    for persistency in [Persistency::Line, Persistency::Word] {
        let violation = caught(&canary_unfenced, &change(), persistency);
        assert!(violation.lost.contains("write of"), "{violation}");
    }
    assert!(
        explore(&canary_unfenced, &change(), &Plan::suite(Persistency::Visible)).is_ok(),
        "the process alone loses none"
    );
}

/// The image of the crash looks sound; the next removal of the key does not remove it.
#[test]
fn a_removed_key_that_comes_back_is_caught_by_further_operations() {
    for persistency in Persistency::ALL {
        let violation = caught(&canary_resurrects, &updates(), persistency);
        assert!(violation.wrong.contains("Remove"), "{violation}");
    }
}

#[test]
fn a_recovery_that_is_not_idempotent_is_caught() {
    for persistency in Persistency::ALL {
        caught(&canary_erodes, &inserts(), persistency);
    }
}

#[test]
fn a_capacity_that_is_off_by_one_is_caught() {
    let violation = caught(&canary_brim, &split(28), Persistency::Visible);
    assert!(violation.wrong.contains("it panicked"), "{violation}");
}

/// No operation hangs: an operation that finds no room after that many splits reports it.
#[test]
fn a_leaf_that_accepts_nothing_after_it_was_empty_is_caught() {
    let keys = [10, 20, 30];
    let past: Vec<_> = keys.iter().map(|key| (*key, key + 1)).collect();
    let steps: Vec<_> = keys.into_iter().map(Step::Remove).chain([Step::Put(15, 1)]).collect();
    simply_caught(&canary_barren, &past, &steps);
}

/// A scenario that passes for the canary without bugs fails for the bug.
fn fails(scenario: fn(&'static Subject) -> Verdict, bug: &'static Subject) {
    scenario(&canary).expect("without a bug there is nothing to find");
    println!("{}", scenario(bug).expect_err("a known bug"));
}

#[test]
fn a_leaf_that_comes_back_is_caught() {
    fails(survives_creating_and_dropping_trees, &canary_undead);
}

#[test]
fn a_leaf_that_is_found_before_it_is_empty_is_caught() {
    fails(survives_creating_and_dropping_trees, &canary_unswept);
}

#[test]
fn a_chain_into_reused_blocks_is_caught() {
    fails(survives_reuse_of_what_recovery_freed, &canary_dangling);
}

/// A new design has the scenarios and no test that was written for its bugs.
#[test]
fn the_scenarios_find_each_bug() {
    for bug in CANARIES {
        let found = scenarios::ALL.iter().find(|(_, scenario)| judged(*scenario, bug).is_err());
        println!("{}: {}", bug.name, found.unwrap_or_else(|| panic!("no scenario finds {}", bug.name)).0);
    }
}
