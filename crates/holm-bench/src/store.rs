//! Holm as an engine to measure: one keyspace of a database that the caller has opened, and may continue to use.

use crate::{BoxError, Change, Engine};
use holm::{Database, Keyspace};

/// A keyspace as an engine.
pub struct Store {
    name: &'static str,
    database: Database,
    keyspace: Keyspace,
}

impl Store {
    /// Opens the keyspace of that name, or creates it; `name` is its row in reports.
    ///
    /// # Errors
    /// As [`Database::keyspace`].
    pub fn new(name: &'static str, database: Database, keyspace: &str) -> Result<Self, holm::Error> {
        let keyspace = database.keyspace(keyspace)?;
        Ok(Self { name, database, keyspace })
    }

    /// Returns the database that the keyspace is of.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }
}

impl Engine for Store {
    fn name(&self) -> &str {
        self.name
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        Ok(self.keyspace.insert(key, value)?)
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        Ok(self.keyspace.get_into(key, into)?)
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        let mut shown = 0;
        let mut range = self.keyspace.range(from..).limit(count);
        while let Some(pair) = range.next_ref() {
            let (key, value) = pair?;
            visit(key, value);
            shown += 1;
        }
        Ok(shown)
    }

    fn sync(&self) -> Result<(), BoxError> {
        Ok(self.database.sync()?)
    }

    fn transact(&self, keys: [&[u8]; 2], values: &mut [Vec<u8>; 2], change: Change<'_>) -> Result<bool, BoxError> {
        Ok(self.database.transact(|transaction| {
            for (key, value) in keys.iter().zip(values.iter_mut()) {
                let Some(found) = transaction.get(&self.keyspace, key)? else { return Ok(false) };
                value.clear();
                value.extend_from_slice(&found);
            }
            change(values);
            for (key, value) in keys.iter().zip(values.iter()) {
                transaction.insert(&self.keyspace, key, value)?;
            }
            Ok::<_, holm::Error>(true)
        })?)
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        let batch = self.database.batch();
        let batch = pairs.iter().fold(batch, |batch, (key, value)| batch.insert(&self.keyspace, key, value));
        Ok(batch.commit()?)
    }
}
