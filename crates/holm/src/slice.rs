//! An owned byte string that is cheap to clone. Short strings lie in the slice itself, longer ones in a shared buffer.
//!
//! `get` copies key and value together, in whole words. The payload states the length, so it is known before the
//! record's own cache miss.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// An immutable byte string returned by a read: a key or a value.
///
/// A slice is a copy: it outlives the handles that it came from, and later writes do not change it. A string of up to
/// 30 bytes lies in the slice itself; clones share a longer one. A clone is O(1), and a slice itself has 32 bytes.
///
/// ```
/// use holm::Slice;
///
/// let slice = Slice::from(&b"coral"[..]);
/// assert_eq!(slice, "coral"); // compares with strings, vectors, arrays and slices of bytes
/// assert!(slice.starts_with(b"co")); // `Deref<Target = [u8]>`
/// assert_eq!((slice.len(), slice.first()), (5, Some(&b'c')));
/// assert_eq!(format!("{slice:?}"), r#"b"coral""#);
/// let owned: Vec<u8> = slice.into();
/// ```
#[derive(Clone)]
pub struct Slice(Bytes);

/// The most bytes in the slice itself: with 30, both forms have the same size.
pub(crate) const HERE: usize = 30;

#[derive(Clone)]
enum Bytes {
    Here { len: u8, bytes: [u8; HERE] },
    Shared { words: Arc<[u64]>, start: u32, len: usize },
}

const _: () = assert!(size_of::<Slice>() == 32);

impl Slice {
    /// Copies `len` bytes, from byte `start`, of words that hold bytes in little-endian order.
    #[inline]
    pub(crate) fn copied(words: &[u64], start: usize, len: usize) -> Self {
        let upto = start + len;
        Self::here(&bytemuck::cast_slice(words)[start..upto])
            .unwrap_or_else(|| Self::shared(words[start / 8..upto.div_ceil(8)].into(), start % 8, len))
    }

    /// Returns a slice that holds the bytes itself, if they are few enough.
    #[inline]
    pub(crate) fn here(from: &[u8]) -> Option<Self> {
        let mut slice = None;
        Slice::place_here(from, &mut slice).then_some(slice).flatten()
    }

    /// The same, and builds the slice where it stays: a move of it would wait for the stores of its parts.
    #[inline]
    pub(crate) fn place_here(from: &[u8], place: &mut Option<Slice>) -> bool {
        if from.len() > HERE {
            return false;
        }
        let slice = place.insert(Slice(Bytes::Here { len: from.len() as u8, bytes: [0; HERE] }));
        if let Bytes::Here { bytes, .. } = &mut slice.0 {
            bytes[..from.len()].copy_from_slice(from);
        }
        true
    }

    /// Returns a slice of `len` bytes, from byte `start`, of shared words. No record has a `start` of 4 GiB or more.
    #[inline]
    pub(crate) fn shared(words: Arc<[u64]>, start: usize, len: usize) -> Self {
        debug_assert!(start + len <= words.len() * 8 && start <= u32::MAX as usize);
        Slice(Bytes::Shared { words, start: start as u32, len })
    }
}

impl Deref for Slice {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Here { len, bytes } => &bytes[..usize::from(*len)],
            Bytes::Shared { words, start, len } => &bytemuck::cast_slice(words)[*start as usize..*start as usize + len],
        }
    }
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Borrow<[u8]> for Slice {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Slice {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}
impl Eq for Slice {}
impl PartialEq<[u8]> for Slice {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}
impl PartialEq<&[u8]> for Slice {
    fn eq(&self, other: &&[u8]) -> bool {
        **self == **other
    }
}
/// Compares with what people have, from both sides.
macro_rules! equal {
    ($([$($bound:tt)*] $other:ty;)*) => {$(
        impl<$($bound)*> PartialEq<$other> for Slice {
            fn eq(&self, other: &$other) -> bool {
                let other: &[u8] = other.as_ref();
                **self == *other
            }
        }

        impl<$($bound)*> PartialEq<Slice> for $other {
            fn eq(&self, other: &Slice) -> bool {
                other == self
            }
        }
    )*};
}

equal! {
    [] Vec<u8>;
    [] str;
    [] &str;
    [] String;
    [const N: usize] [u8; N];
    [const N: usize] &[u8; N];
}

impl PartialEq<Slice> for [u8] {
    fn eq(&self, other: &Slice) -> bool {
        *self == **other
    }
}

impl PartialEq<Slice> for &[u8] {
    fn eq(&self, other: &Slice) -> bool {
        **self == **other
    }
}

impl PartialOrd for Slice {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Slice {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}
impl Hash for Slice {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// `Debug` shows this many bytes of a longer slice.
const SHOWN: usize = 64;

/// Formats a byte string as a Rust literal; of a long one, its beginning and its length.
pub(crate) fn show(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "b\"{}\"", bytes[..bytes.len().min(SHOWN)].escape_ascii())?;
    if bytes.len() > SHOWN { write!(f, ".. ({} bytes)", bytes.len()) } else { Ok(()) }
}

impl fmt::Debug for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self, f)
    }
}

