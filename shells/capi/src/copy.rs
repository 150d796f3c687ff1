//! Values on their way to the caller: into a buffer, or as a copy that the caller frees.

use crate::code::{HOLM_ABSENT, HOLM_OK, HOLM_OUT_OF_MEMORY, HOLM_SHORT_BUFFER, Refusal};
use crate::raw::Out;
use holm::Slice;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The caller's buffer, and the place for the size of the value.
pub(crate) struct Buffer {
    bytes: *mut c_void,
    capacity: usize,
    size: Out<usize>,
}

impl Buffer {
    /// # Safety
    /// A buffer that is not NULL has `capacity` bytes; `size` is a place for a number, or NULL. Both belong to the call
    /// until it returns.
    pub(crate) unsafe fn at(bytes: *mut c_void, capacity: usize, size: *mut usize) -> Result<Self, Refusal> {
        // SAFETY: by the caller's contract.
        let size = unsafe { Out::at(size, 0, "the value's size")? };
        if bytes.is_null() && capacity != 0 {
            return Err(Refusal::invalid(format!("the buffer is NULL and {capacity} bytes long")));
        }
        Ok(Buffer { bytes, capacity, size })
    }

    /// Copies a value into the buffer, if it is there and fits.
    pub(crate) fn fill(&mut self, value: Option<&[u8]>) -> Result<c_int, Refusal> {
        let Some(value) = value else { return Ok(HOLM_ABSENT) };
        self.size.set(value.len());
        if value.len() > self.capacity {
            let words = format!("a value of {} bytes, and a buffer of {}", value.len(), self.capacity);
            return Err(Refusal::new(HOLM_SHORT_BUFFER, words));
        }
        if !value.is_empty() {
            // SAFETY: by the constructor's contract the buffer has `capacity` bytes. The value has at most as many and
            // is not empty, so the buffer is not NULL. The value is in our memory, which the caller's does not overlap.
            unsafe { ptr::copy_nonoverlapping(value.as_ptr(), self.bytes.cast(), value.len()) };
        }
        Ok(HOLM_OK)
    }
}

/// Places for a copy and its size. `holm_free` frees the copy.
pub(crate) struct CopyOut {
    copy: Out<*mut c_void>,
    size: Out<usize>,
}

impl CopyOut {
    /// # Safety
    /// Pointers that are not NULL are places for their results, which belong to the call until it returns.
    pub(crate) unsafe fn at(copy: *mut *mut c_void, size: *mut usize) -> Result<Self, Refusal> {
        // SAFETY: by the caller's contract.
        unsafe {
            let copy = Out::at(copy, ptr::null_mut(), "the value")?;
            Ok(CopyOut { copy, size: Out::at(size, 0, "the value's size")? })
        }
    }

    /// As `at`, for pointers that may be NULL; then no copy is made.
    ///
    /// # Safety
    /// As for [`CopyOut::at`].
    pub(crate) unsafe fn maybe(copy: *mut *mut c_void, size: *mut usize) -> Self {
        // SAFETY: by the caller's contract.
        unsafe { CopyOut { copy: Out::maybe(copy, ptr::null_mut()), size: Out::maybe(size, 0) } }
    }

    /// Makes a copy for the places, if the caller wants one.
    fn copied(&self, bytes: &[u8]) -> Result<Allocation, Refusal> {
        if self.copy.is_wanted() { Allocation::of(bytes) } else { Ok(Allocation(ptr::null_mut())) }
    }

    fn put(&mut self, copy: Allocation, size: usize) {
        self.copy.set(copy.release());
        self.size.set(size);
    }

    /// Hands over a copy of a value.
    pub(crate) fn give(&mut self, value: Option<Slice>) -> Result<c_int, Refusal> {
        let Some(value) = value else { return Ok(HOLM_ABSENT) };
        let copy = self.copied(&value)?;
        self.put(copy, value.len());
        Ok(HOLM_OK)
    }
}

/// Hands over copies of what there is of several values: of all, or, if there is not the memory, of none.
pub(crate) fn give_all(places: &mut [CopyOut], values: &[Option<Slice>]) -> Result<(), Refusal> {
    let copies = places.iter().zip(values).map(|(place, value)| {
        let Some(value) = value else { return Ok(None) };
        Ok(Some((place.copied(value)?, value.len())))
    });
    let copies = copies.collect::<Result<Vec<_>, Refusal>>()?;
    for (place, copy) in places.iter_mut().zip(copies) {
        copy.into_iter().for_each(|(copy, size)| place.put(copy, size));
    }
    Ok(())
}

/// Hands over copies of a key and a value, or of neither.
pub(crate) fn give_pair(places: &mut [CopyOut; 2], pair: Option<(Slice, Slice)>) -> Result<c_int, Refusal> {
    let Some((key, value)) = pair else { return Ok(HOLM_ABSENT) };
    give_all(places, &[Some(key), Some(value)])?;
    Ok(HOLM_OK)
}

/// Memory that `holm_free` can free; freed here unless it is released.
struct Allocation(*mut c_void);

impl Allocation {
    fn of(bytes: &[u8]) -> Result<Self, Refusal> {
        // SAFETY: the size is not 0.
        let copy = unsafe { libc::malloc(bytes.len().max(1)) };
        if copy.is_null() {
            let words = format!("no memory for a copy of {} bytes", bytes.len());
            return Err(Refusal::new(HOLM_OUT_OF_MEMORY, words));
        }
        // SAFETY: fresh memory of this size, which overlaps nothing.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), copy.cast(), bytes.len()) };
        Ok(Allocation(copy))
    }

    fn release(mut self) -> *mut c_void {
        std::mem::replace(&mut self.0, ptr::null_mut())
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: NULL, or memory from `malloc` that nobody else knows.
        unsafe { libc::free(self.0) }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_free(value: *mut c_void) {
    // SAFETY: by the header's contract: NULL, or memory from an `Allocation` that was not freed before.
    unsafe { libc::free(value) }
}
