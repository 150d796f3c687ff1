//! From what C gives to what Rust takes: bytes, texts, handles, and places for results. Whatever can be checked of a
//! pointer is checked here, and nowhere else is one followed, but for the two structs.

use crate::code::Refusal;
use std::ffi::{CStr, c_char, c_void};

/// The bytes behind a pointer and a size; NULL with size 0 is the empty string.
///
/// # Safety
/// A pointer that is not NULL leads to `size` bytes, which nobody changes while they are borrowed.
pub(crate) unsafe fn bytes<'a>(pointer: *const c_void, size: usize, what: &str) -> Result<&'a [u8], Refusal> {
    if pointer.is_null() {
        return match size {
            0 => Ok(&[]),
            _ => Err(Refusal::invalid(format!("{what} is NULL and {size} bytes long"))),
        };
    }
    if isize::try_from(size).is_err() {
        return Err(Refusal::invalid(format!("{what} of {size} bytes is longer than any memory")));
    }
    // SAFETY: not NULL, of a length that a slice may have, bytes need no alignment; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer.cast(), size) })
}

/// Bytes, or that there are none.
///
/// # Safety
/// As for [`bytes`].
pub(crate) unsafe fn bound<'a>(pointer: *const c_void, size: usize, what: &str) -> Result<Option<&'a [u8]>, Refusal> {
    // SAFETY: the caller's promise is the same.
    let bytes = unsafe { bytes(pointer, size, what)? };
    Ok((!pointer.is_null()).then_some(bytes))
}

/// The text behind a pointer, which ends with a zero.
///
/// # Safety
/// A pointer that is not NULL leads to bytes that end with a zero, which nobody changes while they are borrowed.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a CStr, Refusal> {
    if pointer.is_null() {
        return Err(Refusal::invalid(format!("{what} is NULL")));
    }
    // SAFETY: not NULL; the rest is the caller's promise.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// What a handle stands for, to be looked at.
///
/// # Safety
/// A handle that is not NULL came from [`give`] and has not been [taken](take).
pub(crate) unsafe fn handle<'a, T>(handle: *const T, what: &str) -> Result<&'a T, Refusal> {
    // SAFETY: NULL is told apart by `as_ref`; the rest is the caller's promise.
    unsafe { handle.as_ref() }.ok_or_else(|| Refusal::invalid(format!("{what} is NULL")))
}

/// What a handle stands for, to be changed.
///
/// # Safety
/// As for [`handle`], and nobody else uses it meanwhile.
pub(crate) unsafe fn handle_mut<'a, T>(handle: *mut T, what: &str) -> Result<&'a mut T, Refusal> {
    // SAFETY: NULL is told apart by `as_mut`; the rest is the caller's promise.
    unsafe { handle.as_mut() }.ok_or_else(|| Refusal::invalid(format!("{what} is NULL")))
}

/// Takes back what a handle stands for; `None` for NULL.
///
/// # Safety
/// As for [`handle_mut`], and nobody uses the handle again.
pub(crate) unsafe fn take<T>(handle: *mut T) -> Option<T> {
    // SAFETY: it came from `Box::into_raw` in `give`, and is not used again.
    (!handle.is_null()).then(|| *unsafe { Box::from_raw(handle) })
}

/// A place for a result.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// The place, with `nothing` in it, so that whatever is refused after this leaves that.
    ///
    /// # Safety
    /// A pointer that is not NULL leads to a place for a `T`, which is the call's own until it returns.
    pub(crate) unsafe fn at(pointer: *mut T, nothing: T, what: &str) -> Result<Self, Refusal> {
        if pointer.is_null() {
            return Err(Refusal::invalid(format!("the place for {what} is NULL")));
        }
        // SAFETY: the caller's promise.
        Ok(unsafe { Self::maybe(pointer, nothing) })
    }

    /// The same, where NULL is allowed and takes nothing.
    ///
    /// # Safety
    /// As for [`Out::at`].
    pub(crate) unsafe fn maybe(pointer: *mut T, nothing: T) -> Self {
        let mut out = Out(pointer);
        out.set(nothing);
        out
    }

    pub(crate) fn set(&mut self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not NULL, and a place for a `T`, as whoever made the `Out` promised. What was there is not
            // dropped: it may never have been initialised.
            unsafe { self.0.write(value) };
        }
    }
}

impl<T> Out<*mut T> {
    /// A place for a handle.
    ///
    /// # Safety
    /// As for [`Out::at`].
    pub(crate) unsafe fn for_handle(pointer: *mut *mut T, what: &str) -> Result<Self, Refusal> {
        // SAFETY: the caller's promise is the same.
        unsafe { Self::at(pointer, std::ptr::null_mut(), what) }
    }

    /// Gives a handle away; its owner has it taken back.
    pub(crate) fn give(&mut self, value: T) {
        self.set(Box::into_raw(Box::new(value)));
    }
}
