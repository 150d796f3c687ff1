//! Optimistic reads: copy first, then ask whether the copy may be returned.

use crate::durability::Durability;
use crate::engine::{Engine, KeyspaceTree};
use crate::error::{Error, Result};
use crate::keys::SearchKey;
use crate::record;
use holm_medium::{Epoch, Image, Persistence};
use holm_tree::LeafVersion;

impl Engine {
    /// Takes a copy of what a leaf leads to and validates it; `None`: the leaf has changed, and the copy is worthless.
    /// `leaf_version`: when the leaf was read, or `None` where the copy holds nothing that the tree has not validated
    /// itself. `stamp`: the epoch in which the leaf had changed last.
    ///
    /// The order matters. *Copy, alive*: leaves of a dropped keyspace may be another's by then, and change for ever, so
    /// it is refused before anything is read again. *Still*: a record is freed only by changing its leaf, so an
    /// unchanged leaf vouches for the copy. *Admit*, last, for only a valid copy is worth waiting for.
    #[inline]
    pub(crate) fn validated<T>(
        &self,
        tree: &KeyspaceTree,
        (leaf_version, stamp): (Option<LeafVersion>, Epoch),
        copy: impl FnOnce() -> T,
    ) -> Result<Option<T>> {
        let copied = copy();
        tree.check_not_dropped()?;
        if leaf_version.is_some_and(|leaf_version| !self.index.validate(leaf_version)) {
            return Ok(None);
        }
        self.wait_stable(stamp)?;
        Ok(Some(copied))
    }

    /// Looks a key up and has its record copied by `copy`, which may be asked again: what it copied before counts for
    /// nothing then.
    #[inline]
    pub(crate) fn get<T>(
        &self,
        tree: &KeyspaceTree,
        key: &[u8],
        mut copy: impl FnMut(&Image, u64) -> Option<T>,
    ) -> Result<Option<T>> {
        let search_key = SearchKey::new(key);
        let image = self.storage.image();
        loop {
            let lookup = self.index.get(&tree.root, search_key);
            let Some(payload) = lookup.payload else {
                return self.validated(tree, (None, lookup.stamp), || ()).map(|_| None);
            };
            if let Some(value) =
                self.validated(tree, (Some(lookup.leaf_version), lookup.stamp), || copy(image, payload))?
            {
                return value.map(Some).ok_or_else(|| self.no_record(payload));
            }
        }
    }

    /// What the mode asks for before something seen may be told: nothing that a power cut could take back. A leaf that
    /// changed in the active epoch is waited for; one that did not is not.
    #[inline]
    pub(crate) fn wait_stable(&self, stamp: Epoch) -> Result<()> {
        if self.durability == Durability::Strict && !self.is_read_only() {
            // A design that knows no epochs cannot say when a leaf changed last: it may have been just now.
            let stamp = if self.persistence == Persistence::PerOperation { self.clock().active() } else { stamp };
            self.clock().wait_durable(stamp)?;
        }
        Ok(())
    }

    /// The same for what was read from places that keep no epoch: all that has been done so far.
    pub(crate) fn admit_all(&self) -> Result<()> {
        self.wait_stable(self.clock().active())
    }

    /// A leaf that has not changed leads to something that is no record: no race, but damage.
    #[cold]
    pub(crate) fn no_record(&self, payload: u64) -> Error {
        let (offset, words) = record::extent(payload);
        Error::Corrupt {
            path: self.path.join("records"),
            offset,
            what: "a record",
            found: "lengths that do not fit".into(),
            expected: format!("a key and a value in {words} words"),
        }
    }
}
