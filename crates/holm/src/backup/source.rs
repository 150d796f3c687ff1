//! What a stream is written from: every leaf, in the order of keys, as it was at one instant.

use super::BackupInfo;
use super::format::Header;
use super::writer::StreamWriter;
use crate::continuation::Continuation;
use crate::copied_pairs::{CopiedPairs, Remainder, ScanBounds};
use crate::direction::Direction;
use crate::engine::Reader;
use crate::error::{Error, Result};
use crate::expiry::ReadView;
use crate::iter::copy_part;
use crate::kept_keyspaces::KeptKeyspaces;
use crate::keys::{Records, SearchKey};
use crate::keyspace_tree::KeyspaceTree;
use crate::leaf_source::LeafSource;
use crate::record;
use crate::store::Store;
use holm_medium::{Epoch, Persistence};
use holm_tree::{Keys, LeafCursor, SeekTarget, Slot, TreeRoot, Wanted};
use std::io::Write;

/// A database at one instant.
pub(super) struct Source {
    pub(super) reader: Reader,
    /// In the order of their names.
    pub(super) trees: KeptKeyspaces,
    pub(super) mark: Option<u64>,
    /// The epoch up to which all of it is there.
    pub(super) epoch: Epoch,
}

/// The leaf that is being written, and the copies of its pairs.
#[derive(Default)]
struct CopiedLeaf {
    cursor: LeafCursor<Records>,
    copied: CopiedPairs,
    /// The last key that was written of its keyspace; `None` before the first.
    last: Option<Vec<u8>>,
}

impl LeafSource for Source {
    fn store(&self) -> &Store {
        self.reader.store()
    }

    fn copy_leaf(
        &self,
        root: &TreeRoot,
        target: SeekTarget<'_, Records>,
        wanted: Wanted<'_, Records>,
        cursor: &mut LeafCursor<Records>,
    ) {
        match &self.reader {
            // Keeps the stamp, which says whether the leaf has changed since the base.
            Reader::Snapshot(snapshot) => snapshot.generation().copy_leaf(root, target, wanted, cursor),
            reader => reader.copy_leaf(root, target, wanted, cursor),
        }
    }

    fn keeps_records(&self) -> bool {
        self.reader.keeps_records()
    }

    /// A backup has checksums of its own, and would make a damaged value a sound one.
    fn compares_checksums(&self) -> bool {
        true
    }

    /// A keyspace that is dropped meanwhile stays.
    fn check(&self, tree: &KeyspaceTree) -> Result<()> {
        tree.check_not_freed()
    }
}

impl Source {
    /// Writes all of it, or what has changed after the epoch `base`.
    pub(super) fn write(&self, uuid: [u8; 16], base: Epoch, out: &mut dyn Write) -> Result<BackupInfo> {
        let header = Header { uuid, base, epoch: self.epoch };
        let mut stream = StreamWriter::begin(out, &header)?;
        self.mark.map_or(Ok(()), |mark| stream.mark(mark))?;
        for tree in self.trees.iter() {
            stream.keyspace(&tree.name, tree.options.flags())?;
            self.write_tree(tree, base, &mut stream)?;
        }
        let (totals, bytes) = stream.end()?;
        Ok(BackupInfo::new(&header, &totals, bytes))
    }

    fn write_tree(&self, tree: &KeyspaceTree, base: Epoch, stream: &mut StreamWriter<'_>) -> Result<()> {
        let mut leaf = CopiedLeaf::default();
        // A design without epochs cannot say when a leaf last changed.
        let stamped = self.store().persistence == Persistence::PerEpoch;
        let mut low = Vec::new();
        // Ends: `low` rises with each copy, or `Continuation::after` returns an error.
        loop {
            // Expired pairs are among them, and values have their deadlines: the copy is to be what its base is.
            let (direction, view) = (Direction::Forward, ReadView::Stored);
            let bounds = ScanBounds { low: &low, high: None, direction, most: usize::MAX, view };
            let is_kept = base > 0 && stamped && self.keep(tree, base, &low, &mut leaf, stream)?;
            let remainder = if is_kept { Remainder::Nothing } else { self.give(tree, bounds, &mut leaf, stream)? };
            match Continuation::after(self.store(), bounds, remainder, leaf.cursor.edge.take())? {
                Continuation::Beyond(next) => low = next,
                Continuation::AtBound | Continuation::Ended => return Ok(()),
            }
        }
    }

