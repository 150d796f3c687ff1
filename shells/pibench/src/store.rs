//! Keys and values of any size, in the store, over its own files or over a medium that flushes.

use crate::mapped_storage::{MappedStorage, folder_in};
use crate::settings::{Kind, Settings};
use crate::stripes::Stripes;
use crate::tree::{Tree, WORD};
use anyhow::{Result, ensure};
use holm::{Database, Durability, ImageMode, Keyspace};
use holm_lab::store::{Laboratory, over_mapped};
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use tempfile::TempDir;

/// A database with one keyspace.
pub(crate) struct Store {
    keyspace: Keyspace,
    database: Database,
    stripes: Stripes,
    sizes: [usize; 2],
    about: String,
    // Dropped last, because the database uses the medium.
    storage: Option<MappedStorage>,
    _folder: Option<TempDir>,
}

thread_local! {
    /// The buffer for a value that is being returned.
    static VALUE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns the key in the store's order: the most significant byte of a number comes first.
fn ordered(key: &[u8]) -> Result<[u8; WORD], &[u8]> {
    <[u8; WORD]>::try_from(key).map(|word| u64::from_ne_bytes(word).to_be_bytes()).map_err(|_| key)
}

fn hash(key: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(key);
    hasher.finish()
}

impl Store {
    pub(crate) fn open(sizes: [usize; 2], path: &Path, settings: Settings) -> Result<Self> {
        let about = format!("{} on {}, {:?}", settings.design, settings.kind.name(), settings.durability);
        let (storage, folder, database) = if settings.kind == Kind::File {
            let folder = folder_in(path)?;
            let image = if settings.per_epoch { ImageMode::Shared } else { ImageMode::Private };
            let options = Database::builder().laboratory().design(&settings.design).image(image);
            let database = options.durability(settings.durability).open(folder.path().join("pibench.holm"))?;
            (None, Some(folder), database)
        } else {
            let storage = MappedStorage::open(path, &settings)?;
            // The other designs are durable when an operation returns, so no write has to wait.
            let durability = if settings.per_epoch { settings.durability } else { Durability::OnSync };
            let database = over_mapped(storage.writer.clone(), &settings.design, durability)?;
            (Some(storage), None, database)
        };
        let keyspace = database.keyspace("pibench")?;
        Ok(Store { keyspace, database, stripes: Stripes::new(), sizes, about, storage, _folder: folder })
    }
}

impl Tree for Store {
    fn find(&self, key: &[u8], value: &mut [u8]) -> Result<bool> {
        let ordered = ordered(key);
        let key = ordered.as_ref().map_or_else(|key| *key, |key| &key[..]);
        VALUE.with_borrow_mut(|found| {
            if !self.keyspace.get_into(key, found)? {
                return Ok(false);
            }
            value.copy_from_slice(found);
            Ok(true)
        })
    }

    fn put(&self, key: &[u8], value: &[u8], wanted: bool) -> Result<bool> {
        ensure!([key.len(), value.len()] == self.sizes, "a pair of other sizes than the tree was made for");
        let ordered = ordered(key);
        let key = ordered.as_ref().map_or_else(|key| *key, |key| &key[..]);
        let _turn = self.stripes.lock(hash(key));
        if self.keyspace.contains_key(key)? != wanted {
            return Ok(false);
        }
        self.keyspace.insert(key, value)?;
        Ok(true)
    }

    fn remove(&self, key: &[u8]) -> Result<bool> {
        let ordered = ordered(key);
        let key = ordered.as_ref().map_or_else(|key| *key, |key| &key[..]);
        // Without the lock, a remove could run between the lookup and the write of a put, and the put's result would be
        // wrong.
        let _turn = self.stripes.lock(hash(key));
        Ok(self.keyspace.remove(key)?)
    }

    fn scan(&self, key: &[u8], count: usize, pairs: &mut Vec<u8>) -> Result<usize> {
        let is_number = key.len() == WORD;
        let ordered = ordered(key);
        let low = ordered.as_ref().map_or_else(|key| *key, |key| &key[..]);
        let mut iter = self.keyspace.range(low..).limit(count);
        let mut found = 0;
        while let Some(pair) = iter.next_ref() {
            let (key, value) = pair?;
            match key.try_into() {
                Ok(word) if is_number => pairs.extend_from_slice(&u64::from_be_bytes(word).to_ne_bytes()),
                _ => pairs.extend_from_slice(key),
            }
            pairs.extend_from_slice(value);
            found += 1;
        }
        Ok(found)
    }

    fn counts(&self) -> Result<String> {
        let stats = self.database.stats();
        let head = format!("{}: {} pairs, {} leaves", self.about, self.keyspace.len()?, stats.space.leaves);
        Ok(match self.storage.as_ref().map(MappedStorage::counts) {
            Some(counts) => format!(
                "{head}; {} words written, {} lines flushed, {} fences",
                counts.writes, counts.flushes, counts.fences
            ),
            None => format!(
                "{head}; {} bytes logged in {} entries, {} bytes written back in {} checkpoints",
                stats.log.bytes, stats.log.entries, stats.log.write_back_bytes, stats.log.checkpoints
            ),
        })
    }
}
