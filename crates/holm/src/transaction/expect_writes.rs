//! Keys that a transaction states it is going to write.

use super::Transaction;
use crate::ahead::Ahead;
use crate::error::Result;
use crate::keyspace::Keyspace;

impl Transaction {
    /// States that the transaction is going to write keys which were looked up before, and which it does not read. A
    /// hint: the commit need not look for those whose leaves are as they were. The transaction depends on none of these
    /// keys, and need not write them. Another call replaces the hint. O(k log k) for k keys.
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid) for another keyspace than that of the lookup, or one of another database;
    /// [`Conflict`](crate::Error::Conflict) if an earlier call has conflicted.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let ahead = reefs.look_ahead(&["north", "south"])?;
    /// db.transact(|transaction| {
    ///     transaction.expect_writes(&reefs, &ahead)?;
    ///     transaction.insert(&reefs, "south", "sand")?;
    ///     transaction.insert(&reefs, "north", "coral")
    /// })?;
    /// assert_eq!(reefs.get("south")?.as_deref(), Some(&b"sand"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expect_writes(&self, into: &Keyspace, ahead: &Ahead) -> Result<()> {
        self.tree_of_lookups(into, ahead)?;
        self.with_state(|state| {
            state.expected.set(ahead);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Database;

    /// Leaves split and are dropped between the lookups and the commits.
    #[test]
    fn what_is_expected_wrongly_is_written_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path().join("sea.holm")).unwrap();
        let reefs = db.keyspace("reefs").unwrap();
        let key = |number: u32| number.to_be_bytes();
        let ahead = reefs.look_ahead(&[key(7), key(500), key(3)]).unwrap();
        (0..1_000).for_each(|number| reefs.insert(key(number), "before").unwrap());
        for _ in 0..2 {
            db.transact(|transaction| {
                transaction.expect_writes(&reefs, &ahead)?;
                transaction.insert(&reefs, key(7), "seven")?;
                transaction.remove(&reefs, key(3))?;
                transaction.insert(&reefs, key(500), "middle")
            })
            .unwrap();
            assert_eq!(reefs.get(key(7)).unwrap().as_deref(), Some(&b"seven"[..]));
            assert_eq!(reefs.get(key(500)).unwrap().as_deref(), Some(&b"middle"[..]));
            assert_eq!((reefs.get(key(3)).unwrap(), reefs.len().unwrap()), (None, 999));
        }
        let other = db.keyspace("other").unwrap();
        assert!(matches!(db.begin().expect_writes(&other, &ahead), Err(crate::Error::Invalid { .. })));
        db.check().unwrap();
    }
}