    /// Writes that the base has what the next leaf has, unless the leaf has changed since. Returns whether it did.
    ///
    /// An unchanged leaf held the same pairs at the base, and the base had nothing else between the least and the
    /// greatest of them.
    fn keep(
        &self,
        tree: &KeyspaceTree,
        base: Epoch,
        low: &[u8],
        CopiedLeaf { cursor, last, .. }: &mut CopiedLeaf,
        stream: &mut StreamWriter<'_>,
    ) -> Result<bool> {
        // Without a bound: see the head of `read.rs`. A snapshot that has ended ends it too.
        loop {
            self.copy_leaf(&tree.root, SeekTarget::Holding(SearchKey::new(low)), Wanted::leaf(), cursor);
            if cursor.stamp > base {
                return Ok(false);
            }
            let keys = &self.store().keys;
            // The pre-image of a leaf that was split since has pairs of the other half, too.
            let within = keys.within(cursor, low, None, Direction::Forward);
            let sound = |slot: Slot| record::verify(&keys.image, slot.payload).ok().and_then(|()| keys.key(slot));
            let ends = || match &cursor.pairs[within.clone()] {
                [] => None,
                slots => Some((sound(slots[0]), sound(slots[slots.len() - 1]))),
            };
            let ends = self.store().copied_if(|| self.check(tree), Some(cursor.leaf_version), ends);
            // First of all: the records of a snapshot that has ended may belong to others by now.
            self.reader.check_not_ended()?;
            match ends? {
                None => {}
                Some(None) => return Ok(true),
                Some(Some((Some(least), Some(greatest)))) if &least[..] >= low && least <= greatest => {
                    self.check_order(tree, last.as_deref(), &least)?;
                    stream.keep(within.len() as u64, &least, &greatest)?;
                    *last = Some(greatest);
                    return Ok(true);
                }
                // A damaged record: to give the pairs finds out.
                Some(Some(_)) => return Ok(false),
            }
        }
    }

    /// Refuses a key that is not above the one before. A leaf that is damaged leads to the record of another key, which
    /// is sound, and no reader would accept such a stream.
    fn check_order(&self, tree: &KeyspaceTree, before: Option<&[u8]>, key: &[u8]) -> Result<()> {
        let Some(before) = before.filter(|before| *before >= key) else { return Ok(()) };
        Err(Error::Corrupt {
            path: self.store().path.join("leaves"),
            offset: 0,
            what: "the order of keys",
            found: format!("\"{}\" behind \"{}\" in {:?}", key.escape_ascii(), before.escape_ascii(), tree.name),
            expected: "ascending keys; `check` names the leaf".into(),
        })
    }

    /// Writes pairs of the next leaf: all, unless their values are large. Returns what remains of the leaf.
    fn give(
        &self,
        tree: &KeyspaceTree,
        bounds: ScanBounds<'_>,
        CopiedLeaf { cursor, copied, last }: &mut CopiedLeaf,
        stream: &mut StreamWriter<'_>,
    ) -> Result<Remainder> {
        let remainder = copy_part(self, tree, bounds, usize::MAX, cursor, copied);
        // First of all, as above.
        self.reader.check_not_ended()?;
        let remainder = remainder?;
        for index in 0..copied.len() {
            let (key, value) = copied.lend(index);
            let before = if index == 0 { last.as_deref() } else { Some(copied.key(index - 1)) };
            self.check_order(tree, before, key)?;
            stream.pair(key, value)?;
        }
        if let Some(index) = copied.len().checked_sub(1) {
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(copied.key(index));
        }
        Ok(remainder)
    }
}
