//! The wrapper of every function: it catches panics, and gives the caller the result or the message.

use crate::raw::{Bytes, place};
use holm_node::Fault;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) const OK: c_int = 0;
pub(crate) const END: c_int = 1;
pub(crate) const REFUSED: c_int = 2;
const INVALID: c_int = -1;
const STORE: c_int = -2;
const MALFORMED: c_int = -3;
const LEVEL: c_int = -4;
const ORDER: c_int = -5;
pub(crate) const PROTOCOL: c_int = -6;
const PANIC: c_int = -7;
const DIFFERS: c_int = -8;

/// Why a call has no result.
pub(crate) struct Refusal {
    pub(crate) code: c_int,
    pub(crate) words: String,
}

impl Refusal {
    pub(crate) fn invalid(words: &str) -> Self {
        Refusal { code: INVALID, words: words.into() }
    }

    pub(crate) fn malformed(words: String) -> Self {
        Refusal { code: MALFORMED, words }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        let code = match fault {
            Fault::Malformed { .. } => MALFORMED,
            Fault::Level { .. } => LEVEL,
            Fault::Order { .. } => ORDER,
            Fault::Differs { .. } => DIFFERS,
            _ => STORE,
        };
        Refusal { code, words: fault.to_string() }
    }
}

/// What a call that succeeds gives: its code and its bytes.
pub(crate) type Answer = Result<(c_int, Vec<u8>), Refusal>;

/// Calls the function behind the wrapper.
///
/// Its unwind safety is asserted, not known: after a panic the process is to end, and the header says so.
///
/// # Safety
/// `out` is NULL, or it points to memory for [`Bytes`] that only this call uses.
pub(crate) unsafe fn door(out: *mut Bytes, work: impl FnOnce() -> Answer) -> c_int {
    let (code, bytes) = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(answer)) => answer,
        Ok(Err(refusal)) => (refusal.code, refusal.words.into_bytes()),
        Err(panic) => {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word");
            let words = format!("a bug in Holm: a panic, {words}");
            // The panic's payload is foreign code: its destructor might panic in turn, outside the wrapper.
            std::mem::forget(panic);
            (PANIC, words.into_bytes())
        }
    };
    // SAFETY: by the caller's contract.
    if let Ok(out) = unsafe { place(out) } {
        out.write(Bytes::new(bytes));
    }
    code
}

/// Drops what a handle had, without a place for a message.
pub(crate) fn close<T>(value: Option<Box<T>>) {
    let work = || {
        drop(value);
        Ok((OK, Vec::new()))
    };
    // SAFETY: there is no place to write to.
    unsafe { door(std::ptr::null_mut(), work) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::free;
    use std::mem::MaybeUninit;

    fn said(work: impl FnOnce() -> Answer) -> (c_int, String) {
        let mut out = MaybeUninit::uninit();
        // SAFETY: `out` is this function's own.
        let code = unsafe { door(out.as_mut_ptr(), work) };
        // SAFETY: the wrapper has written it.
        let out = unsafe { out.assume_init() };
        // SAFETY: the bytes are those of the wrapper.
        let words = unsafe { crate::raw::slice(out.data, out.size) }.map(<[u8]>::to_vec).unwrap_or_default();
        // SAFETY: they are freed once.
        unsafe { free(out) };
        (code, String::from_utf8(words).unwrap())
    }

    #[test]
    fn results_refusals_and_panics_become_codes_with_words() {
        assert_eq!(said(|| Ok((OK, b"done".to_vec()))), (OK, "done".into()));
        assert_eq!(said(|| Err(Refusal::invalid("no"))), (INVALID, "no".into()));
        assert_eq!(said(|| panic!("leaf {}", 7)), (PANIC, "a bug in Holm: a panic, leaf 7".into()));
        // SAFETY: no place is no place.
        assert_eq!(unsafe { door(std::ptr::null_mut(), || Ok((END, vec![1]))) }, END);
    }
}
