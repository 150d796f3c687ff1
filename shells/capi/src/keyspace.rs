//! Keyspaces: one key at a time.

use crate::code::{HOLM_ABSENT, HOLM_OK, HOLM_OUT_OF_MEMORY, HOLM_SHORT_BUFFER, Refusal, found};
use crate::door::door;
use crate::raw::{self, Out};
use std::ffi::{c_int, c_void};
use std::ptr;

/// What `holm_keyspace` is.
pub struct Keyspace(pub(crate) holm::Keyspace);

/// A handle and a key, as most functions take them.
///
/// # Safety
/// As for [`raw::handle`] and [`raw::bytes`].
unsafe fn with_key<'a>(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
) -> Result<(&'a holm::Keyspace, &'a [u8]), Refusal> {
    // SAFETY: the caller's promises are the same.
    unsafe { Ok((&raw::handle(keyspace, "the keyspace")?.0, raw::bytes(key, key_size, "the key")?)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_close_keyspace(keyspace: *mut Keyspace) {
    door(|| {
        // SAFETY: the header asks it of the caller: a handle that is not used again, by nobody.
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
        // SAFETY: the header asks it of the caller: a handle that is open, pointers to as many bytes as they say.
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
        // SAFETY: the header asks it of the caller: a place for a size, a handle that is open, a key of its size.
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
            // SAFETY: the buffer has `capacity` bytes, as the header asks, which is as many as the value has at least,
            // and so it is not NULL; the value is memory of ours, which the caller's does not overlap.
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
        // SAFETY: the header asks it of the caller: places for a pointer and a size, a handle that is open, a key of
        // its size.
        let (mut out, mut out_size, (keyspace, key)) = unsafe {
            let out = Out::at(value, ptr::null_mut(), "the value")?;
            (out, Out::at(value_size, 0, "the value's size")?, with_key(keyspace, key, key_size)?)
        };
        let Some(found) = keyspace.get(key)? else { return Ok(HOLM_ABSENT) };
        // SAFETY: a size that is not 0.
        let copy = unsafe { libc::malloc(found.len().max(1)) };
        if copy.is_null() {
            let words = format!("no memory for a value of {} bytes", found.len());
            return Err(Refusal::new(HOLM_OUT_OF_MEMORY, words));
        }
        // SAFETY: fresh memory of that many bytes, which overlaps nothing.
        unsafe { ptr::copy_nonoverlapping(found.as_ptr(), copy.cast(), found.len()) };
        out.set(copy);
        out_size.set(found.len());
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_free(value: *mut c_void) {
    // SAFETY: the header asks it of the caller: NULL, or what `holm_get_copy` has allocated, not freed before.
    unsafe { libc::free(value) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_contains(keyspace: *const Keyspace, key: *const c_void, key_size: usize) -> c_int {
    door(|| {
        // SAFETY: the header asks it of the caller: a handle that is open, a key of its size.
        let (keyspace, key) = unsafe { with_key(keyspace, key, key_size)? };
        Ok(found(keyspace.contains_key(key)?))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_remove(keyspace: *const Keyspace, key: *const c_void, key_size: usize) -> c_int {
    door(|| {
        // SAFETY: the header asks it of the caller: a handle that is open, a key of its size.
        let (keyspace, key) = unsafe { with_key(keyspace, key, key_size)? };
        Ok(found(keyspace.remove(key)?))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_count(keyspace: *const Keyspace, count: *mut u64) -> c_int {
    door(|| {
        // SAFETY: the header asks it of the caller: a place for a number, a handle that is open.
        let (mut out, keyspace) = unsafe { (Out::at(count, 0, "the count")?, raw::handle(keyspace, "the keyspace")?) };
        out.set(keyspace.0.len()?);
        Ok(HOLM_OK)
    })
}
