//! Many inserts in one call: a group of them shares one operation. Their cache misses overlap, or they share a descent.

use crate::error::Result;
use crate::expiry::Deadline;
use crate::keys::SearchKey;
use crate::keyspace::{Keyspace, limit};
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::record_buffer::{with_buffer, write_record};
use crate::store::WritableStore;

/// Pairs of one operation, which keeps its epoch from ending.
const GROUP: usize = 64;

/// A group takes no further pair once it has this many bytes.
const GROUP_BYTES: usize = 64 << 10;

/// Many inserts.
impl Keyspace {
    /// Stores many values under their keys and replaces earlier ones, in the order of `pairs`. Returns how many pairs
    /// there were. Faster than one call of [`Keyspace::insert`] for each pair where the data are larger than the
    /// processor's caches, because the cache misses of a group overlap, and where keys ascend, because those of one
    /// leaf share a descent. Takes pairs as it goes, and keeps at most 64 of them. O(k log n) for k pairs.
    ///
    /// Each pair is as if it were inserted alone: other threads can see some of them without the others, and a crash
    /// leaves a prefix of them. A [`Batch`](crate::Batch) stores all of its pairs or none. In
    /// [`Strict`](crate::Durability::Strict), one wait at the end makes all of them durable.
    ///
    /// # Errors
    /// As [`Keyspace::insert`]. The pairs before the one that fails are stored, and no others.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let depths = [("north", "12"), ("south", "40"), ("west", "7")];
    /// assert_eq!(reefs.insert_many(depths)?, 3);
    /// assert_eq!(reefs.get("south")?.as_deref(), Some(&b"40"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: impl IntoIterator<Item = (K, V)>) -> Result<u64> {
        let (mut pairs, mut group, mut stored) = (pairs.into_iter(), Vec::with_capacity(GROUP), 0);
        let inserted = loop {
            // No epoch is pinned while the caller's iterator runs.
            let mut bytes = 0;
            while group.len() < GROUP
                && bytes < GROUP_BYTES
                && let Some(pair) = pairs.next()
            {
                bytes += pair.0.as_ref().len() + pair.1.as_ref().len();
                group.push(pair);
            }
            if group.is_empty() {
                break Ok(());
            }
            if let Err(error) = self.insert_group(&group) {
                break Err(error);
            }
            stored += group.len() as u64;
            group.clear();
        };
        if stored == 0 && group.is_empty() {
            return Ok(0);
        }
        // The end of this operation waits for all of them, also for those before an error.
        let ended = Operation::begin(self.store()).and_then(Operation::finish);
        inserted.and(ended).map(|()| stored)
    }

    /// Inserts a group of pairs and waits for nothing.
    fn insert_group<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, group: &[(K, V)]) -> Result<()> {
        // Asked once for each pair: what is measured is what is stored.
        let mut pairs = [(&[][..], &[][..]); GROUP];
        pairs.iter_mut().zip(group).for_each(|(pair, (key, value))| *pair = (key.as_ref(), value.as_ref()));
        let pairs = &pairs[..group.len()];
        let sound = pairs.iter().take_while(|(key, value)| limit(key, value).is_ok()).count();
        let bytes = pairs[..sound].iter().map(|(key, value)| (key.len() + value.len()) as u64).sum();
        let (store, tree) = (self.store(), self.tree());
        let mut operation = Operation::begin_with_bytes(store, bytes)?;
        tree.check_not_dropped()?;
        if store.longest_in_leaf > 0 {
            insert_each(store, tree, operation, &pairs[..sound])?;
            return pairs.get(sound).map_or(Ok(()), |(key, value)| limit(key, value));
        }
        let mut search_keys = [SearchKey::new(&[]); GROUP];
        let mut payloads = [0; GROUP];
        let (mut written, mut refused) = (0, Ok(()));
        for (key, value) in &pairs[..sound] {
            match write_record(&operation, key, tree.format.stored(value, Deadline::NEVER)) {
                Ok(payload) => (search_keys[written], payloads[written]) = (SearchKey::new(key), payload),
                Err(error) => {
                    refused = Err(error);
                    break;
                }
            }
            written += 1;
        }
        operation.put_many(tree, &search_keys[..written], &payloads[..written])?;
        operation.pause();
        refused?;
        pairs.get(sound).map_or(Ok(()), |(key, value)| limit(key, value))
    }
}

/// Inserts pairs one by one, each into its leaf's own block if that has room. Where reads wait for the disk, the leaves
/// are looked up together before.
fn insert_each(
    store: &WritableStore,
    tree: &KeyspaceTree,
    mut operation: Operation<'_>,
    pairs: &[(&[u8], &[u8])],
) -> Result<()> {
    if store.storage.image().paging().waits() {
        let search_keys: Vec<_> = pairs.iter().map(|(key, _)| SearchKey::new(key)).collect();
        store.index.get_many(&tree.root, &search_keys, &mut Vec::new());
    }
    let inserted = pairs.iter().try_for_each(|(key, value)| {
        with_buffer(|buffer| operation.insert(tree, key, tree.format.stored(value, Deadline::NEVER), buffer))
    });
    operation.pause();
    inserted
}
