//! Within a transaction: how many keys a keyspace has.

use super::Transaction;
use crate::error::Result;
use crate::keyspace::Keyspace;

impl Transaction {
    /// Returns how many pairs a keyspace has, with what this transaction has written so far. O(w log n) for w keys of
    /// the keyspace that it has written.
    ///
    /// The pairs of others are counted as they are at the call, and the commit does not validate the count: a
    /// transaction that decides by it can be committed although others have inserted or removed pairs meanwhile. As in
    /// [`Keyspace::len`], pairs count until they are removed, also after they have expired; one that the transaction
    /// writes over an expired pair is counted beside it.
    ///
    /// # Errors
    /// [`Conflict`](crate::Error::Conflict) if an earlier call has conflicted; [`Invalid`](crate::Error::Invalid) for a
    /// keyspace of another database; otherwise as [`Keyspace::len`] and [`Keyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let transaction = db.begin();
    /// transaction.insert(&reefs, "south", "sand")?;
    /// transaction.insert(&reefs, "west", "sand")?;
    /// transaction.remove(&reefs, "north")?;
    /// assert_eq!(transaction.len(&reefs)?, 2);
    /// assert_eq!(reefs.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self, of: &Keyspace) -> Result<u64> {
        let tree = self.tree(of)?;
        self.with_state(|state| {
            let (mut more, mut less) = (0, 0);
            for (key, own) in state.writes.of_keyspace(tree) {
                match (of.contains_key(key)?, own.is_put()) {
                    (false, true) => more += 1,
                    (true, false) => less += 1,
                    _ => {}
                }
            }
            // Others may have removed meanwhile what was counted as theirs.
            Ok((of.len()? + more).saturating_sub(less))
        })
    }
}
