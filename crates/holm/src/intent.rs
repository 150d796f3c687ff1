//! The intent of a commit: what the next open needs to complete it after the death of the process.
//!
//! A commit of one write has one commit word. A commit of several has several, and the death of the process can fall
//! between them. So the commit first writes a list of what it is going to do. A word in the header of the storage leads
//! to the list from before the commit's first store until after its last. No latch is released in between: nobody else
//! has written to these leaves, and nobody has seen a part. To do everything once more is therefore to do it once.
//!
//! ```text
//! word 0    the number of writes 32 | checksum of the other words 32
//! then      two words for each write:  keyspace 24 | remove 1 | zeros,  and the payload of a record
//! ```
//!
//! The record of a put is the one that its leaf gets. The record of a removal has the key and an empty value, and no
//! leaf ever leads to it. The first write has the commit's epoch, too. A commit in progress keeps its epoch from
//! ending. So an intent of an epoch that the log has is on a page that has gone back in time: its commit has ended, and
//! others may have written to its keys since. Power loss needs no intent: the recovery point includes all of a commit
//! or none of it.

use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::expiry::StoredValue;
use crate::operation::Operation;
use crate::record;
use crate::store::{Store, WritableStore};
use holm_medium::sync::atomic::{AtomicU32, Ordering};
use holm_medium::{Area, Epoch, Guard, INTENTS, Image, LAST_EPOCH, Persistence, Word};
use holm_tree::back_off;
use xxhash_rust::xxh3::xxh3_64;

const _: () = assert!(INTENTS == 32, "a bit for each slot");

/// This bit of an intent word says that it leads to a list as above. Places are multiples of eight.
const LIST: u64 = 1;

/// This bit of an entry says that the key is removed.
const REMOVE: u64 = 1 << 24;

/// From this bit on, the first entry has the epoch of the commit.
const EPOCH_BIT: u32 = 28;

const _: () = assert!(LAST_EPOCH < 1 << (u64::BITS - EPOCH_BIT));

/// The place of an intent word in the storage's header block.
pub(crate) fn slot_loc(slot: usize) -> u64 {
    Area::Leaves.at(64 + slot as u64 * 8)
}

/// The intent words of a database; each is used by one commit at a time.
#[derive(Default)]
pub(crate) struct IntentSlots {
    /// A bit for each word in use.
    taken: AtomicU32,
}

impl IntentSlots {
    /// Takes a word, and waits while all are in use. The caller holds no latch and has pinned no epoch: a commit that
    /// has a word may itself wait for the end of an epoch, or until writers go on.
    pub(crate) fn take(&self) -> Slot<'_> {
        let mut turn = 0;
        loop {
            let taken = self.taken.load(Ordering::Relaxed);
            let number = taken.trailing_ones();
            // Acquire: the word is clear before another commit uses it.
            if number < u32::BITS
                && self.taken.compare_exchange(taken, taken | 1 << number, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return Slot { slots: self, number };
            }
            back_off(&mut turn);
        }
    }
}

/// An intent word in use.
pub(crate) struct Slot<'a> {
    slots: &'a IntentSlots,
    number: u32,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.slots.taken.fetch_and(!(1 << self.number), Ordering::Release);
    }
}

/// One write, as an intent has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntendedWrite {
    /// The keyspace's number.
    pub(crate) keyspace: u32,
    pub(crate) removes: bool,
    /// The record that has the key, and the value if it is a put.
    pub(crate) payload: u64,
}

/// The intent of a commit in the storage.
pub(crate) struct Intent<'a> {
    store: &'a Store,
    slot: Slot<'a>,
    loc: u64,
    words: u32,
    /// The epoch that the list has.
    epoch: Epoch,
}

