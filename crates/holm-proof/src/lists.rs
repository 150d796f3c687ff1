//! Lists in a database: what threads do to them at random, and the history of it for [`crate::cycles`].
//!
//! A list is the value of a key. Some lists are shared: who appends to one reads it first. The others belong to one
//! thread each, which knows them and so appends without a read, in batches and plain puts, too. Beside each list lie
//! keys that do not matter. Threads put and remove them, so that the leaves of the lists split, merge and move.

mod reading;
mod worker;

pub use worker::Worker;

use crate::cycles::Lists;
use holm::{Database, Keyspace, ReadOnlyDatabase, Result};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The number of threads that work on the lists.
pub const THREADS: u64 = 3;

/// The lists that all threads append to.
const SHARED: u64 = 4;

/// The lists that belong to each thread.
const OWN: u64 = 2;

/// All lists.
const ALL: u64 = SHARED + THREADS * OWN;

/// The most keys beside lists that a batch changes which is not long.
const LONG: usize = 16;

/// The name of the keyspace.
const NAME: &str = "lists";

/// The name of the keyspace that long transactions read, too. Nobody writes to it.
const OTHER: &str = "other";

/// Leaves of it that a long transaction reads: more than a transaction reads without a snapshot.
const MOST_LEAVES: u64 = 70;

/// Pairs of it in a leaf, at most.
const LEAF: u64 = 56;

/// How many numbers of keys one set of lists occupies.
const SET: u64 = 1 << 8;

/// The keys of the shared lists. Those of each thread lie on both sides of them.
const SHARED_KEYS: Range<u64> = THREADS..THREADS + SHARED;

/// The list of a thread with this number.
fn own_list(thread: u64, number: u64) -> u64 {
    number * SHARED_KEYS.end + thread
}

/// One set of lists in a database.
#[derive(Debug)]
pub struct Board {
    db: Database,
    space: Keyspace,
    /// The number of the set: each set has keys of its own.
    set: u64,
    /// The number of keys beside each list.
    fillers: u8,
    /// The most keys beside lists that a long batch changes; 0: no batch is long.
    long_batch: usize,
    /// The keyspace that long transactions read, too; `None`: no transaction is long.
    other: Option<Keyspace>,
    instants: Arc<AtomicU64>,
    elements: AtomicU64,
}

impl Board {
    /// A set of lists, which are empty at first. Beside each list lie up to `fillers` other keys.
    ///
    /// # Errors
    /// Those of the database.
    pub fn new(db: &Database, set: u64, fillers: u8) -> Result<Self> {
        let space = db.keyspace(NAME)?;
        let (instants, elements) = (Arc::new(AtomicU64::new(1)), AtomicU64::new(1));
        Ok(Board { db: db.clone(), space, set, fillers, long_batch: 0, other: None, instants, elements })
    }

    /// The same lists, in which every other step is a batch of up to `most` keys beside lists: so the stores of commits
    /// take a good part of the time.
    pub fn with_long_batches(self, most: usize) -> Self {
        Board { long_batch: most, ..self }
    }

    /// The same lists, with transactions that read so much in between that they go on at a snapshot.
    ///
    /// # Errors
    /// Those of the database.
    pub fn with_long_transactions(self) -> Result<Self> {
        let other = self.db.keyspace(OTHER)?;
        if other.is_empty()? {
            let pairs = (0..MOST_LEAVES * LEAF).map(|number| number.to_be_bytes());
            pairs.fold(self.db.batch(), |batch, key| batch.insert(&other, key, "")).commit()?;
        }
        Ok(Board { other: Some(other), ..self })
    }

    /// The present instant; no two calls return the same one.
    pub fn now(&self) -> u64 {
        self.instants.fetch_add(1, SeqCst)
    }

    /// The number of the next instant, which [`Board::now`] counts up.
    pub fn instants(&self) -> Arc<AtomicU64> {
        self.instants.clone()
    }

    fn element(&self) -> u64 {
        self.elements.fetch_add(1, SeqCst)
    }

    fn name(&self, key: u64) -> Vec<u8> {
        (self.set * SET + key).to_be_bytes().to_vec()
    }

    fn names(&self, keys: &Range<u64>) -> Range<Vec<u8>> {
        self.name(keys.start)..self.name(keys.end)
    }

    /// The lists that the database has now.
    ///
    /// # Errors
    /// Those of the database.
    pub fn lists(&self) -> Result<Lists> {
        let mut lists = Lists::new();
        for key in 0..ALL {
            if let Some(value) = self.space.get(self.name(key))? {
                lists.insert(key, decode(&value));
            }
        }
        Ok(lists)
    }

    /// Removes the lists and all keys beside them.
    ///
    /// # Errors
    /// Those of the database.
    pub fn clear(&self) -> Result<()> {
        for pair in self.space.range(self.names(&(0..SET))) {
            self.space.remove(pair?.0)?;
        }
        Ok(())
    }
}

/// The lists of the first set, as a reader of a closed database sees them.
///
/// # Errors
/// Those of the database.
pub fn closed_lists(db: &ReadOnlyDatabase) -> Result<Lists> {
    let mut lists = Lists::new();
    if let Some(space) = db.existing_keyspace(NAME)? {
        for key in 0..ALL {
            if let Some(value) = space.get(key.to_be_bytes())? {
                lists.insert(key, decode(&value));
            }
        }
    }
    Ok(lists)
}

fn encode(list: &[u64]) -> Vec<u8> {
    list.iter().flat_map(|element| element.to_le_bytes()).collect()
}

fn decode(value: &[u8]) -> Vec<u64> {
    value.as_chunks().0.iter().map(|element| u64::from_le_bytes(*element)).collect()
}
