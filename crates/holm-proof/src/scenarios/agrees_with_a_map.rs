//! Without a crash: thousands of operations answer as a map does, before and after the tree is recovered.

use super::Verdict;
use crate::crashes::Persistency;
use crate::fixture::{TreeFixture, advance};
use crate::model::{History, Step};
use crate::script::{Script, aftermath, random};
use crate::snapshot::Snapshot;
use crate::subject::Subject;
use std::collections::BTreeSet;

/// A payload of zero is a payload.
fn sometimes_zero(step: Step) -> Step {
    match step {
        Step::Put(key, payload) if payload % 7 == 0 => Step::Put(key, 0),
        other => other,
    }
}

/// Compares with a map, through splits, merges, epoch ends and recoveries of both kinds.
///
/// # Errors
/// The first answer or content that is not the map's.
pub fn agrees_with_a_map(subject: &'static Subject) -> Verdict {
    let none = BTreeSet::new();
    let mut operations = 0;
    for seed in 0..6 {
        let parts = (0..300).map(|part| random(seed * 1000 + part, subject.capacity * 3));
        let past: Vec<_> = parts.flat_map(|part| part.steps).map(sometimes_zero).collect();
        operations += past.len();
        let script = Script { name: format!("map {seed}"), past, steps: vec![], blocks: 96 };
        let said = |error: holm_medium::MediumError| format!("{}, {}: {error}", subject.name, script.name);
        let (fixture, history) = TreeFixture::create(subject, &script, advance, &none).map_err(said)?;
        let equal = |fixture: &TreeFixture, history: &History, when: &str| -> Result<(), String> {
            let (contents, _) = fixture.contents().map_err(said)?;
            let (tree, root) = fixture.tree();
            let faults = tree.audit(root).faults;
            if subject.capabilities.stores_pairs && contents != *history.now() || !faults.is_empty() {
                return Err(format!("{when}: {contents:?}, expected {:?}; {faults:?}", history.now()));
            }
            Ok(())
        };
        equal(&fixture, &history, "at the end")?;
        let left = Snapshot::of(fixture.image());
        for crash in [Persistency::Line, Persistency::Visible] {
            let revived = TreeFixture::revive(subject, &left, crash, advance, &none).map_err(said)?;
            equal(&revived, &history, "recovered")?;
            let mut later = history.clone();
            revived.run(&aftermath(history.now(), seed, subject.capacity), &mut later).map_err(said)?;
            equal(&revived, &later, "after what followed the recovery")?;
        }
    }
    Ok(format!("{operations} operations"))
}
