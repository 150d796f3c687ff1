//! Bytes aligned to a page, as direct transfers need.
//!
//! Built without `unsafe`, from a vector with one spare page and the distance to the first page boundary in it.
//! Growing copies, because a reallocated vector may have another alignment. The buffer is aligned to [`FORMAT_PAGE`],
//! and bytes that were not written are zero. The user keeps track of lengths.

#![forbid(unsafe_code)]

/// The unit in which the log and the superblock are written, in bytes. It is the alignment of offsets, lengths and
/// memory that direct transfers need, and no property of the system: mappings have a granularity of their own.
pub const FORMAT_PAGE: u64 = 4096;

/// A growable buffer aligned to [`FORMAT_PAGE`].
#[derive(Debug, Default)]
pub struct AlignedBytes {
    /// The allocation, a page longer than the promised length. Never reallocated in place.
    bytes: Vec<u8>,
    /// The offset of the first page boundary in it.
    skip: usize,
    /// The length promised to the user, in bytes.
    len: usize,
}

impl AlignedBytes {
    /// A buffer of `len` zeros.
    pub fn zeroed(len: usize) -> AlignedBytes {
        let page = FORMAT_PAGE as usize;
        let bytes = vec![0; len + page];
        let skip = bytes.as_ptr().addr().next_multiple_of(page) - bytes.as_ptr().addr();
        AlignedBytes { bytes, skip, len }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is zero.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes room for at least `len` bytes, and at least doubles. Existing bytes stay; the rest is zero.
    pub fn grow(&mut self, len: usize) {
        if len > self.len {
            let mut larger = AlignedBytes::zeroed(len.max(self.len * 2).next_multiple_of(FORMAT_PAGE as usize));
            larger.as_mut_slice()[..self.len].copy_from_slice(self.as_slice());
            *self = larger;
        }
    }

    /// All bytes; the first is aligned.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.skip..self.skip + self.len]
    }

    /// All bytes; the first is aligned.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.skip..self.skip + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_aligned_and_keeps_its_bytes_while_it_grows() {
        let mut bytes = AlignedBytes::default();
        for round in 1..200_usize {
            bytes.grow(round * 1000);
            bytes.as_mut_slice()[round * 1000 - 1] = round as u8;
            assert_eq!(bytes.as_slice().as_ptr().addr() % FORMAT_PAGE as usize, 0);
            assert!((1..=round).all(|r| bytes.as_slice()[r * 1000 - 1] == r as u8));
        }
    }
}
