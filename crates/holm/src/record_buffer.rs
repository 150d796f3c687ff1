//! The buffer in which a thread encodes records.

use crate::error::Result;
use crate::expiry::StoredValue;
use crate::operation::Operation;
use std::cell::RefCell;

holm_medium::sync::thread_local! {
    /// The buffer in which a thread encodes records before it writes them to the storage.
    static BUFFER: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Writes a record that no leaf leads to yet, and returns its payload.
#[inline]
pub(crate) fn write_record(operation: &Operation<'_>, key: &[u8], value: StoredValue<'_>) -> Result<u64> {
    with_buffer(|buffer| operation.write_record(key, value, buffer))
}

/// Lends the thread's buffer for encoded records.
#[inline]
pub(crate) fn with_buffer<T>(encode: impl FnOnce(&mut Vec<u64>) -> T) -> T {
    BUFFER.with(|buffer| {
        let buffer = &mut *buffer.borrow_mut();
        let done = encode(buffer);
        if buffer.capacity() > 1 << 17 {
            // One large value must not leave every thread with a large buffer for ever.
            *buffer = Vec::new();
        }
        done
    })
}
