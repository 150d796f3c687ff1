//! An owned byte string that is cheap to clone: a range of a shared buffer.
//!
//! Records are copied out in whole words, key and value together, at a length known before the record's own cache miss;
//! the items of a scan share one buffer per leaf.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// An immutable byte string. Cloning shares it.
#[derive(Clone)]
pub struct Slice {
    words: Arc<[u64]>,
    start: usize,
    len: usize,
}

impl Slice {
    /// `len` bytes from byte `start` of the words, which hold bytes in little-endian order.
    pub(crate) fn new(words: Arc<[u64]>, start: usize, len: usize) -> Self {
        debug_assert!(start + len <= words.len() * 8);
        Slice { words, start, len }
    }
}

impl Deref for Slice {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[self.start..self.start + self.len]
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

/// Of a longer slice, so many bytes are shown.
const SHOWN: usize = 64;

/// A byte string as the language writes it; of a long one its beginning and its length.
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
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Slice::new(words.into(), 0, bytes.len())
    }
}

impl From<Vec<u8>> for Slice {
    fn from(bytes: Vec<u8>) -> Self {
        Slice::from(&bytes[..])
    }
}

impl From<Slice> for Vec<u8> {
    fn from(slice: Slice) -> Self {
        slice.to_vec()
    }
}
