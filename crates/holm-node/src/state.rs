//! What a group notes beside its keys, in the same transaction as the changes that it speaks of.
//!
//! ```text
//! applied 8 | time 8 | version 8 | hash 8 | level 1      little-endian, under the key 00 among the group's rows
//! ```
//!
//! A group whose entries were all of level 1 has no byte for its level: versions that know this level alone read it.

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
    /// The highest level of an entry that was applied; 0 without an entry.
    pub(crate) level: u8,
}

impl State {
    /// The most bytes of a record.
    pub(crate) const MOST_BYTES: usize = BYTES + 1;

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let words = [self.applied, self.time, self.version, self.hash];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.extend((self.level > 1).then_some(self.level));
        bytes
    }

    /// Reads a state; that of a group without entries if there is none.
    pub(crate) fn read(bytes: Option<&[u8]>) -> Result<State> {
        let Some(bytes) = bytes else { return Ok(State::default()) };
        let level = match bytes.len() {
            BYTES => 1,
            length if length == BYTES + 1 => bytes[BYTES],
            length => return Err(Fault::malformed("the 32 or 33 bytes of a group's state", format!("{length} bytes"))),
        };
        let word = |at: usize| bytes[at * 8..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        Ok(State { applied: word(0), time: word(1), version: word(2), hash: word(3), level })
    }

    /// Returns the state, unless the group has entries of a level above the one that is known.
    pub(crate) fn within(self, known: u8) -> Result<State> {
        if self.level > known {
            return Err(Fault::Level { found: self.level, known });
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written() {
        for level in 1..=3 {
            let state = State { applied: 1, time: 2 << 40, version: 3, hash: u64::MAX, level };
            let bytes = state.to_bytes();
            assert_eq!(bytes.len(), if level == 1 { 32 } else { 33 });
            assert_eq!(State::read(Some(&bytes)).unwrap().within(level).unwrap(), state);
            assert!(matches!(state.within(level - 1), Err(Fault::Level { .. })));
        }
        assert_eq!(State::read(None).unwrap(), State::default());
        assert!(State::read(Some(&[0; 31])).is_err());
    }
}