impl<'a> Intent<'a> {
    /// Writes a list down, to which the word of the slot will lead. It does not yet.
    pub(crate) fn write(
        store: &'a Store,
        slot: Slot<'a>,
        guard: &Guard<'_>,
        writes: impl ExactSizeIterator<Item = IntendedWrite>,
    ) -> Result<Self> {
        let (epoch, mut words) = (guard.epoch(), encode(writes));
        label(&mut words, epoch);
        let offset = store.storage.write_record(guard, &words, Persistence::ProcessOnly)?;
        Ok(Intent { store, slot, loc: Area::Records.at(offset), words: words.len() as u32, epoch })
    }

    /// The commit word under the visible model: from this store on, the next open completes the commit.
    pub(crate) fn set(&self, guard: &Guard<'_>) {
        if guard.epoch() != self.epoch {
            self.label_again(guard);
        }
        self.store.storage.write_word(guard, slot_loc(self.slot.number as usize), self.loc | LIST);
    }

    /// Gives the list another epoch: the one in which it was written has ended before the commit had its latches.
    #[cold]
    fn label_again(&self, guard: &Guard<'_>) {
        let storage = &self.store.storage;
        let Some(list) = storage.image().words(self.loc, self.words as usize) else { return };
        let mut words: Vec<u64> = list.iter().map(Word::read).collect();
        label(&mut words, guard.epoch());
        words.iter().zip((self.loc..).step_by(8)).take(2).for_each(|(word, loc)| storage.write_word(guard, loc, *word));
    }

    /// Ends the commit, all of whose stores are done.
    pub(crate) fn clear(&self, guard: &Guard<'_>) {
        self.store.storage.write_word(guard, slot_loc(self.slot.number as usize), 0);
    }

    /// Gives up the list, to which no word leads.
    pub(crate) fn free(self) {
        self.store.storage.space().free_record(holm_medium::parts(self.loc).1, self.words);
    }

    /// Keeps the list and its word for the next open.
    pub(crate) fn keep(self) {
        std::mem::forget(self.slot);
    }
}

fn checksum(words: &[u64]) -> u64 {
    xxh3_64(bytemuck::cast_slice(words)) >> 32
}

fn encode(writes: impl ExactSizeIterator<Item = IntendedWrite>) -> Vec<u64> {
    let mut words = Vec::with_capacity(1 + 2 * writes.len());
    words.push(0);
    for IntendedWrite { keyspace, removes, payload } in writes {
        words.extend([u64::from(keyspace) | if removes { REMOVE } else { 0 }, payload]);
    }
    words[0] = (words.len() as u64 / 2) | checksum(&words[1..]) << 32;
    words
}

/// Gives a list the epoch of its commit.
fn label(words: &mut [u64], epoch: Epoch) {
    if let [header, writes @ ..] = words
        && let Some(first) = writes.first_mut()
    {
        *first = *first & ((1 << EPOCH_BIT) - 1) | epoch << EPOCH_BIT;
        *header = u64::from(*header as u32) | checksum(writes) << 32;
    }
}

/// What an intent word leads to.
pub(crate) struct List {
    /// The epoch of the commit; 0 if an earlier version has written the list, which gave it none.
    epoch: Epoch,
    pub(crate) writes: Vec<IntendedWrite>,
}

impl List {
    /// Returns whether the commit has ended before the end of an epoch.
    pub(crate) fn ended_by(&self, epoch: Epoch) -> bool {
        (1..=epoch).contains(&self.epoch)
    }
}

/// Reads the list that an intent word leads to. `None`: there is none.
fn decode(image: &Image, word: u64) -> Option<List> {
    let loc = list_at(word)?;
    let len = list_words(image.words(loc, 1)?[0].read());
    let words: Vec<u64> = image.words(loc, len)?.iter().map(|word| word.read()).collect();
    decode_list(&words)
}

/// Returns the location of the list that an intent word leads to.
pub(crate) fn list_at(word: u64) -> Option<u64> {
    Some(word & !LIST).filter(|_| word & LIST != 0)
}

/// Returns how many words a list has, by its first one. Any bits; nothing says yet that it is one.
pub(crate) fn list_words(first: u64) -> usize {
    1 + 2 * first as u32 as usize
}

