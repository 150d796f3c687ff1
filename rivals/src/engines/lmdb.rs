//! LMDB through heed: the unnamed database, one transaction per call. Relaxed is `NO_SYNC`. `lmdb` keeps the map
//! read-only; `writemap` writes through it, which is LMDB's fastest setting, and without syncs a power failure can
//! corrupt its file. The binding declares `open` unsafe: this is the only file of the package that needs `unsafe`.

use super::{Durability, Opened};
use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};
use holm_bench::{BoxError, Change, Engine, confine};
use std::ops::Bound;
use std::path::Path;

/// LMDB needs its maximum size in advance; it costs only address space.
const MAP_BYTES: usize = 64 << 30;

struct Lmdb {
    environment: Env,
    database: Database<Bytes, Bytes>,
    name: &'static str,
}

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    open_with("lmdb", folder, durability, EnvFlags::empty())
}

/// With a writable map.
pub(super) fn writemap(folder: &Path, durability: Durability) -> Opened {
    open_with("writemap", folder, durability, EnvFlags::WRITE_MAP)
}

fn open_with(name: &'static str, folder: &Path, durability: Durability, map: EnvFlags) -> Opened {
    let folder = folder.join("data.lmdb");
    std::fs::create_dir_all(&folder)?;
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES).max_readers(1100);
    let sync = if durability == Durability::Relaxed { EnvFlags::NO_SYNC } else { EnvFlags::empty() };
    // Reading ahead is of no use where most of what it reads is evicted before it is needed.
    let ahead = if confine::limit().is_some() { EnvFlags::NO_READ_AHEAD } else { EnvFlags::empty() };
    // SAFETY: NO_SYNC is unsafe because a power failure may leave a corrupt file; a benchmark deletes its folder.
    // WRITE_MAP is unsafe because a stray write of this process could reach the map; the other code of it has no
    // pointer into the map.
    unsafe { options.flags(sync | map | ahead) };
    // SAFETY: the file is mapped. It is in a folder that the benchmark created for this process alone, so no other
    // process truncates or writes it, and this process opens it once.
    let environment = unsafe { options.open(&folder)? };
    let mut transaction = environment.write_txn()?;
    let database = environment.create_database(&mut transaction, None)?;
    transaction.commit()?;
    Ok(Box::new(Lmdb { environment, database, name }))
}

impl Engine for Lmdb {
    fn name(&self) -> &str {
        self.name
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        let mut transaction = self.environment.write_txn()?;
        self.database.put(&mut transaction, key, value)?;
        Ok(transaction.commit()?)
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        into.clear();
        let transaction = self.environment.read_txn()?;
        let value = self.database.get(&transaction, key)?;
        Ok(value.map(|value| into.extend_from_slice(value)).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        let transaction = self.environment.read_txn()?;
        let bounds = (Bound::Included(from), Bound::Unbounded);
        let mut shown = 0;
        for pair in self.database.range(&transaction, &bounds)?.take(count) {
            let (key, value) = pair?;
            visit(key, value);
            shown += 1;
        }
        Ok(shown)
    }

    fn sync(&self) -> Result<(), BoxError> {
        Ok(self.environment.force_sync()?)
    }

    fn transact(&self, keys: [&[u8]; 2], values: &mut [Vec<u8>; 2], change: Change<'_>) -> Result<bool, BoxError> {
        let mut transaction = self.environment.write_txn()?;
        for (key, value) in keys.iter().zip(values.iter_mut()) {
            let Some(found) = self.database.get(&transaction, key)? else { return Ok(false) };
            value.clear();
            value.extend_from_slice(found);
        }
        change(values);
        for (key, value) in keys.iter().zip(values) {
            self.database.put(&mut transaction, key, value)?;
        }
        transaction.commit()?;
        Ok(true)
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        let mut transaction = self.environment.write_txn()?;
        for (key, value) in pairs {
            self.database.put(&mut transaction, key, value)?;
        }
        Ok(transaction.commit()?)
    }
}
