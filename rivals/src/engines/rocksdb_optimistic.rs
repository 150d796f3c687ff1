//! `rocksdb-optimistic`: RocksDB with transactions, whose commits are checked for conflicts, which needs a database of
//! another type. Each read of a transaction takes part in the check, so transactions are serializable. Everything else
//! is as in `rocksdb`.

use super::rocksdb::{options, read, scan, synced};
use super::{Durability, Opened};
use holm_bench::{BoxError, Change, Engine};
use rocksdb::{Error, ErrorKind, OptimisticTransactionDB, OptimisticTransactionOptions};
use rocksdb::{ReadOptions, WriteBatchWithTransaction, WriteOptions};
use std::path::Path;

pub(super) const ROCKSDB_OPTIMISTIC: &str = "rocksdb-optimistic";

struct Optimistic {
    database: OptimisticTransactionDB,
    read: ReadOptions,
    write: WriteOptions,
    transaction: OptimisticTransactionOptions,
}

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    let database = OptimisticTransactionDB::open(&options(), folder.join("data.rocksdb"))?;
    let (read, transaction) = (ReadOptions::default(), OptimisticTransactionOptions::default());
    Ok(Box::new(Optimistic { database, read, write: synced(durability), transaction }))
}

/// Whether a transaction has to begin anew: another one has written what it read, or the memtables no longer say so.
fn is_conflict(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Busy | ErrorKind::TryAgain)
}

impl Engine for Optimistic {
    fn name(&self) -> &str {
        ROCKSDB_OPTIMISTIC
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        Ok(self.database.put_opt(key, value, &self.write)?)
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        read(&self.database, key, &self.read, into)
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        scan(self.database.raw_iterator(), from, count, visit)
    }

    fn sync(&self) -> Result<(), BoxError> {
        Ok(self.database.flush_wal(true)?)
    }

    fn transact(&self, keys: [&[u8]; 2], values: &mut [Vec<u8>; 2], change: Change<'_>) -> Result<bool, BoxError> {
        loop {
            let transaction = self.database.transaction_opt(&self.write, &self.transaction);
            for (key, value) in keys.iter().zip(values.iter_mut()) {
                // Exclusive or not is the same here: the read is checked.
                let Some(found) = transaction.get_pinned_for_update(key, true)? else { return Ok(false) };
                value.clear();
                value.extend_from_slice(&found);
            }
            change(values);
            for (key, value) in keys.iter().zip(values.iter()) {
                transaction.put(key, value)?;
            }
            match transaction.commit() {
                Err(error) if is_conflict(&error) => {}
                done => return Ok(done.map(|()| true)?),
            }
        }
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        let mut batch = WriteBatchWithTransaction::<true>::default();
        for (key, value) in pairs {
            batch.put(key, value);
        }
        Ok(self.database.write_opt(batch, &self.write)?)
    }
}
