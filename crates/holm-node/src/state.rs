//! What a group notes beside its keys, in the same transaction as the changes that it speaks of.
//!
//! ```text
//! applied 8 | time 8 | version 8 | hash 8        little-endian, under the key 00 among the group's rows
//! ```

use crate::fault::{Fault, Result};

/// The key among the rows. Families of rows begin with 02.
pub(crate) const STATE: &[u8] = &[0];

const BYTES: usize = 32;

/// The state of a group. A group without entries has zeros, and no record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// The index of the last entry that was applied.
    pub(crate) applied: u64,
    /// The time of the group, in milliseconds since 1970: the greatest that an entry has carried.
    pub(crate) time: u64,
    /// The last version that a large collection got.
    pub(crate) version: u64,
    /// A hash over all changes of records, in their order.
    pub(crate) hash: u64,
}

impl State {
    pub(crate) fn to_bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        for (word, number) in bytes.chunks_exact_mut(8).zip([self.applied, self.time, self.version, self.hash]) {
            word.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Reads a state; that of a group without entries if there is none.
    pub(crate) fn read(bytes: Option<&[u8]>) -> Result<State> {
        let Some(bytes) = bytes else { return Ok(State::default()) };
        let bytes: &[u8; BYTES] = bytes
            .try_into()
            .map_err(|_| Fault::malformed("the 32 bytes of a group's state", format!("{} bytes", bytes.len())))?;
        let word = |at: usize| bytes[at * 8..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        Ok(State { applied: word(0), time: word(1), version: word(2), hash: word(3) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        let state = State { applied: 1, time: 2 << 40, version: 3, hash: u64::MAX };
        assert_eq!(State::read(Some(&state.to_bytes())).unwrap(), state);
        assert_eq!(State::read(None).unwrap(), State::default());
        assert!(State::read(Some(&[0; 31])).is_err());
    }
}
