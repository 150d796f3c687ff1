//! Optimistic reads: copy first, then validate the copy.
//!
//! **Reads are lock-free**, but for those that writers overtake again and again. A copy that does not validate is tried
//! again. Each retry is proof that a writer has latched the leaf since it was read. A copy of a long record takes
//! longer than a busy writer leaves the leaf as it is, so the fifth attempt and later ones latch the leaf themselves,
//! at the version at which it was read, and writers wait for the copy ([`Attempts`]). Where another writer has the leaf
//! by then, they begin anew. A keyspace that is dropped ends the loop with an error, before its leaves belong to
//! others.
//!
//! What a snapshot or another generation has needs no validation: its records are kept until it ends.

use crate::durability::Durability;
use crate::error::{Error, Result};
use crate::expiry::{Deadline, ReadView, ValueFormat};
use crate::keys::SearchKey;
use crate::keyspace_tree::KeyspaceTree;
use crate::record::{self, Copied, NoRecord, Place, Source};
use crate::slice::Slice;
use crate::store::Store;
use holm_medium::{Epoch, Persistence};
use holm_tree::LeafVersion;

/// Attempts at one read, and how often writers have overtaken it.
#[derive(Default)]
pub(crate) struct Attempts(u32);

impl Attempts {
    /// The first attempts of a read latch nothing.
    const WITHOUT_LATCH: u32 = 4;

    /// Begins another attempt, and returns whether it latches the leaf.
    #[inline]
    fn latches(&mut self) -> bool {
        self.0 = self.0.saturating_add(1);
        self.0 > Self::WITHOUT_LATCH
    }
}

/// Where the values of many keys go.
trait Values {
    /// Copies the value of the key at an index. A later copy for the same key takes the place of an earlier one.
    fn copy(&mut self, index: usize, record: (Source<'_>, u64, ReadView)) -> Copied<()>;
    /// Ends with a key: what was copied last is its value, unless the key is absent.
    fn end(&mut self, index: usize, is_present: bool);
}

/// Values that are kept, each in its place.
struct Placed<'a>(&'a mut [Option<Slice>]);

impl Values for Placed<'_> {
    #[inline(always)]
    fn copy(&mut self, index: usize, (source, payload, view): (Source<'_>, u64, ReadView)) -> Copied<()> {
        record::copy_value_to(source, payload, view, &mut self.0[index])
    }

    #[inline]
    fn end(&mut self, index: usize, is_present: bool) {
        if !is_present {
            self.0[index] = None;
        }
    }
}

/// Values that are lent, one after the other, out of one buffer.
struct Lent<G> {
    buffer: Vec<u8>,
    give: G,
}

impl<G: FnMut(Option<&[u8]>)> Values for Lent<G> {
    #[inline(always)]
    fn copy(&mut self, _: usize, (source, payload, view): (Source<'_>, u64, ReadView)) -> Copied<()> {
        record::copy_value_into(source, payload, view, &mut self.buffer)
    }

    #[inline]
    fn end(&mut self, _: usize, is_present: bool) {
        (self.give)(is_present.then_some(&*self.buffer));
    }
}

impl Store {
    /// Copies what a leaf leads to, and validates the copy. `None` means that the leaf has changed and the copy is
    /// worthless. `leaf_version` is the version at which the leaf was read, or `None` where the tree has already
    /// validated all that the copy holds. `stamp` is the epoch of the leaf's last change.
    ///
    /// Last, it *waits* until the copy is durable: only a valid copy is worth waiting for.
    #[inline]
    pub(crate) fn validated<T>(
        &self,
        tree: &KeyspaceTree,
        leaf_version: Option<LeafVersion>,
        stamp: Epoch,
        copy: impl FnOnce() -> T,
    ) -> Result<Option<T>> {
        let Some(copied) = self.copied(tree, leaf_version, copy)? else { return Ok(None) };
        self.wait_stable(stamp)?;
        Ok(Some(copied))
    }

    /// The same without the wait, for a read that an update follows: the update itself waits.
    ///
    /// The order matters. First *copy*, then check that the keyspace is not dropped: leaves of a dropped keyspace may
    /// belong to another keyspace and keep changing, so the read fails before it retries. Then *validate*: a record is
    /// freed only by a change of its leaf, so an unchanged leaf vouches for the copy.
    #[inline]
    pub(crate) fn copied<T>(
        &self,
        tree: &KeyspaceTree,
        leaf_version: Option<LeafVersion>,
        copy: impl FnOnce() -> T,
    ) -> Result<Option<T>> {
        self.copied_if(|| tree.check_not_dropped(), leaf_version, copy)
    }

    /// The same with another check that the leaves are still the keyspace's.
    #[inline]
    pub(crate) fn copied_if<T>(
        &self,
        check: impl FnOnce() -> Result<()>,
        leaf_version: Option<LeafVersion>,
        copy: impl FnOnce() -> T,
    ) -> Result<Option<T>> {
        let copied = copy();
        check()?;
        let still = leaf_version.is_none_or(|leaf_version| self.index.validate(leaf_version));
        Ok(still.then_some(copied))
    }

