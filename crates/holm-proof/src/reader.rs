//! A reader beside the writer, at every instant: after each store, flush and fence he asks for every key, and what he
//! is told is marked in the trace. No crash after that may undo it.
//!
//! He runs on the writer's own thread, in the middle of its operation, so nothing here is left to chance; a leaf whose
//! latch is held tells him nothing.

use crate::crashes::Persistency;
use crate::grove::Grove;
use crate::model::Step;
use crate::script::Script;
use crate::trace::Mark;
use holm_medium::{Ground, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// What a reader asks before he believes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// The latch; and of what is deferred, whether its epoch is durable, if it is power that may be lost.
    Careful,
    /// The latch alone: what he is told may be of an epoch that is not durable yet.
    Hasty,
    /// Nothing: he looks into the leaf while it is written, as readers of several published indexes do.
    Rash,
}

impl Reader {
    /// Looks on from now on, until the medium shows itself to nobody any more.
    pub(crate) fn look_on(self, grove: &Grove, script: &Script, crash: Persistency) -> Result<()> {
        let keys: BTreeSet<u64> = script.past.iter().chain(&script.steps).filter_map(Step::key).collect();
        let leaves = grove.contents()?.1;
        let quill = grove.shared_quill();
        let (subject, (tree, root)) = (grove.subject(), grove.shared_tree());
        let medium = quill.pool().clone();
        let told = Mutex::new(BTreeMap::new());
        let ask = move |key: u64| -> Option<Option<u64>> {
            if self == Reader::Rash {
                return Some(leaves.iter().find_map(|number| subject.bare(quill.image(), *number, key)));
            }
            let sighting = tree.try_get(&root, key)?;
            let waits = subject.card.defers && crash != Persistency::Visible && self == Reader::Careful;
            let believed = !waits || sighting.stamp <= quill.clock().durable();
            believed.then_some(sighting.payload)
        };
        grove.medium().show(Some(Arc::new(move || {
            let mut told = told.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            for key in &keys {
                let Some(payload) = ask(*key) else { continue };
                if told.insert(*key, payload) != Some(payload) {
                    medium.medium.mark(Mark::Told(*key, payload));
                }
            }
        })));
        Ok(())
    }
}
