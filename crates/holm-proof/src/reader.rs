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
use holm_medium::{Area, Ground, Loc, Result};
use holm_search::Search;
use holm_tree::leaf::{Leaf, Lens};
use holm_tree::{Design, Words};
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
    pub(crate) fn look_on<D: Design>(self, grove: &Grove<D>, script: &Script, crash: Persistency) -> Result<()> {
        let keys: BTreeSet<u64> = script.past.iter().chain(&script.steps).filter_map(Step::key).collect();
        let leaves = grove.contents()?.1;
        let quill = grove.shared_quill();
        let (forest, root) = grove.shared_tree();
        let medium = quill.pool().clone();
        let told = Mutex::new(BTreeMap::new());
        let ask = move |key: u64| -> Option<Option<u64>> {
            if self == Reader::Rash {
                return Some(leaves.iter().find_map(|number| bare::<D>(quill.image(), *number, key)));
            }
            let sighting = forest.try_get(&root, key)?;
            let waits = D::Leaf::CARD.defers && crash != Persistency::Visible && self == Reader::Careful;
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

/// What lies under a key in a leaf, whoever is writing there.
pub(crate) fn bare<D: Design>(image: &holm_medium::Image, number: u32, key: u64) -> Option<u64> {
    let lens = Lens { keys: &Words, search: Search::detect() };
    let leaf = image.at::<D::Leaf>(Loc::new(Area::Leaves, u64::from(number) * size_of::<D::Leaf>() as u64))?;
    let beside = <D::Leaf as Leaf>::Beside::default();
    leaf.rederive(&beside, lens);
    leaf.get(&beside, lens, key)
}