    /// The same for one of several attempts.
    #[inline]
    pub(crate) fn copied_at<T>(
        &self,
        attempts: &mut Attempts,
        check: impl FnOnce() -> Result<()>,
        leaf_version: Option<LeafVersion>,
        copy: impl FnOnce() -> T,
    ) -> Result<Option<T>> {
        match leaf_version {
            Some(leaf_version) if attempts.latches() => self.copied_under_latch(check, leaf_version, copy),
            _ => self.copied_if(check, leaf_version, copy),
        }
    }

    #[cold]
    #[inline(never)]
    fn copied_under_latch<T>(
        &self,
        check: impl FnOnce() -> Result<()>,
        leaf_version: LeafVersion,
        copy: impl FnOnce() -> T,
    ) -> Result<Option<T>> {
        let (mut copy, mut copied) = (Some(copy), None);
        self.index.hold(leaf_version, &mut || copied = copy.take().map(|copy| copy()));
        check()?;
        Ok(copied)
    }

    /// Looks a key up and has `copy` copy its record, of which the keyspace's format shows it a view. A retry calls
    /// `copy` again; the earlier copy is then worthless.
    #[inline]
    pub(crate) fn get<T>(
        &self,
        tree: &KeyspaceTree,
        key: &[u8],
        mut copy: impl FnMut(Source<'_>, u64, ReadView) -> Copied<T>,
    ) -> Result<Option<T>> {
        let search_key = SearchKey::new(key);
        let source = self.source();
        let view = tree.view(&self.wall_clock);
        let mut attempts = Attempts::default();
        loop {
            let lookup = self.index.get(&tree.root, search_key);
            let Some(payload) = lookup.payload else {
                return self.validated(tree, None, lookup.stamp, || ()).map(|_| None);
            };
            let (check, version) = (|| tree.check_not_dropped(), Some(lookup.leaf_version));
            if let Some(value) = self.copied_at(&mut attempts, check, version, || copy(source, payload, view))? {
                self.wait_stable(lookup.stamp)?;
                return value.map_err(|NoRecord| self.no_record(payload));
            }
        }
    }

    /// As [`Store::get`], into a buffer, which is empty if the key is absent. Returns whether the key is present.
    #[inline]
    pub(crate) fn get_into(&self, tree: &KeyspaceTree, key: &[u8], into: &mut Vec<u8>) -> Result<bool> {
        let copy = |source: Source<'_>, payload, view| record::copy_value_into(source, payload, view, into);
        let found = self.get(tree, key, copy)?.is_some();
        if !found {
            into.clear();
        }
        Ok(found)
    }

    /// Looks many keys up; their cache misses overlap.
    pub(crate) fn get_many<K: AsRef<[u8]>>(&self, tree: &KeyspaceTree, keys: &[K]) -> Result<Vec<Option<Slice>>> {
        let mut values = vec![None; keys.len()];
        self.copy_many(tree, keys, &mut Placed(&mut values))?;
        Ok(values)
    }

    /// The same, and lends each value.
    pub(crate) fn get_many_with<K: AsRef<[u8]>>(
        &self,
        tree: &KeyspaceTree,
        keys: &[K],
        give: impl FnMut(Option<&[u8]>),
    ) -> Result<()> {
        self.copy_many(tree, keys, &mut Lent { buffer: Vec::new(), give })
    }

    /// Looks many keys up, and copies each value; ends with each before the next one is copied.
    fn copy_many<K: AsRef<[u8]>>(&self, tree: &KeyspaceTree, keys: &[K], values: &mut impl Values) -> Result<()> {
        tree.check_not_dropped()?;
        let search_keys: Vec<_> = keys.iter().map(|key| SearchKey::new(key.as_ref())).collect();
        let mut lookups = Vec::with_capacity(keys.len());
        self.index.get_many(&tree.root, &search_keys, &mut lookups);
        let source = self.source();
        let view = tree.view(&self.wall_clock);
        for (index, (key, lookup)) in keys.iter().zip(&lookups).enumerate() {
            let mut copy = |source: Source<'_>, payload, view| values.copy(index, (source, payload, view));
            let copied = || lookup.payload.map(|payload| copy(source, payload, view));
            let leaf_version = lookup.payload.map(|_| lookup.leaf_version);
            let is_present = match self.validated(tree, leaf_version, lookup.stamp, copied)? {
                Some(None) => false,
                Some(Some(Ok(value))) => value.is_some(),
                // The record changed meanwhile, or is damaged: look this key up alone.
                Some(Some(Err(NoRecord))) | None => self.get(tree, key.as_ref(), copy)?.is_some(),
            };
            values.end(index, is_present);
        }
        Ok(())
    }

    /// Returns whether a key is present.
    #[inline]
    pub(crate) fn contains_key(&self, tree: &KeyspaceTree, key: &[u8]) -> Result<bool> {
        if tree.format != ValueFormat::Plain {
            return Ok(self.deadline(tree, key)?.is_some());
        }
        let lookup = self.index.get(&tree.root, SearchKey::new(key));
        self.validated(tree, None, lookup.stamp, || ())?;
        Ok(lookup.payload.is_some())
    }

    /// Returns the deadline of a key, or `None` if the key is absent.
    #[inline(never)]
    pub(crate) fn deadline(&self, tree: &KeyspaceTree, key: &[u8]) -> Result<Option<Deadline>> {
        self.get(tree, key, record::copy_deadline)
    }

    /// Returns the number of pairs, expired ones included.
    pub(crate) fn len(&self, tree: &KeyspaceTree) -> Result<u64> {
        // An operation counts before it unpins its epoch, so the active epoch, read afterwards, is the latest it can
        // have.
        let pairs = tree.root.pairs();
        self.wait_stable(self.clock().active())?;
        Ok(pairs)
    }

    /// Waits as the mode demands before a read returns: in strict mode, a result must not be lost in a power cut. A
    /// leaf that changed in the active epoch makes the read wait; another leaf does not.
    #[inline]
    pub(crate) fn wait_stable(&self, stamp: Epoch) -> Result<()> {
        if self.durability == Durability::Strict {
            return self.wait_durable(stamp);
        }
        Ok(())
    }

    /// Out of line, so that a get in another mode carries nothing for it.
    #[inline(never)]
    fn wait_durable(&self, stamp: Epoch) -> Result<()> {
        // A design without epochs cannot say when a leaf last changed: it may have changed just now.
        let stamp = if self.persistence == Persistence::PerOperation { self.clock().active() } else { stamp };
        Ok(self.clock().wait_durable(stamp)?)
    }

    /// Returns the bytes of a record of the store's own in the catalog, `what`, which has a fixed length.
    ///
    /// # Errors
    /// `Corrupt`: it has another one.
    pub(crate) fn catalog_record<const N: usize>(&self, value: &Slice, what: &'static str) -> Result<[u8; N]> {
        <[u8; N]>::try_from(&**value).map_err(|_| Error::Corrupt {
            path: self.path.join("records"),
            offset: 0,
            what,
            found: format!("{} bytes", value.len()),
            expected: format!("{N} bytes"),
        })
    }

    /// An unchanged leaf leads to something that is not a record, or to one without its checksum. This is damage, not a
    /// race.
    #[cold]
    pub(crate) fn no_record(&self, payload: u64) -> Error {
        let place = Place::of(payload);
        let (offset, words) = (place.offset, place.words);
        Error::Corrupt {
            path: self.path.join(place.file()),
            offset,
            what: "a record",
            found: record::verify(self.storage.image(), payload).err().unwrap_or_else(|| "another one by now".into()),
            expected: format!("a key and a value in {words} words"),
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::Attempts;
    use crate::{Database, Keyspace, record};
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;
    use tempfile::TempDir;

    /// Returns a database whose keyspace has one pair, and its folder, which lives as long.
    fn reefs() -> (TempDir, Database, Keyspace) {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::builder().capacity(1 << 30).open(folder.path()).unwrap();
        let space = db.keyspace("reefs").unwrap();
        space.insert("north", "coral").unwrap();
        (folder, db, space)
    }

    /// A get that believed its copy would return a value after a later one was there, or bytes of another record.
    #[test]
    fn a_copy_out_of_a_leaf_that_has_changed_meanwhile_is_made_again() {
        let (_folder, db, space) = reefs();
        let mut copies = 0;
        let found = db.engine.store.get(space.tree(), b"north", |source, payload, view| {
            copies += 1;
            let copied = record::copy_value(source, payload, view);
            if copies == 1 {
                space.insert("north", "sand").unwrap();
            }
            copied
        });
        assert_eq!((found.unwrap().as_deref(), copies), (Some(&b"sand"[..]), 2));
    }

    /// A copy of a long record takes longer than a busy writer leaves its leaf as it is: the read never ended.
    #[test]
    fn a_read_that_writers_overtake_again_and_again_latches_the_leaf() {
        let (_folder, db, space) = reefs();
        let mut copies = 0;
        let found = db.engine.store.get(space.tree(), b"north", |source, payload, view| {
            copies += 1;
            let ((sender, receiver), space) = (channel(), space.clone());
            let writer = thread::spawn(move || {
                space.insert("south", "sand").unwrap();
                let _ = sender.send(());
            });
            match copies {
                1..=Attempts::WITHOUT_LATCH => writer.join().unwrap(),
                // Under the latch the writer waits, and so does this, in vain. Without one it would be overtaken.
                _ if copies < 2 * Attempts::WITHOUT_LATCH => drop(receiver.recv_timeout(Duration::from_millis(100))),
                _ => {}
            }
            record::copy_value(source, payload, view)
        });
        assert_eq!((found.unwrap().as_deref(), copies), (Some(&b"coral"[..]), Attempts::WITHOUT_LATCH + 1));
    }
}
