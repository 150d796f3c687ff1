//! Walks over keys and rows, as commands need them.

use crate::context::Context;
use crate::record::{Kind, glance};
use crate::refusal::Outcome;
use crate::rows;
use crate::store::{Area, Range, Visitor};
use std::ops::{Bound, ControlFlow};

/// A pair that a walk has collected.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// The visitor of a walk over keys: it gets the key, its kind and its record.
pub(crate) type KeyVisitor<'v> = dyn FnMut(&[u8], Kind, &[u8]) -> ControlFlow<()> + 'v;

/// Bounds of keys or members, low and high.
pub(crate) type Bounds<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);

impl Context<'_> {
    /// Visits the keys of the selected database that have not expired, with their records.
    pub(crate) fn visit_keys(&self, (low, high): Bounds<'_>, reverse: bool, visit: &mut KeyVisitor<'_>) -> Outcome<()> {
        let range = Range { low, high, reverse };
        self.scan(self.database.get(), Area::Keys, range, &mut |key, value| match glance(value) {
            Some((kind, expiry)) if expiry.is_none_or(|expiry| expiry > self.now) => visit(key, kind, value),
            _ => ControlFlow::Continue(()),
        })
    }

    /// Visits the rows of a family and version whose members lie within bounds. The visitor gets members and values.
    pub(crate) fn visit_rows(
        &self,
        (family, version): (u8, u64),
        (low, high): Bounds<'_>,
        reverse: bool,
        visit: &mut Visitor<'_>,
    ) -> Outcome<()> {
        let prefix = rows::key(family, version, &[]);
        let end = rows::beyond(&prefix);
        let with = |member: &[u8]| [&prefix[..], member].concat();
        let low = match low {
            Bound::Included(member) => Bound::Included(with(member)),
            Bound::Excluded(member) => Bound::Excluded(with(member)),
            Bound::Unbounded => Bound::Included(prefix.to_vec()),
        };
        let high = match high {
            Bound::Included(member) => Bound::Included(with(member)),
            Bound::Excluded(member) => Bound::Excluded(with(member)),
            Bound::Unbounded => end.map_or(Bound::Unbounded, Bound::Excluded),
        };
        let range = Range { low: as_slice(&low), high: as_slice(&high), reverse };
        self.scan(self.database.get(), Area::Rows, range, &mut |key, value| visit(&key[rows::PREFIX..], value))
    }

    /// Collects all rows whose keys begin with a prefix.
    pub(crate) fn collect_prefix(&self, database: u32, prefix: &[u8]) -> Outcome<Vec<Pair>> {
        let end = rows::beyond(prefix);
        let high = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut found = Vec::new();
        let range = Range { low: Bound::Included(prefix), high, reverse: false };
        self.scan(database, Area::Rows, range, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}

/// Returns a bound of the same kind over a slice.
pub(crate) fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// Returns whether bounds hold nothing, or are the wrong way round.
pub(crate) fn is_empty((low, high): Bounds<'_>) -> bool {
    match (low, high) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Included(high) | Bound::Excluded(high)) => low >= high,
        _ => false,
    }
}

/// Returns whether a member lies within bounds.
pub(crate) fn contains((low, high): Bounds<'_>, member: &[u8]) -> bool {
    let above = match low {
        Bound::Included(low) => member >= low,
        Bound::Excluded(low) => member > low,
        Bound::Unbounded => true,
    };
    above
        && match high {
            Bound::Included(high) => member <= high,
            Bound::Excluded(high) => member < high,
            Bound::Unbounded => true,
        }
}
