//! Stores of commands over the keyspaces of databases: reads, reads of one instant, and transactions.

use crate::refusal::{Outcome, Refusal};
use crate::store::{Area, Range, Store, Visitor};
use holm::{Keyspace, ReadTransaction, Slice, Transaction};
use std::ops::ControlFlow;

/// The two keyspaces of a numbered database.
#[derive(Debug)]
pub struct Space {
    /// The client's keys.
    pub keys: Keyspace,
    /// What belongs to them.
    pub rows: Keyspace,
}

impl Space {
    /// Returns the keyspace of an area.
    #[inline]
    pub fn area(&self, area: Area) -> &Keyspace {
        match area {
            Area::Keys => &self.keys,
            Area::Rows => &self.rows,
        }
    }
}

/// Which keyspaces each numbered database has.
pub trait Spaces {
    /// How a store that only reads refuses to write.
    const READ_ONLY: Refusal;

    /// Returns the keyspaces of a database that has had keys.
    ///
    /// # Errors
    /// Those of the store.
    fn existing(&self, number: u32) -> Outcome<Option<&Space>>;

    /// Returns the keyspaces of a database, and creates them.
    ///
    /// # Errors
    /// Those of the store; there is no such database.
    fn space(&self, number: u32) -> Outcome<&Space>;

    /// Returns a number that no collection has had.
    fn next_version(&self) -> u64;

    /// Returns the number of keys of a database, those that have expired and are not removed yet included.
    ///
    /// # Errors
    /// As [`Spaces::existing`].
    fn key_count(&self, number: u32) -> Outcome<u64> {
        Ok(self.existing(number)?.map_or(Ok(0), |space| space.keys.len())?)
    }
}

/// Walks over pairs that are owned.
fn walk<I>(mut pairs: I, reverse: bool, visit: &mut Visitor<'_>) -> Outcome<()>
where
    I: DoubleEndedIterator<Item = holm::Result<(Slice, Slice)>>,
{
    while let Some(pair) = if reverse { pairs.next_back() } else { pairs.next() } {
        let (key, value) = pair?;
        if visit(&key, &value) == ControlFlow::Break(()) {
            break;
        }
    }
    Ok(())
}

/// Walks over pairs that an iterator lends.
pub(crate) fn walk_lent(mut pairs: holm::Iter, reverse: bool, visit: &mut Visitor<'_>) -> Outcome<()> {
    while let Some(pair) = if reverse { pairs.next_back_ref() } else { pairs.next_ref() } {
        let (key, value) = pair?;
        if visit(key, value) == ControlFlow::Break(()) {
            break;
        }
    }
    Ok(())
}

/// Reads, each at an instant of its own: enough for commands that read one key.
#[derive(Debug)]
pub struct Direct<'d, S>(pub &'d S);

impl<S: Spaces> Store for Direct<'_, S> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        Ok(self.0.existing(database)?.map_or(Ok(None), |space| space.area(area).get(key))?)
    }

    fn insert(&self, _: u32, _: Area, _: &[u8], _: &[u8]) -> Outcome<()> {
        Err(S::READ_ONLY)
    }

    fn remove(&self, _: u32, _: Area, _: &[u8]) -> Outcome<()> {
        Err(S::READ_ONLY)
    }

    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        match self.0.existing(database)? {
            Some(space) => walk_lent(space.area(area).range::<&[u8]>((range.low, range.high)), range.reverse, visit),
            None => Ok(()),
        }
    }

    fn len(&self, database: u32) -> Outcome<u64> {
        self.0.key_count(database)
    }

    fn next_version(&self) -> u64 {
        self.0.next_version()
    }
}

/// Reads of one instant.
#[derive(Debug)]
pub struct AtOneInstant<'d, S> {
    /// The keyspaces.
    pub databases: &'d S,
    /// What reads them.
    pub transaction: &'d ReadTransaction,
}

impl<S: Spaces> Store for AtOneInstant<'_, S> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        let space = self.databases.existing(database)?;
        Ok(space.map_or(Ok(None), |space| self.transaction.get(space.area(area), key))?)
    }

    fn insert(&self, _: u32, _: Area, _: &[u8], _: &[u8]) -> Outcome<()> {
        Err(S::READ_ONLY)
    }

    fn remove(&self, _: u32, _: Area, _: &[u8]) -> Outcome<()> {
        Err(S::READ_ONLY)
    }

    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        match self.databases.existing(database)? {
            Some(space) => {
                walk(self.transaction.range::<&[u8]>(space.area(area), (range.low, range.high))?, range.reverse, visit)
            }
            None => Ok(()),
        }
    }

    fn len(&self, database: u32) -> Outcome<u64> {
        self.databases.key_count(database)
    }

    fn next_version(&self) -> u64 {
        self.databases.next_version()
    }
}

/// Reads and writes of one transaction.
#[derive(Debug)]
pub struct Within<'d, S> {
    /// The keyspaces.
    pub databases: &'d S,
    /// What reads and writes them.
    pub transaction: &'d Transaction,
}

impl<S: Spaces> Store for Within<'_, S> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        // Created even to be read: a transaction that finds no keyspace could not notice one that appears.
        Ok(self.transaction.get(self.databases.space(database)?.area(area), key)?)
    }

    fn insert(&self, database: u32, area: Area, key: &[u8], value: &[u8]) -> Outcome<()> {
        Ok(self.transaction.insert(self.databases.space(database)?.area(area), key, value)?)
    }

    fn remove(&self, database: u32, area: Area, key: &[u8]) -> Outcome<()> {
        Ok(self.transaction.remove(self.databases.space(database)?.area(area), key)?)
    }

    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        let space = self.databases.space(database)?;
        walk(self.transaction.range::<&[u8]>(space.area(area), (range.low, range.high))?, range.reverse, visit)
    }

    fn len(&self, database: u32) -> Outcome<u64> {
        let space = self.databases.existing(database)?;
        space.map_or(Ok(0), |space| Ok(self.transaction.len(space.area(Area::Keys))?))
    }

    fn next_version(&self) -> u64 {
        self.databases.next_version()
    }
}
