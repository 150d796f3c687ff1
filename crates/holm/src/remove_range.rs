//! Removals of ranges of a keyspace, leaf by leaf.

use crate::error::Result;
use crate::iter::half_open;
use crate::keyspace::Keyspace;
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::store::WritableStore;
use holm_tree::leaf::KeyRange;
use std::ops::RangeBounds;

/// The most leaves that one step changes: as many as a leaf parent has. Between two steps the epoch may end, a writer
/// may be throttled, and a drop of the keyspace takes effect.
const LEAVES_PER_STEP: usize = 64;

/// The same for the first step. Each step announces its bytes, and most ranges are small.
const LEAVES_AT_FIRST: usize = 4;

/// The bytes that a step announces for each leaf: the lines that it dirties there and in a leaf that takes a range
/// over.
const LEAF_BYTES: u64 = 128;

/// Removals of many pairs.
impl Keyspace {
    /// Removes all pairs of a range of keys, and returns how many they were. Several times faster than one removal for
    /// each key: the call reads no record, and changes each leaf once. O(log n), and O(1) for each leaf of the range.
    /// Inverted and empty ranges remove nothing. In a keyspace with expiry, expired pairs that are still stored count.
    ///
    /// The removal is *not* atomic. Each leaf, some dozen neighbours, is removed at one instant; the range is removed
    /// from its low end on. Other threads may see a part of it removed. A pair that they insert meanwhile may be
    /// removed or not; one that they insert after the call has returned stays. After a crash, or an error, the range is
    /// removed from its low end up to somewhere, or not at all.
    /// [`Transaction::remove_range`](crate::Transaction::remove_range) removes all or nothing.
    ///
    /// Returns when the removal is as durable as the database's [`Durability`](crate::Durability) promises; in
    /// [`Strict`](crate::Durability::Strict), it waits once. The space of the pairs is free some epochs later. Pairs
    /// that a [snapshot](crate::Snapshot) has are kept until it is dropped, and so are emptied leaves: later removals
    /// merge them.
    ///
    /// # Errors
    /// As [`Keyspace::remove`]; a part of the range may be removed.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let depths = db.keyspace("depths")?;
    /// for depth in 0..1_000u32 {
    ///     depths.insert(depth.to_be_bytes(), "coral")?;
    /// }
    /// assert_eq!(depths.remove_range(100u32.to_be_bytes()..900u32.to_be_bytes())?, 800);
    /// assert_eq!(depths.remove_range(950u32.to_be_bytes()..)?, 50);
    /// assert_eq!(depths.len()?, 150);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<u64> {
        let (low, high) = half_open(&range);
        remove(&self.engine().store, self.tree(), low, high.as_ref())
    }

    /// Removes all pairs, and returns how many they were. [`Keyspace::remove_range`] of everything: O(leaves), and not
    /// atomic.
    ///
    /// # Errors
    /// As [`Keyspace::remove_range`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// reefs.insert("south", "sand")?;
    /// assert_eq!(reefs.clear()?, 2);
    /// assert!(reefs.is_empty()?);
    /// reefs.insert("north", "kelp")?; // the keyspace is still there
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&self) -> Result<u64> {
        self.remove_range::<&[u8]>(..)
    }
}

/// Removes a range step by step. Only the last step waits for what the mode promises: labels rise, so what is durable
/// with the last one is durable with all.
fn remove(store: &WritableStore, tree: &KeyspaceTree, mut low: Vec<u8>, high: Option<&Vec<u8>>) -> Result<u64> {
    let (mut count, mut most_leaves) = (0, LEAVES_AT_FIRST);
    loop {
        let mut operation = Operation::begin_with_bytes(store, most_leaves as u64 * LEAF_BYTES)?;
        tree.check_not_dropped()?;
        let (removed, next) = operation.remove_part(tree, KeyRange { low: &low, high }, most_leaves)?;
        count += removed;
        match next {
            Some(next) => low = next,
            None => {
                operation.finish()?;
                return Ok(count);
            }
        }
        operation.pause();
        most_leaves = LEAVES_PER_STEP;
    }
}