/// Reads a list from all its words. `None`: its checksum does not hold.
pub(crate) fn decode_list(words: &[u64]) -> Option<List> {
    let (header, words) = words.split_first()?;
    let epoch = words.first().map_or(0, |first| first >> EPOCH_BIT);
    let write = |[entry, payload]: &[u64; 2]| IntendedWrite {
        keyspace: (*entry & (REMOVE - 1)) as u32,
        removes: entry & REMOVE != 0,
        payload: *payload,
    };
    let list = || List { epoch, writes: words.as_chunks().0.iter().map(write).collect() };
    (checksum(words) == header >> 32).then(list)
}

/// The slots whose words lead to an intent, and the words.
fn set_slots(image: &Image) -> impl Iterator<Item = (usize, u64)> {
    let word = |slot| image.words(slot_loc(slot), 1).map(|words| (slot, words[0].read()));
    (0..INTENTS).filter_map(word).filter(|(_, word)| *word != 0)
}

/// Returns whether a commit is in progress, or was in progress when its process died.
pub(crate) fn is_pending(image: &Image) -> bool {
    set_slots(image).next().is_some()
}

/// A write of a commit during which the process died, copied out of its record.
struct PendingWrite {
    keyspace: u32,
    key: Vec<u8>,
    /// As the record has it; `None` means remove.
    value: Option<Vec<u8>>,
}

/// A commit during which the process died.
pub(crate) struct Pending {
    slot: usize,
    writes: Vec<PendingWrite>,
    /// Where the last of its records ends.
    pub(crate) records_end: u64,
}

/// Copies out what the intent words lead to. No leaf may lead to these records, so only that their space is withheld
/// keeps them for the next open, if this one dies, too. `logged` is the last epoch of the log, where there is one.
///
/// # Errors
/// `Corrupt`: a word leads to no intent, or to that of a commit which has ended, or an intent leads to no record.
pub(crate) fn pending(image: &Image, logged: Option<Epoch>) -> Result<Vec<Pending>> {
    let corrupt = |slot, found| Error::Corrupt {
        path: "leaves".into(),
        offset: slot_loc(slot),
        what: "the intent of a commit",
        found,
        expected: "a list of writes, and their records".into(),
    };
    let read = |(slot, word)| {
        let list = decode(image, word).ok_or_else(|| corrupt(slot, format!("{word:#x}, which leads to none")))?;
        if logged.is_some_and(|logged| list.ended_by(logged)) {
            return Err(corrupt(slot, format!("one of epoch {}, which has ended", list.epoch)));
        }
        let copied = |write: IntendedWrite| {
            let (key, value) = record::read(image, write.payload).map_err(|fault| corrupt(slot, fault))?;
            Ok(PendingWrite { keyspace: write.keyspace, key, value: (!write.removes).then_some(value) })
        };
        let extents = list.writes.iter().filter_map(|write| record::extent(write.payload));
        let records_end = extents.map(|(offset, words)| offset + u64::from(words) * 8).max().unwrap_or(0);
        Ok(Pending { slot, writes: list.writes.into_iter().map(copied).collect::<Result<_>>()?, records_end })
    };
    set_slots(image).map(read).collect()
}

/// Clears the intent words that a power cut has left. The recovery point includes all of a commit or none of it, and
/// the words lead to stale bytes.
pub(crate) fn forget(store: &WritableStore) -> Result<()> {
    for (slot, _) in set_slots(store.storage.image()) {
        store.storage.write_word(Operation::begin(store)?.guard(), slot_loc(slot), 0);
    }
    Ok(())
}

