//! Syncs that no thread waits for: a server holds its replies until they are done, and serves others meanwhile. Tasks
//! of any runtime await them.

use crate::database::Database;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::operation::Operation;
use crate::transaction::Receipt;
use holm_medium::{Epoch, WantedEpoch};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A sync that was begun by [`Database::begin_sync`]: to be asked, or to be awaited by a task of any runtime.
///
/// A future of it is ready once all that was written before survives a power cut, or with the reason why it will not.
/// So one write of many is made durable:
///
/// ```
/// # use std::sync::Arc;
/// # use std::task::{Context, Poll, Wake, Waker};
/// # struct Parked(std::thread::Thread);
/// # impl Wake for Parked { fn wake(self: Arc<Self>) { self.0.unpark() } }
/// # fn block_on<T>(future: impl Future<Output = T>) -> T {
/// #     let (mut future, waker) = (Box::pin(future), Waker::from(Arc::new(Parked(std::thread::current()))));
/// #     loop {
/// #         if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) { return done }
/// #         std::thread::park();
/// #     }
/// # }
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let pay = async || {
///     db.keyspace("cache")?.insert("north", "coral")?; // some milliseconds may be lost
///     db.keyspace("payments")?.insert("17", "12.50")?;
///     db.begin_sync()?.await // nothing is lost, and the thread has served other tasks meanwhile
/// };
/// block_on(pay())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Without a runtime, a function is called when there is news:
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let (bell, news) = std::sync::mpsc::channel();
/// db.on_sync(move || bell.send(()).unwrap_or_default());
///
/// db.keyspace("reefs")?.insert("north", "coral")?;
/// let sync = db.begin_sync()?;
/// while !sync.is_done()? {
///     news.recv()?; // a server goes on with its other connections here
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PendingSync {
    engine: Arc<Engine>,
    wanted: WantedEpoch,
}

impl PendingSync {
    fn of(engine: Arc<Engine>, epoch: Epoch) -> Self {
        let wanted = engine.store.clock().request_durable(epoch);
        PendingSync { engine, wanted }
    }

    /// Returns whether all that was written before [`Database::begin_sync`] survives a power cut. O(1), and waits for
    /// nothing.
    ///
    /// # Errors
    /// As [`Database::sync`].
    pub fn is_done(&self) -> Result<bool> {
        Ok(self.engine.store.clock().is_durable(self.wanted)?)
    }

    /// Returns the epoch that becomes durable. Of two syncs, the one with the greater epoch includes the other.
    pub fn epoch(&self) -> u64 {
        self.wanted.epoch
    }
}

impl Future for PendingSync {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        // Asked again after the task is among those that are woken: the news may have come in between.
        for is_added in [false, true] {
            match self.is_done() {
                Ok(true) => return Poll::Ready(Ok(())),
                Err(error) => return Poll::Ready(Err(error)),
                Ok(false) if is_added => {}
                Ok(false) => self.engine.sync_wakers.add(self.engine.store.clock(), context.waker()),
            }
        }
        Poll::Pending
    }
}

impl Receipt {
    /// Begins a sync of the commit, to be awaited. [`Receipt::wait_durable`] is the same for a thread that waits.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let transaction = db.begin();
    /// transaction.insert(&db.keyspace("reefs")?, "north", "coral")?;
    /// let sync = transaction.commit()?.begin_sync();
    /// let done = async || sync.await;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin_sync(&self) -> PendingSync {
        PendingSync::of(self.engine().clone(), self.epoch())
    }
}

impl std::fmt::Debug for PendingSync {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingSync").field("epoch", &self.wanted.epoch).finish_non_exhaustive()
    }
}

impl Database {
    /// Begins what [`Database::sync`] does, and waits for nothing. All syncs that were begun in one epoch are one.
    ///
    /// # Errors
    /// The database is closed, poisoned or full already.
    pub fn begin_sync(&self) -> Result<PendingSync> {
        let operation = Operation::begin(&self.engine.store)?;
        let epoch = operation.epoch();
        operation.finish_later();
        Ok(PendingSync::of(self.engine.clone(), epoch))
    }