impl From<&[u8]> for Slice {
    fn from(bytes: &[u8]) -> Self {
        if let Some(here) = Self::here(bytes) {
            return here;
        }
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Slice::shared(words.into(), 0, bytes.len())
    }
}

impl From<Vec<u8>> for Slice {
    fn from(bytes: Vec<u8>) -> Self {
        Slice::from(&bytes[..])
    }
}

impl From<&str> for Slice {
    fn from(text: &str) -> Self {
        Slice::from(text.as_bytes())
    }
}

impl From<String> for Slice {
    fn from(text: String) -> Self {
        Slice::from(text.as_bytes())
    }
}

impl<const N: usize> From<[u8; N]> for Slice {
    fn from(bytes: [u8; N]) -> Self {
        Slice::from(&bytes[..])
    }
}

impl<const N: usize> From<&[u8; N]> for Slice {
    fn from(bytes: &[u8; N]) -> Self {
        Slice::from(&bytes[..])
    }
}

/// Strings that are UTF-8; the error has the place of the first byte that is not.
impl TryFrom<Slice> for String {
    type Error = std::string::FromUtf8Error;

    fn try_from(slice: Slice) -> Result<Self, Self::Error> {
        String::from_utf8(slice.into())
    }
}

/// Arrays of exactly the slice's length.
impl<const N: usize> TryFrom<Slice> for [u8; N] {
    type Error = std::array::TryFromSliceError;

    fn try_from(slice: Slice) -> Result<Self, Self::Error> {
        slice[..].try_into()
    }
}

/// Copies no more than the slice itself: a long one is shared.
#[cfg(feature = "bytes")]
impl From<Slice> for bytes::Bytes {
    fn from(slice: Slice) -> Self {
        bytes::Bytes::from_owner(slice)
    }
}

#[cfg(feature = "bytes")]
impl From<bytes::Bytes> for Slice {
    fn from(bytes: bytes::Bytes) -> Self {
        Slice::from(&bytes[..])
    }
}

impl From<Slice> for Vec<u8> {
    fn from(slice: Slice) -> Self {
        slice.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both forms of a slice.
    const TEXTS: [&str; 3] = ["", "coral", "a text that is too long for a slice to hold it itself"];

    #[test]
    fn it_equals_the_same_bytes_of_every_type_from_both_sides() {
        for text in TEXTS {
            let (slice, other) = (Slice::from(text), Slice::from("kelp"));
            let (string, vector) = (String::from(text), Vec::from(text));
            assert!(slice == *text && slice == text && slice == string && slice == vector);
            assert!(*text == slice && text == slice && string == slice && vector == slice);
            assert!(slice == text.as_bytes() && text.as_bytes() == slice && *text.as_bytes() == slice);
            assert!(other != *text && text != other && text.as_bytes() != other);
        }
        let (slice, array) = (Slice::from([1, 2, 3]), &[1, 2, 3]);
        assert!(
            [slice == *array, slice == array, array == slice, *array == slice, slice != [1, 2]].iter().all(|is| *is)
        );
    }

    #[test]
    fn it_is_converted_to_what_it_came_from_or_refuses() {
        for text in TEXTS {
            assert_eq!(String::try_from(Slice::from(text.to_owned())).as_deref(), Ok(text));
            assert_eq!(Vec::from(Slice::from(text.as_bytes().to_vec())), text.as_bytes());
        }
        assert!(String::try_from(Slice::from(&[0xff])).is_err());
        assert_eq!(<[u8; 3]>::try_from(Slice::from([1, 2, 3])).ok(), Some([1, 2, 3]));
        assert!(<[u8; 4]>::try_from(Slice::from([1, 2, 3])).is_err());
    }

    #[cfg(feature = "bytes")]
    #[test]
    fn it_shares_its_bytes() {
        for text in TEXTS {
            let slice = Slice::from(text);
            let (address, is_long) = (slice.as_ptr(), slice.len() > HERE);
            let bytes = bytes::Bytes::from(slice);
            assert_eq!(bytes, text);
            assert_eq!(is_long, bytes.as_ptr() == address && !text.is_empty());
            assert_eq!(Slice::from(bytes), text);
        }
    }
}
