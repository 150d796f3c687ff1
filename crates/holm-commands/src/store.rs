//! What commands need of a store: ordered keys of several databases, and one instant for all that a command does.
//!
//! Commands know nothing of sockets, threads or transactions. The single server gives them a transaction of a
//! database ([`crate::Databases`]); a replicated one gives them the batch that it applies.

use crate::refusal::Outcome;
use holm::Slice;
use std::ops::{Bound, ControlFlow};

/// The two ordered maps of a numbered database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The client's keys as they are, in their order.
    Keys,
    /// What belongs to them: members of large collections, times of expiry, collections to be removed.
    Rows,
}

/// A part of an area, and the direction to walk it.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// The low end.
    pub low: Bound<&'a [u8]>,
    /// The high end.
    pub high: Bound<&'a [u8]>,
    /// Whether the walk begins at the high end.
    pub reverse: bool,
}

/// The visitor of a walk over pairs.
pub type Visitor<'v> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v;

/// Ordered keys, as one command or one transaction sees them.
pub trait Store {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// Those of the store; a conflict begins the command anew.
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>>;

    /// Stores a value.
    ///
    /// # Errors
    /// Those of the store; or the store may only be read.
    fn insert(&self, database: u32, area: Area, key: &[u8], value: &[u8]) -> Outcome<()>;

    /// Stores a value that was made for it, as [`Store::insert`]. A store that keeps the value need not copy it.
    ///
    /// # Errors
    /// As [`Store::insert`].
    fn insert_made(&self, database: u32, area: Area, key: &[u8], value: Vec<u8>) -> Outcome<()> {
        self.insert(database, area, key, &value)
    }

    /// Removes a key.
    ///
    /// # Errors
    /// As [`Store::insert`].
    fn remove(&self, database: u32, area: Area, key: &[u8]) -> Outcome<()>;

    /// Visits the pairs of a range in order, until the visitor breaks off.
    ///
    /// # Errors
    /// As [`Store::get`].
    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()>;

    /// Returns the number of keys of a database, those that have expired and are not removed yet included.
    ///
    /// # Errors
    /// As [`Store::get`].
    fn len(&self, database: u32) -> Outcome<u64>;

    /// Returns a number that no collection of the store has had.
    fn next_version(&self) -> u64;
}
