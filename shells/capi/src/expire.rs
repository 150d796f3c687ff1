//! When a key expires: to read it, and to change it while the key keeps its value.

use crate::code::{HOLM_ABSENT, HOLM_OK, Refusal, found};
use crate::door::door;
use crate::expiry::{When, millis};
use crate::keyspace::{Keyspace, with_key};
use crate::raw::Out;
use crate::transaction::{Transaction, place};
use std::ffi::{c_int, c_void};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_expiry(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    time_ms: *mut u64,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a number, an open handle, and a key of its stated size.
        let (mut out, (keyspace, key)) =
            unsafe { (Out::at(time_ms, 0, "the time")?, with_key(keyspace, key, key_size)?) };
        let Some(expiry) = keyspace.expiry(key)? else { return Ok(HOLM_ABSENT) };
        out.set(millis(expiry));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_persist(keyspace: *const Keyspace, key: *const c_void, key_size: usize) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: an open handle, and a key of its stated size.
        let (keyspace, key) = unsafe { with_key(keyspace, key, key_size)? };
        Ok(found(keyspace.present()?.persist(key)?))
    })
}

/// Sets when a key expires.
///
/// # Safety
/// By the header's contract: an open handle, and a key of its stated size.
unsafe fn expire(keyspace: *const Keyspace, key: *const c_void, key_size: usize, when: Result<When, Refusal>) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let (keyspace, key) = unsafe { with_key(keyspace, key, key_size)? };
        let keyspace = keyspace.present()?;
        Ok(found(match when? {
            When::After(lifetime) => keyspace.expire_in(key, lifetime)?,
            When::At(time) => keyspace.expire_at(key, time)?,
        }))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_expire_in(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    lifetime_ms: u64,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { expire(keyspace, key, key_size, When::after(lifetime_ms)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_expire_at(
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    time_ms: u64,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { expire(keyspace, key, key_size, When::at(time_ms)) }
}

/// Sets when a key expires, when the transaction commits.
///
/// # Safety
/// By the header's contract: open handles, no concurrent use of the transaction, and a key of its stated size.
unsafe fn expire_later(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    when: Result<When, Refusal>,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let (state, keyspace, key) = unsafe { place(transaction, keyspace, key, key_size)? };
        let state = state.borrow();
        Ok(found(match when? {
            When::After(lifetime) => state.transaction()?.expire_in(keyspace, key, lifetime)?,
            When::At(time) => state.transaction()?.expire_at(keyspace, key, time)?,
        }))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_expire_in(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    lifetime_ms: u64,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { expire_later(transaction, keyspace, key, key_size, When::after(lifetime_ms)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_expire_at(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    time_ms: u64,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { expire_later(transaction, keyspace, key, key_size, When::at(time_ms)) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_expiry(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
    time_ms: *mut u64,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a number, open handles, no concurrent use of the transaction,
        // and a key of its stated size.
        let (mut out, (state, keyspace, key)) =
            unsafe { (Out::at(time_ms, 0, "the time")?, place(transaction, keyspace, key, key_size)?) };
        let expiry = state.borrow().transaction()?.expiry(keyspace, key)?;
        let Some(expiry) = expiry else { return Ok(HOLM_ABSENT) };
        out.set(millis(expiry));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_persist(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    key: *const c_void,
    key_size: usize,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: open handles, no concurrent use of the transaction, and a key of its stated
        // size.
        let (state, keyspace, key) = unsafe { place(transaction, keyspace, key, key_size)? };
        Ok(found(state.borrow().transaction()?.persist(keyspace, key)?))
    })
}
