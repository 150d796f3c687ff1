//! Reads of open snapshots: a pre-image in place of the leaf, where the leaf has changed since.

use crate::design::Design;
use crate::index::{LeafCursor, Lookup, LookupAt, SeekTarget, TreeRoot};
use crate::inner::Inner as _;
use crate::keys::Keys;
use crate::leaf::Leaf as _;
use crate::tree_set::TreeSet;
use crate::wanted::Wanted;
use holm_medium::Medium;

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Attempts [`Index::get_at`](crate::Index::get_at) once without waiting; `None` if a writer is changing the leaf.
    pub fn try_get_at(&self, root: &TreeRoot, generation: u64, search_key: K::SearchKey<'_>) -> Option<LookupAt> {
        let at = self.inner.seek::<K>(root, search_key)?;
        let leaf = self.leaf(at.leaf)?;
        let descriptor = self.descriptors.get(at.leaf)?;
        let latch = at.latch(at.leaf, descriptor);
        let version = self.read_latch(root, at.leaf, latch)?;
        if !at.leaf_parent.latch().validate(at.version) {
            return None;
        }
        // After the version: a writer that changes the leaf later makes its pre-image under another version.
        let pre_image = self.pre_images.at(at.leaf, generation);
        let payload = match &pre_image {
            Some(pre_image) => pre_image.get(&self.keys, search_key),
            None => leaf.get(self.context(&descriptor.volatile), search_key),
        };
        let stamp = self.stamp(leaf, &descriptor.volatile);
        let lookup = Lookup { payload, leaf_version: at.leaf_version(at.leaf, version), stamp };
        latch.validate(version).then_some(LookupAt { lookup, from_pre_image: pre_image.is_some() })
    }

    /// Attempts [`Index::copy_leaf_at`](crate::Index::copy_leaf_at) once; `None` as above.
    pub(crate) fn try_copy_leaf_at(
        &self,
        root: &TreeRoot,
        generation: u64,
        target: &SeekTarget<'_, K>,
        cursor: &mut LeafCursor<K>,
    ) -> Option<()> {
        self.try_copy_leaf(root, target, Wanted::leaf(), cursor)?;
        let version = cursor.current.leaf_version;
        let pre_image = self.pre_images.at(version.leaf, generation);
        // The pre-image belongs to the leaf as it was copied: nobody has changed either since.
        if !self.validates(version) {
            return None;
        }
        let Some(pre_image) = pre_image else { return Some(()) };
        let contents = &pre_image.contents;
        let LeafCursor { current, edge, .. } = cursor;
        // A leaf that was split shares its pre-images with the other half, which a scan meets beyond the edge. An edge
        // without the prefix that heads leave out is an end of the range that the leaf had then: no pair is beyond it,
        // and heads cannot be compared with it.
        let any = contents.pairs.first().and_then(|slot| self.keys.key(*slot));
        let edge = edge.as_ref().filter(|edge| any.as_ref().is_some_and(|key| K::shares(key, edge, contents.skip)));
        let is_own = |slot| {
            edge.is_none_or(|edge| {
                let order = self.keys.compare(slot, contents.skip, K::search_key(edge));
                if matches!(target, SeekTarget::Holding(_)) { order.is_lt() } else { order.is_ge() }
            })
        };
        current.pairs.begin(contents.pairs.len());
        contents.pairs.iter().filter(|slot| is_own(**slot)).for_each(|slot| current.pairs.push(*slot));
        (current.skip, current.stamp, current.from_pre_image) = (contents.skip, contents.stamp, true);
        current.pairs.sort(&self.keys, self.inner.search, contents.skip);
        Some(())
    }
}
