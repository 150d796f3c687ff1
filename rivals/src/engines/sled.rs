//! sled 0.34, the stable one: the default tree. Relaxed is its background flush every 500 ms; synced calls `flush`
//! after each write, which on Linux is `sync_file_range` and reaches neither the metadata nor the device's cache.

use super::{Durability, HALF, Opened, cache_bytes};
use holm_bench::{BoxError, Change, Engine};
use sled::transaction::ConflictableTransactionError;
use sled::{Batch, Config, Db};
use std::cell::RefCell;
use std::path::Path;

struct Sled {
    database: Db,
    synced: bool,
}

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    let database = Config::new().path(folder.join("data.sled")).cache_capacity(cache_bytes(HALF) as u64).open()?;
    Ok(Box::new(Sled { database, synced: durability == Durability::Synced }))
}

impl Sled {
    fn flush_if_synced(&self) -> Result<(), BoxError> {
        if self.synced { self.sync() } else { Ok(()) }
    }
}

impl Engine for Sled {
    fn name(&self) -> &str {
        "sled"
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        self.database.insert(key, value)?;
        self.flush_if_synced()
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        into.clear();
        let value = self.database.get(key)?;
        Ok(value.map(|value| into.extend_from_slice(&value)).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        let mut shown = 0;
        for pair in self.database.range(from..).take(count) {
            let (key, value) = pair?;
            visit(&key, &value);
            shown += 1;
        }
        Ok(shown)
    }

    fn sync(&self) -> Result<(), BoxError> {
        self.database.flush()?;
        Ok(())
    }

    fn transact(&self, keys: [&[u8]; 2], values: &mut [Vec<u8>; 2], change: Change<'_>) -> Result<bool, BoxError> {
        // sled may run the closure several times, and gives it no exclusive access to anything.
        let values = RefCell::new(values);
        let stored = self.database.transaction(|tree| {
            let mut values = values.borrow_mut();
            for (key, value) in keys.iter().zip(values.iter_mut()) {
                let Some(found) = tree.get(key)? else { return Ok(false) };
                value.clear();
                value.extend_from_slice(&found);
            }
            change(&mut values);
            for (key, value) in keys.iter().zip(values.iter()) {
                tree.insert(*key, value.as_slice())?;
            }
            Ok::<_, ConflictableTransactionError>(true)
        })?;
        if stored {
            self.flush_if_synced()?;
        }
        Ok(stored)
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        let mut batch = Batch::default();
        for (key, value) in pairs {
            batch.insert(key.as_slice(), value.as_slice());
        }
        self.database.apply_batch(batch)?;
        self.flush_if_synced()
    }
}
