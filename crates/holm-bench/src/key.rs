//! Names of records: `user` and 19 digits of a hash of the record's number. The hash is one-to-one, so names are
//! unique. It scatters, so records with consecutive numbers lie apart. Formatting costs about as much as a miss in the
//! second-level cache and is part of the measurement, the same for every engine. Keys may also come from a [`List`].

use crate::List;
use std::sync::Arc;

/// Bytes of a key.
pub const KEY_BYTES: usize = 23;

/// Numbers below this have distinct keys: 2^63 has 19 digits, 2^64 would need 20.
const NUMBERS: u64 = 1 << 63;

/// `00` to `99`: two digits at a time halve the number of divisions.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Returns the key of a record. Keys are distinct for numbers below 2^63; the top bit is ignored.
#[must_use]
pub fn key(record: u64) -> [u8; KEY_BYTES] {
    let mut key = *b"user0000000000000000000";
    let hash = scatter(record);
    // Two parts, so that their divisions overlap: 9 digits and 10 digits.
    let (high, low) = (hash / 10_000_000_000, hash % 10_000_000_000);
    let (leading, mut high) = (high / 100_000_000, high % 100_000_000);
    let mut low = low;
    key[4] = b'0' + (leading % 10) as u8;
    for pair in 0..5 {
        key[21 - 2 * pair..23 - 2 * pair].copy_from_slice(&PAIRS[(low % 100) as usize]);
        low /= 100;
    }
    for pair in 0..4 {
        key[11 - 2 * pair..13 - 2 * pair].copy_from_slice(&PAIRS[(high % 100) as usize]);
        high /= 100;
    }
    key
}

/// The names of a plan's records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// The names that [`key()`] computes.
    #[default]
    Hashed,
    /// The keys of a list; a record's number is the index of its key.
    Listed(Arc<List>),
}

impl Keys {
    /// Returns the key of a record, formatted into `room` or borrowed from the list. The list must have the record.
    #[inline]
    pub(crate) fn of<'a>(&'a self, record: u64, room: &'a mut [u8; KEY_BYTES]) -> &'a [u8] {
        match self {
            Self::Hashed => {
                *room = key(record);
                room
            }
            Self::Listed(list) => list.key(record),
        }
    }
}

/// A one-to-one map of 0..2^63 to itself. Folding the upper bits onto the lower ones is reversible, and so is
/// multiplying by an odd number modulo a power of two.
fn scatter(number: u64) -> u64 {
    let mut hash = number % NUMBERS;
    hash ^= hash >> 31;
    hash = hash.wrapping_mul(0x7fb5_d329_728e_a185) % NUMBERS;
    hash ^= hash >> 27;
    hash = hash.wrapping_mul(0x01da_def4_bc2d_d44d) % NUMBERS;
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_are_user_and_the_digits_of_the_hash() {
        for record in [0, 1, 2, 999, 1 << 40, NUMBERS - 1, 0x1234_5678_9abc_def0] {
            assert_eq!(key(record).as_slice(), format!("user{:019}", scatter(record)).as_bytes());
        }
    }

    #[test]
    fn keys_are_unique() {
        // Dense numbers, and the sparse ranges of added records.
        let numbers = (0..200_000).chain((1..100).flat_map(|tag| (0..1000).map(move |index| tag << 40 | index)));
        let (mut seen, mut count) = (HashSet::new(), 0);
        for number in numbers {
            seen.insert(key(number));
            count += 1;
        }
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn neighbours_in_number_scatter_evenly() {
        let mut tenths = [0_u32; 10];
        for record in 0..100_000 {
            tenths[(scatter(record) / (NUMBERS / 10 + 1)) as usize] += 1;
        }
        assert!(tenths.iter().all(|&count| (9_500..10_500).contains(&count)), "{tenths:?}");
    }
}
