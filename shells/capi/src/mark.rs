//! Marks: the position of an outside log, kept with the effects of its commands.

use crate::batch::Batch;
use crate::code::{HOLM_ABSENT, HOLM_OK};
use crate::database::Database;
use crate::door::door;
use crate::raw::{self, Out};
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;
use std::ffi::c_int;

/// Stores a mark, if there is one.
///
/// # Safety
/// By the header's contract: a place for a number, and an open handle.
unsafe fn tell<T>(
    (handle, what): (*const T, &str),
    place: *mut u64,
    mark: impl FnOnce(&T) -> holm::Result<Option<u64>>,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let (mut out, handle) = unsafe { (Out::at(place, 0, "the mark")?, raw::handle(handle, what)?) };
        let Some(mark) = mark(handle)? else { return Ok(HOLM_ABSENT) };
        out.set(mark);
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_mark(database: *const Database, mark: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { tell((database, "the database"), mark, |database| database.0.mark()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_durable_mark(database: *const Database, mark: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { tell((database, "the database"), mark, |database| Ok(database.0.durable_mark())) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_snapshot_mark(snapshot: *const Snapshot, mark: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { tell((snapshot, "the snapshot"), mark, |snapshot| snapshot.0.mark()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_batch_mark(batch: *mut Batch, mark: u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle, and no concurrent use of the batch.
        unsafe { raw::handle_mut(batch, "the batch")? }.push(|batch| batch.mark(mark))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_mark(transaction: *const Transaction, mark: u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle, and no concurrent use of the transaction.
        let transaction = unsafe { raw::handle(transaction, "the transaction")? };
        transaction.0.borrow().transaction()?.mark(mark)?;
        Ok(HOLM_OK)
    })
}
