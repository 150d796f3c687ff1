//! The store of commands over a database of Holm: direct reads, transactions, and snapshots.
//!
//! Each numbered database has two keyspaces: `db0` has its keys, `db0.rows` what belongs to them. They are created
//! when they are first needed. The keyspace `server` has what belongs to no database.

use crate::refusal::{Outcome, Refusal};
use crate::store::{Area, Range, Store, Visitor};
use holm::{Database, Keyspace, ReadTransaction, Slice, Snapshot, Transaction};
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The two keyspaces of a numbered database.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) keys: Keyspace,
    pub(crate) rows: Keyspace,
}

impl Space {
    fn area(&self, area: Area) -> &Keyspace {
        match area {
            Area::Keys => &self.keys,
            Area::Rows => &self.rows,
        }
    }
}

/// The numbered databases of a server.
#[derive(Debug)]
pub struct Databases {
    pub(crate) db: Database,
    spaces: Vec<OnceLock<Space>>,
    /// The number in the names of the keyspaces of each database: they change places in SWAPDB.
    order: Vec<u32>,
    server: Keyspace,
    versions: AtomicU64,
}

/// The keys of the keyspace `server`.
const SESSION: &str = "session";
const ORDER: &str = "order";

impl Databases {
    /// Opens the numbered databases of a database.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open(db: Database, count: u32) -> holm::Result<Self> {
        let server = db.keyspace("server")?;
        // A session's number comes before all that it writes, in the order of writes. So a crash that forgets the
        // number forgets each version that was made of it.
        let session = server.increment(SESSION, 1)? as u64;
        let mut order: Vec<u32> = (0..count).collect();
        if let Some(stored) = server.get(ORDER)? {
            let stored =
                stored.chunks_exact(4).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
            order.iter_mut().zip(stored).for_each(|(place, number)| *place = number);
        }
        let spaces = (0..count).map(|_| OnceLock::new()).collect();
        let databases = Databases { db, spaces, order, server, versions: AtomicU64::new(session << 40) };
        for number in 0..count {
            databases.existing(number)?;
        }
        Ok(databases)
    }

    /// Returns the number of databases.
    pub fn count(&self) -> u32 {
        self.spaces.len() as u32
    }

    /// Returns the database of Holm.
    pub fn holm(&self) -> &Database {
        &self.db
    }

    fn names(&self, number: u32) -> (String, String) {
        let number = self.order[number as usize];
        (format!("db{number}"), format!("db{number}.rows"))
    }

    /// Returns the keyspaces of a database, and creates them.
    pub(crate) fn space(&self, number: u32) -> Outcome<&Space> {
        let cell = self.spaces.get(number as usize).ok_or(Refusal::text("ERR DB index is out of range"))?;
        if let Some(space) = cell.get() {
            return Ok(space);
        }
        let (keys, rows) = self.names(number);
        let space = Space { rows: self.db.keyspace(&rows)?, keys: self.db.keyspace(&keys)? };
        Ok(cell.get_or_init(|| space))
    }

    /// Returns the keyspaces of a database that has had keys.
    pub(crate) fn existing(&self, number: u32) -> holm::Result<Option<&Space>> {
        let Some(cell) = self.spaces.get(number as usize) else { return Ok(None) };
        if let Some(space) = cell.get() {
            return Ok(Some(space));
        }
        let (keys, rows) = self.names(number);
        match (self.db.existing_keyspace(&keys)?, self.db.existing_keyspace(&rows)?) {
            (None, None) => Ok(None),
            (None, Some(_)) => {
                // A flush was cut short: without keys, rows belong to nothing.
                self.db.drop_keyspace(&rows)?;
                Ok(None)
            }
            (Some(keys), _) => {
                let space = Space { keys, rows: self.db.keyspace(&rows)? };
                Ok(Some(cell.get_or_init(|| space)))
            }
        }
    }

    /// Removes all keys of a database, at one instant. Its keyspaces are created anew when they are needed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn flush(&mut self, number: u32) -> holm::Result<()> {
        if self.existing(number)?.is_some() {
            let (keys, rows) = self.names(number);
            self.db.drop_keyspace(&keys)?;
            self.db.drop_keyspace(&rows)?;
            self.spaces[number as usize] = OnceLock::new();
        }
        Ok(())
    }

    /// Lets two databases change places.
    ///
    /// # Errors
    /// Those of the store.
    pub fn swap(&mut self, one: u32, other: u32) -> holm::Result<()> {
        let (one, other) = (one as usize, other as usize);
        let mut order = self.order.clone();
        order.swap(one, other);
        self.server.insert(ORDER, order.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>())?;
        self.order = order;
        self.spaces.swap(one, other);
        Ok(())
    }

    /// Returns which databases have changed places: the number that each had when the database was made.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    fn next_version(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the number of keys of a database, those that have expired and are not removed yet included.
    ///
    /// # Errors
    /// Those of the store.
    pub fn key_count(&self, number: u32) -> Outcome<u64> {
        self.len(number)
    }

    fn len(&self, number: u32) -> Outcome<u64> {
        Ok(self.existing(number)?.map_or(Ok(0), |space| space.keys.len())?)
    }
}

