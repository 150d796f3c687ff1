//! Batches: operations that take effect at one instant.

use crate::code::{HOLM_OK, Refusal};
use crate::database::Database;
use crate::door::door;
use crate::keyspace::Keyspace;
use crate::raw::{self, Out};
use std::ffi::{c_int, c_void};

/// The type behind `holm_batch`. Each operation takes the store's batch out and puts it back, so it is gone after a
/// panic.
pub struct Batch(Option<holm::Batch>);

impl Batch {
    pub(crate) fn push(&mut self, operation: impl FnOnce(holm::Batch) -> holm::Batch) -> Result<c_int, Refusal> {
        self.0 = Some(operation(self.0.take().ok_or_else(lost)?));
        Ok(HOLM_OK)
    }
}

fn lost() -> Refusal {
    Refusal::invalid("the batch was lost in a panic: discard it")
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_batch_begin(database: *const Database, batch: *mut *mut Batch) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a handle, and an open handle.
        let (mut out, database) =
            unsafe { (Out::for_handle(batch, "the batch")?, raw::handle(database, "the database")?) };
        out.give(Batch(Some(database.writable()?.batch())));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_batch_insert(
    batch: *mut Batch,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: open handles, no concurrent use of the batch, and pointers to as many bytes
        // as their sizes say.
        let (batch, keyspace, key, value) = unsafe {
            let (batch, keyspace) = (raw::handle_mut(batch, "the batch")?, raw::handle(keyspace, "the keyspace")?);
            (batch, keyspace, raw::bytes(key, key_size, "the key")?, raw::bytes(value, value_size, "the value")?)
        };
        let keyspace = keyspace.present()?;
        batch.push(|batch| batch.insert(keyspace, key, value))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_batch_remove(
    batch: *mut Batch,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_batch_insert`.
        let (batch, keyspace, key) = unsafe {
            let (batch, keyspace) = (raw::handle_mut(batch, "the batch")?, raw::handle(keyspace, "the keyspace")?);
            (batch, keyspace, raw::bytes(key, key_size, "the key")?)
        };
        let keyspace = keyspace.present()?;
        batch.push(|batch| batch.remove(keyspace, key))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_batch_commit(batch: *mut Batch) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: no thread uses the handle again.
        let batch = unsafe { raw::take(batch) }.ok_or_else(|| Refusal::invalid("the batch is NULL"))?;
        batch.0.ok_or_else(lost)?.commit()?;
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_batch_discard(batch: *mut Batch) {
    door(|| {
        // SAFETY: by the header's contract: no thread uses the handle again.
        drop(unsafe { raw::take(batch) });
        Ok(HOLM_OK)
    });
}
