//! The fingerprint of a key: a number that differs as soon as what the key has differs.
//!
//! A replicated store compares fingerprints where the single server keeps a transaction open for WATCH: the client's
//! connection reads them, and the entry that carries EXEC says which it has read.

use crate::context::Context;
use crate::refusal::Outcome;
use crate::rows;
use crate::store::{Area, Range};
use std::ops::{Bound, ControlFlow};
use xxhash_rust::xxh3::Xxh3;

impl Context<'_> {
    /// Returns the fingerprint of a key; 0 if the key is absent or has expired. O(members) for a large collection.
    ///
    /// # Errors
    /// Those of the store.
    pub fn fingerprint(&self, key: &[u8]) -> Outcome<u64> {
        let entry = self.entry(key)?;
        let Some(record) = entry.live() else { return Ok(0) };
        let mut hash = Xxh3::new();
        hash.update(&record.expiry.unwrap_or(0).to_be_bytes());
        hash.update(&[record.kind as u8, u8::from(record.in_rows)]);
        hash.update(record.body());
        for family in record.version().iter().flat_map(|version| rows::OF_VERSIONS.map(|family| (family, *version))) {
            let low = rows::key(family.0, family.1, &[]);
            let end = rows::beyond(&low);
            let high = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let range = Range { low: Bound::Included(&low), high, reverse: false };
            self.store.scan(self.database.get(), Area::Rows, range, &mut |key, value| {
                for part in [key, value] {
                    hash.update(&(part.len() as u64).to_be_bytes());
                    hash.update(part);
                }
                ControlFlow::Continue(())
            })?;
        }
        // Absence alone is 0.
        Ok(hash.digest().max(1))
    }
}
