//! The numbered databases of a server in a database of Holm, and reads of them at a snapshot.
//!
//! Each numbered database has two keyspaces: `db0` has its keys, `db0.rows` what belongs to them. They are created
//! when they are first needed. The keyspace `server` has what belongs to no database.
//!
//! The *order* states which keyspaces each database has: at first those of its own number. Databases that change places
//! exchange theirs. A database that is flushed gets new ones, and a thread drops the old ones afterwards. So either
//! takes one write of a record, however many keys there are, and each happens at one instant.

use crate::events::Notifications;
use crate::expiring::Expiring;
use crate::refusal::{Outcome, Refusal};
use crate::spaces::{Space, Spaces, walk_lent};
use crate::store::{Area, Range, Store, Visitor};
use crate::turns::Turns;
use holm::{Database, Keyspace, Slice, Snapshot};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The numbered databases of a server.
#[derive(Debug)]
pub struct Databases {
    pub(crate) db: Database,
    spaces: Vec<Arc<OnceLock<ServedSpace>>>,
    /// The number in the names of the keyspaces of each database. It may have more databases than are served.
    order: Vec<u32>,
    server: Keyspace,
    versions: Arc<AtomicU64>,
    notifications: Arc<Notifications>,
    pub(crate) turns: Arc<Turns>,
}

/// The keyspaces of a numbered database, and how many of its keys expire.
#[derive(Debug)]
pub(crate) struct ServedSpace {
    space: Space,
    pub(crate) expiring: Mutex<Expiring>,
}

impl ServedSpace {
    /// Counts before anybody writes: who writes has what this returns.
    fn new(space: Space) -> holm::Result<Self> {
        Ok(ServedSpace { expiring: Mutex::new(Expiring::of_index(&space.rows)?), space })
    }
}

/// The keyspace of what belongs to no database, and its keys.
const SERVER: &str = "server";
const SESSION: &str = "session";
const ORDER: &str = "order";
/// Before the number of a database: how often it was flushed.
const FLUSHED: &str = "flushed/";

fn decode_order(stored: &[u8]) -> Vec<u32> {
    stored.chunks_exact(4).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect()
}

/// Returns the number in the name of a database's keyspace.
fn number_of(keyspace: &str) -> Option<u32> {
    keyspace.strip_prefix("db")?.trim_end_matches(".rows").parse().ok()
}

