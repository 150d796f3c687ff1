//! Keyspaces: operations on one key.

use crate::code::{HOLM_ABSENT, HOLM_OK, HOLM_OUT_OF_MEMORY, HOLM_SHORT_BUFFER, Refusal, found};
use crate::door::door;
use crate::raw::{self, Out};
use std::ffi::{c_int, c_void};
use std::ptr;

/// The type behind `holm_keyspace`.
pub struct Keyspace(pub(crate) holm::Keyspace);

/// Reads a handle and a key, the arguments of most functions.
///
/// # Safety
/// As for [`raw::handle`] and [`raw::bytes`].
unsafe fn with_key<'a>(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
) -> Result<(&'a holm::Keyspace, &'a [u8]), Refusal> {
    // SAFETY: by the caller's contract, which is the same.
    unsafe { Ok((&raw::handle(keyspace, "the keyspace")?.0, raw::bytes(key, key_size, "the key")?)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_close_keyspace(keyspace: *mut Keyspace) {
    door(|| {
        // SAFETY: by the header's contract: no thread uses the handle again.
        drop(unsafe { raw::take(keyspace) });
        Ok(HOLM_OK)
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_insert(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle, and pointers to as many bytes as their sizes say.
        let ((keyspace, key), value) =
            unsafe { (with_key(keyspace, key, key_size)?, raw::bytes(value, value_size, "the value")?) };
        keyspace.insert(key, value)?;
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_get(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    buffer: *mut c_void,
    capacity: usize,
    value_size: *mut usize,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a size, an open handle, a key of its stated size.
        let (mut out, (keyspace, key)) =
            unsafe { (Out::at(value_size, 0, "the value's size")?, with_key(keyspace, key, key_size)?) };
        if buffer.is_null() && capacity != 0 {
            return Err(Refusal::invalid(format!("the buffer is NULL and {capacity} bytes long")));
        }
        let Some(value) = keyspace.get(key)? else { return Ok(HOLM_ABSENT) };
        out.set(value.len());
        if value.len() > capacity {
            let words = format!("a value of {} bytes, and a buffer of {capacity}", value.len());
            return Err(Refusal::new(HOLM_SHORT_BUFFER, words));
        }
        if !value.is_empty() {
            // SAFETY: by the header's contract the buffer has `capacity` bytes. The value has at most as many and is
            // not empty, so the buffer is not NULL. The value is in our memory, which the caller's does not overlap.
            unsafe { ptr::copy_nonoverlapping(value.as_ptr(), buffer.cast(), value.len()) };
        }
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_get_copy(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *mut *mut c_void,
    value_size: *mut usize,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: places for a pointer and a size, an open handle, a key of its stated size.
        let (mut out, mut out_size, (keyspace, key)) = unsafe {
            let out = Out::at(value, ptr::null_mut(), "the value")?;
            (out, Out::at(value_size, 0, "the value's size")?, with_key(keyspace, key, key_size)?)
        };
        let Some(found) = keyspace.get(key)? else { return Ok(HOLM_ABSENT) };
        // SAFETY: the size is not 0.
        let copy = unsafe { libc::malloc(found.len().max(1)) };
        if copy.is_null() {
            let words = format!("no memory for a value of {} bytes", found.len());
            return Err(Refusal::new(HOLM_OUT_OF_MEMORY, words));
        }
        // SAFETY: fresh memory of this size, which overlaps nothing.
        unsafe { ptr::copy_nonoverlapping(found.as_ptr(), copy.cast(), found.len()) };
        out.set(copy);
        out_size.set(found.len());
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_free(value: *mut c_void) {
    // SAFETY: by the header's contract: NULL, or memory from `holm_get_copy` that was not freed before.
    unsafe { libc::free(value) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_contains(keyspace: *const Keyspace, key: *const c_void, key_size: usize) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle, and a key of its stated size.
        let (keyspace, key) = unsafe { with_key(keyspace, key, key_size)? };
        Ok(found(keyspace.contains_key(key)?))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_remove(keyspace: *const Keyspace, key: *const c_void, key_size: usize) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle, and a key of its stated size.
        let (keyspace, key) = unsafe { with_key(keyspace, key, key_size)? };
        Ok(found(keyspace.remove(key)?))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_count(keyspace: *const Keyspace, count: *mut u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a number, and an open handle.
        let (mut out, keyspace) = unsafe { (Out::at(count, 0, "the count")?, raw::handle(keyspace, "the keyspace")?) };
        out.set(keyspace.0.len()?);
        Ok(HOLM_OK)
    })
}
