//! Without any crash: thousands of operations answer as a map does, before and after the tree is recovered.

use super::Verdict;
use crate::crashes::Persistency;
use crate::grove::{Grove, advance, capacity};
use crate::model::History;
use crate::script::{Script, aftermath, random};
use crate::snapshot::Snapshot;
use holm_tree::leaf::Leaf;
use holm_tree::{Design, Index};
use std::collections::BTreeSet;

/// A map, through splits, merges, ticks and recoveries of both kinds.
///
/// # Errors
/// The first answer or content that is not the map's.
pub fn agrees_with_a_map<D: Design>() -> Verdict {
    let none = BTreeSet::new();
    let mut operations = 0;
    for seed in 0..6 {
        let parts = (0..300).map(|part| random(seed * 1000 + part, capacity::<D>() * 3));
        let past: Vec<_> = parts.flat_map(|part| part.steps).collect();
        operations += past.len();
        let script = Script { name: format!("map {seed}"), past, steps: vec![], blocks: 96 };
        let said = |error: holm_medium::MediumError| format!("{}, {}: {error}", D::NAME, script.name);
        let (grove, history) = Grove::<D>::plant(&script, advance, &none).map_err(said)?;
        let equal = |grove: &Grove<D>, history: &History, when: &str| -> Result<(), String> {
            let (contents, _) = grove.contents().map_err(said)?;
            let (forest, root) = grove.tree();
            let faults = forest.audit(root).faults;
            if D::Leaf::CARD.keeps && contents != *history.now() || !faults.is_empty() {
                return Err(format!("{when}: {contents:?}, expected {:?}; {faults:?}", history.now()));
            }
            Ok(())
        };
        equal(&grove, &history, "at the end")?;
        let left = Snapshot::of(grove.image());
        for crash in [Persistency::Line, Persistency::Visible] {
            let revived = Grove::<D>::revive(&left, crash, advance, &none).map_err(said)?;
            equal(&revived, &history, "recovered")?;
            let mut later = history.clone();
            revived.run(&aftermath(history.now(), seed, capacity::<D>()), &mut later).map_err(said)?;
            equal(&revived, &later, "after what followed the recovery")?;
        }
    }
    Ok(format!("{operations} operations"))
}
