//! The state that a copy stands at: which database it is a copy of, up to which epoch, which stream has led there, and
//! its own epoch since which nothing else has been written to it. A record of the copy's catalog.

use super::format::Header;
use super::reader::EndOfStream;
use super::staged::is_staged;
use crate::catalog::Catalog;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::expiry::StoredValue;
use crate::mark;
use crate::operation::Operation;
use crate::record;
use crate::store::Store;
use holm_medium::Epoch;
use holm_tree::{LeafCursor, SeekTarget, Wanted};
use std::collections::BTreeSet;

/// The catalog's key of the record.
const BASE: &[u8] = b"\0b";

/// The catalog's key of the epoch of the last backup.
const LAST_BACKUP: &[u8] = b"\0e";

/// Makes sure that no later session begins behind an epoch that a stream names. All that was written in it is durable
/// when this returns.
///
/// An epoch without changes has no record in the log. After a loss of power the clock would continue from the last
/// record, and an increment would take later changes for what its base has. So the epoch of this write, which is later,
/// has a record.
///
/// # Errors
/// As a put, and as [`Database::sync`](crate::Database::sync).
pub(super) fn log_epoch(engine: &Engine, epoch: Epoch) -> Result<()> {
    put_durably(engine, Operation::begin(&engine.store)?, LAST_BACKUP, &epoch.to_le_bytes())
}

/// Puts a record of the store's own into the catalog, durably, and with it all that was written before.
fn put_durably(engine: &Engine, mut operation: Operation<'_>, key: &[u8], value: &[u8]) -> Result<()> {
    let payload = operation.write_record(key, StoredValue::verbatim(value), &mut Vec::new())?;
    operation.put(engine.catalog.own(), key, payload)?;
    operation.finish_durably()
}

/// The state that a copy stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base {
    /// The database that it is a copy of.
    uuid: [u8; 16],
    epoch: Epoch,
    /// The hash of the stream. Two snapshots of one epoch have streams of one epoch, and not one state.
    hash: u128,
    /// The copy's own epoch of the last write that a backup made.
    own: Epoch,
}

/// The bytes of the record.
const BYTES: usize = 48;

impl Base {
    fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..16].copy_from_slice(&self.uuid);
        bytes[16..24].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.own.to_le_bytes());
        bytes[32..].copy_from_slice(&self.hash.to_le_bytes());
        bytes
    }

    /// Reads the record; `None` if this database is no copy.
    pub(super) fn read(engine: &Engine) -> Result<Option<Base>> {
        Base::of(&engine.store, &engine.catalog)
    }

    fn of(store: &Store, catalog: &Catalog) -> Result<Option<Base>> {
        let Some(value) = store.get(catalog.own(), BASE, record::copy_value)? else { return Ok(None) };
        let bytes = store.catalog_record::<BYTES>(&value, "the base of a copy")?;
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let (uuid, hash) = bytes.split_at(16);
        let (uuid, hash) = (uuid.try_into().expect("sixteen bytes"), hash[16..].try_into().expect("sixteen bytes"));
        Ok(Some(Base { uuid, epoch: number(16), own: number(24), hash: u128::from_le_bytes(hash) }))
    }

    /// States that what was written so far is the state of a stream. Durable, with all of it, when it returns.
    pub(super) fn record(engine: &Engine, end: &EndOfStream) -> Result<()> {
        let operation = Operation::begin(&engine.store)?;
        // No write before has a later epoch, and this one's is over when it is durable: every later write has a later
        // one.
        let Header { uuid, epoch, .. } = end.header;
        let base = Base { uuid, epoch, hash: end.hash, own: operation.epoch() };
        put_durably(engine, operation, BASE, &base.encode())
    }

    /// Returns whether this may be the state that a stream leads to. Its end tells.
    pub(super) fn may_be_result_of(&self, header: &Header) -> bool {
        (self.uuid, self.epoch) == (header.uuid, header.epoch)
    }

    /// Returns whether this is the state that a stream leads to.
    pub(super) fn is_result_of(&self, end: &EndOfStream) -> bool {
        self.may_be_result_of(&end.header) && self.hash == end.hash
    }

    /// Returns how a database that stands at the result of a stream differs from it, in words: by what was written
    /// since, by keyspaces or pairs that are not the stream's, or by another mark. `None` if it does not.
    pub(super) fn difference(
        &self,
        engine: &Engine,
        end: &EndOfStream,
        (names, mark): (&BTreeSet<String>, Option<u64>),
    ) -> Result<Option<String>> {
        let latest = latest_change(&engine.store, &engine.catalog)?;
        if latest > self.own {
            return Ok(Some(format!("a copy that was written in its epoch {latest}, after {}", self.own)));
        }
        let present: BTreeSet<_> = engine.catalog.keyspace_names(&engine.store)?.into_iter().collect();
        if let Some(name) = present.symmetric_difference(names).next() {
            let which = if names.contains(name) { "without" } else { "with" };
            return Ok(Some(format!("a copy {which} the keyspace {name:?}")));
        }
        // A leaf that has been emptied has no epoch of its last change.
        let found: u64 = engine.catalog.trees().iter().map(|tree| tree.root.pairs()).sum();
        let expected = end.info.records + end.info.kept;
        if found != expected {
            return Ok(Some(format!("a copy of {found} pairs, and not of {expected}")));
        }
        let present = mark::read(&engine.store, &engine.catalog)?;
        let in_words = |mark: Option<u64>| mark.map_or_else(|| "no mark".into(), |mark| format!("the mark {mark}"));
        Ok((present != mark).then(|| format!("a copy with {}, and not with {}", in_words(present), in_words(mark))))
    }

    /// Durably forgets that this database is a copy.
    pub(super) fn forget(engine: &Engine) -> Result<()> {
        let mut operation = Operation::begin(&engine.store)?;
        operation.remove(engine.catalog.own(), BASE)?;
        operation.finish_durably()
    }

    /// Refuses a database that does not stand at the base of a stream.
    pub(super) fn check(engine: &Engine, header: &Header) -> Result<()> {
        if header.base == 0 {
            return check_empty(engine);
        }
        let expected = format!("a copy of database {} at epoch {}", format_uuid(&header.uuid), header.base);
        let wrong = |found: String| Err(Error::WrongBase { found, expected: expected.clone() });
        let Some(base) = Base::read(engine)? else {
            return wrong("a database that is no copy".into());
        };
        if (base.uuid, base.epoch) != (header.uuid, header.base) {
            return wrong(format!("a copy of database {} at epoch {}", format_uuid(&base.uuid), base.epoch));
        }
        let latest = latest_change(&engine.store, &engine.catalog)?;
        if latest > base.own {
            return wrong(format!("a copy that was written in its epoch {latest}, after {}", base.own));
        }
        Ok(())
    }
}

