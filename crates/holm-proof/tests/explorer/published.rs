//! FAST and FAIR as published, crashed: what its marks and flushes lose. The form of the list loses nothing there.

use holm_proof::subjects::fast_fair;
use holm_proof::subjects::faulty::fast_fair_published;
use holm_proof::{Persistency, Plan, Script, Step, Violation, explore};

/// Some pairs, and the steps that are then recorded.
fn script(name: &str, pairs: impl IntoIterator<Item = (u64, u64)>, steps: Vec<Step>) -> Script {
    let past = pairs.into_iter().map(|(key, payload)| Step::Put(key, payload)).collect();
    Script { name: name.into(), past, steps, blocks: 16 }
}

/// Keys in tens, whose payloads are unique and not zero: what the published form asks for.
fn tens(count: u64) -> impl Iterator<Item = (u64, u64)> {
    (1..=count).map(|number| (number * 10, number))
}

fn caught(script: &Script, persistency: Persistency) -> Violation {
    let plan = Plan::suite(persistency);
    assert!(explore(&fast_fair, script, &plan).is_ok(), "the form of the list does not survive {}", script.name);
    match explore(&fast_fair_published, script, &plan) {
        Err(violation) => {
            println!("{violation}");
            *violation
        }
        Ok(report) => panic!("{} survives {}: {report}", fast_fair_published.name, script.name),
    }
}

/// A removal flushes a line when it enters it. A line that it leaves is not flushed again.
#[test]
fn a_published_removal_that_has_returned_is_lost() {
    let violation = caught(&script("remove the last", tens(5), vec![Step::Remove(50)]), Persistency::Line);
    assert!(violation.operation.starts_with("after"), "{violation}");
    assert_eq!(violation.words, "0x258 was 0x5, stored 0x0, left 0x5", "the mark, as the errata print it");
    assert!(violation.found.contains("(50, 5)"), "{violation}");
}

/// The next line gives up a pair that this one has taken over and that nothing has flushed.
#[test]
fn a_published_removal_loses_another_pair() {
    let violation = caught(&script("remove the first", tens(4), vec![Step::Remove(10)]), Persistency::Line);
    for word in ["0x230 was 0x1e, stored 0x28, left 0x1e", "0x238 was 0x3, stored 0x4, left 0x3"] {
        assert!(violation.words.contains(word), "{word}, as the errata print it: {violation}");
    }
    assert!(violation.found.contains("(10, 1), (20, 2), (30, 3)]"), "40 is lost: {violation}");
}

/// An insert writes the mark that ends the pairs, and flushes it only where that mark begins a line. It never does: it
/// is the second word of a pair.
#[test]
fn a_published_insert_brings_back_what_a_split_has_moved() {
    let mut behind_a_split = script("insert behind a split", tens(31), vec![Step::Put(144, 144)]);
    behind_a_split.past.extend([141, 142, 143].map(|key| Step::Put(key, key)));
    let violation = caught(&behind_a_split, Persistency::Line);
    let word = "0x348 was 0x14, stored 0x0, left 0x14";
    assert!(violation.words.ends_with(word), "the mark behind the last pair, as the errata print it: {violation}");
    assert!(violation.wrong.contains("keys that overlap another leaf's"), "{violation}");
}

/// No store is lost: recovery finds fewer pairs than there are.
#[test]
fn a_published_payload_of_zero_ends_the_leaf() {
    let mut with_zero = script("a payload of zero", tens(3), vec![Step::Put(5, 9)]);
    with_zero.past.push(Step::Put(25, 0));
    let violation = caught(&with_zero, Persistency::Visible);
    assert_eq!(violation.lost, "nothing");
    assert!(violation.found.contains("[(10, 1), (20, 2)]"), "25 and 30 are lost: {violation}");
}

/// The same.
#[test]
fn published_equal_payloads_count_once() {
    let mut with_equals = script("equal payloads", tens(3), vec![Step::Put(5, 9)]);
    with_equals.past.push(Step::Put(25, 3));
    let violation = caught(&with_equals, Persistency::Visible);
    assert_eq!(violation.lost, "nothing");
    assert!(violation.found.contains("[(10, 1), (20, 2), (25, 3)]"), "30 is lost: {violation}");
}
