//! Berkeley DB 5.3, a B-tree in an environment of this process alone. Relaxed writes the log at each commit and does
//! not wait for the disk (`DB_TXN_WRITE_NOSYNC`), which a killed process survives; synced waits, and concurrent commits
//! share a sync. `berkeley-unsafe` is its fastest form: no log, no transactions, one writer at a time beside readers. A
//! killed process can leave its file corrupt.
//!
//! The calls go through `berkeley.c`. `unsafe` is allowed in this file.

use super::{Durability, HALF, Opened, cache_bytes};
use holm_bench::{BoxError, Change, Engine};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::{NonNull, null_mut};

/// How often a transaction is repeated that a deadlock ended.
const ATTEMPTS: usize = 10_000;

#[repr(C)]
struct Store {
    _opaque: [u8; 0],
}

#[repr(C)]
struct Transaction {
    _opaque: [u8; 0],
}

type Visit = extern "C" fn(*mut c_void, *const u8, usize, *const u8, usize);

unsafe extern "C" {
    fn berkeley_open(folder: *const c_char, cache: u64, logs: c_int, synced: c_int, out: *mut *mut Store) -> c_int;
    fn berkeley_close(store: *mut Store) -> c_int;
    fn berkeley_message(error: c_int) -> *const c_char;
    safe fn berkeley_is_absent(error: c_int) -> c_int;
    safe fn berkeley_is_small(error: c_int) -> c_int;
    safe fn berkeley_is_deadlock(error: c_int) -> c_int;
    fn berkeley_begin(store: *mut Store, transaction: *mut *mut Transaction) -> c_int;
    fn berkeley_commit(transaction: *mut Transaction) -> c_int;
    fn berkeley_abort(transaction: *mut Transaction) -> c_int;
    fn berkeley_put(
        store: *mut Store,
        transaction: *mut Transaction,
        key: *const u8,
        key_len: usize,
        value: *const u8,
        value_len: usize,
    ) -> c_int;
    fn berkeley_get(
        store: *mut Store,
        transaction: *mut Transaction,
        key: *const u8,
        key_len: usize,
        into: *mut u8,
        room: usize,
        value_len: *mut usize,
    ) -> c_int;
    fn berkeley_scan(
        store: *mut Store,
        from: *const u8,
        from_len: usize,
        count: usize,
        visit: Visit,
        context: *mut c_void,
        shown: *mut usize,
    ) -> c_int;
    fn berkeley_sync(store: *mut Store) -> c_int;
}

/// An error of Berkeley DB.
#[derive(Debug)]
struct BerkeleyError(c_int);

impl std::fmt::Display for BerkeleyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // SAFETY: the message of any number is a string that ends with zero and is copied at once.
        let message = unsafe { CStr::from_ptr(berkeley_message(self.0)) };
        write!(f, "Berkeley DB: {}", message.to_string_lossy())
    }
}

impl std::error::Error for BerkeleyError {}

fn check(error: c_int) -> Result<(), BerkeleyError> {
    if error == 0 { Ok(()) } else { Err(BerkeleyError(error)) }
}

/// Repeats what a deadlock ended.
fn repeated<T>(mut attempt: impl FnMut() -> Result<T, BerkeleyError>) -> Result<T, BerkeleyError> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(BerkeleyError(error)) if berkeley_is_deadlock(error) != 0 => {}
            other => return other,
        }
    }
    attempt()
}

struct Berkeley {
    store: NonNull<Store>,
    name: &'static str,
    logs: bool,
}

// SAFETY: environment and database are opened with `DB_THREAD`: any thread may use the handles, at the same time.
unsafe impl Send for Berkeley {}
// SAFETY: as above.
unsafe impl Sync for Berkeley {}

/// In its fastest configuration of each class.
pub(super) fn open(folder: &Path, durability: Durability) -> Opened {
    open_with("berkeley", folder, true, durability)
}

/// Without a log.
pub(super) fn open_unsafe(folder: &Path, durability: Durability) -> Opened {
    open_with("berkeley-unsafe", folder, false, durability)
}

fn open_with(name: &'static str, folder: &Path, logs: bool, durability: Durability) -> Opened {
    let folder = folder.join("data.berkeley");
    std::fs::create_dir_all(&folder)?;
    let folder = CString::new(folder.as_os_str().as_bytes())?;
    let (mut store, synced) = (null_mut(), durability == Durability::Synced);
    // SAFETY: the folder is a string that ends with zero; the store is written if there is no error.
    check(unsafe {
        berkeley_open(folder.as_ptr(), cache_bytes(HALF) as u64, logs.into(), synced.into(), &raw mut store)
    })?;
    let store = NonNull::new(store).ok_or("Berkeley DB opened nothing")?;
    Ok(Box::new(Berkeley { store, name, logs }))
}

/// A transaction, which is aborted if it is not committed.
struct Open<'a> {
    transaction: NonNull<Transaction>,
    berkeley: &'a Berkeley,
}

