//! The handle to an open database.

use crate::batch::Batch;
use crate::catalog::DEFAULT;
use crate::check::{self, Report};
use crate::durability::Durability;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::keys::Records;
use crate::keyspace::Keyspace;
use crate::keyspace_options::KeyspaceOptions;
use crate::opening;
use crate::operation::Operation;
use crate::options::Builder;
use crate::read_only::ReadOnlyDatabase;
use crate::recovery::Recovery;
use crate::snapshot::Snapshot;
use crate::stats::Stats;
use crate::sweep::Pass;
use crate::transaction::{self, ReadTransaction, Transaction};
use holm_medium::{Medium, Writer};
use holm_tree::Entry;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A handle to an open database. Cloning is cheap; clones share the database. Dropping the last handle closes it.
/// [`Database::close`] does the same and reports errors, which dropping cannot.
///
/// The database stays locked for this process until its last handle is dropped. Handles are all values that come from
/// the database and use it: databases, keyspaces, iterators, batches, transactions, receipts, syncs that are pending,
/// snapshots, and compactions and scrubs that have not run to their end. A [`Feed`](crate::Feed) is none: it ends with
/// the database.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sea.holm");
/// use holm::{Database, Error};
///
/// let db = Database::open(&path)?;
/// let reefs = db.keyspace("reefs")?;
/// drop(db); // the keyspace keeps the database open
/// reefs.insert("north", "coral")?;
/// assert!(matches!(Database::open(&path), Err(Error::Locked { .. })));
/// drop(reefs);
/// assert!(Database::open(&path).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Database {
    pub(crate) engine: Arc<Engine>,
}

