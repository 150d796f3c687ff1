//! Keys of rows: what belongs to a key and lies beside it.
//!
//! | family | key | value |
//! |---|---|---|
//! | field of a hash | `02` version 8, field | value |
//! | member of a set | `03` version 8, member | empty |
//! | member of a sorted set | `04` version 8, member | score 8 |
//! | the same by score | `05` version 8, score 8 (sortable), member | empty |
//! | elements of a list | `06` version 8, position / 16 8 | [packed](crate::packed) elements |
//! | long element of a list | `07` version 8, position 8 | element |
//! | expiry | `08` time 8, key | empty |
//! | garbage | `09` version 8 | empty |
//!
//! Numbers are big-endian. A version belongs to one collection for ever, so renaming and deleting a collection of
//! millions touches two records. Its rows are garbage until the sweep removes their ranges.

use crate::record::Kind;
use std::ops::Deref;

pub(crate) const BY_SCORE: u8 = 5;
pub(crate) const LIST: u8 = 6;
pub(crate) const ELEMENT: u8 = 7;
pub(crate) const EXPIRY: u8 = 8;
pub(crate) const GARBAGE: u8 = 9;

/// The families that belong to versions.
pub(crate) const OF_VERSIONS: std::ops::RangeInclusive<u8> = 2..=7;

/// The family of the members of a hash, a set or a sorted set.
pub(crate) fn family(kind: Kind) -> u8 {
    kind as u8
}

/// A key that mostly lies on the stack: commands that write many rows make one for each.
pub(crate) enum RowKey {
    Short([u8; SHORT], usize),
    Long(Vec<u8>),
}

/// The bytes of a key on the stack.
const SHORT: usize = 63;

impl RowKey {
    fn of(parts: [&[u8]; 4]) -> Self {
        let len = parts.iter().map(|part| part.len()).sum();
        if len > SHORT {
            return RowKey::Long(parts.concat());
        }
        let (mut bytes, mut at) = ([0; SHORT], 0);
        for part in parts {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        RowKey::Short(bytes, len)
    }
}

impl Deref for RowKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            RowKey::Short(bytes, len) => &bytes[..*len],
            RowKey::Long(bytes) => bytes,
        }
    }
}

/// Returns the first bytes of a family's rows of a version; with a member, that member's key.
pub(crate) fn key(family: u8, version: u64, member: &[u8]) -> RowKey {
    RowKey::of([&[family], &version.to_be_bytes(), &[], member])
}

/// Returns the key by which a member of a sorted set has a score, which is sortable.
pub(crate) fn score_key(version: u64, score: &[u8], member: &[u8]) -> RowKey {
    RowKey::of([&[BY_SCORE], &version.to_be_bytes(), score, member])
}

/// The bytes before a member.
pub(crate) const PREFIX: usize = 9;

/// Returns the key of an entry of the index by expiry.
pub(crate) fn expiry_key(time: u64, key: &[u8]) -> Vec<u8> {
    [&[EXPIRY], &time.to_be_bytes()[..], key].concat()
}

/// Returns the time of an entry of the index by expiry; `None` if it is damaged.
pub(crate) fn expiry_time(row: &[u8]) -> Option<u64> {
    row.get(1..).and_then(|rest| rest.first_chunk::<8>()).copied().map(u64::from_be_bytes)
}

/// Returns the version whose rows a row of garbage names; 0, which no collection has, if it is damaged.
pub(crate) fn garbage_version(row: &[u8]) -> u64 {
    row.get(1..).and_then(|rest| rest.first_chunk::<8>()).copied().map_or(0, u64::from_be_bytes)
}

/// Returns the key that follows all keys with this prefix; `None` if there is none.
pub(crate) fn beyond(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_lengths_have_all_their_parts() {
        for len in [0, 1, SHORT - 18, SHORT - 17, SHORT - 16, 300] {
            let member = vec![b'm'; len];
            let expected = [&[BY_SCORE], &7u64.to_be_bytes()[..], &[b's'; 8], &member].concat();
            assert_eq!(*score_key(7, &[b's'; 8], &member), *expected, "{len}");
            assert_eq!(*key(2, 7, &member), *[&[2], &7u64.to_be_bytes()[..], &member].concat(), "{len}");
        }
    }
}
