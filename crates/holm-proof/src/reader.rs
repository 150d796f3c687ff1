//! A reader beside the writer, at every instant: after each store, flush and fence it gets every key, and the answers
//! are marked in the trace. No later crash may contradict them.
//!
//! The reader runs on the writer's own thread, in the middle of its operation, so the test is deterministic. From a
//! leaf whose latch is held, the reader gets no answer.

use crate::crashes::Persistency;
use crate::fixture::TreeFixture;
use crate::model::Step;
use crate::script::Script;
use crate::trace::Mark;
use holm_medium::{Result, StorageOps};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// What a reader checks before it uses an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// The latch; and in a design that is durable per epoch, if power may be lost, whether the epoch is durable.
    Careful,
    /// The latch only: the answer may belong to an epoch that is not durable yet.
    Hasty,
    /// Nothing: the reader reads the leaf while it is written, as readers of several published indexes do.
    Rash,
}

impl Reader {
    /// Reads from now on, until the medium's witness is removed.
    pub(crate) fn look_on(self, fixture: &TreeFixture, script: &Script, crash: Persistency) -> Result<()> {
        let keys: BTreeSet<u64> = script.past.iter().chain(&script.steps).filter_map(Step::key).collect();
        let leaves = fixture.contents()?.1;
        let writer = fixture.shared_writer();
        let (subject, (tree, root)) = (fixture.subject(), fixture.shared_tree());
        let medium = writer.storage().clone();
        let told = Mutex::new(BTreeMap::new());
        let ask = move |key: u64| -> Option<Option<u64>> {
            if self == Reader::Rash {
                return Some(leaves.iter().find_map(|number| subject.bare(writer.image(), *number, key)));
            }
            let lookup = tree.try_get(&root, key)?;
            let waits = subject.capabilities.per_epoch && crash != Persistency::Visible && self == Reader::Careful;
            let believed = !waits || lookup.stamp <= writer.clock().durable();
            believed.then_some(lookup.payload)
        };
        fixture.medium().show(Some(Arc::new(move || {
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
