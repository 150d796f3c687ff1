//! Iterators: pairs of a range from both ends, lent until the next call.

use crate::code::{HOLM_ABSENT, HOLM_OK, Refusal};
use crate::door::door;
use crate::keyspace::Keyspace;
use crate::raw::{self, Out};
use std::ffi::{c_int, c_void};
use std::ops::Bound;
use std::ptr;

/// What `holm_iter` is.
pub struct Iter(holm::Iter);

impl Iter {
    /// With at most `limit` pairs; 0: all.
    fn new(iter: holm::Iter, limit: usize) -> Self {
        Iter(if limit == 0 { iter } else { iter.limit(limit) })
    }
}

/// The places for a pair.
struct Pair {
    key: Out<*const c_void>,
    key_size: Out<usize>,
    value: Out<*const c_void>,
    value_size: Out<usize>,
}

impl Pair {
    /// # Safety
    /// Each that is not NULL leads to a place for such a result.
    unsafe fn at(
        key: *mut *const c_void,
        key_size: *mut usize,
        value: *mut *const c_void,
        value_size: *mut usize,
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Pair {
                key: Out::maybe(key, ptr::null()),
                key_size: Out::maybe(key_size, 0),
                value: Out::maybe(value, ptr::null()),
                value_size: Out::maybe(value_size, 0),
            }
        }
    }

    fn set(&mut self, pair: Option<holm::Result<(&[u8], &[u8])>>) -> Result<c_int, Refusal> {
        let Some(pair) = pair else { return Ok(HOLM_ABSENT) };
        let (key, value) = pair?;
        self.key.set(key.as_ptr().cast());
        self.key_size.set(key.len());
        self.value.set(value.as_ptr().cast());
        self.value_size.set(value.len());
        Ok(HOLM_OK)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_range(
    keyspace: *const Keyspace,
    low: *const c_void,
    low_size: usize,
    high: *const c_void,
    high_size: usize,
    limit: usize,
    iter: *mut *mut Iter,
) -> c_int {
    door(|| {
        // SAFETY: the header asks it of the caller: a place for a handle, a handle that is open, bounds of their sizes.
        let (mut out, keyspace, low, high) = unsafe {
            let out = Out::for_handle(iter, "the iterator")?;
            let keyspace = raw::handle(keyspace, "the keyspace")?;
            (out, keyspace, raw::bound(low, low_size, "the low end")?, raw::bound(high, high_size, "the high end")?)
        };
        let range = (low.map_or(Bound::Unbounded, Bound::Included), high.map_or(Bound::Unbounded, Bound::Excluded));
        out.give(Iter::new(keyspace.0.range::<&[u8]>(range), limit));
        Ok(HOLM_OK)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_prefix(
    keyspace: *const Keyspace,
    prefix: *const c_void,
    prefix_size: usize,
    limit: usize,
    iter: *mut *mut Iter,
) -> c_int {
    door(|| {
        // SAFETY: the header asks it of the caller: a place for a handle, a handle that is open, a prefix of its size.
        let (mut out, keyspace, prefix) = unsafe {
            let out = Out::for_handle(iter, "the iterator")?;
            (out, raw::handle(keyspace, "the keyspace")?, raw::bytes(prefix, prefix_size, "the prefix")?)
        };
        out.give(Iter::new(keyspace.0.prefix(prefix), limit));
        Ok(HOLM_OK)
    })
}

/// Lends the pair at one end.
///
/// # Safety
/// As the header asks of the caller: places for results or NULL, a handle that is open and that no other thread uses
/// now.
unsafe fn lend(
    iter: *mut Iter,
    [key, value]: [*mut *const c_void; 2],
    [key_size, value_size]: [*mut usize; 2],
    take: impl FnOnce(&mut holm::Iter) -> Option<holm::Result<(&[u8], &[u8])>>,
) -> c_int {
    door(|| {
        // SAFETY: the caller's promises. What is lent lives in the iterator, and is not looked at after the next call.
        let (mut pair, iter) =
            unsafe { (Pair::at(key, key_size, value, value_size), raw::handle_mut(iter, "the iterator")?) };
        pair.set(take(&mut iter.0))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_next(
    iter: *mut Iter,
    key: *mut *const c_void,
    key_size: *mut usize,
    value: *mut *const c_void,
    value_size: *mut usize,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { lend(iter, [key, value], [key_size, value_size], holm::Iter::next_ref) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_next_back(
    iter: *mut Iter,
    key: *mut *const c_void,
    key_size: *mut usize,
    value: *mut *const c_void,
    value_size: *mut usize,
) -> c_int {
    // SAFETY: the caller's promises.
    unsafe { lend(iter, [key, value], [key_size, value_size], holm::Iter::next_back_ref) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_close_iter(iter: *mut Iter) {
    door(|| {
        // SAFETY: the header asks it of the caller: a handle that is not used again, by nobody.
        drop(unsafe { raw::take(iter) });
        Ok(HOLM_OK)
    });
}
