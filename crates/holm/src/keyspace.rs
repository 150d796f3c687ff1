//! One named, ordered map of a database.

use crate::engine::{Engine, Tree};
use crate::error::{Error, Result};
use crate::iter::Iter;
use crate::keys::{Probe, beyond};
use crate::operation::Operation;
use crate::record;
use crate::slice::Slice;
use crate::{MAX_KEY, MAX_VALUE};
use holm_medium::Image;
use std::cell::RefCell;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

thread_local! {
    /// Where records are laid out before they are laid down.
    static BUFFER: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A named, ordered map. Cloning is cheap and shares it.
#[derive(Clone)]
pub struct Keyspace {
    engine: Arc<Engine>,
    tree: Arc<Tree>,
}

impl std::fmt::Debug for Keyspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyspace").field("name", &self.tree.name).finish_non_exhaustive()
    }
}

/// Refuses what is over the limits.
pub(crate) fn limit(key: &[u8], value: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY {
        return Err(Error::TooLarge { what: "a key", found: key.len() as u64, limit: MAX_KEY as u64 });
    }
    if value.len() > MAX_VALUE {
        return Err(Error::TooLarge { what: "a value", found: value.len() as u64, limit: MAX_VALUE as u64 });
    }
    Ok(())
}

impl Keyspace {
    pub(crate) fn new(engine: Arc<Engine>, tree: Arc<Tree>) -> Self {
        Keyspace { engine, tree }
    }

    pub(crate) fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.tree.name
    }

    /// Puts a value under a key, replacing what was there. O(log n). Durable as the database's mode says.
    ///
    /// # Errors
    /// `TooLarge` beyond 64 KiB of key or 1 GiB of value; `NoSpace` and `Capacity`, and nothing has changed (but see
    /// `NoSpace` of `Strict`); `Poisoned`; `Dropped`.
    pub fn insert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let (key, value) = (key.as_ref(), value.as_ref());
        limit(key, value)?;
        let mut operation = Operation::begin_to_write(&self.engine, key, value)?;
        self.tree.alive()?;
        let payload = BUFFER.with_borrow_mut(|buffer| {
            let payload = operation.write_record(key, value, buffer);
            if buffer.capacity() > 1 << 17 {
                // One large value must not cost every thread a large buffer for ever.
                *buffer = Vec::new();
            }
            payload
        })?;
        operation.put(&self.tree, key, payload, None)?;
        operation.finish()
    }

    /// The value of a key.
    ///
    /// # Errors
    /// `Dropped`; in strict mode `Poisoned`, if what was seen cannot be made durable.
    #[inline]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.engine.get(&self.tree, key.as_ref(), record::copy_value)
    }

    /// The value of a key, into a buffer that is used again: whether it is there, and the buffer then holds it and
    /// nothing else. The buffer is empty otherwise.
    ///
    /// # Errors
    /// As [`Keyspace::get`]; what the buffer holds then is no value.
    #[inline]
    pub fn get_into(&self, key: impl AsRef<[u8]>, into: &mut Vec<u8>) -> Result<bool> {
        let copy = |image: &Image, payload| record::copy_value_into(image, payload, into);
        let found = self.engine.get(&self.tree, key.as_ref(), copy)?.is_some();
        if !found {
            into.clear();
        }
        Ok(found)
    }

    /// The values of many keys, in their order; several times faster than one by one, for the misses overlap. Each key
    /// is looked up at an instant of its own.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Slice>>> {
        self.tree.alive()?;
        let probes: Vec<_> = keys.iter().map(|key| Probe::new(key.as_ref())).collect();
        let mut sightings = Vec::with_capacity(keys.len());
        self.engine.index.get_many(&self.tree.root, &probes, &mut sightings);
        let image = self.engine.ground.image();
        let found = keys.iter().zip(sightings).map(|(key, sighting)| {
            let copy = || sighting.payload.map(|payload| record::copy_value(image, payload));
            let seen = sighting.payload.map(|_| sighting.seen);
            match self.engine.validated(&self.tree, (seen, sighting.stamp), copy)? {
                Some(None) => Ok(None),
                Some(Some(Some(value))) => Ok(Some(value)),
                // Changed under way, or damaged: looked up by itself.
                Some(Some(None)) | None => self.engine.get(&self.tree, key.as_ref(), record::copy_value),
            }
        });
        found.collect()
    }

    /// Whether the key is there.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        let sighting = self.engine.index.get(&self.tree.root, Probe::new(key.as_ref()));
        self.engine.validated(&self.tree, (None, sighting.stamp), || ())?;
        Ok(sighting.payload.is_some())
    }

    /// Takes a key away, and tells whether it was there.
    ///
    /// # Errors
    /// `Poisoned`, `Dropped`; `NoSpace` where leaves were to be merged and no block was to be had (the key is gone
    /// then).
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        let mut operation = Operation::begin(&self.engine)?;
        self.tree.alive()?;
        let removed = operation.remove(&self.tree, key.as_ref(), None)?;
        operation.finish()?;
        Ok(removed)
    }

    /// The pair with the least key.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn first(&self) -> Result<Option<(Slice, Slice)>> {
        self.iter().limit(1).next().transpose()
    }

    /// The pair with the greatest key.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    pub fn last(&self) -> Result<Option<(Slice, Slice)>> {
        self.iter().limit(1).next_back().transpose()
    }

    /// The number of pairs; of a keyspace that was dropped, what it had. Exact while nobody writes; O(threads that have
    /// written to the keyspace). In strict mode it waits until every operation that it may have counted is durable.
    ///
    /// # Errors
    /// In strict mode `Poisoned` or `NoSpace`, if what was counted cannot be made durable.
    pub fn len(&self) -> Result<u64> {
        // An operation counts before it leaves its epoch: the active epoch, read afterwards, is the last it can have.
        let pairs = self.tree.root.pairs();
        self.engine.admit_all()?;
        Ok(pairs)
    }

    /// Whether there is no pair, as [`Keyspace::len`] counts them.
    ///
    /// # Errors
    /// As [`Keyspace::len`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Every pair, in the order of keys. What an iterator sees: [`Iter`].
    pub fn iter(&self) -> Iter {
        self.range::<Vec<u8>>(..)
    }

    /// The pairs of a range.
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter {
        Iter::new(self.engine.clone(), self.tree.clone(), range)
    }

    /// The pairs whose keys start with `prefix`.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Iter {
        let prefix = prefix.as_ref();
        let end = beyond(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        self.range((Bound::Included(prefix.to_vec()), end))
    }
}
