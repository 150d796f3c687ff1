//! The difference between the ends of two consecutive epochs, read off the blocks that the later one has dirtied.
//!
//! A payload leads to one record for as long as any of the two states names it. So it says by itself whether a pair
//! has come, gone or moved: one that came to a block and went from another one has only moved, in a split or a merge.
//! What remains is read from the records. A key that both came and went has a new value.

use super::changed_payload::ChangedPayload;
use super::changes::{Changes, Entry, EpochChanges};
use super::copies::cancel_copies;
use super::key_table::KeyTable;
use super::names::Names;
use crate::catalog::{CATALOG, keyspace_of};
use crate::error::Error;
use crate::keys::Records;
use crate::mark::MARK;
use crate::record::{self, Place};
use holm_medium::{Area, BLOCK, Epoch, parts};
use holm_search::prefetch_lines;
use holm_tree::{BlockDifference, ReadDifference};
use std::collections::HashMap;
use std::sync::Arc;

/// How many records are prefetched before they are read.
const AHEAD: usize = 12;

/// How many words of a record are prefetched, and how many for its key alone.
const MOST_WORDS: usize = 64;
const KEY_WORDS: usize = 8;

/// Why the changes of an epoch are not known.
pub(super) enum Unknown {
    /// They are more than any feed takes.
    TooMany,
    /// A record or block is damaged, which only a fault of the memory or the disk can cause. The file is named without
    /// its folder.
    Damaged(Error),
}

/// Reads the changes of epochs, one after the other.
pub(super) struct Difference {
    read: ReadDifference,
    keys: Records,
    block_bytes: u64,
    /// The last epoch that was read, and the keyspaces at its end.
    names: Option<(Epoch, Names)>,
    came: Vec<ChangedPayload>,
    went: Vec<ChangedPayload>,
}

/// The changes of an epoch while they are gathered.
struct Gathered<'a> {
    keys: &'a Records,
    names: &'a Names,
    /// The most bytes of memory.
    most: u64,
    changes: EpochChanges,
    /// The last keyspace, and its index in the changes.
    last: Option<(u32, Option<u32>)>,
    /// The keyspaces so far, by number.
    indices: HashMap<u32, u32>,
}

/// Removes what is in both lists, which are sorted.
fn cancel(came: &mut Vec<ChangedPayload>, went: &mut Vec<ChangedPayload>) {
    if came.is_empty() || went.is_empty() {
        return;
    }
    const GONE: u64 = 0; // No payload is zero.
    let mut at = 0;
    came.retain(|came| {
        while went.get(at).is_some_and(|went| went.place < came.place) {
            at += 1;
        }
        let moved = went.get_mut(at).filter(|went| went.place == came.place);
        moved.map(|went| went.place = GONE).is_none()
    });
    went.retain(|went| went.place != GONE);
}

impl Difference {
    pub(super) fn new(read: ReadDifference, keys: Records, block_bytes: u64) -> Self {
        Difference { read, keys, block_bytes, names: None, came: Vec::new(), went: Vec::new() }
    }

    /// Whether the keyspaces before this epoch are known.
    pub(super) fn follows(&self, epoch: Epoch) -> bool {
        self.names.as_ref().is_some_and(|(upto, _)| upto + 1 == epoch)
    }

    /// Continues after an epoch, at whose end there were these keyspaces.
    pub(super) fn continue_after(&mut self, epoch: Epoch, names: Names) {
        self.names = Some((epoch, names));
    }

    /// Forgets the keyspaces, and gives the memory of the lists back.
    pub(super) fn forget(&mut self) {
        self.names = None;
        (self.came, self.went) = (Vec::new(), Vec::new());
    }

    /// Returns the changes of an epoch, if it had any. The next epoch is active, and stays so. O(changed blocks and
    /// records).
    pub(super) fn of(
        &mut self,
        epoch: Epoch,
        lines: &mut dyn Iterator<Item = (u64, u64)>,
        most: u64,
    ) -> Result<Option<Changes>, Unknown> {
        self.gather(epoch, lines)?;
        let Difference { keys, came, went, names: Some((upto, names)), .. } = self else {
            return Err(Unknown::TooMany);
        };
        *upto = epoch;
        let is_of_catalog = |changed: &ChangedPayload| changed.keyspace == CATALOG;
        let mut changes = EpochChanges { epoch, ..EpochChanges::default() };
        let [old, new] = [&*went, &*came].map(|all| all.iter().copied().filter(is_of_catalog).collect::<Vec<_>>());
        if !old.is_empty() || !new.is_empty() {
            rename(keys, names, [&old, &new], &mut changes)?;
            came.retain(|changed| !is_of_catalog(changed));
            went.retain(|changed| !is_of_catalog(changed));
        }
        let gathered = Gathered { keys, names, most, changes, last: None, indices: HashMap::new() };
        let changes = gathered.read(came, went)?;
        Ok((!changes.is_empty()).then(|| changes.share()))
    }

