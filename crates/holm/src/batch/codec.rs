//! A list of writes as words: the operations of a batch, as its intent has them.
//!
//! ```text
//! word 0    the progress: how many of the operations are done
//! word 1    the length of the operations, in bytes
//! word 2..  the operations, one behind the other, and zeros up to the end of the last word
//!
//! an operation: | keyspace, 4 | length of the key, 4 | length of the value, 4 | key | value |   (bytes, little-endian)
//! ```
//!
//! The length `u32::MAX` in place of a value's length means: remove the key. If the operations end at a word's end, one
//! word of zeros follows them.

use holm_medium::Image;

/// The words in front of the operations.
const HEADER_WORDS: usize = 2;

/// The bytes of an operation in front of its key.
const OPERATION_HEADER: usize = 12;

/// The value's length in a removal.
const REMOVAL: u32 = u32::MAX;

/// A write to one key of a keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write<K, V> {
    /// The keyspace's number.
    pub(super) keyspace: u32,
    pub(super) key: K,
    /// `None` means remove.
    pub(super) value: Option<V>,
}

/// Encodes a list of writes, none of which is done.
pub(super) fn encode<'a>(writes: impl Iterator<Item = Write<&'a [u8], &'a [u8]>>) -> Vec<u64> {
    let mut bytes = Vec::new();
    for Write { keyspace, key, value } in writes {
        bytes.extend_from_slice(&keyspace.to_le_bytes());
        bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&value.map_or(REMOVAL, |value| value.len() as u32).to_le_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value.unwrap_or_default());
    }
    let mut words = vec![0, bytes.len() as u64];
    let (whole, rest) = bytes.as_chunks::<8>();
    words.extend(whole.iter().map(|chunk| u64::from_le_bytes(*chunk)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    words.push(u64::from_le_bytes(last));
    words
}

/// Decodes the writes of a list that are not done. `None`: the place holds no list.
pub(super) fn decode_rest(image: &Image, loc: u64) -> Option<Vec<Write<Vec<u8>, Vec<u8>>>> {
    let header = image.words(loc, HEADER_WORDS)?;
    let (done, len) = (header[0].read(), header[1].read());
    let words = image.words(loc.checked_add(8 * HEADER_WORDS as u64)?, (len / 8 + 1).try_into().ok()?)?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.read().to_le_bytes()).take(len as usize).collect();
    let mut writes = decode(&bytes)?;
    Some(writes.split_off((done as usize).min(writes.len())))
}

/// Decodes the operations of a list.
fn decode(mut bytes: &[u8]) -> Option<Vec<Write<Vec<u8>, Vec<u8>>>> {
    let mut writes = Vec::new();
    while !bytes.is_empty() {
        let (header, rest) = bytes.split_first_chunk::<OPERATION_HEADER>()?;
        let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (key, rest) = rest.split_at_checked(number(4) as usize)?;
        let value = Some(number(8)).filter(|len| *len != REMOVAL);
        let (bytes_of_value, rest) = rest.split_at_checked(value.unwrap_or(0) as usize)?;
        writes.push(Write { keyspace: number(0), key: key.to_vec(), value: value.map(|_| bytes_of_value.to_vec()) });
        bytes = rest;
    }
    Some(writes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(words: &[u64]) -> Vec<u8> {
        words[HEADER_WORDS..].iter().flat_map(|word| word.to_le_bytes()).take(words[1] as usize).collect()
    }

    fn owned(keyspace: u32, key: &[u8], value: Option<&[u8]>) -> Write<Vec<u8>, Vec<u8>> {
        Write { keyspace, key: key.to_vec(), value: value.map(<[u8]>::to_vec) }
    }

    fn encoded(writes: &[Write<Vec<u8>, Vec<u8>>]) -> Vec<u64> {
        encode(writes.iter().map(|write| Write {
            keyspace: write.keyspace,
            key: &write.key[..],
            value: write.value.as_deref(),
        }))
    }

    #[test]
    fn a_list_has_the_documented_bytes() {
        // 12 + 1 + 3 bytes: the operations end at a word's end.
        let words = encoded(&[owned(7, b"k", Some(b"vvv"))]);
        assert_eq!(words, [0, 16, 7 | 1 << 32, u64::from_le_bytes(*b"\x03\0\0\0kvvv"), 0]);
        let words = encoded(&[owned(1, b"", None)]);
        assert_eq!(words, [0, 12, 1, u64::from(u32::MAX)]);
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let writes = [
            owned(1, b"north", Some(b"coral")),
            owned(2, b"", Some(b"")),
            owned(1, b"north", None),
            owned(3, b"", None),
        ];
        for count in 0..=writes.len() {
            let words = encoded(&writes[..count]);
            assert_eq!(decode(&bytes_of(&words)).as_deref(), Some(&writes[..count]));
        }
    }

    #[test]
    fn a_list_that_is_cut_short_is_none() {
        let bytes = bytes_of(&encoded(&[owned(1, b"north", Some(b"coral"))]));
        for len in 1..bytes.len() {
            assert_eq!(decode(&bytes[..len]), None, "{len} bytes");
        }
    }
}
