//! Commits of two and three leaves, crashed at every store, also in the recovery that completes them; and callers that
//! keep the intent wrongly, each caught.

use holm_proof::subjects::{buffered, holm};
use holm_proof::{IntentBug, Persistency, crash_commits};

#[test]
fn a_commit_survives_every_crash_as_a_whole() {
    for subject in [&buffered, &holm] {
        for persistency in Persistency::ALL {
            println!("{}: {}", subject.name, crash_commits(subject, persistency, IntentBug::None).expect("whole"));
        }
    }
}

#[test]
fn a_caller_that_keeps_the_intent_wrongly_is_caught() {
    for bug in [IntentBug::Never, IntentBug::ClearedBefore, IntentBug::Kept, IntentBug::RedoneInPart] {
        let caught = crash_commits(&buffered, Persistency::Visible, bug);
        assert!(caught.is_err_and(|said| said.contains("found")), "{bug:?}");
    }
}
