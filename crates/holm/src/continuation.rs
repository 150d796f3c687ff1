//! Where a scan continues after a leaf.

use crate::copied_pairs::{Remainder, ScanBounds};
use crate::direction::Direction;
use crate::error::{Error, Result};
use crate::store::Store;

/// Where one end of a scan continues.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// At the bound that the scan has.
    AtBound,
    /// Beyond this key, once all pairs before it have been returned.
    Beyond(Vec<u8>),
    /// Nowhere: this end has copied all of its range.
    Ended,
}

impl Continuation {
    /// Returns where a scan within `bounds` continues after a copy of a leaf: at what remains of the leaf or, if
    /// nothing does, at the leaf's edge.
    ///
    /// # Errors
    /// `Corrupt` if the scan would make no progress. Only a damaged key does that, and the scan would never end.
    pub(crate) fn after(
        store: &Store,
        bounds: ScanBounds<'_>,
        remainder: Remainder,
        edge: Option<Vec<u8>>,
    ) -> Result<Self> {
        let next = match remainder {
            Remainder::From(key) => Some(key),
            Remainder::Nothing => edge,
        };
        let Some(key) = next else { return Ok(Continuation::Ended) };
        let (makes_progress, is_outside) = match bounds.direction {
            Direction::Forward => (key[..] > *bounds.low, bounds.high.is_some_and(|high| key[..] >= *high)),
            Direction::Backward => (bounds.high.is_none_or(|high| key[..] < *high), key[..] <= *bounds.low),
        };
        match (makes_progress, is_outside) {
            (false, _) => Err(no_progress(store, &key)),
            (true, true) => Ok(Continuation::Ended),
            (true, false) => Ok(Continuation::Beyond(key)),
        }
    }
}

#[cold]
fn no_progress(store: &Store, key: &[u8]) -> Error {
    Error::Corrupt {
        path: store.path.join("records"),
        offset: 0,
        what: "the key where a scan goes on",
        found: format!("\"{}\"", key.escape_ascii()),
        expected: "one where it has not been".into(),
    }
}
