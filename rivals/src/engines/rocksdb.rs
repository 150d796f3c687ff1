//! RocksDB: the default column family. Relaxed writes its log to the page cache; synced sets `sync` on each write, and
//! concurrent writers share a sync.

use super::{Durability, Opened, cache_bytes};
use holm_bench::{BoxError, Engine};
use rocksdb::{BlockBasedOptions, Cache, DB, DBCompressionType, Options, WriteBatch, WriteOptions};
use std::path::Path;

struct RocksDb {
    database: DB,
    write: WriteOptions,
}

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(cache_bytes()));
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(DBCompressionType::None);
    options.set_block_based_table_factory(&blocks);
    let database = DB::open(&options, folder.join("data.rocksdb"))?;
    let mut write = WriteOptions::default();
    write.set_sync(durability == Durability::Synced);
    Ok(Box::new(RocksDb { database, write }))
}

impl Engine for RocksDb {
    fn name(&self) -> &str {
        "rocksdb"
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        Ok(self.database.put_opt(key, value, &self.write)?)
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        into.clear();
        let value = self.database.get_pinned(key)?;
        Ok(value.map(|value| into.extend_from_slice(&value)).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        let mut cursor = self.database.raw_iterator();
        cursor.seek(from);
        let mut shown = 0;
        while shown < count {
            let Some((key, value)) = cursor.item() else { break };
            visit(key, value);
            shown += 1;
            if shown < count {
                cursor.next();
            }
        }
        cursor.status()?;
        Ok(shown)
    }

    fn sync(&self) -> Result<(), BoxError> {
        Ok(self.database.flush_wal(true)?)
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        let mut batch = WriteBatch::default();
        for (key, value) in pairs {
            batch.put(key, value);
        }
        Ok(self.database.write_opt(batch, &self.write)?)
    }
}
