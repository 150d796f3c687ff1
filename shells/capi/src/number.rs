//! Functions that store one number of an object.

use crate::code::{HOLM_ABSENT, HOLM_OK};
use crate::door::door;
use crate::raw::{self, Out};
use std::ffi::c_int;

/// Stores a number of the object of a handle; HOLM_ABSENT if it has none. Both come with what messages call them.
///
/// # Safety
/// By the header's contract: an open handle, and a place for a number.
pub(crate) unsafe fn tell<T>(
    (handle, what): (*const T, &str),
    (place, name): (*mut u64, &str),
    number: impl FnOnce(&T) -> holm::Result<Option<u64>>,
) -> c_int {
    door(|| {
        // SAFETY: by the caller's contract.
        let (mut out, handle) = unsafe { (Out::at(place, 0, name)?, raw::handle(handle, what)?) };
        let Some(number) = number(handle)? else { return Ok(HOLM_ABSENT) };
        out.set(number);
        Ok(HOLM_OK)
    })
}
