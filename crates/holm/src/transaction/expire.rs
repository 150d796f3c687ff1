//! Within a transaction: when a key expires.

use super::Transaction;
use crate::error::Result;
use crate::expiry::Deadline;
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

    /// Gives a present key a deadline. Returns whether it is present.
    fn set_deadline(&self, of: &Keyspace, key: &[u8], deadline: Deadline) -> Result<bool> {
        match self.get(of, key)? {
            Some(value) => self.put(of, key, &value, deadline).map(|()| true),
            None => Ok(false),
        }
    }
}
