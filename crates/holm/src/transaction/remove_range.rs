//! The removal of a range within a transaction.

use super::Transaction;
use crate::commit::{WRITE_BYTES, check_size};
use crate::error::Result;
use crate::keyspace::Keyspace;
use std::ops::RangeBounds;

impl Transaction {
    /// Removes all pairs of a range when the transaction commits, and returns how many they are now; what the
    /// transaction has written is among them. All of them go at one instant, or none.
    ///
    /// The call scans the range and notes a removal for each pair. So it conflicts as a scan does, also with keys that
    /// appear in the range; it takes the time and the memory of a scan and as many removals; and their keys count
    /// towards the 64 MiB of a transaction, with 64 bytes for each.
    /// [`Keyspace::remove_range`] is far faster, has no limit, and is not atomic.
    ///
    /// # Errors
    /// As [`Transaction::range`] and [`Transaction::insert`]. After [`TooLarge`](crate::Error::TooLarge) the
    /// transaction has the writes that it had before.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// for name in ["north/1", "north/2", "south/1"] {
    ///     reefs.insert(name, "coral")?;
    /// }
    /// let transaction = db.begin();
    /// assert_eq!(transaction.remove_range(&reefs, "north/".."north0")?, 2);
    /// assert_eq!(transaction.iter(&reefs)?.count(), 1); // it sees its own removal
    /// assert_eq!(reefs.len()?, 3); // and nobody else does
    /// transaction.commit()?;
    /// assert_eq!(reefs.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_range<K: AsRef<[u8]>>(&self, from: &Keyspace, range: impl RangeBounds<K>) -> Result<u64> {
        let (mut keys, mut bytes) = (Vec::new(), 0);
        for pair in self.range(from, range)? {
            let (key, _) = pair?;
            bytes += key.len() as u64 + WRITE_BYTES;
            // What else the transaction writes only adds to this.
            check_size("a transaction", bytes)?;
            keys.push(key);
        }
        let tree = self.tree(from)?;
        self.with_state(|state| state.writes.remove_all(tree, &keys))?;
        Ok(keys.len() as u64)
    }
}
