//! Bytes as numbers that order as the bytes do: the heads of keys, and of search keys.

/// Returns eight bytes after `skip`, padded with zeros.
#[inline]
pub fn head_of(bytes: &[u8], skip: usize) -> u64 {
    let rest = bytes.get(skip..).unwrap_or(&[]);
    match rest.first_chunk::<8>() {
        Some(eight) => u64::from_be_bytes(*eight),
        None => rest.iter().enumerate().fold(0, |head, (at, byte)| head | u64::from(*byte) << (56 - 8 * at)),
    }
}

/// Returns the first `len` bytes of such a number, padded with zeros.
#[inline]
pub fn masked(head: u64, len: usize) -> u64 {
    if len >= 8 { head } else { head & !(u64::MAX >> (8 * len)) }
}