/// Does all writes of a commit once more.
pub(crate) fn redo(store: &WritableStore, catalog: &Catalog, pending: &Pending) -> Result<()> {
    let mut operation = Operation::begin(store)?;
    let mut buffer = Vec::new();
    for PendingWrite { keyspace, key, value } in &pending.writes {
        // The keyspace has been dropped since; the commit's writes to it go with it.
        let Some(tree) = catalog.numbered(*keyspace) else { continue };
        match value {
            Some(value) => {
                let payload = operation.write_record(key, StoredValue::verbatim(value), &mut buffer)?;
                operation.put(&tree, key, payload)?;
            }
            None => {
                operation.remove(&tree, key)?;
            }
        }
    }
    store.storage.write_word(operation.guard(), slot_loc(pending.slot), 0);
    operation.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    #[test]
    fn a_list_has_the_documented_words() {
        let writes = [
            IntendedWrite { keyspace: 7, removes: false, payload: 0x1234 },
            IntendedWrite { keyspace: 9, removes: true, payload: 0x5678 },
        ];
        let words = encode(writes.into_iter());
        assert_eq!(words[1..], [7, 0x1234, 9 | 1 << 24, 0x5678]);
        assert_eq!(words[0] as u32, 2);
        assert_eq!(words[0] >> 32, xxh3_64(bytemuck::cast_slice(&words[1..])) >> 32);
        for (epoch, ended_by_9) in [(0, false), (9, true), (10, false), (LAST_EPOCH, false)] {
            let mut labelled = words.clone();
            label(&mut labelled, epoch);
            assert_eq!(labelled[1..], [7 | epoch << 28, 0x1234, 9 | 1 << 24, 0x5678]);
            assert_eq!(labelled[0], 2 | xxh3_64(bytemuck::cast_slice(&labelled[1..])) >> 32 << 32);
            let list = decode_list(&labelled).unwrap();
            assert_eq!((list.ended_by(9), list.writes), (ended_by_9, writes.to_vec()));
        }
    }

    #[test]
    fn a_slot_is_used_by_one_commit_at_a_time() {
        let slots = IntentSlots::default();
        let mut taken: Vec<_> = (0..32).map(|_| slots.take()).collect();
        let mut numbers: Vec<_> = taken.iter().map(|slot| slot.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..32).collect::<Vec<_>>());
        taken.swap_remove(13);
        assert_eq!(slots.take().number, numbers[13]);
    }

    /// The next open reads the word. Another commit that runs meanwhile must not write over it.
    #[test]
    fn the_word_of_a_commit_that_is_cut_short_stays_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path()).unwrap();
        let (store, slots) = (&db.engine.store, IntentSlots::default());
        let operation = Operation::begin(store).unwrap();
        let intent = Intent::write(store, slots.take(), operation.guard(), std::iter::empty()).unwrap();
        let number = intent.slot.number;
        intent.keep();
        assert_ne!(slots.take().number, number);
    }

    /// A word of another form, a damaged list, and a record that is none.
    #[test]
    fn what_is_no_intent_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path()).unwrap();
        let store = &db.engine.store;
        let slots = IntentSlots::default();
        let operation = Operation::begin(store).unwrap();
        let payload = operation.write_record(b"key", StoredValue::verbatim(b"value"), &mut Vec::new()).unwrap();
        let write = |payload| {
            let write = IntendedWrite { keyspace: 2, removes: false, payload };
            Intent::write(store, slots.take(), operation.guard(), std::iter::once(write)).unwrap().loc
        };
        let (sound, astray) = (write(payload), write(payload + 1));
        let image = store.storage.image();
        let found = |word: u64| {
            store.storage.write_word(operation.guard(), slot_loc(3), word);
            let result = pending(image, None).map(|pending| pending.len());
            store.storage.write_word(operation.guard(), slot_loc(3), 0);
            result
        };
        assert_eq!(found(sound | LIST).unwrap(), 1);
        assert!(matches!(found(sound), Err(Error::Corrupt { what: "the intent of a commit", .. })));
        assert!(matches!(found(astray | LIST), Err(Error::Corrupt { found, .. }) if found.contains("record at")));
        store.storage.write_word(operation.guard(), sound + 16, 77);
        assert!(matches!(found(sound | LIST), Err(Error::Corrupt { .. })));
    }
}
