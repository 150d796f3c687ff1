//! Values of many keys in one call.

use crate::code::{HOLM_OK, Refusal};
use crate::copy::{CopyOut, give_all};
use crate::door::door;
use crate::keyspace::Keyspace;
use crate::raw;
use std::ffi::{c_int, c_void};

/// Reads an array of the caller, which has `count` elements.
///
/// # Safety
/// A pointer that is not NULL points to `count` elements, which no thread changes while they are borrowed.
unsafe fn array<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T], Refusal> {
    let bytes = count.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
    match (pointer.is_null(), bytes) {
        (_, Some(0)) => Ok(&[]),
        (_, None) => Err(Refusal::invalid(format!("{what}: {count} are more than any memory has"))),
        (true, Some(_)) => Err(Refusal::invalid(format!("{what} are NULL, and {count}"))),
        // SAFETY: not NULL, and of a valid length for a slice; the rest is the caller's contract.
        (false, Some(_)) => Ok(unsafe { std::slice::from_raw_parts(pointer, count) }),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_get_many(
    keyspace: *const Keyspace,
    count: usize,
    keys: *const *const c_void,
    key_sizes: *const usize,
    values: *mut *mut c_void,
    value_sizes: *mut usize,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: places for `count` results each, an open handle, and `count` keys of their
        // stated sizes.
        let (mut places, keyspace, keys) = unsafe {
            array(values.cast_const(), count, "the places for values")?;
            array(value_sizes.cast_const(), count, "the places for sizes")?;
            let places = (0..count).map(|at| CopyOut::at(values.add(at), value_sizes.add(at)));
            let places = places.collect::<Result<Vec<_>, _>>()?;
            let (keys, sizes) = (array(keys, count, "the keys")?, array(key_sizes, count, "their sizes")?);
            let keys = keys.iter().zip(sizes).map(|(key, size)| raw::bytes(*key, *size, "a key"));
            (places, raw::handle(keyspace, "the keyspace")?, keys.collect::<Result<Vec<_>, _>>()?)
        };
        let found = keyspace.get_many(&keys)?;
        give_all(&mut places, &found)?;
        Ok(HOLM_OK)
    })
}