/// Refuses a database that has a pair or a mark: a whole backup would remove it.
fn check_empty(engine: &Engine) -> Result<()> {
    let wrong =
        |found: String| Err(Error::WrongBase { found, expected: "an empty database, for a whole backup".into() });
    if let Some(mark) = mark::read(&engine.store, &engine.catalog)? {
        return wrong(format!("a database with the mark {mark}"));
    }
    match engine.catalog.trees().into_iter().find(|tree| tree.root.pairs() > 0) {
        Some(tree) => wrong(format!("a database with {} pairs in {:?}", tree.root.pairs(), tree.name)),
        None => Ok(()),
    }
}

/// Returns the epoch of the last change of any keyspace's leaf.
fn latest_change(store: &Store, catalog: &Catalog) -> Result<Epoch> {
    let mut latest = 0;
    for tree in catalog.trees() {
        let (mut cursor, mut low) = (LeafCursor::default(), Some(Vec::new()));
        while let Some(key) = low {
            store.index.copy_leaf(
                &tree.root,
                SeekTarget::Holding(crate::keys::SearchKey::new(&key)),
                Wanted::leaf(),
                &mut cursor,
            );
            tree.check_not_dropped()?;
            // An opening makes the leaf of an empty tree anew.
            latest = latest.max(if cursor.pairs.is_empty() { 0 } else { cursor.stamp });
            low = cursor.edge.take().filter(|edge| *edge > key);
        }
    }
    Ok(latest)
}

/// Returns whether a database is a copy that an increment will be applied to: one that was begun and has met a full
/// disk, or the next one. O(leaves).
pub(crate) fn awaits_increment(store: &Store, catalog: &Catalog) -> Result<bool> {
    let half_applied = store.files.as_ref().map_or(Ok(false), |files| is_staged(&*files.vfs, &store.path))?;
    Ok(half_applied || is_untouched_copy(store, catalog)?)
}

/// Returns whether a database is a copy to which the next increment can be applied: nothing else has been written to
/// it. O(leaves).
pub(crate) fn is_untouched_copy(store: &Store, catalog: &Catalog) -> Result<bool> {
    match Base::of(store, catalog)? {
        Some(base) => Ok(latest_change(store, catalog)? <= base.own),
        None => Ok(false),
    }
}

/// A database's identity as it is usually written.
fn format_uuid(uuid: &[u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
