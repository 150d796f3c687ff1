//! What a ledger is compared with: a database, or a snapshot of one that is written to.

use holm::{Database, Error, Slice, Snapshot};

/// Keyspaces by their names; one that does not exist is empty.
pub trait Source {
    /// The value of a key.
    ///
    /// # Errors
    /// Those of reading.
    fn get(&self, keyspace: &str, key: &str) -> Result<Option<Slice>, Error>;

    /// The number of pairs that a scan gives.
    ///
    /// # Errors
    /// Those of reading.
    fn count(&self, keyspace: &str) -> Result<u64, Error>;
}

impl Source for Database {
    fn get(&self, keyspace: &str, key: &str) -> Result<Option<Slice>, Error> {
        self.existing_keyspace(keyspace)?.map_or(Ok(None), |keyspace| keyspace.get(key))
    }

    fn count(&self, keyspace: &str) -> Result<u64, Error> {
        let Some(keyspace) = self.existing_keyspace(keyspace)? else { return Ok(0) };
        keyspace.iter().try_fold(0, |count, pair| pair.map(|_| count + 1))
    }
}

impl Source for Snapshot {
    fn get(&self, keyspace: &str, key: &str) -> Result<Option<Slice>, Error> {
        self.keyspace(keyspace).map_or(Ok(None), |keyspace| keyspace.get(key))
    }

    fn count(&self, keyspace: &str) -> Result<u64, Error> {
        let Some(keyspace) = self.keyspace(keyspace) else { return Ok(0) };
        keyspace.iter().try_fold(0, |count, pair| pair.map(|_| count + 1))
    }
}