/// A store that refuses writes says so.
const READ_ONLY: Refusal = Refusal::text("READONLY the connection reads at a snapshot: end it before you write");

/// Walks over pairs that are owned.
fn walk<I>(pairs: I, reverse: bool, visit: &mut Visitor<'_>) -> Outcome<()>
where
    I: DoubleEndedIterator<Item = holm::Result<(Slice, Slice)>>,
{
    let mut pairs = pairs;
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
pub(crate) struct Direct<'d>(pub(crate) &'d Databases);

impl Store for Direct<'_> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        Ok(self.0.existing(database)?.map_or(Ok(None), |space| space.area(area).get(key))?)
    }

    fn insert(&self, _: u32, _: Area, _: &[u8], _: &[u8]) -> Outcome<()> {
        Err(READ_ONLY)
    }

    fn remove(&self, _: u32, _: Area, _: &[u8]) -> Outcome<()> {
        Err(READ_ONLY)
    }

    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        match self.0.existing(database)? {
            Some(space) => walk_lent(space.area(area).range::<&[u8]>((range.low, range.high)), range.reverse, visit),
            None => Ok(()),
        }
    }

    fn len(&self, database: u32) -> Outcome<u64> {
        self.0.len(database)
    }

    fn next_version(&self) -> u64 {
        self.0.next_version()
    }
}

/// Reads of one instant.
pub(crate) struct AtOneInstant<'d> {
    pub(crate) databases: &'d Databases,
    pub(crate) transaction: &'d ReadTransaction,
}

impl Store for AtOneInstant<'_> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        let space = self.databases.existing(database)?;
        Ok(space.map_or(Ok(None), |space| self.transaction.get(space.area(area), key))?)
    }

    fn insert(&self, _: u32, _: Area, _: &[u8], _: &[u8]) -> Outcome<()> {
        Err(READ_ONLY)
    }

    fn remove(&self, _: u32, _: Area, _: &[u8]) -> Outcome<()> {
        Err(READ_ONLY)
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
        self.databases.len(database)
    }

    fn next_version(&self) -> u64 {
        self.databases.next_version()
    }
}

/// Reads and writes of one transaction.
pub(crate) struct Within<'d> {
    pub(crate) databases: &'d Databases,
    pub(crate) transaction: &'d Transaction,
}

impl Store for Within<'_> {
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
        self.databases.len(database)
    }

    fn next_version(&self) -> u64 {
        self.databases.next_version()
    }
}

/// Reads of a snapshot.
pub(crate) struct AtSnapshot<'d> {
    pub(crate) databases: &'d Databases,
    pub(crate) snapshot: &'d Snapshot,
}

impl AtSnapshot<'_> {
    fn keyspace(&self, database: u32, area: Area) -> Option<holm::SnapshotKeyspace> {
        let (keys, rows) = self.databases.names(database);
        self.snapshot.keyspace(if area == Area::Keys { &keys } else { &rows })
    }
}

impl Store for AtSnapshot<'_> {
    fn get(&self, database: u32, area: Area, key: &[u8]) -> Outcome<Option<Slice>> {
        Ok(self.keyspace(database, area).map_or(Ok(None), |keyspace| keyspace.get(key))?)
    }

    fn insert(&self, _: u32, _: Area, _: &[u8], _: &[u8]) -> Outcome<()> {
        Err(READ_ONLY)
    }

    fn remove(&self, _: u32, _: Area, _: &[u8]) -> Outcome<()> {
        Err(READ_ONLY)
    }

    fn scan(&self, database: u32, area: Area, range: Range<'_>, visit: &mut Visitor<'_>) -> Outcome<()> {
        match self.keyspace(database, area) {
            Some(keyspace) => walk_lent(keyspace.range::<&[u8]>((range.low, range.high)), range.reverse, visit),
            None => Ok(()),
        }
    }

    fn len(&self, database: u32) -> Outcome<u64> {
        Ok(self.keyspace(database, Area::Keys).map_or(Ok(0), |keyspace| keyspace.len())?)
    }

    fn next_version(&self) -> u64 {
        0
    }
}
