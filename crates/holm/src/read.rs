//! Optimistic reads: copy first, then ask whether the copy may be returned.

use crate::durability::Durability;
use crate::engine::{Engine, Tree};
use crate::error::{Error, Result};
use crate::keys::Probe;
use crate::record;
use holm_medium::{Epoch, Image, Lay};
use holm_tree::Seen;

impl Engine {
    /// Takes a copy of what a leaf leads to and validates it; `None`: the leaf has changed, and the copy is worthless.
    /// `seen`: when the leaf was read, or `None` where the copy holds nothing that the tree has not validated itself.
    /// `stamp`: the epoch in which the leaf had changed last.
    ///
    /// The order matters. *Copy, alive*: leaves of a dropped keyspace may be another's by then, and change for ever, so
    /// it is refused before anything is read again. *Still*: a record is freed only by changing its leaf, so an
    /// unchanged leaf vouches for the copy. *Admit*, last, for only a valid copy is worth waiting for.
    #[inline]
    pub(crate) fn validated<T>(
        &self,
        tree: &Tree,
        (seen, stamp): (Option<Seen>, Epoch),
        copy: impl FnOnce() -> T,
    ) -> Result<Option<T>> {
        let copied = copy();
        tree.alive()?;
        if seen.is_some_and(|seen| !self.index.still(seen)) {
            return Ok(None);
        }
        self.admit(stamp)?;
        Ok(Some(copied))
    }

    /// Looks a key up and has its record copied by `copy`, which may be asked again: what it copied before counts for
    /// nothing then.
    #[inline]
    pub(crate) fn get<T>(
        &self,
        tree: &Tree,
        key: &[u8],
        mut copy: impl FnMut(&Image, u64) -> Option<T>,
    ) -> Result<Option<T>> {
        let probe = Probe::new(key);
        let image = self.ground.image();
        loop {
            let sighting = self.index.get(&tree.root, probe);
            let Some(payload) = sighting.payload else {
                return self.validated(tree, (None, sighting.stamp), || ()).map(|_| None);
            };
            if let Some(value) = self.validated(tree, (Some(sighting.seen), sighting.stamp), || copy(image, payload))? {
                return value.map(Some).ok_or_else(|| self.no_record(payload));
            }
        }
    }

    /// What the mode asks for before something seen may be told: nothing that a power cut could take back. A leaf that
    /// changed in the active epoch is waited for; one that did not is not.
    #[inline]
    pub(crate) fn admit(&self, stamp: Epoch) -> Result<()> {
        if self.durability == Durability::Strict && !self.is_read_only() {
            // A design that knows no epochs cannot say when a leaf changed last: it may have been just now.
            let stamp = if self.lay == Lay::Flushed { self.clock().active() } else { stamp };
            self.clock().wait_durable(stamp)?;
        }
        Ok(())
    }

    /// The same for what was read from places that keep no epoch: all that has been done so far.
    pub(crate) fn admit_all(&self) -> Result<()> {
        self.admit(self.clock().active())
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