    /// Lists what came and went in all blocks that the epoch has dirtied.
    fn gather(&mut self, epoch: Epoch, lines: &mut dyn Iterator<Item = (u64, u64)>) -> Result<(), Unknown> {
        self.came.clear();
        self.went.clear();
        let mut block = BlockDifference::default();
        let mut next = BLOCK.div_ceil(self.block_bytes);
        for (loc, bytes) in lines {
            let (area, offset) = parts(loc);
            if area != Area::Leaves {
                continue;
            }
            let end = (offset + bytes).div_ceil(self.block_bytes);
            for number in next.max(offset / self.block_bytes)..end {
                if !(self.read)(&self.keys.image, number as u32, epoch, &mut block) {
                    return Err(damaged(number * self.block_bytes, "a leaf's versions", "none of an epoch", "one"));
                }
                let changed = |payload: &u64| ChangedPayload::new(*payload, block.keyspace);
                self.came.extend(block.came.iter().map(changed));
                self.went.extend(block.went.iter().map(changed));
            }
            next = next.max(end);
        }
        self.came.sort_unstable();
        self.went.sort_unstable();
        cancel(&mut self.came, &mut self.went);
        cancel_copies(&self.keys, self.block_bytes, &mut self.came, &mut self.went);
        Ok(())
    }
}

fn damaged(offset: u64, what: &'static str, found: &str, expected: &str) -> Unknown {
    let (found, expected) = (found.into(), expected.into());
    Unknown::Damaged(Error::Corrupt { path: "leaves".into(), offset, what, found, expected })
}

fn no_record(payload: u64) -> Unknown {
    let (place, found, expected) = (Place::of(payload), "none".into(), "the one that its leaf had".into());
    Unknown::Damaged(Error::Corrupt {
        path: place.file().into(),
        offset: place.offset,
        what: "a record",
        found,
        expected,
    })
}

fn mark_of(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Takes the changes of the catalog over into the names.
fn rename(
    keys: &Records,
    names: &mut Names,
    [old, new]: [&[ChangedPayload]; 2],
    changes: &mut EpochChanges,
) -> Result<(), Unknown> {
    let entry = |changed: &ChangedPayload| {
        let payload = changed.payload();
        record::read(&keys.image, payload).map_err(|_| no_record(payload))
    };
    let (mut gone, mut mark_before) = (HashMap::new(), None);
    for changed in old {
        let (name, value) = entry(changed)?;
        if name == MARK {
            mark_before = mark_of(&value);
        }
        gone.extend(keyspace_of(&name, &value));
    }
    for changed in new {
        let (name, value) = entry(changed)?;
        if name == MARK {
            // A compaction moves a record that stays as it is.
            changes.mark = mark_of(&value).filter(|mark| mark_before != Some(*mark));
        }
        let Some((number, keyspace)) = keyspace_of(&name, &value) else { continue };
        // An entry may also change for a keyspace that stays.
        if gone.remove(&number).is_none() {
            changes.created.push(keyspace.clone());
        }
        names.insert(number, keyspace);
    }
    for (number, keyspace) in gone {
        names.remove(&number);
        changes.dropped.push(keyspace.name);
    }
    Ok(())
}

impl Gathered<'_> {
    /// Reads what came and then the keys of what went.
    fn read(mut self, came: &[ChangedPayload], went: &[ChangedPayload]) -> Result<EpochChanges, Unknown> {
        for (at, changed) in came.iter().enumerate() {
            self.prefetch(came, at, usize::MAX);
            if let Some((keyspace, prefix)) = self.keyspace(changed.keyspace) {
                let (key, value) = self.append(changed.payload(), true)?;
                let start = self.changes.bytes.len() - (key + value) as usize;
                let prefix = (prefix as u32).min(value);
                self.changes.put.push(Entry { start, key, prefix, value: value - prefix, keyspace });
            }
        }
        let mut keys = None;
        for (at, changed) in went.iter().enumerate() {
            self.prefetch(went, at, KEY_WORDS);
            // All that went of a keyspace that went is one drop.
            if let Some((keyspace, _)) = self.keyspace(changed.keyspace) {
                let (key, _) = self.append(changed.payload(), false)?;
                let start = self.changes.bytes.len() - key as usize;
                let entry = Entry { start, key, prefix: 0, value: 0, keyspace };
                let keys = keys.get_or_insert_with(|| KeyTable::of(&self.changes));
                if keys.contains(&self.changes, &entry) {
                    self.changes.bytes.truncate(start);
                } else {
                    self.changes.removed.push(entry);
                }
            }
        }
        self.check_size(0)?;
        Ok(self.changes)
    }

    /// Prefetches the first words of a record that is read soon.
    fn prefetch(&self, all: &[ChangedPayload], at: usize, most: usize) {
        if let Some(words) = all.get(at + AHEAD).and_then(|changed| record::words(&self.keys.image, changed.payload()))
        {
            prefetch_lines(&words[..words.len().min(most).min(MOST_WORDS)]);
        }
    }

    /// Returns the index of a keyspace's name, and the bytes before each value; `None` if the catalog does not name it.
    fn keyspace(&mut self, number: u32) -> Option<(u32, usize)> {
        let named = self.names.get(&number)?;
        let index = match self.last {
            Some((last, index)) if last == number => index?,
            _ => {
                let names = &mut self.changes.names;
                *self.indices.entry(number).or_insert_with(|| {
                    names.push(Arc::clone(&named.name));
                    names.len() as u32 - 1
                })
            }
        };
        self.last = Some((number, Some(index)));
        Some((index, named.value_prefix()))
    }

    fn check_size(&self, more: u64) -> Result<(), Unknown> {
        if self.changes.memory() + more > self.most { Err(Unknown::TooMany) } else { Ok(()) }
    }

    /// Appends a record's key, and its value if wanted, to the bytes. Returns their lengths.
    fn append(&mut self, payload: u64, value: bool) -> Result<(u32, u32), Unknown> {
        self.check_size(if value { Place::of(payload).bytes() } else { 0 })?;
        let lengths = record::append(&self.keys.image, payload, value, &mut self.changes.bytes);
        lengths.ok_or_else(|| no_record(payload))
    }
}
