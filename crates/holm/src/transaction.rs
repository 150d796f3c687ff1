//! Transactions: reads and writes of any number of keys that take effect at one instant.
//!
//! Optimistic, as in Silo (Tu and others, SOSP 2013), with the leaf as the granule. Nothing is latched or pinned
//! between two calls, so a transaction that is never finished holds nobody up. `reads` has what was read, `writes` what
//! is to be written, `range` merges both for scans. `retry` begins a transaction anew after a conflict. One that has
//! conflicted often takes the `fallback_lock`. The commit is that of batches: [`crate::commit`].

mod expect_writes;
mod expected;
mod expire;
mod fallback_lock;
mod len;
mod range;
mod read_ahead;
mod reads;
mod remove_range;
mod retry;
mod writes;

pub(crate) use fallback_lock::{FallbackGuard, FallbackLock};
pub use range::TransactionRange;
pub use retry::ReadTransaction;
pub(crate) use retry::{pause, read, transact, transact_owned};

use crate::commit::{self, Write};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::expiry::Deadline;
use crate::iter::of_prefix;
use crate::keyspace::{Keyspace, limit};
use crate::keyspace_tree::KeyspaceTree;
use crate::mark::{self, MARK};
use crate::slice::Slice;
use crate::store::Store;
use expected::Expected;
use holm_medium::Epoch;
use reads::{CommittedReads, PooledReads};
use std::cell::RefCell;
use std::ops::RangeBounds;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use writes::Writes;

/// A serializable transaction: [`Database::transact`](crate::Database::transact) runs one, and
/// [`Database::begin`](crate::Database::begin) hands one out.
///
/// It sees the database as it is at one instant, and its own writes. Nobody else sees these before
/// [`Transaction::commit`]; then everybody sees all of them. If another thread changes what the transaction has read, a
/// later call returns [`Error::Conflict`], and the transaction cannot be continued: drop it and begin anew. A
/// transaction that is dropped has done nothing. It holds no lock and keeps no other thread waiting; only `transact`,
/// after eight conflicts, has other commits wait, for at most ten milliseconds.
///
/// - A get conflicts with a change of the value that it returned. A scan conflicts with any change among the pairs that
///   it has read and their neighbours in the same leaf, about seventeen pairs. A
///   [compaction](crate::Database::compact) that moves one of them is such a change.
/// - Writes alone never conflict.
/// - A transaction that has read more than 64 leaves holds a snapshot until it ends, and reads there. Its reads no
///   longer conflict, nor does a commit without writes.
/// - Keys, values and 64 bytes for each write come to 64 MiB at most.
///
/// A transaction may move to another thread, but is used by one at a time.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// # let reefs = db.keyspace("reefs")?;
/// use holm::Error;
///
/// reefs.insert("north", "coral")?;
/// let transaction = db.begin();
/// let north = transaction.get(&reefs, "north")?.expect("it was inserted");
/// transaction.insert(&reefs, "south", &north)?;
/// assert_eq!(reefs.get("south")?, None); // nobody sees it yet
/// reefs.insert("north", "sand")?; // somebody else changes what was read
/// assert!(matches!(transaction.commit(), Err(Error::Conflict)));
/// assert_eq!(reefs.get("south")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction {
    engine: Arc<Engine>,
    state: RefCell<State>,
}

/// What a transaction has read and is going to write.
struct State {
    reads: PooledReads,
    writes: Writes,
    expected: Expected,
    /// The mark that it sets.
    marks: Option<u64>,
    /// It has conflicted, so nothing more that it reads would belong together.
    conflicted: bool,
}

impl State {
    /// Notes a write, and whether its key was read just before.
    fn write(&mut self, tree: &Arc<KeyspaceTree>, key: &[u8], value: Option<(&[u8], Deadline)>) -> Result<()> {
        self.writes.set(tree, key, value, self.reads.recent(tree, key))
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").field("database", &self.engine.store.path).finish_non_exhaustive()
    }
}