    /// Begins a sync of an epoch that has begun, such as that of a change feed or of [`Receipt::epoch`].
    ///
    /// # Errors
    /// [`Invalid`](Error::Invalid) for an epoch that has not begun.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let epoch = db.begin().commit()?.epoch();
    /// let _sync = db.durable(epoch)?; // `.await`
    /// assert!(db.durable(epoch + 1_000_000).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn durable(&self, epoch: u64) -> Result<PendingSync> {
        let active = self.engine.store.clock().active();
        if epoch > active {
            return Err(Error::Invalid { what: format!("found epoch {epoch}, expected {active} or an earlier one") });
        }
        Ok(PendingSync::of(self.engine.clone(), epoch))
    }

    /// Lets a function be called whenever [`PendingSync::is_done`] may answer anew, failures included, for as long as
    /// the database is open. A thread of the database calls it that does nothing else, and wakes the tasks that await
    /// syncs; news in quick succession may be one call. So the function may do anything, [`Database::sync`] included,
    /// and no commit waits for it; but other functions and tasks have their news once it has returned, and a close
    /// waits for it. So it must not await news itself, as `.await` of another sync does. To close a database is refused
    /// there, also as the last step of a backup to a folder, a restoration or a repair. If it panics, that is logged
    /// and has no other effect. What it owns lives as long as the database: a handle of it would keep it open for ever.
    pub fn on_sync(&self, call: impl Fn() + Send + Sync + 'static) {
        self.engine.store.clock().on_news(call);
    }

    /// Returns the last epoch that survives a power cut. A load, unlike [`Database::stats`].
    pub fn durable_epoch(&self) -> u64 {
        self.engine.store.clock().durable()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use crate::{Database, Durability, Error};
    use std::pin::pin;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use std::sync::{Arc, mpsc};
    use std::task::{Context, Poll, Wake, Waker};
    use std::thread::{self, Thread};

    /// Wakes a thread, and counts how often.
    struct Woken(Thread, AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(1, SeqCst);
            self.0.unpark();
        }
    }

    /// Runs a future on this thread. Returns how often it was woken, too.
    fn block_on<T>(future: impl Future<Output = T>) -> (T, u32) {
        let woken = Arc::new(Woken(thread::current(), AtomicU32::new(0)));
        let (waker, mut future) = (Waker::from(woken.clone()), pin!(future));
        loop {
            if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return (done, woken.1.load(SeqCst));
            }
            thread::park();
        }
    }

    /// Its task is woken before another one, by the same news. The other one slept for ever.
    #[test]
    fn a_waker_that_panics_keeps_no_other_task_asleep() {
        struct Panics;
        impl Wake for Panics {
            fn wake(self: Arc<Self>) {
                panic!("a bug of the caller");
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.holm");
        let db = Database::builder().durability(Durability::OnSync).capacity(1 << 30).open(path).unwrap();
        let reefs = db.keyspace("reefs").unwrap();
        for round in 0..20u32 {
            reefs.insert(round.to_le_bytes(), "coral").unwrap();
            let (panics, mut first) = (Waker::from(Arc::new(Panics)), pin!(db.begin_sync().unwrap()));
            let _ = first.as_mut().poll(&mut Context::from_waker(&panics));
            block_on(db.begin_sync().unwrap()).0.unwrap();
        }
    }

    /// Several tasks on several threads: none of them would be woken by a bell that rings for one.
    #[test]
    fn tasks_that_await_syncs_are_woken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.holm");
        let db = Database::builder().durability(Durability::OnSync).capacity(1 << 30).open(path).unwrap();
        thread::scope(|scope| {
            for task in 0..3u32 {
                let db = &db;
                scope.spawn(move || {
                    let reefs = db.keyspace("reefs").unwrap();
                    for round in 0..30u32 {
                        let transaction = db.begin();
                        transaction.insert(&reefs, [task.to_be_bytes(), round.to_be_bytes()].concat(), "").unwrap();
                        let receipt = transaction.commit().unwrap();
                        let (done, _) = block_on(async {
                            match round % 3 {
                                0 => receipt.begin_sync().await,
                                1 => db.durable(receipt.epoch())?.await,
                                _ => db.begin_sync()?.await,
                            }
                        });
                        done.unwrap();
                        assert!(db.durable_epoch() >= receipt.epoch());
                    }
                });
            }
        });
    }

    #[test]
    fn an_epoch_that_has_not_begun_is_awaited_by_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::builder().capacity(1 << 30).open(folder.path().join("test.holm")).unwrap();
        let error = db.durable(1 << 40).unwrap_err();
        assert!(matches!(&error, Error::Invalid { what } if what.contains("found epoch 1099511627776")), "{error}");
        // One that is durable needs nobody to wake it.
        db.sync().unwrap();
        assert!(matches!(block_on(db.durable(db.durable_epoch()).unwrap()), (Ok(()), 0)));
    }

    /// The task keeps a handle, so the database is closed and not dropped.
    #[test]
    fn a_task_that_awaits_a_sync_gets_it_from_the_close() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.holm");
        let db = Database::builder().durability(Durability::OnSync).capacity(1 << 30).open(path).unwrap();
        for _ in 0..20 {
            db.keyspace("reefs").unwrap().insert("north", "coral").unwrap();
        }
        let sync = db.begin_sync().unwrap();
        let waiting = thread::spawn(move || block_on(sync).0);
        db.close().unwrap();
        waiting.join().unwrap().unwrap();
    }

    /// The panic ended the thread that makes epochs durable: every later write was refused. A close met it as well.
    #[test]
    fn a_function_that_panics_at_news_harms_no_one() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::builder().capacity(1 << 30).open(folder.path().join("test.holm")).unwrap();
        db.on_sync(|| panic!("a bug of the caller"));
        let (bell, news) = mpsc::channel();
        db.on_sync(move || bell.send(()).unwrap_or_default());
        db.keyspace("reefs").unwrap().insert("north", "coral").unwrap();
        db.sync().unwrap();
        news.recv().unwrap();
        db.sync().unwrap();
        db.close().unwrap();
    }

    /// A sync that nobody rings a bell for would be waited for until another write comes.
    #[test]
    fn a_sync_that_was_begun_ends_with_a_call_and_includes_what_was_written_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.holm");
        let db = Database::builder().durability(Durability::OnSync).capacity(1 << 30).open(path).unwrap();
        let (bell, news) = mpsc::channel();
        db.on_sync(move || bell.send(()).unwrap_or_default());
        let reefs = db.keyspace("reefs").unwrap();
        for round in 0..20u32 {
            reefs.insert(round.to_be_bytes(), "coral").unwrap();
            let written = db.stats().epochs.active;
            let sync = db.begin_sync().unwrap();
            assert!(sync.epoch() >= written);
            while !sync.is_done().unwrap() {
                news.recv().unwrap();
            }
            assert!(db.durable_epoch() >= written);
        }
    }

    #[test]
    fn a_sync_of_a_closed_database_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::builder().capacity(1 << 30).open(folder.path().join("test.holm")).unwrap();
        let other = db.clone();
        db.close().unwrap();
        assert!(other.begin_sync().is_err());
    }
}
