//! Marks: the position of an outside log, kept with the effects of its commands.

use crate::batch::Batch;
use crate::code::HOLM_OK;
use crate::database::Database;
use crate::door::door;
use crate::number::tell;
use crate::raw;
use crate::snapshot::Snapshot;
use crate::transaction::Transaction;
use std::ffi::c_int;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_mark(database: *const Database, mark: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe {
        tell((database, "the database"), (mark, "the mark"), |database| match database {
            Database::Writable(database) => database.mark(),
            Database::ReadOnly(database) => database.mark(),
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_durable_mark(database: *const Database, mark: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe {
        tell((database, "the database"), (mark, "the mark"), |database| match database {
            Database::Writable(database) => Ok(database.durable_mark()),
            // It was closed, so all of it is durable.
            Database::ReadOnly(database) => database.mark(),
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_snapshot_mark(snapshot: *const Snapshot, mark: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { tell((snapshot, "the snapshot"), (mark, "the mark"), |snapshot| snapshot.0.mark()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_batch_set_mark(batch: *mut Batch, mark: u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle, and no concurrent use of the batch.
        unsafe { raw::handle_mut(batch, "the batch")? }.push(|batch| batch.set_mark(mark))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_set_mark(transaction: *const Transaction, mark: u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle, and no concurrent use of the transaction.
        let transaction = unsafe { raw::handle(transaction, "the transaction")? };
        transaction.0.borrow().transaction()?.set_mark(mark)?;
        Ok(HOLM_OK)
    })
}
