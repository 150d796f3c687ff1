//! Iterators: pairs of a range from both ends, borrowed until the next call, of a keyspace or in a transaction.

use crate::code::{HOLM_ABSENT, HOLM_OK, Refusal};
use crate::door::door;
use crate::keyspace::Keyspace;
use crate::list::List;
use crate::raw::{self, Out};
use crate::scan::{End, LentPair, Scan};
use std::ffi::{c_int, c_void};
use std::ops::Bound;
use std::ptr;

/// The type behind `holm_iter`.
pub struct Iter(Source);

/// Where an iterator's pairs come from.
#[expect(clippy::large_enum_variant, reason = "the large variant is the usual one, and handles are boxed")]
enum Source {
    /// A keyspace, as it is or as it was.
    Keyspace(holm::Iter),
    Transaction(Scan),
    List(List),
}

impl Iter {
    /// Creates an iterator of at most `limit` pairs; 0 is no limit.
    fn new(iter: holm::Iter, limit: usize) -> Self {
        Iter(Source::Keyspace(if limit == 0 { iter } else { iter.limit(limit) }))
    }

    pub(crate) fn in_transaction(scan: Scan) -> Self {
        Iter(Source::Transaction(scan))
    }

    /// Creates an iterator that has keys and no values.
    pub(crate) fn of_list(list: List) -> Self {
        Iter(Source::List(list))
    }

    fn next(&mut self, end: End) -> Result<Option<LentPair<'_>>, Refusal> {
        match (&mut self.0, end) {
            (Source::Keyspace(iter), End::Front) => Ok(iter.next_ref().transpose()?),
            (Source::Keyspace(iter), End::Back) => Ok(iter.next_back_ref().transpose()?),
            (Source::Transaction(scan), end) => scan.next(end),
            (Source::List(list), end) => Ok(list.next(end).map(|item| (item, &[][..]))),
        }
    }
}

/// Returns the range from one key, inclusive, to another, exclusive.
pub(crate) fn half_open<'a>(low: Option<&'a [u8]>, high: Option<&'a [u8]>) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
    (low.map_or(Bound::Unbounded, Bound::Included), high.map_or(Bound::Unbounded, Bound::Excluded))
}

/// The output places of a pair.
struct Pair {
    key: Out<*const c_void>,
    key_size: Out<usize>,
    value: Out<*const c_void>,
    value_size: Out<usize>,
}

impl Pair {
    /// # Safety
    /// Each pointer that is not NULL points to a place for its result.
    unsafe fn at(
        key: *mut *const c_void,
        key_size: *mut usize,
        value: *mut *const c_void,
        value_size: *mut usize,
    ) -> Self {
        // SAFETY: by the caller's contract.
        unsafe {
            Pair {
                key: Out::maybe(key, ptr::null()),
                key_size: Out::maybe(key_size, 0),
                value: Out::maybe(value, ptr::null()),
                value_size: Out::maybe(value_size, 0),
            }
        }
    }

    fn set(&mut self, pair: Option<LentPair<'_>>) -> Result<c_int, Refusal> {
        let Some((key, value)) = pair else { return Ok(HOLM_ABSENT) };
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
        // SAFETY: by the header's contract: a place for a handle, an open handle, bounds of their stated sizes.
        let (mut out, keyspace, low, high) = unsafe {
            let out = Out::for_handle(iter, "the iterator")?;
            let keyspace = raw::handle(keyspace, "the keyspace")?;
            (out, keyspace, raw::bound(low, low_size, "the low end")?, raw::bound(high, high_size, "the high end")?)
        };
        let range = half_open(low, high);
        out.give(Iter::new(keyspace.range(range), limit));
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
        // SAFETY: by the header's contract: a place for a handle, an open handle, a prefix of its stated size.
        let (mut out, keyspace, prefix) = unsafe {
            let out = Out::for_handle(iter, "the iterator")?;
            (out, raw::handle(keyspace, "the keyspace")?, raw::bytes(prefix, prefix_size, "the prefix")?)
        };
        out.give(Iter::new(keyspace.prefix(prefix), limit));
        Ok(HOLM_OK)
    })
}

/// Returns the pair at one end, borrowed.
///
/// # Safety
/// By the header's contract: places for results or NULL, and an open handle that no other thread uses now.
unsafe fn lend(
    iter: *mut Iter,
    [key, value]: [*mut *const c_void; 2],
    [key_size, value_size]: [*mut usize; 2],
    end: End,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract. The pair is owned by the iterator, and the caller does not read it after
        // the next call.
        let (mut pair, iter) =
            unsafe { (Pair::at(key, key_size, value, value_size), raw::handle_mut(iter, "the iterator")?) };
        pair.set(iter.next(end)?)
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
    // SAFETY: by the caller's contract.
    unsafe { lend(iter, [key, value], [key_size, value_size], End::Front) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_next_back(
    iter: *mut Iter,
    key: *mut *const c_void,
    key_size: *mut usize,
    value: *mut *const c_void,
    value_size: *mut usize,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { lend(iter, [key, value], [key_size, value_size], End::Back) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_close_iter(iter: *mut Iter) {
    door(|| {
        // SAFETY: by the header's contract: no thread uses the handle again.
        drop(unsafe { raw::take(iter) });
        Ok(HOLM_OK)
    });
}
