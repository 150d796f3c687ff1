//! Transactions that begin anew after a conflict.

use super::{FallbackGuard, Transaction, TransactionRange};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::keyspace::Keyspace;
use crate::slice::Slice;
use crate::update::MOST_ATTEMPTS;
use holm_medium::sync::RandomState;
use std::cell::RefCell;
use std::hash::BuildHasher;
use std::ops::RangeBounds;
use std::sync::Arc;
use std::time::Duration;

/// After this many conflicts a transaction takes the fallback lock.
const PATIENCE: u32 = 8;

/// After this many conflicts a transaction that only reads does so at a snapshot, from its first read on.
const SNAPSHOT_FROM: u32 = 4;

/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

holm_medium::sync::thread_local! {
    /// The databases in whose transactions this thread is.
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// While this lives, the thread is in a transaction of a database.
struct Inside;

impl Inside {
    fn enter(engine: &Arc<Engine>) -> Result<Self> {
        let address = Arc::as_ptr(engine) as usize;
        let entered = INSIDE.try_with(|inside| {
            let mut inside = inside.borrow_mut();
            let is_outermost = !inside.contains(&address);
            if is_outermost {
                inside.push(address);
            }
            is_outermost
        });
        // The thread local is gone while the thread exits.
        if entered.unwrap_or(true) {
            return Ok(Inside);
        }
        let what = "a transaction within a transaction of the same database: it would commit by itself".into();
        Err(Error::Invalid { what })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _left = INSIDE.try_with(|inside| inside.borrow_mut().pop());
    }
}

/// Waits before another attempt: longer each time, and not as long as other threads do.
pub(crate) fn pause(attempt: u32) {
    if attempt < 2 {
        return holm_medium::sync::yield_now();
    }
    let most = Duration::from_micros(1 << attempt.min(10)).min(LONGEST_PAUSE);
    // Each `RandomState` has other keys.
    let share = RandomState::new().hash_one(attempt) as u32;
    holm_medium::sync::sleep(most.mul_f64(f64::from(share) / f64::from(u32::MAX)));
}

/// Makes attempts until one has an answer, with pauses in between; they are numbered from 0 on. After some conflicts an
/// attempt holds the fallback lock.
fn retried<'e, T, E: From<Error>>(
    engine: &'e Arc<Engine>,
    mut attempt: impl FnMut(u32, Option<FallbackGuard<'e>>) -> Result<Option<T>, E>,
) -> Result<T, E> {
    let _inside = Inside::enter(engine)?;
    for number in 0..MOST_ATTEMPTS {
        let fallback = if number < PATIENCE { None } else { engine.fallback_lock.lock() };
        if let Some(answer) = attempt(number, fallback)? {
            return Ok(answer);
        }
        pause(number);
    }
    Err(Error::Conflict.into())
}

/// Runs a transaction until it commits.
pub(crate) fn transact<T, E: From<Error>>(
    engine: &Arc<Engine>,
    mut run: impl FnMut(&Transaction) -> Result<T, E>,
) -> Result<T, E> {
    transact_owned(engine, |transaction| {
        let answer = run(&transaction);
        (Some(transaction), answer)
    })
}

/// The same, for a closure that gives the transaction back.
pub(crate) fn transact_owned<T, E: From<Error>>(
    engine: &Arc<Engine>,
    mut run: impl FnMut(Transaction) -> (Option<Transaction>, Result<T, E>),
) -> Result<T, E> {
    retried(engine, |_, fallback| {
        let (transaction, answer) = run(Transaction::new(engine.clone()));
        let Some(transaction) = transaction else { return answer.map(Some) };
        // Whatever the closure has made of the conflict.
        if transaction.has_conflicted() {
            return Ok(None);
        }
        let answer = answer?;
        if fallback.is_none() {
            engine.fallback_lock.wait_for_holder();
        }
        match transaction.commit_with(&[], fallback) {
            Ok(_) => Ok(Some(answer)),
            Err(Error::Conflict) => Ok(None),
            Err(error) => Err(error.into()),
        }
    })
}

/// Runs a transaction that only reads.
pub(crate) fn read<T, E: From<Error>>(
    engine: &Arc<Engine>,
    mut run: impl FnMut(&ReadTransaction) -> Result<T, E>,
) -> Result<T, E> {
    retried(engine, |number, fallback| {
        let transaction = ReadTransaction::begin(engine, number >= SNAPSHOT_FROM)?;
        let answer = run(&transaction);
        if transaction.0.has_conflicted() {
            return Ok(None);
        }
        let answer = answer?;
        transaction.0.commit_with(&[], fallback)?;
        Ok(Some(answer))
    })
}

/// A transaction that only reads, and sees the database as it is at one instant:
/// [`Database::read`](crate::Database::read).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// # let reefs = db.keyspace("reefs")?;
/// reefs.insert("north", "coral")?;
/// reefs.insert("south", "sand")?;
/// let both = db.read(|at| Ok::<_, holm::Error>((at.get(&reefs, "north")?, at.get(&reefs, "south")?)))?;
/// assert!(both.0.is_some() && both.1.is_some()); // at the same instant
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ReadTransaction(Transaction);

impl ReadTransaction {
    fn begin(engine: &Arc<Engine>, at_snapshot: bool) -> Result<Self> {
        let mut transaction = Transaction::new(engine.clone());
        let reads = &mut *transaction.state.get_mut().reads;
        reads.set_read_only();
        if at_snapshot {
            reads.go_on_at_snapshot(engine)?;
        }
        Ok(ReadTransaction(transaction))
    }
}

/// Each method is that of [`Transaction`] with the same name.
impl ReadTransaction {
    /// As [`Transaction::get`].
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn get(&self, from: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.0.get(from, key)
    }

    /// As [`Transaction::contains_key`].
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn contains_key(&self, from: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        self.0.contains_key(from, key)
    }

    /// As [`Transaction::range`].
    ///
    /// # Errors
    /// As [`Transaction::range`].
    pub fn range<K: AsRef<[u8]>>(&self, of: &Keyspace, range: impl RangeBounds<K>) -> Result<TransactionRange<'_>> {
        self.0.range(of, range)
    }

    /// As [`Transaction::iter`].
    ///
    /// # Errors
    /// As [`Transaction::range`].
    pub fn iter(&self, of: &Keyspace) -> Result<TransactionRange<'_>> {
        self.0.iter(of)
    }

    /// As [`Transaction::prefix`].
    ///
    /// # Errors
    /// As [`Transaction::range`].
    pub fn prefix(&self, of: &Keyspace, prefix: impl AsRef<[u8]>) -> Result<TransactionRange<'_>> {
        self.0.prefix(of, prefix)
    }

    /// As [`Transaction::first`].
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn first(&self, of: &Keyspace) -> Result<Option<(Slice, Slice)>> {
        self.0.first(of)
    }

    /// As [`Transaction::last`].
    ///
    /// # Errors
    /// As [`Transaction::get`].
    pub fn last(&self, of: &Keyspace) -> Result<Option<(Slice, Slice)>> {
        self.0.last(of)
    }
}
