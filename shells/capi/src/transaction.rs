//! Transactions: reads and writes of any number of keys at one instant.

use crate::code::{HOLM_OK, Refusal, found};
use crate::copy::{Buffer, CopyOut};
use crate::database::Database;
use crate::door::door;
use crate::iter::{Iter, half_open};
use crate::keyspace::Keyspace;
use crate::raw::{self, Out};
use crate::scan::{Held, Scan, State, ended};
use holm::TransactionRange;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

/// The type behind `holm_transaction`. One thread at a time uses it and its iterators, as the header says.
pub struct Transaction(pub(crate) Rc<RefCell<State>>);

/// Reads the handles of a transaction and of a keyspace.
///
/// # Safety
/// As for [`raw::handle`].
pub(crate) unsafe fn handles<'a>(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
) -> Result<(&'a RefCell<State>, &'a holm::Keyspace), Refusal> {
    // SAFETY: by the caller's contract, which is the same.
    unsafe {
        let transaction = raw::handle(transaction, "the transaction")?;
        Ok((&transaction.0, raw::handle(keyspace, "the keyspace")?.present()?))
    }
}

/// Reads the handles and the key that most functions have.
///
/// # Safety
/// As for [`raw::handle`] and [`raw::bytes`].
pub(crate) unsafe fn place<'a>(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
) -> Result<(&'a RefCell<State>, &'a holm::Keyspace, &'a [u8]), Refusal> {
    // SAFETY: by the caller's contract, which is the same.
    unsafe {
        let (state, keyspace) = handles(transaction, keyspace)?;
        Ok((state, keyspace, raw::bytes(key, key_size, "the key")?))
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_begin(
    database: *const Database,
    transaction: *mut *mut Transaction,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a handle, and an open handle.
        let (mut out, database) =
            unsafe { (Out::for_handle(transaction, "the transaction")?, raw::handle(database, "the database")?) };
        out.give(Transaction(State::of(Held::Owned(Rc::new(database.writable()?.begin())))));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_get(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    buffer: *mut c_void,
    capacity: usize,
    value_size: *mut usize,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a size, a buffer of `capacity` bytes, open handles, a key of
        // its stated size, and no concurrent use of the transaction.
        let (mut buffer, (state, keyspace, key)) =
            unsafe { (Buffer::at(buffer, capacity, value_size)?, place(transaction, keyspace, key, key_size)?) };
        buffer.fill(state.borrow().transaction()?.get(keyspace, key)?.as_deref())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_get_copy(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *mut *mut c_void,
    value_size: *mut usize,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_transaction_get`, with places for a pointer and a size.
        let (mut out, (state, keyspace, key)) =
            unsafe { (CopyOut::at(value, value_size)?, place(transaction, keyspace, key, key_size)?) };
        out.give(state.borrow().transaction()?.get(keyspace, key)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_contains(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_transaction_get`.
        let (state, keyspace, key) = unsafe { place(transaction, keyspace, key, key_size)? };
        Ok(found(state.borrow().transaction()?.contains_key(keyspace, key)?))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_insert(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_transaction_get`, with a value of its stated size.
        let ((state, keyspace, key), value) =
            unsafe { (place(transaction, keyspace, key, key_size)?, raw::bytes(value, value_size, "the value")?) };
        state.borrow().transaction()?.insert(keyspace, key, value)?;
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_remove(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_transaction_get`.
        let (state, keyspace, key) = unsafe { place(transaction, keyspace, key, key_size)? };
        state.borrow().transaction()?.remove(keyspace, key)?;
        Ok(HOLM_OK)
    })
}

/// Adds a scan to a transaction.
fn iterate(
    transaction: &Transaction,
    limit: usize,
    scan: impl for<'t> FnOnce(&'t holm::Transaction) -> holm::Result<TransactionRange<'t>>,
) -> Result<Iter, Refusal> {
    let limit = if limit == 0 { usize::MAX } else { limit };
    Ok(Iter::in_transaction(Scan::new(&transaction.0, limit, scan)?))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_range(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    low: *const c_void,
    low_size: usize,
    high: *const c_void,
    high_size: usize,
    limit: usize,
    iter: *mut *mut Iter,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a handle, open handles, bounds of their stated sizes, and no
        // concurrent use of the transaction.
        let (mut out, transaction, keyspace, low, high) = unsafe {
            let out = Out::for_handle(iter, "the iterator")?;
            let transaction = raw::handle(transaction, "the transaction")?;
            let keyspace = raw::handle(keyspace, "the keyspace")?.present()?;
            let (low, high) = (raw::bound(low, low_size, "the low end")?, raw::bound(high, high_size, "the high end")?);
            (out, transaction, keyspace, low, high)
        };
        let range = half_open(low, high);
        out.give(iterate(transaction, limit, |transaction| transaction.range::<&[u8]>(keyspace, range))?);
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_prefix(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    prefix: *const c_void,
    prefix_size: usize,
    limit: usize,
    iter: *mut *mut Iter,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_transaction_range`.
        let (mut out, transaction, keyspace, prefix) = unsafe {
            let out = Out::for_handle(iter, "the iterator")?;
            let transaction = raw::handle(transaction, "the transaction")?;
            let keyspace = raw::handle(keyspace, "the keyspace")?.present()?;
            (out, transaction, keyspace, raw::bytes(prefix, prefix_size, "the prefix")?)
        };
        out.give(iterate(transaction, limit, |transaction| transaction.prefix(keyspace, prefix))?);
        Ok(HOLM_OK)
    })
}

/// Takes the handle of a transaction back, unless the transaction is one of `holm_transact`.
///
/// # Safety
/// As for [`raw::take`].
unsafe fn take(transaction: *mut Transaction) -> Result<Option<Transaction>, Refusal> {
    // SAFETY: by the caller's contract; `as_ref` handles NULL.
    if unsafe { transaction.as_ref() }.is_some_and(|transaction| transaction.0.borrow().is_lent()) {
        return Err(Refusal::invalid("a transaction of holm_transact() ends when its function returns"));
    }
    // SAFETY: by the caller's contract.
    Ok(unsafe { raw::take(transaction) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_commit(transaction: *mut Transaction, epoch: *mut u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a number or NULL, and no thread uses the handle again.
        let (mut out, transaction) = unsafe { (Out::maybe(epoch, 0), take(transaction)?) };
        let transaction = transaction.ok_or_else(|| Refusal::invalid("the transaction is NULL"))?;
        let Some(Held::Owned(held)) = transaction.0.borrow_mut().end() else { return Err(ended()) };
        // The scans had borrowed it, and nothing else has.
        let held = Rc::into_inner(held).ok_or_else(ended)?;
        out.set(held.commit()?.epoch());
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_discard(transaction: *mut Transaction) {
    door(|| {
        // SAFETY: by the header's contract: no thread uses the handle again.
        if let Some(transaction) = unsafe { take(transaction)? } {
            drop(transaction.0.borrow_mut().end());
        }
        Ok(HOLM_OK)
    });
}

/// The type `holm_work` of the header.
pub type Work = Option<unsafe extern "C" fn(transaction: *mut Transaction, context: *mut c_void) -> c_int>;

/// Why a transaction of `holm_transact` ends without a commit.
enum Abandoned {
    /// The caller's function returned this.
    ByWork(c_int),
    ByStore(holm::Error),
}

impl From<holm::Error> for Abandoned {
    fn from(error: holm::Error) -> Self {
        Abandoned::ByStore(error)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transact(database: *const Database, work: Work, context: *mut c_void) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle.
        let database = unsafe { raw::handle(database, "the database")? };
        let work = work.ok_or_else(|| Refusal::invalid("the function is NULL"))?;
        let done = database.writable()?.transact(|transaction| {
            let mut lent = Transaction(State::of(Held::Lent(transaction)));
            // SAFETY: by the header's contract a function for this type, which returns, and keeps no handle.
            let code = unsafe { work(&raw mut lent, context) };
            // Iterators that are still open find this.
            drop(lent.0.borrow_mut().end());
            if code == HOLM_OK { Ok(()) } else { Err(Abandoned::ByWork(code)) }
        });
        match done {
            Ok(()) => Ok(HOLM_OK),
            Err(Abandoned::ByWork(code)) => Ok(code),
            Err(Abandoned::ByStore(error)) => Err(error.into()),
        }
    })
}
