//! Keys and values of one word each: slots hold them whole, as in the papers.

use crate::mapped_storage::MappedStorage;
use crate::settings::Settings;
use crate::stripes::Stripes;
use crate::tree::{Tree, WORD};
use anyhow::{Context, Result};
use holm::Durability;
use holm_medium::{Guard, StorageOps};
use holm_search::Search;
use holm_tree::{Index, LeafCursor, SeekTarget, TreeRoot, Wanted};
use std::path::Path;

/// The tree of a design, and its only root.
pub(crate) struct Words {
    index: Box<dyn Index<holm_tree::Words>>,
    root: TreeRoot,
    stripes: Stripes,
    strict: bool,
    about: String,
    // Dropped last, because the tree uses the medium.
    storage: MappedStorage,
}

/// Returns a word in the machine's byte order.
fn word(bytes: &[u8]) -> Result<u64> {
    let bytes = bytes.try_into().ok().with_context(|| format!("{} bytes, expected {WORD}", bytes.len()))?;
    Ok(u64::from_ne_bytes(bytes))
}

impl Words {
    pub(crate) fn open(path: &Path, settings: Settings) -> Result<Self> {
        let storage = MappedStorage::open(path, &settings)?;
        let search = Search::detect();
        let index = holm_lab::words::design(&settings.design, storage.writer.clone(), search);
        let index = index.context("a design that keeps words")?;
        let root = index.create_tree(&mut storage.writer.clock().pin()?, 1)?;
        // The other designs are durable when an operation returns, so no write has to wait.
        let strict = settings.per_epoch && settings.durability == Durability::Strict;
        let about = format!("{} on {}, +{} ns a line", settings.design, settings.kind.name(), settings.flush_ns);
        Ok(Words { index, root, stripes: Stripes::new(), strict, about, storage })
    }

    /// Changes the value of a key, if the key's presence equals `wanted`.
    fn change(
        &self,
        key: u64,
        wanted: bool,
        work: impl FnOnce(&mut Guard<'_>) -> holm_medium::Result<()>,
    ) -> Result<bool> {
        let turn = self.stripes.lock(key);
        if self.index.get(&self.root, key).payload.is_some() != wanted {
            return Ok(false);
        }
        let clock = self.storage.writer.clock();
        let mut guard = clock.pin()?;
        work(&mut guard)?;
        let label = guard.epoch();
        // The guard must go before this thread waits for the epoch: the end of the epoch waits for all guards in it.
        drop(guard);
        drop(turn);
        if self.strict {
            clock.wait_durable(label)?;
        }
        Ok(true)
    }
}

impl Tree for Words {
    fn find(&self, key: &[u8], value: &mut [u8]) -> Result<bool> {
        let Some(payload) = self.index.get(&self.root, word(key)?).payload else { return Ok(false) };
        value.copy_from_slice(&payload.to_ne_bytes());
        Ok(true)
    }

    fn put(&self, key: &[u8], value: &[u8], wanted: bool) -> Result<bool> {
        let (key, value) = (word(key)?, word(value)?);
        self.change(key, wanted, |guard| self.index.put(&self.root, guard, key, value).map(drop))
    }

    fn remove(&self, key: &[u8]) -> Result<bool> {
        let key = word(key)?;
        self.change(key, true, |guard| self.index.remove(&self.root, guard, key).map(drop))
    }

    fn scan(&self, key: &[u8], count: usize, pairs: &mut Vec<u8>) -> Result<usize> {
        let (mut low, mut cursor, mut found) = (word(key)?, LeafCursor::default(), 0);
        while found < count {
            self.index.copy_leaf(&self.root, SeekTarget::Holding(low), Wanted::pairs(count - found), &mut cursor);
            let from = cursor.pairs.partition_point(|slot| slot.head < low);
            for slot in cursor.pairs[from..].iter().take(count - found) {
                pairs.extend_from_slice(&slot.head.to_ne_bytes());
                pairs.extend_from_slice(&slot.payload.to_ne_bytes());
                found += 1;
            }
            match cursor.edge {
                Some(edge) if edge > low => low = edge,
                _ => break,
            }
        }
        Ok(found)
    }

    fn counts(&self) -> Result<String> {
        let counts = self.storage.counts();
        let (pairs, leaves) = (self.root.pairs(), self.storage.writer.space().block_frontier());
        Ok(format!(
            "{}: {pairs} pairs, {leaves} blocks; {} words written, {} lines flushed, {} fences",
            self.about, counts.writes, counts.flushes, counts.fences
        ))
    }
}
