//! Removals of ranges: leaf by leaf in a keyspace, or at one instant in a transaction.

use crate::code::HOLM_OK;
use crate::door::door;
use crate::iter::half_open;
use crate::keyspace::Keyspace;
use crate::raw::{self, Out};
use crate::transaction::{Transaction, handles};
use std::ffi::{c_int, c_void};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_remove_range(
    keyspace: *const Keyspace,
    low: *const c_void,
    low_size: usize,
    high: *const c_void,
    high_size: usize,
    count: *mut u64,
) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a number or NULL, an open handle, bounds of their stated sizes.
        let (mut out, keyspace, low, high) = unsafe {
            let (out, keyspace) = (Out::maybe(count, 0), raw::handle(keyspace, "the keyspace")?);
            (out, keyspace, raw::bound(low, low_size, "the low end")?, raw::bound(high, high_size, "the high end")?)
        };
        out.set(keyspace.present()?.remove_range::<&[u8]>(half_open(low, high))?);
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_clear(keyspace: *const Keyspace, count: *mut u64) -> c_int {
    door(|| {
        // SAFETY: by the header's contract: a place for a number or NULL, and an open handle.
        let (mut out, keyspace) = unsafe { (Out::maybe(count, 0), raw::handle(keyspace, "the keyspace")?) };
        out.set(keyspace.present()?.clear()?);
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_transaction_remove_range(
    transaction: *const Transaction,
    keyspace: *const Keyspace,
    low: *const c_void,
    low_size: usize,
    high: *const c_void,
    high_size: usize,
    count: *mut u64,
) -> c_int {
    door(|| {
        // SAFETY: as in `holm_remove_range`, with two open handles and no concurrent use of the transaction.
        let (mut out, (state, keyspace), low, high) = unsafe {
            let (out, handles) = (Out::maybe(count, 0), handles(transaction, keyspace)?);
            (out, handles, raw::bound(low, low_size, "the low end")?, raw::bound(high, high_size, "the high end")?)
        };
        out.set(state.borrow().transaction()?.remove_range::<&[u8]>(keyspace, half_open(low, high))?);
        Ok(HOLM_OK)
    })
}
