//! Keyspaces: reads and writes of one key. A keyspace of a snapshot is one that refuses to write.

use crate::code::{HOLM_OK, HOLM_READ_ONLY, Refusal, found};
use crate::copy::{Buffer, CopyOut};
use crate::door::door;
use crate::raw::{self, Out};
use holm::{Expiry, KeyspaceOptions, Slice};
use std::ffi::{c_int, c_void};
use std::ops::Bound;

/// The type behind `holm_keyspace`.
pub enum Keyspace {
    /// As it is now.
    Present(holm::Keyspace),
    /// As it was when a snapshot was taken.
    Past(holm::SnapshotKeyspace),
    /// Of a database that is open for reading.
    ReadOnly(holm::ReadOnlyKeyspace),
}

impl Keyspace {
    /// Returns the keyspace as it is now, for writes and transactions.
    pub(crate) fn present(&self) -> Result<&holm::Keyspace, Refusal> {
        let (name, of) = match self {
            Keyspace::Present(keyspace) => return Ok(keyspace),
            Keyspace::Past(keyspace) => (keyspace.name(), "a snapshot"),
            Keyspace::ReadOnly(keyspace) => (keyspace.name(), "a database that is open for reading"),
        };
        let words = format!("the keyspace {name:?} belongs to {of}, and can only be read");
        Err(Refusal::new(HOLM_READ_ONLY, words))
    }

    fn get(&self, key: &[u8]) -> holm::Result<Option<Slice>> {
        match self {
            Keyspace::Present(keyspace) => keyspace.get(key),
            Keyspace::Past(keyspace) => keyspace.get(key),
            Keyspace::ReadOnly(keyspace) => keyspace.get(key),
        }
    }

    pub(crate) fn get_many(&self, keys: &[&[u8]]) -> holm::Result<Vec<Option<Slice>>> {
        match self {
            Keyspace::Present(keyspace) => keyspace.get_many(keys),
            Keyspace::Past(keyspace) => keys.iter().map(|key| keyspace.get(key)).collect(),
            Keyspace::ReadOnly(keyspace) => keys.iter().map(|key| keyspace.get(key)).collect(),
        }
    }

    pub(crate) fn expiry(&self, key: &[u8]) -> holm::Result<Option<Expiry>> {
        match self {
            Keyspace::Present(keyspace) => keyspace.expiry(key),
            Keyspace::Past(keyspace) => keyspace.expiry(key),
            Keyspace::ReadOnly(keyspace) => keyspace.expiry(key),
        }
    }

    pub(crate) fn options(&self) -> KeyspaceOptions {
        match self {
            Keyspace::Present(keyspace) => keyspace.options(),
            Keyspace::Past(keyspace) => keyspace.options(),
            Keyspace::ReadOnly(keyspace) => keyspace.options(),
        }
    }

    pub(crate) fn range(&self, range: (Bound<&[u8]>, Bound<&[u8]>)) -> holm::Iter {
        match self {
            Keyspace::Present(keyspace) => keyspace.range::<&[u8]>(range),
            Keyspace::Past(keyspace) => keyspace.range::<&[u8]>(range),
            Keyspace::ReadOnly(keyspace) => keyspace.range::<&[u8]>(range),
        }
    }

    pub(crate) fn prefix(&self, prefix: &[u8]) -> holm::Iter {
        match self {
            Keyspace::Present(keyspace) => keyspace.prefix(prefix),
            Keyspace::Past(keyspace) => keyspace.prefix(prefix),
            Keyspace::ReadOnly(keyspace) => keyspace.prefix(prefix),
        }
    }
}

/// Reads a handle and a key, the arguments of most functions.
///
/// # Safety
/// As for [`raw::handle`] and [`raw::bytes`].
pub(crate) unsafe fn with_key<'a>(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
) -> Result<(&'a Keyspace, &'a [u8]), Refusal> {
    // SAFETY: by the caller's contract, which is the same.
    unsafe { Ok((raw::handle(keyspace, "the keyspace")?, raw::bytes(key, key_size, "the key")?)) }
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
        keyspace.present()?.insert(key, value)?;
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
        // SAFETY: by the header's contract: a place for a size, a buffer of `capacity` bytes, an open handle, a key of
        // its stated size.
        let (mut buffer, (keyspace, key)) =
            unsafe { (Buffer::at(buffer, capacity, value_size)?, with_key(keyspace, key, key_size)?) };
        buffer.fill(keyspace.get(key)?.as_deref())
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
        let (mut out, (keyspace, key)) =
            unsafe { (CopyOut::at(value, value_size)?, with_key(keyspace, key, key_size)?) };
        out.give(keyspace.get(key)?)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_contains(keyspace: *const Keyspace, key: *const c_void, key_size: usize) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle, and a key of its stated size.
        let (keyspace, key) = unsafe { with_key(keyspace, key, key_size)? };
        Ok(found(match keyspace {
            Keyspace::Present(keyspace) => keyspace.contains_key(key)?,
            Keyspace::Past(keyspace) => keyspace.contains_key(key)?,
            Keyspace::ReadOnly(keyspace) => keyspace.contains_key(key)?,
        }))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_remove(keyspace: *const Keyspace, key: *const c_void, key_size: usize) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle, and a key of its stated size.
        let (keyspace, key) = unsafe { with_key(keyspace, key, key_size)? };
        Ok(found(keyspace.present()?.remove(key)?))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_count(keyspace: *const Keyspace, count: *mut u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a number, and an open handle.
        let (mut out, keyspace) = unsafe { (Out::at(count, 0, "the count")?, raw::handle(keyspace, "the keyspace")?) };
        out.set(match keyspace {
            Keyspace::Present(keyspace) => keyspace.len()?,
            Keyspace::Past(keyspace) => keyspace.len()?,
            Keyspace::ReadOnly(keyspace) => keyspace.len()?,
        });
        Ok(HOLM_OK)
    })
}
