//! A key and what it has: the one way in which commands read, replace and remove keys.
//!
//! Replacing a key keeps the index by expiry true, and leaves the members of a large collection to the sweep.

use crate::context::{Context, Millis};
use crate::record::{Kind, NewRecord, Record};
use crate::refusal::{Outcome, Refusal, WRONG_TYPE};
use crate::rows;
use crate::store::Area;
use std::borrow::Cow;

/// The longest key and the longest member: the store's longest key, less what stands before it in a row.
pub const MAX_NAME: usize = holm::MAX_KEY - 32;

/// Refuses a name that is too long.
pub(crate) fn check_name(name: &[u8]) -> Outcome<()> {
    if name.len() > MAX_NAME {
        return Err(Refusal::of(format!("ERR a key or member has at most {MAX_NAME} bytes, this has {}", name.len())));
    }
    Ok(())
}

/// A key, and its record if it has one.
pub(crate) struct Entry<'k> {
    pub(crate) key: Cow<'k, [u8]>,
    pub(crate) database: u32,
    stored: Option<Record>,
    is_live: bool,
}

impl Entry<'_> {
    /// Returns the same with a key of its own.
    pub(crate) fn into_owned(self) -> Entry<'static> {
        let Entry { key, database, stored, is_live } = self;
        Entry { key: Cow::Owned(key.into_owned()), database, stored, is_live }
    }

    /// Returns the record, unless the key is absent or has expired.
    pub(crate) fn live(&self) -> Option<&Record> {
        self.stored.as_ref().filter(|_| self.is_live)
    }

    /// Returns whether there is a record, expired or not.
    pub(crate) fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// Returns the record, expired or not.
    pub(crate) fn stored(&self) -> Option<&Record> {
        self.stored.as_ref()
    }

    pub(crate) fn into_live(self) -> Option<Record> {
        self.stored.filter(|_| self.is_live)
    }

    /// Returns the record if it is of a kind; `None` if the key is absent.
    ///
    /// # Errors
    /// The record is of another kind.
    pub(crate) fn of(&self, kind: Kind) -> Outcome<Option<&Record>> {
        match self.live() {
            Some(record) if record.kind != kind => Err(WRONG_TYPE),
            found => Ok(found),
        }
    }

    /// Returns the string of a key; `None` if it is absent.
    ///
    /// # Errors
    /// The key has no string.
    pub(crate) fn string(&self) -> Outcome<Option<&[u8]>> {
        Ok(self.of(Kind::String)?.map(Record::body))
    }

    /// Returns when the key expires.
    pub(crate) fn expiry(&self) -> Option<Millis> {
        self.live().and_then(|record| record.expiry)
    }
}

