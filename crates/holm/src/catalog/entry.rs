//! What the catalog says of a keyspace.
//!
//! ```text
//! bytes 0-3     the number of its tree
//! then, only if a flag is set:
//! byte  4       flags: 1, its keys may expire
//! bytes 5-12    the latest time by which expired records may have been removed: milliseconds since 1970
//! ```
//!
//! All numbers are little-endian.

use super::CATALOG;
use crate::error::Result;
use crate::expiry::Millis;
use crate::keyspace_options::KeyspaceOptions;

/// A number has 24 bits of a leaf's home word.
pub(super) const MOST_KEYSPACES: u32 = 1 << 24;

/// The value of a keyspace's record in the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) number: u32,
    pub(super) options: KeyspaceOptions,
    pub(super) swept_by: Millis,
}

impl Entry {
    /// Returns the entry as the catalog has it.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.number.to_le_bytes().to_vec();
        if self.options != KeyspaceOptions::new() {
            bytes.push(self.options.flags());
            bytes.extend(self.swept_by.to_le_bytes());
        }
        bytes
    }

    /// Reads an entry; `None` if it is none, or has a number that no keyspace has.
    ///
    /// # Errors
    /// `Geometry`: a flag that this version does not know.
    pub(super) fn read(name: &[u8], bytes: &[u8]) -> Result<Option<Self>> {
        let Some((number, rest)) = bytes.split_first_chunk() else { return Ok(None) };
        let number = u32::from_le_bytes(*number);
        if !(CATALOG + 1..MOST_KEYSPACES).contains(&number) {
            return Ok(None);
        }
        let Some((flags, swept_by)) = rest.split_first() else {
            return Ok(Some(Entry { number, options: KeyspaceOptions::new(), swept_by: 0 }));
        };
        let options = KeyspaceOptions::known(*flags, &String::from_utf8_lossy(name))?;
        let swept_by = swept_by.try_into().map(Millis::from_le_bytes);
        Ok(swept_by.ok().map(|swept_by| Entry { number, options, swept_by }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        for options in [KeyspaceOptions::new(), KeyspaceOptions::new().expires(true)] {
            let swept_by = if options.expires { 258 } else { 0 };
            let entry = Entry { number: 7, options, swept_by };
            assert_eq!(Entry::read(b"tides", &entry.to_bytes()).unwrap(), Some(entry));
        }
        assert_eq!(Entry { number: 7, options: KeyspaceOptions::new(), swept_by: 0 }.to_bytes(), [7, 0, 0, 0]);
    }

    #[test]
    fn a_number_that_no_keyspace_has_makes_no_entry() {
        for (number, has) in
            [(CATALOG, false), (CATALOG + 1, true), ((1 << 24) - 1, true), (1 << 24, false), (u32::MAX, false)]
        {
            let entry = Entry::read(b"tides", &number.to_le_bytes()).unwrap();
            assert_eq!(entry.map(|entry| entry.number), has.then_some(number));
        }
    }

    #[test]
    fn an_unknown_flag_is_an_error_and_a_wrong_length_no_entry() {
        let refused = Entry::read(b"tides", &[7, 0, 0, 0, 0x83, 0, 0, 0, 0, 0, 0, 0, 0]);
        let Err(Error::Geometry { found, expected, .. }) = refused else { panic!("{refused:?}") };
        assert!(found.contains("0x83") && found.contains("tides") && expected.contains("0x01"), "{found}, {expected}");
        assert_eq!(Entry::read(b"tides", &[7, 0, 0]).unwrap(), None);
        assert_eq!(Entry::read(b"tides", &[7, 0, 0, 0, 1, 0]).unwrap(), None);
        assert_eq!(Entry::read(b"tides", &[7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap(), None);
    }
}
