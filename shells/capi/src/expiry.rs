//! Keys that expire: the keyspaces that have them, writes with a deadline, and the removal of what has expired.
//! `expire` has what is done to a key alone.

use crate::batch::Batch;
use crate::code::{HOLM_OK, Refusal};
use crate::database::{Database, name};
use crate::door::door;
use crate::growing::{self, Growing, GrowingOut};
use crate::keyspace::{Keyspace, with_key};
use crate::raw::{self, Out};
use crate::transaction::{Transaction, place};
use holm::Expiry;
use std::ffi::{c_char, c_int, c_void};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The struct of the header. All bits zero is a valid value: the defaults.
#[repr(C)]
pub struct KeyspaceOptions {
    size: usize,
    expires: i32,
    reserved: i32,
}

const _: () = assert!(size_of::<KeyspaceOptions>() == 16, "laid out as in the header");

// SAFETY: as in the header, and numbers alone.
unsafe impl Growing for KeyspaceOptions {
    const NAME: &str = "HOLM_KEYSPACE_OPTIONS";
}

/// When a value expires.
#[derive(Clone, Copy)]
pub(crate) enum When {
    After(Duration),
    At(SystemTime),
}

impl When {
    pub(crate) fn after(lifetime_ms: u64) -> Result<Self, Refusal> {
        Ok(When::After(Duration::from_millis(lifetime_ms)))
    }

    pub(crate) fn at(time_ms: u64) -> Result<Self, Refusal> {
        time(time_ms).map(When::At)
    }
}

/// Reads a time in milliseconds since 1970.
pub(crate) fn time(time_ms: u64) -> Result<SystemTime, Refusal> {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(time_ms));
    time.ok_or_else(|| Refusal::invalid(format!("a time of {time_ms} ms that the system cannot have")))
}

/// Returns milliseconds since 1970, at least those that were given; 0 stands for never.
pub(crate) fn millis(expiry: Expiry) -> u64 {
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    expiry.time().map_or(0, |time| since(time).as_millis().try_into().unwrap_or(u64::MAX).max(1))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_open_keyspace_with(
    database: *const Database,
    name: *const c_char,
    options: *const KeyspaceOptions,
    keyspace: *mut *mut Keyspace,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a handle, an open handle, a terminated name, options of their
        // stated size.
        let (mut out, database, name, options) = unsafe {
            let out = Out::for_handle(keyspace, "the keyspace")?;
            (out, raw::handle(database, "the database")?, self::name(name)?, growing::read(options)?)
        };
        if options.reserved != 0 {
            return Err(Refusal::invalid(format!("found {} in `reserved`, expected 0", options.reserved)));
        }
        let options = holm::KeyspaceOptions::new().expires(options.expires != 0);
        out.give(Keyspace::Present(database.writable()?.keyspace_with(name, &options)?));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_read_keyspace_options(keyspace: *const Keyspace, options: *mut KeyspaceOptions) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place of its stated size, and an open handle.
        let (mut out, keyspace) =
            unsafe { (GrowingOut::at(options, "the options")?, raw::handle(keyspace, "the keyspace")?) };
        let found = keyspace.options();
        let (size, expires) = (size_of::<KeyspaceOptions>(), found.has_expiry().into());
        out.set(&KeyspaceOptions { size, expires, reserved: 0 });
        Ok(HOLM_OK)
    })
}

/// Stores a value that expires.
///
/// # Safety
/// By the header's contract: an open handle, and pointers to as many bytes as their sizes say.
unsafe fn insert(
    keyspace: *const Keyspace,
    [key, value]: [*const c_void; 2],
    [key_size, value_size]: [usize; 2],
    when: Result<When, Refusal>,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let ((keyspace, key), value) =
            unsafe { (with_key(keyspace, key, key_size)?, raw::bytes(value, value_size, "the value")?) };
        match when? {
            When::After(lifetime) => keyspace.present()?.insert_for(key, value, lifetime)?,
            When::At(time) => keyspace.present()?.insert_until(key, value, time)?,
        }
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_insert_for(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    lifetime_ms: u64,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { insert(keyspace, [key, value], [key_size, value_size], When::after(lifetime_ms)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_insert_until(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    time_ms: u64,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { insert(keyspace, [key, value], [key_size, value_size], When::at(time_ms)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_sweep(database: *const Database, removed: *mut u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a number or NULL, and an open handle.
        let (mut out, database) = unsafe { (Out::maybe(removed, 0), raw::handle(database, "the database")?) };
        out.set(database.writable()?.sweep()?);
        Ok(HOLM_OK)
    })
}

/// Appends an insertion of a value that expires.
///
/// # Safety
/// By the header's contract: open handles, no concurrent use of the batch, and pointers to as many bytes as their sizes
/// say.
unsafe fn append(
    batch: *mut Batch,
    keyspace: *const Keyspace,
    [key, value]: [*const c_void; 2],
    [key_size, value_size]: [usize; 2],
    when: Result<When, Refusal>,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let (batch, (keyspace, key), value) = unsafe {
            let (batch, place) = (raw::handle_mut(batch, "the batch")?, with_key(keyspace, key, key_size)?);
            (batch, place, raw::bytes(value, value_size, "the value")?)
        };
        let (keyspace, when) = (keyspace.present()?, when?);
        batch.push(|batch| match when {
            When::After(lifetime) => batch.insert_for(keyspace, key, value, lifetime),
            When::At(time) => batch.insert_until(keyspace, key, value, time),
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_batch_insert_for(
    batch: *mut Batch,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    lifetime_ms: u64,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { append(batch, keyspace, [key, value], [key_size, value_size], When::after(lifetime_ms)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_batch_insert_until(
    batch: *mut Batch,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    time_ms: u64,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { append(batch, keyspace, [key, value], [key_size, value_size], When::at(time_ms)) }
}

/// Stores a value that expires, when the transaction commits.
///
/// # Safety
/// By the header's contract: open handles, no concurrent use of the transaction, and pointers to as many bytes as their
/// sizes say.
unsafe fn note(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    [key, value]: [*const c_void; 2],
    [key_size, value_size]: [usize; 2],
    when: Result<When, Refusal>,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let ((state, keyspace, key), value) =
            unsafe { (place(transaction, keyspace, key, key_size)?, raw::bytes(value, value_size, "the value")?) };
        let state = state.borrow();
        match when? {
            When::After(lifetime) => state.transaction()?.insert_for(keyspace, key, value, lifetime)?,
            When::At(time) => state.transaction()?.insert_until(keyspace, key, value, time)?,
        }
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_insert_for(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    lifetime_ms: u64,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { note(transaction, keyspace, [key, value], [key_size, value_size], When::after(lifetime_ms)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_insert_until(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    value: *const c_void,
    value_size: usize,
    time_ms: u64,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { note(transaction, keyspace, [key, value], [key_size, value_size], When::at(time_ms)) }
}
