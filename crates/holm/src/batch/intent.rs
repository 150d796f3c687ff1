//! The intent of a batch: what the next open needs to complete it after the death of the process.
//!
//! An intent is a list of writes in the record area. A word in the header of the storage leads to it while the batch is
//! applied. Power loss needs no intent: the recovery point includes all of a batch or none of it.

use super::codec::{self, Write};
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::operation::Operation;
use crate::store::{Store, WritableStore};
use holm_medium::{Area, Guard, INTENTS, Image, Persistence};

/// The intent word of the batch that is being applied. Programs that applied several batches at once used the other
/// words.
const SLOT: usize = 0;

/// The place of an intent word in the storage's header block.
pub(super) fn slot_loc(slot: usize) -> u64 {
    Area::Leaves.at(64 + slot as u64 * 8)
}

/// The intent of a batch in the storage.
pub(super) struct Intent {
    loc: u64,
    words: u32,
}

impl Intent {
    /// Writes down the operations of a batch. No word leads to them yet.
    pub(super) fn write<'a>(
        store: &Store,
        guard: &Guard<'_>,
        writes: impl Iterator<Item = Write<&'a [u8], &'a [u8]>>,
    ) -> Result<Self> {
        let words = codec::encode(writes);
        let offset = store.storage.write_record(guard, &words, Persistence::ProcessOnly)?;
        Ok(Intent { loc: Area::Records.at(offset), words: words.len() as u32 })
    }

    /// The place of the progress word: how many operations are done.
    pub(super) fn progress(&self) -> u64 {
        self.loc
    }

    /// The commit word of the batch under the visible model. It defends against the death of the process: from this
    /// store on, the next open completes the batch.
    pub(super) fn set(&self, store: &Store, guard: &Guard<'_>) {
        store.storage.write_word(guard, slot_loc(SLOT), self.loc);
    }

    /// Ends the batch, all of whose operations are done.
    pub(super) fn clear(self, store: &Store, guard: &Guard<'_>) {
        store.storage.write_word(guard, slot_loc(SLOT), 0);
        store.storage.space().free_record(holm_medium::parts(self.loc).1, self.words);
    }
}

/// The slots whose words lead to an intent, and where they lead.
fn set_slots(image: &Image) -> impl Iterator<Item = (usize, u64)> {
    let word = |slot| image.words(slot_loc(slot), 1).map(|words| (slot, words[0].read()));
    (0..INTENTS).filter_map(word).filter(|(_, loc)| *loc != 0)
}

/// Returns whether a batch is in progress, or was in progress when its process died.
pub(crate) fn is_pending(image: &Image) -> bool {
    set_slots(image).next().is_some()
}

/// The operations that remain of a batch during which the process died.
pub(crate) struct Pending {
    slot: usize,
    writes: Vec<Write<Vec<u8>, Vec<u8>>>,
}

/// Copies out what the intent words lead to. Nothing else refers to that space, so the first record that recovery
/// writes may reuse it.
///
/// # Errors
/// `Corrupt`: a word leads to no intent.
pub(crate) fn pending(image: &Image) -> Result<Vec<Pending>> {
    let read = |(slot, loc)| {
        let writes = codec::decode_rest(image, loc).ok_or_else(|| Error::Corrupt {
            path: "leaves".into(),
            offset: slot_loc(slot),
            what: "the intent of a batch",
            found: format!("{loc:#x}, which leads to none"),
            expected: "operations".into(),
        })?;
        Ok(Pending { slot, writes })
    };
    set_slots(image).map(read).collect()
}

/// Clears the intent words that a power cut has left. The recovery point includes all of a batch or none of it, and the
/// words lead to stale bytes.
pub(crate) fn forget(store: &WritableStore) -> Result<()> {
    for (slot, _) in set_slots(store.storage.image()) {
        store.storage.write_word(Operation::begin(store)?.guard(), slot_loc(slot), 0);
    }
    Ok(())
}

/// Applies the remaining operations of a batch.
pub(crate) fn redo(store: &WritableStore, catalog: &Catalog, pending: &Pending) -> Result<()> {
    let mut operation = Operation::begin(store)?;
    let mut buffer = Vec::new();
    for Write { keyspace, key, value } in &pending.writes {
        // The keyspace has been dropped since; the batch's operations on it go with it.
        let Some(tree) = catalog.numbered(*keyspace) else { continue };
        match value {
            Some(value) => {
                let payload = operation.write_record(key, value, &mut buffer)?;
                operation.put(&tree, key, payload, None)?;
            }
            None => {
                operation.remove(&tree, key, None)?;
            }
        }
    }
    store.storage.write_word(operation.guard(), slot_loc(pending.slot), 0);
    operation.finish()
}
