//! What a transaction is going to write: the last write of each key, in the order of commits.

use crate::commit::{WRITE_BYTES, Write, check_size};
use crate::direction::Direction;
use crate::error::Result;
use crate::expiry::{Deadline, ReadView};
use crate::keyspace_tree::KeyspaceTree;
use crate::slice::Slice;
use crate::transaction::reads::PointIndex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;

/// A key's own write.
pub(super) struct OwnWrite {
    /// A value and when it expires, or `None` for a removal.
    put: Option<(Box<[u8]>, Deadline)>,
    /// The get of the key that came just before.
    pub(super) read: Option<PointIndex>,
}

impl OwnWrite {
    fn value(&self) -> Option<&[u8]> {
        self.put.as_ref().map(|(value, _)| &**value)
    }

    /// Returns whether the key has a value, and not a removal.
    pub(super) fn is_put(&self) -> bool {
        self.put.is_some()
    }

    /// Returns when the value that the transaction itself sees expires.
    pub(super) fn deadline(&self, view: ReadView) -> Option<Deadline> {
        self.put.as_ref().map(|(_, deadline)| *deadline).filter(|deadline| view.shows(*deadline))
    }

    /// Returns the value that the transaction itself sees.
    pub(super) fn visible(&self, view: ReadView) -> Option<&[u8]> {
        self.put.as_ref().filter(|(_, deadline)| view.shows(*deadline)).map(|(value, _)| &**value)
    }
}

/// The writes to one keyspace.
struct KeyspaceWrites {
    tree: Arc<KeyspaceTree>,
    by_key: BTreeMap<Box<[u8]>, OwnWrite>,
}

/// The writes of a transaction.
#[derive(Default)]
pub(super) struct Writes {
    /// By the keyspace's number.
    keyspaces: BTreeMap<u32, KeyspaceWrites>,
    bytes: u64,
}

fn bytes_of(key: &[u8], value: Option<&[u8]>) -> u64 {
    (key.len() + value.map_or(0, <[u8]>::len)) as u64 + WRITE_BYTES
}

impl Writes {
    /// Notes a write; it replaces an earlier one of the same key.
    ///
    /// # Errors
    /// `TooLarge`: the transaction stays as it is.
    pub(super) fn set(
        &mut self,
        tree: &Arc<KeyspaceTree>,
        key: &[u8],
        value: Option<(&[u8], Deadline)>,
        read: Option<PointIndex>,
    ) -> Result<()> {
        let put = value.map(|(value, deadline)| (value.into(), deadline));
        let bytes = self.bytes + bytes_of(key, value.map(|(value, _)| value));
        match self.of(tree).entry(key.into()) {
            Entry::Vacant(place) => {
                check_size("a transaction", bytes)?;
                place.insert(OwnWrite { put, read });
                self.bytes = bytes;
            }
            Entry::Occupied(mut place) => {
                let own = place.get_mut();
                let bytes = bytes - bytes_of(key, own.value());
                check_size("a transaction", bytes)?;
                *own = OwnWrite { put, read: read.or(own.read) };
                self.bytes = bytes;
            }
        }
        Ok(())
    }

    /// Returns the writes to a keyspace.
    fn of(&mut self, tree: &Arc<KeyspaceTree>) -> &mut BTreeMap<Box<[u8]>, OwnWrite> {
        let new = || KeyspaceWrites { tree: tree.clone(), by_key: BTreeMap::new() };
        &mut self.keyspaces.entry(tree.root.keyspace()).or_insert_with(new).by_key
    }

    /// Notes the removal of keys, which differ: of all or, if they are too many, of none.
    ///
    /// # Errors
    /// As [`Writes::set`].
    pub(super) fn remove_all(&mut self, tree: &Arc<KeyspaceTree>, keys: &[Slice]) -> Result<()> {
        let replaced = |key: &Slice| self.get(tree, key).map_or(0, |own| bytes_of(key, own.value()));
        let less: u64 = keys.iter().map(replaced).sum();
        let more: u64 = keys.iter().map(|key| bytes_of(key, None)).sum();
        let bytes = self.bytes - less + more;
        check_size("a transaction", bytes)?;
        self.bytes = bytes;
        for key in keys {
            // Not one by one through `set`: removals count before what they replace has gone.
            let read = self.get(tree, key).and_then(|own| own.read);
            self.of(tree).insert((**key).into(), OwnWrite { put: None, read });
        }
        Ok(())
    }

    /// Returns the transaction's own write of a key, if there is one.
    pub(super) fn get(&self, tree: &KeyspaceTree, key: &[u8]) -> Option<&OwnWrite> {
        self.keyspaces.get(&tree.root.keyspace())?.by_key.get(key)
    }

    /// Iterates over the writes to a keyspace, by key.
    pub(super) fn of_keyspace(&self, tree: &KeyspaceTree) -> impl Iterator<Item = (&[u8], &OwnWrite)> {
        let writes = self.keyspaces.get(&tree.root.keyspace());
        writes.into_iter().flat_map(|keyspace| keyspace.by_key.iter().map(|(key, own)| (&**key, own)))
    }

    /// Returns the own write at or above `low` and below `high` that a scan meets first; `None` means no high bound.
    pub(super) fn outermost(
        &self,
        tree: &KeyspaceTree,
        low: &[u8],
        high: Option<&[u8]>,
        direction: Direction,
    ) -> Option<(&[u8], &OwnWrite)> {
        let by_key = &self.keyspaces.get(&tree.root.keyspace())?.by_key;
        let high = high.map_or(Bound::Unbounded, Bound::Excluded);
        let mut range = by_key.range::<[u8], _>((Bound::Included(low), high));
        let (key, own) = match direction {
            Direction::Forward => range.next(),
            Direction::Backward => range.next_back(),
        }?;
        Some((key, own))
    }

    /// Iterates over all writes in the order in which a commit takes them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &OwnWrite> {
        self.keyspaces.values().flat_map(|keyspace| keyspace.by_key.values())
    }

    /// Returns all writes in the order in which a commit takes them.
    pub(super) fn in_order(&self) -> Vec<Write<'_>> {
        let mut in_order = Vec::with_capacity(self.keyspaces.values().map(|keyspace| keyspace.by_key.len()).sum());
        in_order.extend(self.keyspaces.values().flat_map(|KeyspaceWrites { tree, by_key }| {
            by_key.iter().map(move |(key, own)| {
                let value = own.put.as_ref().map(|(value, deadline)| tree.format.stored(value, *deadline));
                Write { tree, key, value, seen: None }
            })
        }));
        in_order
    }
}