/// Returns the number of the database that a change of a keyspace's key says was flushed.
pub fn flushed_database(keyspace: &str, key: &[u8]) -> Option<u32> {
    let number = key.strip_prefix(FLUSHED.as_bytes()).filter(|_| keyspace == SERVER)?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Returns the names of the keyspaces with a number.
fn names(number: u32) -> (String, String) {
    (format!("db{number}"), format!("db{number}.rows"))
}

impl Databases {
    /// Opens the numbered databases of a database.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open(db: Database, count: u32) -> holm::Result<Self> {
        let server = db.keyspace(SERVER)?;
        // A session's number comes before all that it writes, in the order of writes. So a crash that forgets the
        // number forgets each version that was made of it.
        let session = server.increment(SESSION, 1)? as u64;
        let mut order = server.get(ORDER)?.map_or_else(Vec::new, |stored| decode_order(&stored));
        for number in order.len() as u32..count {
            // Its own number, unless a database that was flushed has that.
            let is_free = !order.contains(&number);
            let above = order.iter().max().map_or(0, |most| most + 1).max(count);
            order.push(if is_free { number } else { above });
        }
        let spaces = (0..count).map(|_| Arc::default()).collect();
        let databases = Databases {
            db,
            spaces,
            order,
            server,
            versions: Arc::new(AtomicU64::new(session << 40)),
            notifications: Arc::default(),
            turns: Arc::default(),
        };
        for number in 0..count {
            databases.existing(number)?;
        }
        Ok(databases)
    }

    /// Returns the number of databases.
    pub fn count(&self) -> u32 {
        self.spaces.len() as u32
    }

    /// Returns which events subscribers get messages of.
    pub fn notifications(&self) -> &Notifications {
        &self.notifications
    }

    /// Returns the database of Holm.
    pub fn holm(&self) -> &Database {
        &self.db
    }

    /// Returns a database that has had keys.
    pub(crate) fn served(&self, number: u32) -> Option<&ServedSpace> {
        self.spaces.get(number as usize)?.get()
    }

    fn names(&self, number: u32) -> (String, String) {
        names(self.order[number as usize])
    }

    /// Returns the keyspaces of a database, and creates them.
    pub(crate) fn space(&self, number: u32) -> Outcome<&Space> {
        let cell = self.spaces.get(number as usize).ok_or(Refusal::text("ERR DB index is out of range"))?;
        if let Some(served) = cell.get() {
            return Ok(&served.space);
        }
        let (keys, rows) = self.names(number);
        let served = ServedSpace::new(Space { rows: self.db.keyspace(&rows)?, keys: self.db.keyspace(&keys)? })?;
        Ok(&cell.get_or_init(|| served).space)
    }

    /// Returns the keyspaces of a database that has had keys.
    pub(crate) fn existing(&self, number: u32) -> holm::Result<Option<&Space>> {
        let Some(cell) = self.spaces.get(number as usize) else { return Ok(None) };
        if let Some(served) = cell.get() {
            return Ok(Some(&served.space));
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
                let served = ServedSpace::new(Space { keys, rows: self.db.keyspace(&rows)? })?;
                Ok(Some(&cell.get_or_init(|| served).space))
            }
        }
    }

    /// Returns the same databases with other keyspaces, as an order states them.
    fn ordered(&self, order: Vec<u32>) -> Databases {
        let space = |(number, own): (usize, &Arc<OnceLock<ServedSpace>>)| {
            if order[number] == self.order[number] { own.clone() } else { Arc::default() }
        };
        let spaces = self.spaces.iter().enumerate().map(space).collect();
        let (db, server, versions) = (self.db.clone(), self.server.clone(), self.versions.clone());
        let (notifications, turns) = (self.notifications.clone(), self.turns.clone());
        Databases { db, spaces, order, server, versions, notifications, turns }
    }

    fn encode_order(order: &[u32]) -> Vec<u8> {
        order.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    /// Removes all keys of some databases, at one instant. Returns the databases from then on; the keyspaces of before
    /// are there until the caller drops what [`Databases::flushed`] names.
    ///
    /// # Errors
    /// Those of the store; nothing has changed then.
    pub fn flush(&self, numbers: impl IntoIterator<Item = u32>) -> holm::Result<Databases> {
        let mut order = self.order.clone();
        // No keyspace may have had the number: an old one may wait to be dropped.
        let names = self.db.keyspaces()?;
        let known = names.iter().filter_map(|name| number_of(name)).chain(order.iter().copied());
        let mut next = known.max().map_or(0, |most| most + 1).max(self.count());
        let mut flushed = Vec::new();
        for number in numbers {
            if self.existing(number)?.is_some() {
                order[number as usize] = next;
                next += 1;
                flushed.push(format!("{FLUSHED}{number}"));
            }
        }
        if !flushed.is_empty() {
            self.db.transact(|transaction| {
                for key in &flushed {
                    let times = transaction
                        .get(&self.server, key)?
                        .map_or(0, |times| times.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes)));
                    transaction.insert(&self.server, key, (times + 1).to_be_bytes())?;
                }
                transaction.insert(&self.server, ORDER, Self::encode_order(&order))
            })?;
        }
        Ok(self.ordered(order))
    }

    /// Returns the names of keyspaces that belong to no database any more, because it was flushed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn flushed(&self) -> holm::Result<Vec<String>> {
        let mut names = self.db.keyspaces()?;
        names.retain(|name| number_of(name).is_some_and(|number| !self.order.contains(&number)));
        Ok(names)
    }

    /// Lets two databases change places, at one instant. Returns the databases from then on.
    ///
    /// # Errors
    /// Those of the store; nothing has changed then.
    pub fn swap(&self, one: u32, other: u32) -> holm::Result<Databases> {
        let mut order = self.order.clone();
        order.swap(one as usize, other as usize);
        self.server.insert(ORDER, Self::encode_order(&order))?;
        let mut databases = self.ordered(order);
        databases.spaces = self.spaces.clone();
        databases.spaces.swap(one as usize, other as usize);
        Ok(databases)
    }

    /// Returns which databases have changed places: the number that each had when the database was made.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns the number of keys of a database, those that have expired and are not removed yet included.
    ///
    /// # Errors
    /// Those of the store.
    pub fn key_count(&self, number: u32) -> Outcome<u64> {
        Spaces::key_count(self, number)
    }
}

impl Spaces for Databases {
    const READ_ONLY: Refusal = READ_ONLY;

    fn existing(&self, number: u32) -> Outcome<Option<&Space>> {
        Ok(Databases::existing(self, number)?)
    }

    fn space(&self, number: u32) -> Outcome<&Space> {
        Databases::space(self, number)
    }

    fn next_version(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// A store that refuses writes says so.
pub const READ_ONLY: Refusal = Refusal::text("READONLY the connection reads at a snapshot: end it before you write");

/// Reads of a snapshot.
pub(crate) struct AtSnapshot<'d> {
    pub(crate) snapshot: &'d Snapshot,
}

impl AtSnapshot<'_> {
    /// Returns the keyspace that a database had when the snapshot was taken.
    fn keyspace(&self, database: u32, area: Area) -> Option<holm::SnapshotKeyspace> {
        let order = self.snapshot.keyspace(SERVER).and_then(|server| server.get(ORDER).ok().flatten());
        let number = order.and_then(|order| decode_order(&order).get(database as usize).copied()).unwrap_or(database);
        let (keys, rows) = names(number);
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
