//! A bounded part of the sweep within a transaction, as a replicated store needs it: all replicas remove the same.

use crate::context::Context;
use crate::refusal::Outcome;
use crate::rows;
use crate::store::{Area, Range};
use crate::sweep::Swept;
use crate::walk::Pair;
use std::ops::{Bound, ControlFlow};

impl Context<'_> {
    /// Returns whether something has expired by a time, or belongs to no key any more.
    ///
    /// # Errors
    /// Those of the store.
    pub fn has_garbage(&self, by: u64) -> Outcome<bool> {
        Ok(!self.some_rows(&rows::expiry_key(0, &[]), &rows::expiry_key(by + 1, &[]), 1)?.is_empty()
            || !self.some_rows(&[rows::GARBAGE], &[rows::GARBAGE + 1], 1)?.is_empty())
    }

    /// Removes what has expired by the context's time, and what belongs to no key: at most this number of records of
    /// each. The same store and time remove the same records.
    ///
    /// # Errors
    /// Those of the store.
    pub fn sweep_part(&self, most: usize) -> Outcome<Swept> {
        let mut swept = Swept::default();
        let due = self.some_rows(&rows::expiry_key(0, &[]), &rows::expiry_key(self.now + 1, &[]), most)?;
        swept.more |= due.len() == most;
        for (row, _) in due {
            swept.expired += u64::from(self.sweep_expiry(&row)? == Some(true));
        }
        let mut left = most;
        for (row, _) in self.some_rows(&[rows::GARBAGE], &[rows::GARBAGE + 1], most)? {
            let version = rows::garbage_version(&row);
            for family in rows::OF_VERSIONS {
                let low = rows::key(family, version, &[]);
                for (member, _) in self.some_rows(&low, &rows::beyond(&low).unwrap_or_default(), left)? {
                    self.store.remove(self.database.get(), Area::Rows, &member)?;
                    swept.rows += 1;
                    left -= 1;
                }
            }
            if left == 0 {
                swept.more = true;
                break;
            }
            self.store.remove(self.database.get(), Area::Rows, &row)?;
        }
        Ok(swept)
    }

    /// Collects the first rows of a range.
    fn some_rows(&self, low: &[u8], high: &[u8], most: usize) -> Outcome<Vec<Pair>> {
        let mut found = Vec::new();
        if most == 0 {
            return Ok(found);
        }
        let range = Range { low: Bound::Included(low), high: Bound::Excluded(high), reverse: false };
        self.store.scan(self.database.get(), Area::Rows, range, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(found)
    }
}
