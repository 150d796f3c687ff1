//! Reads of many keys in one step of a transaction: their lookups come from before, and all that the transaction has
//! read is validated once for sixteen of them, not once for each.

use super::Transaction;
use super::reads::Reads;
use crate::ahead::Ahead;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::expiry::ReadView;
use crate::keys::SearchKey;
use crate::keyspace::Keyspace;
use crate::keyspace_tree::KeyspaceTree;
use std::sync::Arc;

/// Keys between two validations.
const GROUP: usize = 16;

impl Transaction {
    /// Reads many keys that were looked up before, as [`Transaction::get`] reads each of them. The values are there for
    /// the gets that follow: those that ask for these keys in the same order take constant time. The transaction then
    /// depends on all of these keys, whether it asks for them or not. O(k) for k keys whose leaves have not changed
    /// since.
    ///
    /// # Errors
    /// [`Conflict`](Error::Conflict); [`Invalid`](Error::Invalid) for another keyspace than that of the lookup, or one
    /// of another database; otherwise as [`Keyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let keys = ["north", "south"];
    /// let ahead = reefs.look_ahead(&keys)?;
    /// let found = db.transact(|transaction| {
    ///     transaction.read_ahead(&reefs, &ahead)?;
    ///     keys.iter().map(|key| transaction.get(&reefs, key)).collect::<holm::Result<Vec<_>>>()
    /// })?;
    /// assert_eq!(found[0].as_deref(), Some(&b"coral"[..]));
    /// assert_eq!(found[1], None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_ahead(&self, from: &Keyspace, ahead: &Ahead) -> Result<()> {
        let tree = self.tree_of_lookups(from, ahead)?;
        self.with_state(|state| {
            let view = state.reads.view(self.store(), tree);
            state.reads.read_ahead(&self.engine, ahead, view)
        })
    }

    /// Returns the tree of a keyspace of which lookups are.
    pub(super) fn tree_of_lookups<'k>(&self, of: &'k Keyspace, ahead: &Ahead) -> Result<&'k Arc<KeyspaceTree>> {
        let tree = self.tree(of)?;
        if Arc::ptr_eq(tree, ahead.tree()) {
            return Ok(tree);
        }
        Err(Error::Invalid { what: format!("the lookups are of another keyspace than {:?}", of.name()) })
    }
}

impl Reads {
    /// Reads keys, which belong together with all that was read before. Those that are left once the transaction goes
    /// on at a snapshot are not read.
    ///
    /// # Errors
    /// As [`Reads::get`].
    fn read_ahead(&mut self, engine: &Arc<Engine>, ahead: &Ahead, view: ReadView) -> Result<()> {
        let tree = ahead.tree();
        let (first, mut last) = (self.answers(), None);
        for (at, (key, lookup)) in ahead.iter().enumerate() {
            if self.is_at_snapshot() {
                break;
            }
            let before = match engine.store.before_of(tree, lookup, view)? {
                Some(before) => before,
                None => engine.store.before(tree, SearchKey::new(key), view)?,
            };
            let leaf = self.note_answer((tree, key), before)?;
            last = Some(leaf);
            if at % GROUP == GROUP - 1 {
                self.validate(engine, leaf)?;
                last = None;
            }
        }
        self.expect_gets(first);
        last.map_or(Ok(()), |leaf| self.validate(engine, leaf))
    }
}
