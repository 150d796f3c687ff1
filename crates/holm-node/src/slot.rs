//! Hash slots, as clients of a Redis Cluster compute them: CRC-16 (XMODEM) of the key, or of its hash tag.

use crc::{CRC_16_XMODEM, Crc};

/// The number of hash slots.
pub const SLOTS: u16 = 16_384;

const CRC: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);

/// Returns the slot of a key. What stands between the first `{` and the next `}` is hashed in place of the key, if it
/// is not empty. O(key).
///
/// ```
/// assert_eq!(holm_node::slot_of(b"123456789"), 0x31c3 % 16384);
/// assert_eq!(holm_node::slot_of(b"{user}:name"), holm_node::slot_of(b"user"));
/// ```
pub fn slot_of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        rest.iter().position(|byte| *byte == b'}').filter(|close| *close > 0).map(|close| &rest[..close])
    });
    CRC.checksum(tag.unwrap_or(key)) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_that_clients_compute() {
        // From the specification of Redis Cluster, and of `redis-cli cluster keyslot`.
        for (key, slot) in [("", 0), ("foo", 12_182), ("bar", 5_061), ("hello", 866), ("foo{}{bar}", 8_363)] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
        assert_ne!(slot_of(b"a{b"), slot_of(b"b"));
    }
}
