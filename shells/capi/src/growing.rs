//! Structs of the header that get new fields at their end. Their first field is their size for the caller, by which
//! both sides leave out the fields that the other one does not know.

use crate::code::{HOLM_UNSUPPORTED, Refusal};
use crate::raw;

/// No version of a struct is larger.
pub(crate) const LARGEST: usize = 4096;

/// A struct that may grow.
///
/// # Safety
/// It is laid out as the header says, without padding. Its first field is its size as `usize`. All bits zero are a
/// valid value.
pub(crate) unsafe trait Growing: Sized {
    /// The macro that a caller begins with.
    const NAME: &str;
}

/// Returns the size that a struct has for the caller.
///
/// # Safety
/// The pointer points to a size.
unsafe fn size_for_caller<T: Growing>(pointer: *const T) -> Result<usize, Refusal> {
    // SAFETY: by the caller's contract; the size is the first field of every version.
    let size = unsafe { pointer.cast::<usize>().read_unaligned() };
    match (size_of::<usize>()..=LARGEST).contains(&size) {
        true => Ok(size),
        false => Err(Refusal::invalid(format!("a struct of {size} bytes: begin with {}", T::NAME))),
    }
}

/// Reads the fields that the caller knows; the others are zero. NULL is zero throughout.
///
/// # Safety
/// A pointer that is not NULL points to a size, and to as many bytes as the size says.
pub(crate) unsafe fn read<T: Growing>(pointer: *const T) -> Result<T, Refusal> {
    // SAFETY: a valid value by the trait's contract.
    let mut value: T = unsafe { std::mem::zeroed() };
    if pointer.is_null() {
        return Ok(value);
    }
    // SAFETY: by the caller's contract.
    let size = unsafe { size_for_caller(pointer)? };
    let known = size_of::<T>().min(size);
    // SAFETY: by the caller's contract there are `size` bytes behind the pointer, and the copy is at most as long as
    // the struct.
    unsafe { (&raw mut value).cast::<u8>().copy_from_nonoverlapping(pointer.cast(), known) };
    // SAFETY: within the `size` bytes behind the pointer.
    let beyond = unsafe { raw::bytes(pointer.cast::<u8>().add(known).cast(), size - known, "the options")? };
    if beyond.iter().any(|byte| *byte != 0) {
        return Err(Refusal::new(HOLM_UNSUPPORTED, "not supported: an option that this version does not know"));
    }
    Ok(value)
}

/// The caller's place for a struct.
pub(crate) struct GrowingOut<T> {
    place: *mut T,
    size: usize,
}

impl<T: Growing> GrowingOut<T> {
    /// As `maybe`, for a pointer that must not be NULL.
    ///
    /// # Safety
    /// As for [`GrowingOut::maybe`].
    pub(crate) unsafe fn at(place: *mut T, what: &str) -> Result<Self, Refusal> {
        if place.is_null() {
            return Err(Refusal::invalid(format!("the place for {what} is NULL")));
        }
        // SAFETY: by the caller's contract, which is the same.
        unsafe { Self::maybe(place) }
    }

    /// Creates the place, and sets all fields behind the size to zero. For NULL, results are dropped.
    ///
    /// # Safety
    /// A pointer that is not NULL points to a size, and to as many bytes as the size says. They belong to the call
    /// until it returns.
    pub(crate) unsafe fn maybe(place: *mut T) -> Result<Self, Refusal> {
        if place.is_null() {
            return Ok(GrowingOut { place, size: 0 });
        }
        // SAFETY: by the caller's contract.
        let size = unsafe { size_for_caller(place)? };
        // SAFETY: within the `size` bytes behind the pointer.
        unsafe { place.cast::<u8>().add(size_of::<usize>()).write_bytes(0, size - size_of::<usize>()) };
        Ok(GrowingOut { place, size })
    }

    /// Writes the fields that the caller knows.
    pub(crate) fn set(&mut self, value: &T) {
        let first = size_of::<usize>();
        let Some(length) = self.size.min(size_of::<T>()).checked_sub(first) else { return };
        // SAFETY: by the constructor's contract the place has `size` bytes. It is not NULL, because the size is not 0.
        // The struct has no padding, and the caller's memory does not overlap ours.
        unsafe {
            let from = std::ptr::from_ref(value).cast::<u8>().add(first);
            self.place.cast::<u8>().add(first).copy_from_nonoverlapping(from, length);
        }
    }
}