impl Context<'_> {
    /// Reads a key of the selected database.
    pub(crate) fn entry<'k>(&self, key: &'k [u8]) -> Outcome<Entry<'k>> {
        self.entry_in(self.database.get(), key)
    }

    /// Reads a key of any database.
    pub(crate) fn entry_in<'k>(&self, database: u32, key: &'k [u8]) -> Outcome<Entry<'k>> {
        // What an earlier command has left in memory may be about this key.
        self.settle()?;
        let key = Cow::Borrowed(key);
        if key.len() > MAX_NAME {
            // No such key was ever stored.
            return Ok(Entry { key, database, stored: None, is_live: false });
        }
        let stored = self.store.get(database, Area::Keys, &key)?.map(Record::decode).transpose()?;
        let is_live = stored.as_ref().is_some_and(|record| record.expiry.is_none_or(|expiry| expiry > self.now));
        let entry = Entry { key, database, stored, is_live };
        if self.counts_lookups.get() {
            self.count_lookup(&entry);
        }
        Ok(entry)
    }

    /// Returns whether a key of any database is present.
    ///
    /// # Errors
    /// Those of the store.
    pub fn is_present(&self, database: u32, key: &[u8]) -> Outcome<bool> {
        Ok(self.entry_in(database, key)?.live().is_some())
    }

    /// Gives a key a record in place of what it has, or removes it.
    pub(crate) fn replace(&self, entry: &Entry<'_>, new: Option<NewRecord<'_>>) -> Outcome<()> {
        check_name(&entry.key)?;
        let Entry { key, database, stored, .. } = entry;
        let database = *database;
        self.note_change(entry, new.as_ref());
        let expiry = new.and_then(|new| new.expiry);
        self.note_expiry(database, stored.as_ref().and_then(|old| old.expiry), expiry);
        let new_version = new.filter(|new| new.in_rows).and_then(|new| new.body.first_chunk::<8>().copied());
        if let Some(old) = stored {
            if let Some(time) = old.expiry.filter(|_| old.expiry != expiry) {
                self.store.remove(database, Area::Rows, &rows::expiry_key(time, key))?;
            }
            if let Some(version) = old.version().filter(|version| new_version != Some(version.to_be_bytes())) {
                self.store.insert(database, Area::Rows, &rows::key(rows::GARBAGE, version, &[]), &[])?;
            }
        }
        if let Some(time) = expiry.filter(|_| stored.as_ref().and_then(|old| old.expiry) != expiry) {
            self.store.insert(database, Area::Rows, &rows::expiry_key(time, key), &[])?;
        }
        match new {
            Some(new) => self.store.insert_made(database, Area::Keys, key, new.encode()),
            None if stored.is_some() => self.store.remove(database, Area::Keys, key),
            None => Ok(()),
        }
    }

    /// Gives a key a string in place of what it has.
    pub(crate) fn put_string(&self, entry: &Entry<'_>, value: &[u8], expiry: Option<Millis>) -> Outcome<()> {
        self.replace(entry, Some(NewRecord { kind: Kind::String, in_rows: false, expiry, body: value }))
    }

    /// Gives a live key another time of expiry and keeps what it has.
    pub(crate) fn expire(&self, entry: &Entry<'_>, expiry: Option<Millis>) -> Outcome<()> {
        match entry.live() {
            Some(Record { kind, in_rows, .. }) => {
                let body = entry.live().map_or(&[][..], Record::body);
                self.replace(entry, Some(NewRecord { kind: *kind, in_rows: *in_rows, expiry, body }))
            }
            None => Ok(()),
        }
    }

    /// Removes a key and returns whether it was there.
    pub(crate) fn delete(&self, entry: &Entry<'_>) -> Outcome<bool> {
        self.replace(entry, None)?;
        Ok(entry.live().is_some())
    }

    /// Moves what a key has to another key, or copies it. The members of a large collection stay where they are, unless
    /// they are copied or go to another database.
    pub(crate) fn transfer(&self, from: &Entry<'_>, to: &Entry<'_>, copy: bool) -> Outcome<()> {
        let Some(record) = from.live() else { return Ok(()) };
        // One event for both keys, which the command notes.
        self.is_quiet.set(true);
        let done = self.transfer_record(record, from, to, copy);
        self.is_quiet.set(false);
        done
    }

    fn transfer_record(&self, record: &Record, from: &Entry<'_>, to: &Entry<'_>, copy: bool) -> Outcome<()> {
        let mut body = record.body().to_vec();
        if let Some(version) = record.version()
            && (copy || from.database != to.database)
        {
            let fresh = self.store.next_version();
            self.copy_rows((from.database, version), (to.database, fresh))?;
            body[..8].copy_from_slice(&fresh.to_be_bytes());
        }
        let new = NewRecord { kind: record.kind, in_rows: record.in_rows, expiry: record.expiry, body: &body };
        if copy {
            return self.replace(to, Some(new));
        }
        if record.in_rows && from.database == to.database {
            // The rows go on to live under the other key: they are no garbage.
            self.note_changed(&from.key);
            self.note_expiry(from.database, record.expiry, None);
            if let Some(time) = record.expiry {
                self.store.remove(from.database, Area::Rows, &rows::expiry_key(time, &from.key))?;
            }
            self.store.remove(from.database, Area::Keys, &from.key)?;
        } else {
            self.delete(from)?;
        }
        self.replace(to, Some(new))
    }

    fn copy_rows(&self, (database, version): (u32, u64), (target, fresh): (u32, u64)) -> Outcome<()> {
        for family in rows::OF_VERSIONS {
            for (mut key, value) in self.collect_prefix(database, &rows::key(family, version, &[]))? {
                key[1..rows::PREFIX].copy_from_slice(&fresh.to_be_bytes());
                self.store.insert(target, Area::Rows, &key, &value)?;
            }
        }
        Ok(())
    }
}