impl Transaction {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let (reads, writes, expected) = (PooledReads::take(), Writes::default(), Expected::default());
        Transaction { engine, state: RefCell::new(State { reads, writes, expected, marks: None, conflicted: false }) }
    }

    fn store(&self) -> &Store {
        &self.engine.store
    }

    /// Runs a step, unless the transaction has conflicted; remembers if the step conflicts.
    fn with_state<T>(&self, step: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let state = &mut *self.state.borrow_mut();
        if state.conflicted {
            return Err(Error::Conflict);
        }
        let done = step(state);
        state.conflicted = matches!(done, Err(Error::Conflict));
        done
    }

    /// Returns whether the transaction has conflicted.
    fn has_conflicted(&self) -> bool {
        self.state.borrow().conflicted
    }

    /// Returns the tree of a keyspace of this database.
    fn tree<'k>(&self, keyspace: &'k Keyspace) -> Result<&'k Arc<KeyspaceTree>> {
        if !Arc::ptr_eq(keyspace.engine(), &self.engine) {
            let what = format!("the keyspace {:?} belongs to another database than the transaction", keyspace.name());
            return Err(Error::Invalid { what });
        }
        Ok(keyspace.tree())
    }

    /// Returns the value of a key, or `None` if the key is absent. O(log n), and O(1) more for each leaf that the
    /// transaction has read before, up to 64 of them.
    ///
    /// # Errors
    /// [`Conflict`](Error::Conflict); [`Invalid`](Error::Invalid) for a keyspace of another database; otherwise as
    /// [`Keyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let transaction = db.begin();
    /// assert_eq!(transaction.get(&reefs, "north")?, None);
    /// transaction.insert(&reefs, "north", "coral")?;
    /// assert_eq!(transaction.get(&reefs, "north")?.as_deref(), Some(&b"coral"[..])); // its own write
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, from: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.get_from(self.tree(from)?, key.as_ref())
    }

    fn get_from(&self, tree: &Arc<KeyspaceTree>, key: &[u8]) -> Result<Option<Slice>> {
        self.with_state(|state| {
            let view = state.reads.view(self.store(), tree);
            if let Some(own) = state.writes.get(tree, key) {
                tree.check_not_dropped()?;
                return Ok(own.visible(view).map(Slice::from));
            }
            state.reads.get(&self.engine, (tree, key, view))
        })
    }

    /// Returns whether a key is present.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn contains_key(&self, from: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.get(from, key)?.is_some())
    }

    /// Stores a value under a key, when the transaction commits. The key does not expire.
    ///
    /// # Errors
    /// [`TooLarge`](Error::TooLarge): the key, the value or the transaction exceeds its limit, and the write is left
    /// out. [`Invalid`](Error::Invalid) for a keyspace of another database. [`Conflict`](Error::Conflict) if an earlier
    /// call has conflicted.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let transaction = db.begin();
    /// transaction.insert(&reefs, "north", "coral")?;
    /// transaction.insert(&reefs, "south", "sand")?;
    /// transaction.commit()?;
    /// assert_eq!(reefs.len()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert(&self, into: &Keyspace, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put(into, key.as_ref(), value.as_ref(), Deadline::NEVER)
    }

    fn put(&self, into: &Keyspace, key: &[u8], value: &[u8], deadline: Deadline) -> Result<()> {
        let tree = self.tree(into)?;
        limit(key, value)?;
        self.with_state(|state| state.write(tree, key, Some((value, deadline))))
    }

    /// Stores a value that expires, as [`Keyspace::insert_for`], when the transaction commits. The lifetime counts
    /// from this call on.
    ///
    /// # Errors
    /// As [`Transaction::insert`]; [`Invalid`](Error::Invalid) also in a keyspace without expiry.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::KeyspaceOptions;
    /// use std::time::Duration;
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// db.transact(|transaction| transaction.insert_for(&tides, "north", "high", Duration::from_secs(3600)))?;
    /// assert!(tides.contains_key("north")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_for(
        &self,
        into: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        lifetime: Duration,
    ) -> Result<()> {
        self.tree(into)?.check_expires()?;
        let deadline = Deadline::after(self.store().wall_clock.now(), lifetime);
        self.put(into, key.as_ref(), value.as_ref(), deadline)
    }

    /// As [`Transaction::insert_for`], until a time.
    ///
    /// # Errors
    /// As [`Transaction::insert_for`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::KeyspaceOptions;
    /// use std::time::{Duration, SystemTime};
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
    /// db.transact(|transaction| transaction.insert_until(&tides, "north", "high", tomorrow))?;
    /// assert!(tides.contains_key("north")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_until(
        &self,
        into: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        time: SystemTime,
    ) -> Result<()> {
        self.tree(into)?.check_expires()?;
        self.put(into, key.as_ref(), value.as_ref(), Deadline::at(time))
    }

    /// Removes a key if it is present, when the transaction commits. Reads nothing, so it does not conflict.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let transaction = db.begin();
    /// transaction.remove(&reefs, "north")?;
    /// assert!(!transaction.contains_key(&reefs, "north")?);
    /// transaction.commit()?;
    /// assert!(reefs.is_empty()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&self, from: &Keyspace, key: impl AsRef<[u8]>) -> Result<()> {
        let (tree, key) = (self.tree(from)?, key.as_ref());
        limit(key, &[])?;
        self.with_state(|state| state.write(tree, key, None))
    }

    /// Removes a key when the transaction commits, and returns its value now.
    ///
    /// # Errors
    /// As [`Transaction::get`] and [`Transaction::insert`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let (from, to) = (db.keyspace("north")?, db.keyspace("south")?);
    /// from.insert("reef", "coral")?;
    /// // A key moves: no reader sees it in both keyspaces, or in neither.
    /// db.transact(|transaction| match transaction.take(&from, "reef")? {
    ///     Some(value) => transaction.insert(&to, "reef", &value),
    ///     None => Ok(()),
    /// })?;
    /// assert!(from.is_empty()? && to.contains_key("reef")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(&self, from: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        let value = self.get(from, key.as_ref())?;
        if value.is_some() {
            self.remove(from, key)?;
        }
        Ok(value)
    }

    /// Iterates over the pairs of a range, from either end. What the transaction has written is among them.
    ///
    /// # Errors
    /// [`Invalid`](Error::Invalid) for a keyspace of another database.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let depths = db.keyspace("depths")?;
    /// for depth in [10u32, 20, 30] {
    ///     depths.insert(depth.to_be_bytes(), "")?;
    /// }
    /// let transaction = db.begin();
    /// transaction.insert(&depths, 25u32.to_be_bytes(), "")?;
    /// transaction.remove(&depths, 20u32.to_be_bytes())?;
    /// let deep: Vec<_> = transaction.range(&depths, 15u32.to_be_bytes()..)?.collect::<Result<_, _>>()?;
    /// assert_eq!(deep.iter().map(|(key, _)| key[3]).collect::<Vec<_>>(), [25, 30]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<K: AsRef<[u8]>>(&self, of: &Keyspace, range: impl RangeBounds<K>) -> Result<TransactionRange<'_>> {
        Ok(TransactionRange::new(self, self.tree(of)?.clone(), &range))
    }

    /// Iterates over all pairs of a keyspace.
    ///
    /// # Errors
    /// As [`Transaction::range`].
    pub fn iter(&self, of: &Keyspace) -> Result<TransactionRange<'_>> {
        self.range::<&[u8]>(of, ..)
    }

    /// Iterates over the pairs whose keys begin with a prefix.
    ///
    /// # Errors
    /// As [`Transaction::range`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// let count = db.transact(|transaction| {
    ///     transaction.insert(&reefs, "north/1", "coral")?;
    ///     transaction.insert(&reefs, "south/1", "kelp")?;
    ///     Ok::<_, holm::Error>(transaction.prefix(&reefs, "north/")?.count())
    /// })?;
    /// assert_eq!(count, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&self, of: &Keyspace, prefix: impl AsRef<[u8]>) -> Result<TransactionRange<'_>> {
        self.range(of, of_prefix(prefix.as_ref()))
    }

    /// Returns the pair with the least key; `None` if the keyspace is empty.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let jobs = db.keyspace("jobs")?;
    /// jobs.insert("1", "dive")?;
    /// let job = db.transact(|transaction| {
    ///     let first = transaction.first(&jobs)?;
    ///     if let Some((key, _)) = &first {
    ///         transaction.remove(&jobs, key)?;
    ///     }
    ///     Ok::<_, holm::Error>(first)
    /// })?;
    /// assert_eq!(job.map(|(_, job)| job.to_vec()), Some(b"dive".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first(&self, of: &Keyspace) -> Result<Option<(Slice, Slice)>> {
        self.iter(of)?.next().transpose()
    }

    /// Returns the pair with the greatest key; `None` if the keyspace is empty.
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn last(&self, of: &Keyspace) -> Result<Option<(Slice, Slice)>> {
        self.iter(of)?.next_back().transpose()
    }

    /// Sets the database's mark when the transaction commits: see [`Database::mark`](crate::Database::mark).
    ///
    /// # Errors
    /// [`Invalid`](Error::Invalid): the mark is not above the present one. Otherwise as [`Transaction::get`] and
    /// [`Transaction::insert`]; transactions and batches that set marks at the same time conflict.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let transaction = db.begin();
    /// transaction.insert(&reefs, "north", "coral")?;
    /// transaction.set_mark(17)?; // the command's position in a replicated log
    /// transaction.commit()?;
    /// assert_eq!(db.mark()?, Some(17));
    /// assert!(matches!(db.begin().set_mark(17), Err(holm::Error::Invalid { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_mark(&self, mark: u64) -> Result<()> {
        let own = self.engine.catalog.own();
        let present = self.get_from(own, MARK)?.map(|value| mark::decode(self.store(), &value)).transpose()?;
        mark::check_rises(present, mark)?;
        self.with_state(|state| {
            state.write(own, MARK, Some((&mark.to_le_bytes(), Deadline::NEVER)))?;
            state.marks = Some(mark);
            Ok(())
        })
    }

    /// Makes all writes visible at one instant, at which all that was read is still so. Returns when they are as
    /// durable as the database's [`Durability`](crate::Durability) promises.
    ///
    /// # Errors
    /// Every error except `Poisoned` means that nothing was written. One exception: in
    /// [`Strict`](crate::Durability::Strict), `NoSpace` may also follow a commit that took effect; it becomes durable
    /// once the disk has space.
    /// - [`Conflict`](Error::Conflict): another thread changed what was read.
    /// - [`Dropped`](Error::Dropped): a keyspace that is written was dropped.
    /// - [`Capacity`](Error::Capacity), [`NoSpace`](Error::NoSpace): the writes do not fit.
    /// - [`Poisoned`](Error::Poisoned): the next open finds all of the writes or none.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let transaction = db.begin();
    /// transaction.insert(&reefs, "north", "coral")?;
    /// let receipt = transaction.commit()?; // as durable as a plain insert
    /// receipt.wait_durable()?; // survives a power cut
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(self) -> Result<Receipt> {
        self.engine.fallback_lock.wait_for_holder();
        self.commit_with(&[], None)
    }

    /// Commits this transaction together with further writes, which come after its own in the order of commits. One
    /// that holds the fallback lock does so until it has taken effect.
    pub(crate) fn commit_with(self, further: &[Write<'_>], fallback: Option<FallbackGuard<'_>>) -> Result<Receipt> {
        let Transaction { engine, state } = self;
        let State { mut reads, writes, expected, marks, conflicted } = state.into_inner();
        if conflicted {
            return Err(Error::Conflict);
        }
        let mut in_order = writes.in_order();
        in_order.extend_from_slice(further);
        reads.leave_snapshot(&engine.store, !in_order.is_empty())?;
        let epoch = if in_order.is_empty() {
            // It took effect when all that was read last stood together, or at its snapshot.
            drop(fallback);
            engine.store.wait_stable(reads.stamp())?;
            reads.stamp()
        } else {
            for (own, write) in writes.iter().zip(&mut in_order) {
                write.seen = reads.leaf_of(own.read).or_else(|| expected.leaf_of(write.tree, write.key));
            }
            let on = &mut CommittedReads { reads: &mut reads, store: &engine.store, fallback };
            commit::commit(&engine.store, &engine.intents, &in_order, on)?.ok_or(Error::Conflict)?
        };
        marks.iter().for_each(|mark| engine.marks.note(&engine.store, epoch, *mark));
        Ok(Receipt { engine, epoch })
    }
}

/// Proof of a commit, by which its durability can be awaited.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let reefs = db.keyspace("reefs")?;
/// let transaction = db.begin();
/// transaction.insert(&reefs, "north", "coral")?;
/// let receipt = transaction.commit()?;
/// receipt.wait_durable()?;
/// assert!(db.stats().epochs.durable >= receipt.epoch());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Receipt {
    engine: Arc<Engine>,
    epoch: Epoch,
}

impl Receipt {
    /// Returns the epoch that the commit belongs to; of a transaction that only read, the latest epoch of what it read.
    /// Epochs rise along every dependency between commits.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Waits until the commit survives a power cut, in every mode.
    ///
    /// # Errors
    /// As [`Database::sync`](crate::Database::sync).
    pub fn wait_durable(&self) -> Result<()> {
        Ok(self.engine.store.clock().wait_durable(self.epoch)?)
    }
}

impl std::fmt::Debug for Receipt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receipt").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}
