//! What readers have returned counts: a crash contradicts a reader that does not wait.

use holm_proof::Subject;
use holm_proof::script::change;
use holm_proof::subjects::faulty::canary;
use holm_proof::subjects::{buffered, fast_fair};
use holm_proof::{Persistency, Plan, Reader, Violation, explore};

fn contradicted(subject: &'static Subject, reader: Reader, persistency: Persistency) -> Option<Violation> {
    let plan = |reader| Plan { reader: Some(reader), ..Plan::suite(persistency) };
    assert!(explore(subject, &change(), &plan(Reader::Careful)).is_ok(), "who asks is not contradicted");
    explore(subject, &change(), &plan(reader)).err().map(|violation| *violation)
}

/// As in an index whose readers take no latch and see a value that is not persistent yet: CCEH's copy-on-write get.
#[test]
fn a_reader_without_a_latch_is_contradicted() {
    let violation = contradicted(&canary, Reader::Rash, Persistency::Line).expect("a value that is lost");
    assert_eq!(violation.wrong, "the contents", "{violation}");
    assert!(contradicted(&fast_fair, Reader::Rash, Persistency::Line).is_some());
}

/// The loss of power removes what the latch let the reader see, unless the reader also checks the epoch.
#[test]
fn a_reader_that_does_not_wait_for_the_epoch_is_contradicted() {
    let violation = contradicted(&buffered, Reader::Hasty, Persistency::Line).expect("an epoch that is lost");
    assert!(violation.wrong.contains("a reader has been told"), "{violation}");
    assert!(contradicted(&buffered, Reader::Hasty, Persistency::Visible).is_none(), "the process alone takes nothing");
}
