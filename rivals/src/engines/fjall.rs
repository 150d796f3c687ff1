//! fjall: one keyspace. Relaxed writes the journal to the page cache; synced calls `persist(SyncAll)` after each write.

use super::{Durability, Opened, cache_bytes};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use holm_bench::{BoxError, Engine};
use std::path::Path;

pub(super) struct Fjall {
    pub(super) database: Database,
    pub(super) keyspace: Keyspace,
    pub(super) synced: bool,
}

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    let database = Database::builder(folder.join("data.fjall")).cache_size(cache_bytes() as u64).open()?;
    let keyspace = database.keyspace("default", KeyspaceCreateOptions::default)?;
    Ok(Box::new(Fjall { database, keyspace, synced: durability == Durability::Synced }))
}

impl Engine for Fjall {
    fn name(&self) -> &str {
        "fjall"
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        self.keyspace.insert(key, value)?;
        if self.synced {
            self.database.persist(PersistMode::SyncAll)?;
        }
        Ok(())
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        into.clear();
        let value = self.keyspace.get(key)?;
        Ok(value.map(|value| into.extend_from_slice(&value)).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        let mut shown = 0;
        for pair in self.keyspace.range(from..).take(count) {
            let (key, value) = pair.into_inner()?;
            visit(&key, &value);
            shown += 1;
        }
        Ok(shown)
    }

    fn sync(&self) -> Result<(), BoxError> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        let mut batch = self.database.batch().durability(self.synced.then_some(PersistMode::SyncAll));
        for (key, value) in pairs {
            batch.insert(&self.keyspace, key.as_slice(), value.as_slice());
        }
        Ok(batch.commit()?)
    }
}
