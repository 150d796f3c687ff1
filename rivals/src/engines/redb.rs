//! redb: one table, one transaction per call. Relaxed is `Durability::None`: nothing reaches the disk until the next
//! immediate commit, which here is `sync`.

use super::{Durability, HALF, Opened, cache_bytes};
use holm_bench::{BoxError, Change, Engine};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::path::Path;

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("default");

struct Redb {
    database: Database,
    durability: redb::Durability,
}

pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    let database = Database::builder().set_cache_size(cache_bytes(HALF)).create(folder.join("data.redb"))?;
    // The table exists from here on, so reads need not check for it.
    let transaction = database.begin_write()?;
    transaction.open_table(TABLE)?;
    transaction.commit()?;
    let durability = match durability {
        Durability::Relaxed => redb::Durability::None,
        Durability::Synced => redb::Durability::Immediate,
    };
    Ok(Box::new(Redb { database, durability }))
}

impl Redb {
    fn write<'a>(
        &self,
        durability: redb::Durability,
        pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<(), BoxError> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        {
            let mut table = transaction.open_table(TABLE)?;
            for (key, value) in pairs {
                table.insert(key, value)?;
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Engine for Redb {
    fn name(&self) -> &str {
        "redb"
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        self.write(self.durability, std::iter::once((key, value)))
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        into.clear();
        let table = self.database.begin_read()?.open_table(TABLE)?;
        let value = table.get(key)?;
        Ok(value.map(|value| into.extend_from_slice(value.value())).is_some())
    }

    fn scan(&self, from: &[u8], count: usize, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        let table = self.database.begin_read()?.open_table(TABLE)?;
        let mut shown = 0;
        for pair in table.range(from..)?.take(count) {
            let (key, value) = pair?;
            visit(key.value(), value.value());
            shown += 1;
        }
        Ok(shown)
    }

    fn sync(&self) -> Result<(), BoxError> {
        self.write(redb::Durability::Immediate, std::iter::empty())
    }

    fn transact(&self, keys: [&[u8]; 2], values: &mut [Vec<u8>; 2], change: Change<'_>) -> Result<bool, BoxError> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        {
            let mut table = transaction.open_table(TABLE)?;
            for (key, value) in keys.iter().zip(values.iter_mut()) {
                let Some(found) = table.get(key)? else { return Ok(false) };
                value.clear();
                value.extend_from_slice(found.value());
            }
            change(values);
            for (key, value) in keys.iter().zip(values) {
                table.insert(key, value.as_slice())?;
            }
        }
        transaction.commit()?;
        Ok(true)
    }

    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        self.write(self.durability, pairs.iter().map(|(key, value)| (key.as_slice(), value.as_slice())))
    }
}
