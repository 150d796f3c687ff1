//! The changes of one epoch, as a feed gives them.

use crate::code::{HOLM_ABSENT, HOLM_OK};
use crate::door::door;
use crate::expiry::millis;
use crate::growing::{Growing, GrowingOut};
use crate::number::tell;
use crate::raw;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

const HOLM_CHANGE_DROP: i32 = 1;
const HOLM_CHANGE_CREATE: i32 = 2;
const HOLM_CHANGE_REMOVE: i32 = 3;
const HOLM_CHANGE_PUT: i32 = 4;

/// The type behind `holm_changes`.
pub struct Changes {
    changes: holm::Changes,
    /// The names that were asked for, each with a zero byte at its end. None goes before the changes do, so their
    /// addresses stay.
    names: Mutex<BTreeMap<Box<str>, Box<[u8]>>>,
}

impl From<holm::Changes> for Changes {
    fn from(changes: holm::Changes) -> Self {
        Changes { changes, names: Mutex::default() }
    }
}

impl Changes {
    /// Returns a name as C has it.
    fn name(&self, name: &str) -> *const c_char {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return known.as_ptr().cast();
        }
        let terminated = [name.as_bytes(), b"\0"].concat().into_boxed_slice();
        names.entry(name.into()).or_insert(terminated).as_ptr().cast()
    }
}

/// The struct of the header. All bits zero is a valid value: no change.
#[repr(C)]
pub struct Change {
    size: usize,
    kind: i32,
    expires: i32,
    keyspace: *const c_char,
    keyspace_size: usize,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    expires_ms: u64,
}

const _: () = assert!(size_of::<Change>() == 72, "laid out as in the header");

// SAFETY: as in the header: numbers, and pointers that may be NULL.
unsafe impl Growing for Change {
    const NAME: &str = "HOLM_CHANGE";
}

impl Change {
    /// Describes a change of a keyspace as a whole.
    fn of(kind: i32, changes: &Changes, keyspace: &str) -> Self {
        Change {
            size: size_of::<Self>(),
            kind,
            expires: 0,
            keyspace: changes.name(keyspace),
            keyspace_size: keyspace.len(),
            key: ptr::null(),
            key_size: 0,
            value: ptr::null(),
            value_size: 0,
            expires_ms: 0,
        }
    }

    fn with_key(self, key: &[u8]) -> Self {
        Change { key: key.as_ptr().cast(), key_size: key.len(), ..self }
    }

    /// Describes a change; `None` for one of a kind that this library does not know.
    fn shown(changes: &Changes, change: holm::Change<'_>) -> Option<Self> {
        match change {
            holm::Change::Drop { keyspace } => Some(Self::of(HOLM_CHANGE_DROP, changes, keyspace)),
            holm::Change::Create { keyspace, options, .. } => {
                let expires = options.has_expiry().into();
                Some(Change { expires, ..Self::of(HOLM_CHANGE_CREATE, changes, keyspace) })
            }
            holm::Change::Remove { keyspace, key } => {
                Some(Self::of(HOLM_CHANGE_REMOVE, changes, keyspace).with_key(key))
            }
            holm::Change::Put { keyspace, key, value, expiry, .. } => {
                let (value, value_size, expires_ms) = (value.as_ptr().cast(), value.len(), millis(expiry));
                let put = Self::of(HOLM_CHANGE_PUT, changes, keyspace).with_key(key);
                Some(Change { value, value_size, expires_ms, ..put })
            }
            _ => None,
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_changes_epoch(changes: *const Changes, epoch: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { tell((changes, "the changes"), (epoch, "the epoch"), |it| Ok(Some(it.changes.epoch()))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_changes_mark(changes: *const Changes, mark: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { tell((changes, "the changes"), (mark, "the mark"), |it| Ok(it.changes.mark())) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_changes_count(changes: *const Changes, count: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { tell((changes, "the changes"), (count, "the count"), |it| Ok(Some(it.changes.len() as u64))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_changes_memory(changes: *const Changes, bytes: *mut u64) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { tell((changes, "the changes"), (bytes, "the bytes"), |it| Ok(Some(it.changes.memory_bytes()))) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_changes_get(changes: *const Changes, index: u64, change: *mut Change) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place of its stated size or NULL, and an open handle.
        let (mut out, changes) =
            unsafe { (GrowingOut::at(change, "the change")?, raw::handle(changes, "the changes")?) };
        let found = usize::try_from(index).ok().and_then(|index| changes.changes.get(index));
        let Some(found) = found else { return Ok(HOLM_ABSENT) };
        if let Some(shown) = Change::shown(changes, found) {
            out.set(&shown);
        }
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_close_changes(changes: *mut Changes) {
    door(|| {
        // SAFETY: by the header's contract: no thread uses the handle again.
        drop(unsafe { raw::take(changes) });
        Ok(HOLM_OK)
    });
}
