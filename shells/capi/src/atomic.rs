//! Atomic operations on one key: each reads and writes the key at one instant.

use crate::code::{HOLM_OK, HOLM_UNEQUAL, Refusal};
use crate::copy::{CopyOut, give_pair};
use crate::door::door;
use crate::keyspace::{Keyspace, with_key};
use crate::raw::{self, Out};
use holm::Slice;
use std::ffi::{c_int, c_void};

/// Hands over the value that was found where another one was expected.
fn unequal(places: &mut CopyOut, found: Option<Slice>) -> Result<c_int, Refusal> {
    places.give(found)?;
    Ok(HOLM_UNEQUAL)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_compare_and_swap(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    expected: *const c_void,
    expected_size: usize,
    value: *const c_void,
    value_size: usize,
    current: *mut *mut c_void,
    current_size: *mut usize,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: places for results or NULL, an open handle, and pointers to as many bytes
        // as their sizes say.
        let (mut out, (keyspace, key), expected, value) = unsafe {
            let (out, place) = (CopyOut::maybe(current, current_size), with_key(keyspace, key, key_size)?);
            let expected = raw::bound(expected, expected_size, "the expected value")?;
            (out, place, expected, raw::bound(value, value_size, "the value")?)
        };
        match keyspace.present()?.compare_and_swap(key, expected, value)? {
            Ok(()) => Ok(HOLM_OK),
            Err(found) => unequal(&mut out, found.current),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_insert_if_absent(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    current: *mut *mut c_void,
    current_size: *mut usize,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_compare_and_swap`.
        let (mut out, (keyspace, key), value) = unsafe {
            let (out, place) = (CopyOut::maybe(current, current_size), with_key(keyspace, key, key_size)?);
            (out, place, raw::bytes(value, value_size, "the value")?)
        };
        match keyspace.present()?.insert_if_absent(key, value)? {
            None => Ok(HOLM_OK),
            found => unequal(&mut out, found),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_swap(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    before: *mut *mut c_void,
    before_size: *mut usize,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_compare_and_swap`.
        let (mut out, (keyspace, key), value) = unsafe {
            let (out, place) = (CopyOut::maybe(before, before_size), with_key(keyspace, key, key_size)?);
            (out, place, raw::bytes(value, value_size, "the value")?)
        };
        out.give(keyspace.present()?.swap(key, value)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_take(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *mut *mut c_void,
    value_size: *mut usize,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_compare_and_swap`.
        let (mut out, (keyspace, key)) =
            unsafe { (CopyOut::maybe(value, value_size), with_key(keyspace, key, key_size)?) };
        out.give(keyspace.present()?.take(key)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_increment(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    by: i64,
    sum: *mut i64,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_compare_and_swap`.
        let (mut out, (keyspace, key)) = unsafe { (Out::maybe(sum, 0), with_key(keyspace, key, key_size)?) };
        out.set(keyspace.present()?.increment(key, by)?);
        Ok(HOLM_OK)
    })
}

/// Removes an outermost pair and hands it over.
///
/// # Safety
/// By the header's contract: an open handle, and places for results or NULL.
unsafe fn pop(
    keyspace: *const Keyspace,
    [key, value]: [*mut *mut c_void; 2],
    [key_size, value_size]: [*mut usize; 2],
    pop: impl FnOnce(&holm::Keyspace) -> holm::Result<Option<(Slice, Slice)>>,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let (mut places, keyspace) = unsafe {
            let places = [CopyOut::maybe(key, key_size), CopyOut::maybe(value, value_size)];
            (places, raw::handle(keyspace, "the keyspace")?)
        };
        give_pair(&mut places, pop(keyspace.present()?)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_pop_first(
    keyspace: *const Keyspace,
    key: *mut *mut c_void,
    key_size: *mut usize,
    value: *mut *mut c_void,
    value_size: *mut usize,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { pop(keyspace, [key, value], [key_size, value_size], holm::Keyspace::pop_first) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_pop_last(
    keyspace: *const Keyspace,
    key: *mut *mut c_void,
    key_size: *mut usize,
    value: *mut *mut c_void,
    value_size: *mut usize,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { pop(keyspace, [key, value], [key_size, value_size], holm::Keyspace::pop_last) }
}