impl Database {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Database { engine }
    }

    /// Opens the database in a folder with the default options: [`Durability::Buffered`] with 10 ms and
    /// [`ImageMode::Shared`](crate::ImageMode::Shared). Creates the database if it is absent.
    ///
    /// # Errors
    /// As [`Builder::open`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// assert_eq!(db.keyspaces()?, ["default"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Builder::default().open(path)
    }

    /// Makes an empty database in a folder for temporary files, which is removed with the last handle. Otherwise as
    /// [`Database::open`]. [`Builder::in_memory`] makes one without files.
    ///
    /// # Errors
    /// As [`Builder::open`].
    ///
    /// ```
    /// let db = holm::Database::temporary()?;
    /// db.keyspace("reefs")?.insert("north", "coral")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn temporary() -> Result<Self> {
        Builder::default().temporary()
    }

    /// Returns a builder to open a database with options: see [`Builder`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, Durability};
    /// let db = Database::builder().durability(Durability::Strict).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Opens a cleanly closed database for reading only. Any number of processes may do so at once, while none has it
    /// open for writing. Changes nothing in the folder.
    ///
    /// # Errors
    /// [`Error::NotClean`](crate::Error::NotClean) if the database was not closed; otherwise as [`Builder::open`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use holm::Database;
    /// let path = folder.path().join("sea.holm");
    /// let db = Database::open(&path)?;
    /// db.keyspace("reefs")?.insert("north", "coral")?;
    /// db.close()?;
    /// let (one, another) = (Database::open_read_only(&path)?, Database::open_read_only(&path)?);
    /// assert_eq!(one.keyspaces()?, another.keyspaces()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<ReadOnlyDatabase> {
        Builder::default().open_read_only(path)
    }

    /// For measurements of designs: an empty database over a medium that flushes. It cannot be reopened or recovered.
    /// The caller ends the epochs, calls the listeners of the clock, and outlives the database.
    #[doc(hidden)]
    pub fn over<M: Medium>(writer: Arc<Writer<M>>, design: &Entry<M, Records>, durability: Durability) -> Result<Self> {
        opening::open_over(writer, design, durability).map(Database::new)
    }

    /// Returns the keyspace of that name, and creates it if it is absent. A name has 1 to 255 bytes, and does not begin
    /// with a zero byte. The keyspace `default` always exists. In [`Strict`](Durability::Strict), the keyspace exists
    /// durably when this returns.
    ///
    /// # Errors
    /// - [`Invalid`](crate::Error::Invalid): the name is empty, has more than 255 bytes, or begins with a zero byte.
    /// - [`TooLarge`](crate::Error::TooLarge): every keyspace number is used. There are 2^24, some 16 million. The
    ///   number of a dropped keyspace is free again after the next open.
    /// - [`Poisoned`](crate::Error::Poisoned), [`NoSpace`](crate::Error::NoSpace),
    ///   [`Capacity`](crate::Error::Capacity): as for [`Keyspace::insert`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// assert_eq!(db.keyspace("reefs")?.len()?, 1); // the same keyspace
    /// assert_eq!(db.keyspaces()?, ["default", "reefs"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keyspace(&self, name: &str) -> Result<Keyspace> {
        Ok(Keyspace::new(self.engine.clone(), self.engine.catalog.create_keyspace(&self.engine.store, name, None)?))
    }

    /// Returns the keyspace of that name, and creates it with these options if it is absent. A keyspace keeps its
    /// options for life, and [`Database::keyspace`] returns it with them.
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid): the keyspace exists with other options. Otherwise as [`Database::keyspace`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::{Error, KeyspaceOptions};
    /// let options = KeyspaceOptions::new().expires(true);
    /// db.keyspace_with("tides", &options)?;
    /// assert_eq!(db.keyspace("tides")?.options(), options);
    /// assert!(matches!(db.keyspace_with("tides", &KeyspaceOptions::new()), Err(Error::Invalid { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keyspace_with(&self, name: &str, options: &KeyspaceOptions) -> Result<Keyspace> {
        let tree = self.engine.catalog.create_keyspace(&self.engine.store, name, Some(*options))?;
        if options.expires {
            self.engine.start_sweeper();
        }
        Ok(Keyspace::new(self.engine.clone(), tree))
    }

    /// Removes the records that have expired, in all keyspaces with expiry, and returns how many there were. Readers
    /// see no difference: an expired key is absent, removed or not. Reads every record of these keyspaces, on the
    /// caller's thread and without pauses; [`Sweep::Every`](crate::Sweep::Every) does the same in the background.
    ///
    /// Unlike the background's, these removals change a restored copy, to which no incremental backup can be applied
    /// then ([`Database::apply`]). The call waits for no durability: a removal that is lost is repeated.
    ///
    /// # Errors
    /// [`Poisoned`](crate::Error::Poisoned), [`NoSpace`](crate::Error::NoSpace): some of the records are removed.
    /// [`Corrupt`](crate::Error::Corrupt): a keyspace is damaged, and the others are swept.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, KeyspaceOptions, Sweep};
    /// # use std::time::Duration;
    /// let db = Database::builder().sweep(Sweep::Manual).open(&path)?; // else the background may remove it first
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// tides.insert_for("north", "high", Duration::ZERO)?;
    /// tides.insert("south", "low")?;
    /// assert_eq!(db.sweep()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sweep(&self) -> Result<u64> {
        let Engine { store, catalog, sweeper, .. } = &*self.engine;
        // A poisoned or closed database says so, also if nothing has expired.
        Operation::begin(store)?.finish_later();
        Ok(Pass::new(store, catalog, sweeper.counters()).run(|_| ControlFlow::Continue(()))?.removed)
    }

    /// Returns the keyspace of that name, if there is one. In [`Strict`](Durability::Strict), the answer is durable.
    ///
    /// # Errors
    /// In [`Strict`](Durability::Strict), [`Poisoned`](crate::Error::Poisoned) or [`NoSpace`](crate::Error::NoSpace) if
    /// the answer cannot be made durable.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// assert!(db.existing_keyspace("reefs")?.is_none());
    /// db.keyspace("reefs")?;
    /// assert!(db.existing_keyspace("reefs")?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn existing_keyspace(&self, name: &str) -> Result<Option<Keyspace>> {
        let tree = self.engine.catalog.find_keyspace(&self.engine.store, name)?;
        Ok(tree.map(|tree| Keyspace::new(self.engine.clone(), tree)))
    }

    /// Returns the names of all keyspaces, in order. In [`Strict`](Durability::Strict), the answer is durable.
    ///
    /// # Errors
    /// As [`Database::existing_keyspace`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// for name in db.keyspaces()? {
    ///     println!("{name}: {} pairs", db.keyspace(&name)?.len()?);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keyspaces(&self) -> Result<Vec<String>> {
        self.engine.catalog.keyspace_names(&self.engine.store)
    }

    /// Removes a keyspace with all its pairs, durably, and returns whether it existed. From then on, its handles fail
    /// with [`Error::Dropped`](crate::Error::Dropped), and so do its iterators once they have returned what they have
    /// copied, of one leaf or two. O(leaves). The space of a keyspace that a backup
    /// reads is free once the backup has ended.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// assert!(db.drop_keyspace("reefs")?);
    /// assert!(matches!(reefs.get("north"), Err(holm::Error::Dropped { .. })));
    /// assert!(!db.drop_keyspace("reefs")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::Error::Invalid) for `default`, which always exists: [`Keyspace::clear`] removes its pairs.
    /// [`Poisoned`](crate::Error::Poisoned), [`NoSpace`](crate::Error::NoSpace). The keyspace may be gone while its
    /// space could not be freed. The next call with any name frees it, and so does the next open.
    /// [`Corrupt`](crate::Error::Corrupt) if a leaf is damaged: the keyspace is gone, and the space from that leaf
    /// on is free in what [`Database::repair`] makes.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool> {
        if name == DEFAULT {
            return Err(Error::Invalid { what: format!("the keyspace {name:?} always exists, and can be cleared") });
        }
        self.engine.catalog.drop_keyspace(&self.engine.store, name)
    }

    /// Returns an empty batch. A crash leaves all of its writes done or none: see [`Batch`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let (reefs, count) = (db.keyspace("reefs")?, db.keyspace("count")?);
    /// db.batch().insert(&reefs, "north", "coral").insert(&count, "reefs", "1").commit()?;
    /// assert!(reefs.contains_key("north")? && count.contains_key("reefs")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn batch(&self) -> Batch {
        Batch::new(self.engine.clone())
    }

    /// Runs a transaction until it commits, and returns what the closure returned. The closure runs again after each
    /// conflict, with pauses. After some conflicts other transactions let it commit first, and only plain writes still
    /// disturb it. So the closure should have no effect elsewhere that may not be repeated. An error of the closure
    /// ends the transaction, and nothing has happened; so does a panic.
    ///
    /// # Errors
    /// What the closure returns. [`Conflict`](crate::Error::Conflict) after a thousand attempts.
    /// [`Invalid`](crate::Error::Invalid) within another transaction of this database on the same thread. Otherwise as
    /// [`Transaction::commit`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let accounts = db.keyspace("accounts")?; accounts.increment("ann", 100)?; accounts.increment("bob", 0)?; let
    /// amount = |value: Option<holm::Slice>| value.map_or(0, |value|
    /// i64::from_le_bytes(value[..].try_into().unwrap()));
    ///
    /// let moved = db.transact(|transaction| {
    ///     let ann = amount(transaction.get(&accounts, "ann")?);
    ///     let bob = amount(transaction.get(&accounts, "bob")?);
    ///     if ann < 30 {
    ///         return Ok::<_, holm::Error>(false);
    ///     }
    ///     transaction.insert(&accounts, "ann", (ann - 30).to_le_bytes())?;
    ///     transaction.insert(&accounts, "bob", (bob + 30).to_le_bytes())?;
    ///     Ok(true)
    /// })?;
    /// assert!(moved);
    /// assert_eq!(amount(accounts.get("bob")?), 30);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transact<T, E: From<Error>>(&self, run: impl FnMut(&Transaction) -> Result<T, E>) -> Result<T, E> {
        transaction::transact(&self.engine, run)
    }

    /// As [`Database::transact`], with a closure that owns the transaction and gives it back. A binding to another
    /// language can so keep the transaction in an object of that language. A transaction that the closure keeps or
    /// drops has done nothing, and what the closure returned is the answer.
    ///
    /// # Errors
    /// As [`Database::transact`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// let object = std::sync::Mutex::new(None); // of the other language
    /// db.transact_owned(|transaction| {
    ///     let inserted = transaction.insert(&reefs, "north", "coral");
    ///     *object.lock().unwrap() = Some(transaction);
    ///     (object.lock().unwrap().take(), inserted)
    /// })?;
    /// assert!(reefs.contains_key("north")?);
    ///
    /// db.transact_owned(|transaction| (None, transaction.remove(&reefs, "north")))?; // dropped
    /// assert!(reefs.contains_key("north")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn transact_owned<T, E: From<Error>>(
        &self,
        run: impl FnMut(Transaction) -> (Option<Transaction>, Result<T, E>),
    ) -> Result<T, E> {
        transaction::transact_owned(&self.engine, run)
    }

    /// Runs a transaction that only reads: everything that the closure reads is of one instant. The closure runs again
    /// after each conflict, as in [`Database::transact`]; after some conflicts it reads at a snapshot, which has none.
    ///
    /// # Errors
    /// As [`Database::transact`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let count = db.read(|at| Ok::<_, holm::Error>(at.iter(&reefs)?.count()))?;
    /// assert_eq!(count, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read<T, E: From<Error>>(&self, run: impl FnMut(&ReadTransaction) -> Result<T, E>) -> Result<T, E> {
        transaction::read(&self.engine, run)
    }

    /// Takes a snapshot: the database as it is at this instant, for as long as it is held. O(1). Waits for batches that
    /// are being applied and, in [`Strict`](crate::Durability::Strict), until what it shows is durable.
    ///
    /// # Errors
    /// [`Poisoned`](crate::Error::Poisoned); in `Strict` also as [`Database::sync`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let snapshot = db.snapshot()?;
    /// reefs.remove("north")?;
    /// assert!(snapshot.keyspace("reefs").expect("it exists").contains_key("north")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&self) -> Result<Snapshot> {
        Snapshot::of(&self.engine)
    }

    /// Returns a snapshot that is at most `age` old. If such a one is still held that an earlier call has returned, the
    /// callers share it, and short readers together keep the memory of one snapshot. It has every write that had
    /// returned `age` before the call. O(1).
    ///
    /// # Errors
    /// As [`Database::snapshot`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use std::time::Duration;
    /// let reefs = db.keyspace("reefs")?;
    /// let one = db.snapshot_within(Duration::from_secs(60))?;
    /// reefs.insert("north", "coral")?;
    /// let other = db.snapshot_within(Duration::from_secs(60))?; // the same instant
    /// assert!(other.keyspace("reefs").expect("it exists").is_empty()?);
    /// assert_eq!(db.stats().snapshots.open, 1);
    /// let fresh = db.snapshot_within(Duration::ZERO)?;
    /// assert!(!fresh.keyspace("reefs").expect("it exists").is_empty()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot_within(&self, age: Duration) -> Result<Snapshot> {
        self.engine.recent_snapshot.within(&self.engine, age)
    }

    /// Begins a transaction that the caller commits and, after a conflict, begins anew. [`Database::transact`] does
    /// both.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let transaction = db.begin();
    /// transaction.insert(&reefs, "north", "coral")?;
    /// drop(transaction); // never mind
    /// assert!(reefs.is_empty()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(&self) -> Transaction {
        Transaction::new(self.engine.clone())
    }

    /// Returns when every operation that completed before the call survives a power cut, whatever the [`Durability`].
    /// All waiting threads share one sync.
    ///
    /// # Errors
    /// - [`NoSpace`](crate::Error::NoSpace): the disk has no room for the log. Nothing is lost; call `sync` again when
    ///   the disk has space.
    /// - [`Poisoned`](crate::Error::Poisoned): a write or sync of the log failed, now or earlier. The database never
    ///   retries it: open the database anew.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, Durability};
    /// let db = Database::builder().durability(Durability::OnSync).open(&path)?;
    /// let reefs = db.keyspace("reefs")?;
    /// for depth in 0..1_000u32 {
    ///     reefs.insert(depth.to_be_bytes(), "coral")?;
    /// }
    /// db.sync()?; // one sync for all of them
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sync(&self) -> Result<()> {
        // `sync` is an operation like any other: a poisoned or closed database acknowledges nothing, even when there is
        // nothing to write.
        Operation::begin(&self.engine.store)?.finish_durably()
    }

    /// Returns statistics of this database. Counting costs nothing. The call itself makes a few system calls and walks
    /// the process's page tables: some milliseconds for each gigabyte in small pages. It does not wait for a write or a
    /// sync in progress, and so answers also while the disk does not.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let stats = db.stats();
    /// println!("{} records in {} bytes", stats.records, stats.space.record_bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&self) -> Stats {
        Stats::of(&self.engine)
    }

    /// Returns what the last open recovered, and from where.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::RecoveredFrom;
    /// assert_eq!(db.recovery().source, RecoveredFrom::Created);
    /// println!("{}", db.recovery()); // one line for an operator
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recovery(&self) -> &Recovery {
        &self.engine.recovery
    }

    /// Verifies everything: the structure of every tree, that `get` finds every key, every record's lengths and
    /// checksum, and that no two records overlap. Reads all data; writers wait meanwhile, and what was written just
    /// before becomes durable only afterwards, unless [`Database::sync`] has made it so. [`Database::scrub`] runs
    /// beside writers.
    ///
    /// # Errors
    /// None today. A fault is not an error but an entry of [`Report::faults`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let report = db.check()?;
    /// assert!(report.faults.is_empty(), "{:?}", report.faults);
    /// assert_eq!(report.records, 3); // and the names of two keyspaces
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<Report> {
        check::check(&self.engine)
    }

    /// Makes everything durable, also what other threads wait for at this moment, and marks the database as cleanly
    /// closed. Other handles then refuse writes and still read. The database stays locked until the last handle is
    /// dropped. Until then another open, in this or another process, fails with
    /// [`Error::Locked`](crate::Error::Locked).
    ///
    /// # Errors
    /// The first failure of the session, or a failure of closing.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// db.close()?;
    /// assert_eq!(reefs.get("north")?, None); // still reads
    /// assert!(matches!(reefs.insert("north", "coral"), Err(holm::Error::Poisoned { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(self) -> Result<()> {
        self.engine.close()
    }
}
