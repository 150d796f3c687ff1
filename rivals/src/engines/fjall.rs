//! fjall: one keyspace. Relaxed writes the journal to the page cache; synced calls `persist(SyncAll)` after each write.

use super::{Durability, Opened, cache_bytes};
use fjall::compaction::Leveled;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use holm_bench::{BoxError, Engine, confine};
use std::path::Path;
use std::sync::Arc;

/// The parts of a limited memory that are the cache and a memtable. A pair in a memtable takes two or three times its
/// bytes, up to four full memtables wait for a flush beside the one that takes writes, and filters and index blocks are
/// outside of the cache.
const CACHE_PART: u64 = 8;
const MEMTABLE_PART: u64 = 64;

/// The part of a limited memory that is one table. A compaction keeps the filter and the index of the table that it
/// writes in memory; and the first level has four tables, which each compaction of memtables reads and writes.
const TABLE_PART: u64 = 16;

pub(super) struct Fjall {
    pub(super) database: Database,
    pub(super) keyspace: Keyspace,
    pub(super) synced: bool,
}

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    let database = Database::builder(folder.join("data.fjall")).cache_size(cache()).open()?;
    let keyspace = database.keyspace("default", keyspace_options)?;
    Ok(Box::new(Fjall { database, keyspace, synced: durability == Durability::Synced }))
}

/// Bytes of the cache.
pub(super) fn cache() -> u64 {
    cache_bytes(CACHE_PART) as u64
}

/// Everything is default, except the sizes of memtables and tables if memory is limited.
pub(super) fn keyspace_options() -> KeyspaceCreateOptions {
    let options = KeyspaceCreateOptions::default();
    match confine::limit() {
        Some(limit) => {
            let leveled = Leveled::default().with_table_target_size(limit / TABLE_PART);
            options.max_memtable_size(limit / MEMTABLE_PART).compaction_strategy(Arc::new(leveled))
        }
        None => options,
    }
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