impl Open<'_> {
    fn commit(self) -> Result<(), BerkeleyError> {
        let transaction = std::mem::ManuallyDrop::new(self).transaction;
        // SAFETY: the transaction is open, and nothing uses it after its commit, which ends it in any case.
        check(unsafe { berkeley_commit(transaction.as_ptr()) })
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), BerkeleyError> {
        self.berkeley.put(self.transaction.as_ptr(), key, value)
    }

    fn get(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BerkeleyError> {
        self.berkeley.get(self.transaction.as_ptr(), key, into)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // SAFETY: the transaction is open, and nothing uses it afterwards. An abort that fails has nothing to report
        // to.
        let _ = unsafe { berkeley_abort(self.transaction.as_ptr()) };
    }
}

impl Berkeley {
    fn begin(&self) -> Result<Open<'_>, BerkeleyError> {
        let mut transaction = null_mut();
        // SAFETY: the store is open; the transaction is written if there is no error.
        check(unsafe { berkeley_begin(self.store.as_ptr(), &raw mut transaction) })?;
        let transaction = NonNull::new(transaction).ok_or(BerkeleyError(-1))?;
        Ok(Open { transaction, berkeley: self })
    }

    fn put(&self, transaction: *mut Transaction, key: &[u8], value: &[u8]) -> Result<(), BerkeleyError> {
        let store = self.store.as_ptr();
        // SAFETY: the store is open, and so is the transaction, if there is one; key and value outlive the call.
        let error = unsafe { berkeley_put(store, transaction, key.as_ptr(), key.len(), value.as_ptr(), value.len()) };
        check(error)
    }

    fn get(&self, transaction: *mut Transaction, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BerkeleyError> {
        into.clear();
        loop {
            let (mut len, to) = (0, into.spare_capacity_mut());
            let (room, to) = (to.len(), to.as_mut_ptr().cast());
            // SAFETY: store and transaction are open, the key outlives the call, and at most `room` bytes are written.
            let error = unsafe {
                berkeley_get(self.store.as_ptr(), transaction, key.as_ptr(), key.len(), to, room, &raw mut len)
            };
            if error == 0 {
                // SAFETY: without an error, that many bytes were written, and they fit.
                unsafe { into.set_len(len) };
                return Ok(true);
            }
            if berkeley_is_absent(error) != 0 {
                return Ok(false);
            }
            if berkeley_is_small(error) == 0 || len <= room {
                return Err(BerkeleyError(error));
            }
            into.reserve(len);
        }
    }
}

/// Calls the closure behind the context.
extern "C" fn visit(context: *mut c_void, key: *const u8, key_len: usize, value: *const u8, value_len: usize) {
    // SAFETY: `scan` passes a reference to its closure, which nothing else uses during the call; key and value are
    // bytes of that length, for the duration of this call.
    unsafe {
        let visit = &mut *context.cast::<&mut dyn FnMut(&[u8], &[u8])>();
        let key = if key_len == 0 { &[] } else { std::slice::from_raw_parts(key, key_len) };
        let value = if value_len == 0 { &[] } else { std::slice::from_raw_parts(value, value_len) };
        visit(key, value);
    }
}

impl Engine for Berkeley {
    fn name(&self) -> &str {
        self.name
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        Ok(repeated(|| self.put(null_mut(), key, value))?)
    }

    fn read(&self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, BoxError> {
        Ok(repeated(|| self.get(null_mut(), key, into))?)
    }

    fn scan(&self, from: &[u8], count: usize, mut show: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, BoxError> {
        let (mut shown, context) = (0, (&raw mut show).cast());
        // SAFETY: the store is open, `from` outlives the call, and the context is the closure that `visit` expects.
        check(unsafe {
            let store = self.store.as_ptr();
            berkeley_scan(store, from.as_ptr(), from.len(), count, visit, context, &raw mut shown)
        })?;
        Ok(shown)
    }

    fn sync(&self) -> Result<(), BoxError> {
        // SAFETY: the store is open.
        Ok(check(unsafe { berkeley_sync(self.store.as_ptr()) })?)
    }

    fn transact(&self, keys: [&[u8]; 2], values: &mut [Vec<u8>; 2], change: Change<'_>) -> Result<bool, BoxError> {
        if !self.logs {
            return Err("Berkeley DB has no transactions without a log".into());
        }
        Ok(repeated(|| {
            let open = self.begin()?;
            for (key, value) in keys.iter().zip(values.iter_mut()) {
                if !open.get(key, value)? {
                    return Ok(false);
                }
            }
            change(values);
            for (key, value) in keys.iter().zip(values.iter()) {
                open.put(key, value)?;
            }
            open.commit()?;
            Ok(true)
        })?)
    }

    /// Without a log, one by one: a crash keeps any of them.
    fn batch(&self, pairs: &[(Vec<u8>, Vec<u8>)]) -> Result<(), BoxError> {
        if !self.logs {
            return pairs.iter().try_for_each(|(key, value)| self.insert(key, value));
        }
        Ok(repeated(|| {
            let open = self.begin()?;
            pairs.iter().try_for_each(|(key, value)| open.put(key, value))?;
            open.commit()
        })?)
    }
}

impl Drop for Berkeley {
    fn drop(&mut self) {
        // SAFETY: the store is open, no cursor and no transaction is left, and nothing uses it afterwards. An error has
        // nothing to report to; with a log, the next opening recovers.
        let _ = unsafe { berkeley_close(self.store.as_ptr()) };
    }
}
