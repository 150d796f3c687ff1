//! Bytes with their length before them, as entries of a log, frames and chunks have them.

/// Appends bytes with their length, of 4 bytes and little-endian, before them.
///
/// # Panics
/// There are 4 GiB of bytes or more.
pub fn append_counted(bytes: &[u8], out: &mut Vec<u8>) {
    // A value of the store has at most 1 GiB, and a request less.
    let length = u32::try_from(bytes.len()).expect("less than 4 GiB");
    out.extend(length.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Takes bytes that [`append_counted`] has appended from the front; `None`, with the input as it was, if it ends early.
///
/// ```
/// use holm_commands::{append_counted, take_counted};
///
/// let mut bytes = Vec::new();
/// append_counted(b"reef", &mut bytes);
/// let mut input = &bytes[..];
/// assert_eq!(take_counted(&mut input), Some(&b"reef"[..]));
/// assert_eq!(take_counted(&mut input), None);
/// assert_eq!(take_counted(&mut &bytes[..7]), None);
/// ```
pub fn take_counted<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = input.split_first_chunk()?;
    let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *input = rest;
    Some(bytes)
}
