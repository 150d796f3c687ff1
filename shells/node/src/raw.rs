//! Pointers of C as slices, references and handles.

use crate::door::Refusal;

/// Bytes that a call gives to its caller.
#[repr(C)]
#[derive(Debug)]
pub struct Bytes {
    pub(crate) data: *mut u8,
    pub(crate) size: usize,
}

impl Bytes {
    /// Gives bytes away. [`free`] takes them back. No bytes are NULL, and not the address that Rust has for them: Go
    /// takes a pointer below 4096 for a damaged one, and ends the process if it finds one while it moves a stack.
    pub(crate) fn new(bytes: Vec<u8>) -> Bytes {
        if bytes.is_empty() {
            return Bytes { data: std::ptr::null_mut(), size: 0 };
        }
        let bytes = bytes.into_boxed_slice();
        let size = bytes.len();
        Bytes { data: Box::into_raw(bytes).cast(), size }
    }
}

/// Frees what [`Bytes::new`] gave away.
///
/// # Safety
/// The bytes come from there, and are freed once.
pub(crate) unsafe fn free(bytes: Bytes) {
    if !bytes.data.is_null() {
        // SAFETY: by the caller's contract, this is the box that `new` made, with its length.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(bytes.data, bytes.size)) });
    }
}

/// Returns the bytes at a pointer, which may be NULL if there are none.
///
/// # Safety
/// The pointer points to as many bytes, which nobody changes during the call.
pub(crate) unsafe fn slice<'a>(data: *const u8, size: usize) -> Result<&'a [u8], Refusal> {
    match (data.is_null(), size) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Refusal::invalid("a buffer is NULL")),
        // SAFETY: by the caller's contract.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(data, size) }),
    }
}

/// Returns what a handle points to.
///
/// # Safety
/// The handle is NULL, or it was given by this library and is not closed during the call.
pub(crate) unsafe fn handle<'a, T>(handle: *const T) -> Result<&'a T, Refusal> {
    // SAFETY: by the caller's contract.
    unsafe { handle.as_ref() }.ok_or(Refusal::invalid("a handle is NULL"))
}

/// Returns a place for a result.
///
/// # Safety
/// The pointer is NULL, or it points to memory for a `T` that only the caller of this call uses.
pub(crate) unsafe fn place<'a, T>(place: *mut T) -> Result<&'a mut std::mem::MaybeUninit<T>, Refusal> {
    // SAFETY: by the caller's contract; `MaybeUninit` may be without a value.
    unsafe { place.cast::<std::mem::MaybeUninit<T>>().as_mut() }.ok_or(Refusal::invalid("a place for a result is NULL"))
}

/// Gives a value away as a handle.
pub(crate) fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes a handle back; `None` of NULL.
///
/// # Safety
/// The handle is NULL, or [`give`] gave it and nobody has taken it since.
pub(crate) unsafe fn take<T>(handle: *mut T) -> Option<Box<T>> {
    // SAFETY: by the caller's contract, this is the box that `give` made.
    (!handle.is_null()).then(|| unsafe { Box::from_raw(handle) })
}
