//! fjall with transactions, which need a database of another type: `fjall-optimistic`, whose commits are checked for
//! conflicts, and `fjall-serial`, in which one transaction at a time writes. Relaxed commits write the journal to the
//! page cache. Synced ones call `persist(SyncData)` after the commit, when the commit's locks are free: then threads
//! share syncs. Everything but transactions is as in `fjall`.

use super::fjall::{Fjall, cache, keyspace_options};
use super::{Durability, Opened};
use fjall::{OptimisticTxDatabase, OptimisticTxKeyspace, PersistMode, Readable};
use fjall::{SingleWriterTxDatabase, SingleWriterTxKeyspace};
use holm_bench::{BoxError, Change, Engine};
use std::path::Path;

pub(super) const FJALL_OPTIMISTIC: &str = "fjall-optimistic";
pub(super) const FJALL_SERIAL: &str = "fjall-serial";

struct Transacting<T> {
    name: &'static str,
    plain: Fjall,
    transactions: T,
}

/// A kind of transactions.
trait Transactions: Send + Sync {
    /// Runs one transaction. Returns `None` after a conflict, and whether both keys are there.
    fn attempt(
        &self,
        keys: [&[u8]; 2],
        values: &mut [Vec<u8>; 2],
        change: Change<'_>,
    ) -> Result<Option<bool>, BoxError>;
}

struct Optimistic(OptimisticTxDatabase, OptimisticTxKeyspace);

struct Serial(SingleWriterTxDatabase, SingleWriterTxKeyspace);

pub(super) fn optimistic(folder: &Path, durability: Durability) -> Opened {
    let path = folder.join("data.fjall");
    let database = OptimisticTxDatabase::builder(path).cache_size(cache()).open()?;
    let keyspace = database.keyspace("default", keyspace_options)?;
    let (synced, inner) = (durability == Durability::Synced, keyspace.inner().clone());
    let plain = Fjall { database: database.inner().clone(), keyspace: inner, synced };
    Ok(Box::new(Transacting { name: FJALL_OPTIMISTIC, plain, transactions: Optimistic(database, keyspace) }))
}

pub(super) fn serial(folder: &Path, durability: Durability) -> Opened {
    let path = folder.join("data.fjall");
    let database = SingleWriterTxDatabase::builder(path).cache_size(cache()).open()?;
    let keyspace = database.keyspace("default", keyspace_options)?;
    let (synced, inner) = (durability == Durability::Synced, keyspace.inner().clone());
    let plain = Fjall { database: database.inner().clone(), keyspace: inner, synced };
    Ok(Box::new(Transacting { name: FJALL_SERIAL, plain, transactions: Serial(database, keyspace) }))
}

/// Reads both values; false if one is absent.
fn read(
    transaction: &impl Readable,
    keyspace: &fjall::Keyspace,
    keys: [&[u8]; 2],
    values: &mut [Vec<u8>; 2],
) -> Result<bool, BoxError> {
    for (key, value) in keys.iter().zip(values) {
        let Some(found) = transaction.get(keyspace, key)? else { return Ok(false) };
        value.clear();
        value.extend_from_slice(&found);
    }
    Ok(true)
}

impl Transactions for Optimistic {
    fn attempt(
        &self,
        keys: [&[u8]; 2],
        values: &mut [Vec<u8>; 2],
        change: Change<'_>,
    ) -> Result<Option<bool>, BoxError> {
        let Optimistic(database, keyspace) = self;
        let mut transaction = database.write_tx()?;
        if !read(&transaction, keyspace.inner(), keys, values)? {
            return Ok(Some(false));
        }
        change(values);
        for (key, value) in keys.iter().zip(values) {
            transaction.insert(keyspace, *key, value.as_slice());
        }
        Ok(transaction.commit()?.is_ok().then_some(true))
    }
}

impl Transactions for Serial {
    fn attempt(
        &self,
        keys: [&[u8]; 2],
        values: &mut [Vec<u8>; 2],
        change: Change<'_>,
    ) -> Result<Option<bool>, BoxError> {
        let Serial(database, keyspace) = self;
        let mut transaction = database.write_tx();
        if !read(&transaction, keyspace.inner(), keys, values)? {
            return Ok(Some(false));
        }
        change(values);
        for (key, value) in keys.iter().zip(values) {
            transaction.insert(keyspace, *key, value.as_slice());
        }
        transaction.commit()?;
        Ok(Some(true))
    }
}

impl<T: Transactions> Engine for Transacting<T> {
    fn name(&self) -> &str {
        self.name
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        self.plain.insert(key, value)
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        self.plain.read(key, into)
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        self.plain.scan(from, count, visit)
    }

    fn sync(&self) -> Result<(), BoxError> {
        self.plain.sync()
    }

    fn transact(&self, keys: [&[u8]; 2], values: &mut [Vec<u8>; 2], change: Change<'_>) -> Result<bool, BoxError> {
        let stored = loop {
            if let Some(stored) = self.transactions.attempt(keys, values, change)? {
                break stored;
            }
        };
        if stored && self.plain.synced {
            self.plain.database.persist(PersistMode::SyncData)?;
        }
        Ok(stored)
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        self.plain.batch(pairs)
    }
}
