//! Gets in groups: the cache misses of several search keys overlap.

use crate::design::Design;
use crate::index::{Index as _, Lookup, TreeRoot};
use crate::inner::Inner as _;
use crate::keys::Keys;
use crate::leaf::{Leaf as _, Prefetch as _};
use crate::tree_set::TreeSet;
use holm_medium::Medium;

/// Search keys that travel together in `get_many`: as many lines as a core can wait for at once.
pub(crate) const GROUP: usize = 16;

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Looks search keys up together, stage by stage, so that their misses overlap. The stages are the descent, each
    /// leaf's first line, the one line of pairs that the fingerprints name, and the record.
    pub(crate) fn get_group(&self, root: &TreeRoot, search_keys: &[K::SearchKey<'_>], out: &mut Vec<Lookup>) {
        let mut reached = [const { None }; GROUP];
        for (search_key, place) in search_keys.iter().zip(&mut reached) {
            let Some(at) = self.inner.seek::<K>(root, *search_key) else { continue };
            let Some((leaf, descriptor)) = self.leaf(at.leaf).zip(self.descriptors.get(at.leaf)) else { continue };
            leaf.prefetch_header();
            holm_search::prefetch(at.latch(at.leaf, descriptor));
            *place = Some((at, leaf, descriptor));
        }
        let mut seen = [None; GROUP];
        for ((search_key, place), seen) in search_keys.iter().zip(&reached).zip(&mut seen) {
            let Some((at, leaf, descriptor)) = place else { continue };
            let version = self.read_latch(root, at.leaf, at.latch(at.leaf, descriptor));
            *seen = version.filter(|_| at.leaf_parent.latch().validate(at.version));
            if seen.is_some() {
                leaf.prefetch_pairs(self.context(&descriptor.volatile), *search_key);
            }
        }
        for ((search_key, place), seen) in search_keys.iter().zip(&reached).zip(&seen) {
            let (Some((_, leaf, descriptor)), Some(_)) = (place, seen) else { continue };
            if let Some(payload) = leaf.candidate_payload(self.context(&descriptor.volatile), *search_key) {
                self.keys.prefetch(payload);
            }
        }
        for ((search_key, place), seen) in search_keys.iter().zip(&reached).zip(&seen) {
            let lookup = place.as_ref().zip(*seen).and_then(|((at, leaf, descriptor), version)| {
                let payload = leaf.get(self.context(&descriptor.volatile), *search_key);
                let stamp = self.stamp(leaf, &descriptor.volatile);
                let leaf_version = at.leaf_version(at.leaf, version);
                at.latch(at.leaf, descriptor).validate(version).then_some(Lookup { payload, leaf_version, stamp })
            });
            // A lookup that a writer disturbed is repeated alone.
            out.push(lookup.unwrap_or_else(|| self.get(root, *search_key)));
        }
    }
}
