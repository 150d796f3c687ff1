//! Conversions from C to Rust: bytes, texts, handles, and places for results. All checks of pointers are here. Only
//! this file, `copy` and `growing` dereference pointers, and `stats` for its struct and `many` for its arrays.

use crate::code::Refusal;
use std::ffi::{CStr, c_char, c_void};

/// Returns the bytes behind a pointer and a size; NULL with size 0 is the empty string.
///
/// # Safety
/// A pointer that is not NULL points to `size` bytes, which no thread changes while they are borrowed.
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
    // SAFETY: not NULL, of a valid length for a slice, and bytes need no alignment. The rest is the caller's contract.
    Ok(unsafe { std::slice::from_raw_parts(pointer.cast(), size) })
}

/// Returns the bytes, or `None` for NULL.
///
/// # Safety
/// As for [`bytes`].
pub(crate) unsafe fn bound<'a>(pointer: *const c_void, size: usize, what: &str) -> Result<Option<&'a [u8]>, Refusal> {
    // SAFETY: by the caller's contract, which is the same.
    let bytes = unsafe { bytes(pointer, size, what)? };
    Ok((!pointer.is_null()).then_some(bytes))
}

/// Returns the zero-terminated text behind a pointer.
///
/// # Safety
/// A pointer that is not NULL points to bytes that end with a zero, which no thread changes while they are borrowed.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a CStr, Refusal> {
    if pointer.is_null() {
        return Err(Refusal::invalid(format!("{what} is NULL")));
    }
    // SAFETY: not NULL; the rest is the caller's contract.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// Returns a shared reference to the object of a handle.
///
/// # Safety
/// A handle that is not NULL came from [`give`] and has not been [taken](take).
pub(crate) unsafe fn handle<'a, T>(handle: *const T, what: &str) -> Result<&'a T, Refusal> {
    // SAFETY: `as_ref` handles NULL; the rest is the caller's contract.
    unsafe { handle.as_ref() }.ok_or_else(|| Refusal::invalid(format!("{what} is NULL")))
}

/// Returns an exclusive reference to the object of a handle.
///
/// # Safety
/// As for [`handle`], and no other thread uses it meanwhile.
pub(crate) unsafe fn handle_mut<'a, T>(handle: *mut T, what: &str) -> Result<&'a mut T, Refusal> {
    // SAFETY: `as_mut` handles NULL; the rest is the caller's contract.
    unsafe { handle.as_mut() }.ok_or_else(|| Refusal::invalid(format!("{what} is NULL")))
}

/// Takes the object of a handle back; `None` for NULL.
///
/// # Safety
/// As for [`handle_mut`], and no thread uses the handle again.
pub(crate) unsafe fn take<T>(handle: *mut T) -> Option<T> {
    // SAFETY: it came from `Box::into_raw` in `give`, and is not used again.
    (!handle.is_null()).then(|| *unsafe { Box::from_raw(handle) })
}

/// A place for a result.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Creates the place, and writes `nothing` to it, so that every later refusal leaves this value.
    ///
    /// # Safety
    /// A pointer that is not NULL points to a place for a `T`, which belongs to the call until it returns.
    pub(crate) unsafe fn at(pointer: *mut T, nothing: T, what: &str) -> Result<Self, Refusal> {
        if pointer.is_null() {
            return Err(Refusal::invalid(format!("the place for {what} is NULL")));
        }
        // SAFETY: by the caller's contract.
        Ok(unsafe { Self::maybe(pointer, nothing) })
    }

    /// As `at`, for a pointer that may be NULL; then results are dropped.
    ///
    /// # Safety
    /// As for [`Out::at`].
    pub(crate) unsafe fn maybe(pointer: *mut T, nothing: T) -> Self {
        let mut out = Out(pointer);
        out.set(nothing);
        out
    }

    /// Returns whether the caller wants the result.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.0.is_null()
    }

    pub(crate) fn set(&mut self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not NULL, and a place for a `T`, by the contract of the `Out`'s constructor. The old content is
            // not dropped, because it may not be initialized.
            unsafe { self.0.write(value) };
        }
    }
}

impl<T> Out<*mut T> {
    /// Creates a place for a handle.
    ///
    /// # Safety
    /// As for [`Out::at`].
    pub(crate) unsafe fn for_handle(pointer: *mut *mut T, what: &str) -> Result<Self, Refusal> {
        // SAFETY: by the caller's contract, which is the same.
        unsafe { Self::at(pointer, std::ptr::null_mut(), what) }
    }

    /// Writes a handle to the place. The handle's owner must have it taken back.
    pub(crate) fn give(&mut self, value: T) {
        self.set(Box::into_raw(Box::new(value)));
    }
}
