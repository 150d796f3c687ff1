//! Within a transaction: when a key expires.

use super::Transaction;
use crate::error::Result;
use crate::expiry::{Deadline, Expiry};
use crate::keyspace::Keyspace;
use std::time::{Duration, SystemTime};

impl Transaction {
    /// Lets a present key expire after some time from this call on, and keeps its value, as [`Keyspace::expire_in`],
    /// when the transaction commits. Returns whether the key is present. Conflicts as [`Transaction::get`] does. The
    /// transaction sees one time throughout, so it may still see a key whose lifetime is over.
    ///
    /// # Errors
    /// As [`Transaction::get`] and [`Transaction::insert`]; [`Invalid`](crate::Error::Invalid) also in a keyspace
    /// without expiry.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::{Expiry, KeyspaceOptions};
    /// use std::time::Duration;
    /// let sessions = db.keyspace_with("sessions", &KeyspaceOptions::new().expires(true))?;
    /// sessions.insert("17", "open")?;
    /// let minute = Duration::from_secs(60);
    /// assert!(db.transact(|transaction| transaction.expire_in(&sessions, "17", minute))?);
    /// assert!(matches!(sessions.expiry("17")?, Some(Expiry::At(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expire_in(&self, of: &Keyspace, key: impl AsRef<[u8]>, lifetime: Duration) -> Result<bool> {
        self.tree(of)?.check_expires()?;
        self.set_deadline(of, key.as_ref(), Deadline::after(self.store().wall_clock.now(), lifetime))
    }

    /// As [`Transaction::expire_in`], at a time.
    ///
    /// # Errors
    /// As [`Transaction::expire_in`].
    pub fn expire_at(&self, of: &Keyspace, key: impl AsRef<[u8]>, time: SystemTime) -> Result<bool> {
        self.tree(of)?.check_expires()?;
        self.set_deadline(of, key.as_ref(), Deadline::at(time))
    }

    /// Returns when a key expires, as [`Keyspace::expiry`]; `None` if the key is absent. Conflicts with any change of
    /// the key's leaf, about seventeen pairs.
    ///
    /// # Errors
    /// As [`Transaction::get`]; [`Invalid`](crate::Error::Invalid) also in a keyspace without expiry.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::{Expiry, KeyspaceOptions};
    /// let sessions = db.keyspace_with("sessions", &KeyspaceOptions::new().expires(true))?;
    /// let transaction = db.begin();
    /// transaction.insert(&sessions, "17", "open")?;
    /// assert_eq!(transaction.expiry(&sessions, "17")?, Some(Expiry::Never));
    /// assert_eq!(transaction.expiry(&sessions, "18")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expiry(&self, of: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Expiry>> {
        Ok(self.deadline(of, key.as_ref())?.map(Deadline::to_expiry))
    }

    /// Lets a key stay for ever, as [`Keyspace::persist`], when the transaction commits. Returns whether it is present
    /// and would expire. Conflicts as [`Transaction::expiry`] does.
    ///
    /// # Errors
    /// As [`Transaction::expire_in`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::{Expiry, KeyspaceOptions};
    /// use std::time::Duration;
    /// let sessions = db.keyspace_with("sessions", &KeyspaceOptions::new().expires(true))?;
    /// sessions.insert_for("17", "open", Duration::from_secs(60))?;
    /// assert!(db.transact(|transaction| transaction.persist(&sessions, "17"))?);
    /// assert_eq!(sessions.expiry("17")?, Some(Expiry::Never));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn persist(&self, of: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        match self.deadline(of, key.as_ref())? {
            None | Some(Deadline::NEVER) => Ok(false),
            Some(_) => self.set_deadline(of, key.as_ref(), Deadline::NEVER),
        }
    }

    fn deadline(&self, of: &Keyspace, key: &[u8]) -> Result<Option<Deadline>> {
        let tree = self.tree(of)?;
        tree.check_expires()?;
        self.with_state(|state| {
            let view = state.reads.view(self.store(), tree);
            if let Some(own) = state.writes.get(tree, key) {
                tree.check_not_dropped()?;
                return Ok(own.deadline(view));
            }
            state.reads.deadline(&self.engine, (tree, key, view))
        })
    }

    /// Gives a present key a deadline. Returns whether it is present.
    fn set_deadline(&self, of: &Keyspace, key: &[u8], deadline: Deadline) -> Result<bool> {
        match self.get(of, key)? {
            Some(value) => self.put(of, key, &value, deadline).map(|()| true),
            None => Ok(false),
        }
    }
}
