//! The pairs of one leaf that a scan has copied: the records of a leaf cursor within a range, in one buffer, in key
//! order.

use crate::direction::Direction;
use crate::error::Result;
use crate::expiry::{DEADLINE_BYTES, Deadline, Millis, ReadView};
use crate::keys::Records;
use crate::keyspace_tree::KeyspaceTree;
use crate::leaf_source::LeafSource;
use crate::read::Attempts;
use crate::record::{self, Place};
use crate::slice::Slice;
use holm_tree::{Keys, LeafCursor, Slot};
use std::ops::Range;

/// The most words copied from a leaf at once. Beyond it, large values are copied on demand.
const COPY_WORDS: usize = 32 << 10;

/// The time of one of this number of copies is measured.
const MEASURED: u32 = 4;

/// Copied records; a scan lends them one by one.
#[derive(Default)]
pub(crate) struct CopiedPairs {
    /// As long as the longest copy so far.
    words: Vec<u64>,
    spans: Vec<PairSpan>,
    /// Counts copies.
    copies: u32,
}

/// Where a record lies in the copy, in bytes.
#[derive(Clone, Copy)]
struct PairSpan {
    at: usize,
    key: u32,
    value: u32,
}

/// The bounds of the pairs that a scan wants.
#[derive(Clone, Copy)]
pub(crate) struct ScanBounds<'a> {
    /// At or above this key.
    pub(crate) low: &'a [u8],
    /// Below this key; `None` means no bound.
    pub(crate) high: Option<&'a [u8]>,
    /// A forward scan starts at the low bound, a backward one at the high bound.
    pub(crate) direction: Direction,
    /// The most pairs wanted.
    pub(crate) most: usize,
    /// What the scan sees of records.
    pub(crate) view: ReadView,
}

impl<'a> ScanBounds<'a> {
    /// The bound at which the scan ends, if it has one.
    pub(crate) fn far(&self) -> Option<&'a [u8]> {
        match self.direction {
            Direction::Forward => self.high,
            Direction::Backward => Some(self.low),
        }
    }
}

/// What remains of a leaf after a copy.
pub(crate) enum Remainder {
    /// Nothing: the scan continues beyond the leaf.
    Nothing,
    /// The leaf's next copy begins at this key or, backwards, ends below it.
    From(Vec<u8>),
}

impl CopiedPairs {
    /// Copies the wanted pairs of a cursor's leaf. `None` means that the leaf has changed, and the copy is worthless.
    /// The caller waits for the cursor's stamp, if its mode demands that.
    pub(crate) fn refill(
        &mut self,
        attempts: &mut Attempts,
        (source, tree): (&impl LeafSource, &KeyspaceTree),
        cursor: &LeafCursor<Records>,
        bounds: ScanBounds<'_>,
    ) -> Result<Option<Remainder>> {
        let store = source.store();
        let keys = &store.keys;
        if keys.image.paging().waits() {
            announce(keys, cursor, bounds);
        } else if !cursor.was_ahead {
            keys.prefetch_records(cursor, bounds.low, bounds.direction, bounds.most);
        }
        let within = keys.within(cursor, bounds.low, bounds.high, bounds.direction);
        let (part, total) = part_of(&cursor.pairs, within.clone(), bounds);
        // A scan that has all the pairs it wanted never needs its continuation.
        let next = match bounds.direction {
            _ if part.len() == bounds.most && bounds.view == ReadView::Stored => None,
            Direction::Forward if part.end < within.end => Some(cursor.pairs[part.end]),
            Direction::Backward if part.start > within.start => Some(cursor.pairs[part.start]),
            Direction::Forward | Direction::Backward => None,
        };
        let rest = next.map(|slot| keys.key(slot).ok_or(slot.payload));
        let slots = &cursor.pairs[part];
        let ahead = ahead_of(cursor, rest.is_some(), slots.len(), bounds);
        let version = (!source.keeps_records()).then_some(cursor.leaf_version);
        let check = || source.check(tree);
        let copy = || self.copy(keys, slots, ahead, total, (bounds.view, source.compares_checksums()));
        let copied = store.copied_at(attempts, check, version, copy)?;
        let Some(copied) = copied else { return Ok(None) };
        copied.map_err(|payload| store.no_record(payload))?;
        // Without its key, the scan would pass over the rest of the leaf.
        let rest = rest.transpose().map_err(|payload| store.no_record(payload))?;
        Ok(Some(rest.map_or(Remainder::Nothing, Remainder::From)))
    }

    /// Copies the visible records of some slots, `total` words, and prefetches those of the slots `ahead`. Compares
    /// checksums if it is to. On failure, names the payload that leads to no record.
    fn copy(
        &mut self,
        keys: &Records,
        slots: &[Slot],
        ahead: &[Slot],
        total: usize,
        (view, compares_checksums): (ReadView, bool),
    ) -> Result<(), u64> {
        // The last slot may state any length. Memory is taken only for a record that is as long as that.
        if total > COPY_WORDS {
            let other = slots.iter().find(|slot| !record::is_as_long(&keys.image, slot.payload));
            other.map_or(Ok(()), |slot| Err(slot.payload))?;
        }
        if self.words.len() < total {
            // The old contents need not be moved.
            self.words = vec![0; if total < COPY_WORDS { total.next_power_of_two() } else { total }];
        }
        self.spans.clear();
        self.spans.reserve(slots.len());
        let (mut at, mut next) = (0, ahead.iter());
        for slot in slots {
            // Prefetch one record for each one copied: its lines arrive meanwhile and do not delay the copy.
            next.next().inspect(|slot| keys.prefetch(slot.payload));
            let record = record::words(&keys.image, slot.payload).ok_or(slot.payload)?;
            let header = record::Header::read(record).ok_or(slot.payload)?;
            let mut span = PairSpan { at: at * 8 + 8, key: header.key as u32, value: header.value as u32 };
            let copy = &mut self.words[at..at + record.len()];
            holm_medium::copy_words(keys.search, record, copy);
            if compares_checksums && !record::is_sound(copy) {
                return Err(slot.payload);
            }
            if let ReadView::At(now) = view {
                match self.without_deadline(span, now).ok_or(slot.payload)? {
                    Some(alive) => span = alive,
                    None => continue,
                }
            }
            self.spans.push(span);
            at += record.len();
        }
        next.for_each(|slot| keys.prefetch(slot.payload));
        Ok(())
    }

    /// Returns whether the next copy is one of those that are measured. Reading the clock takes two hundredths of the
    /// time of a copy.
    pub(crate) fn measures(&mut self) -> bool {
        self.copies = self.copies.wrapping_add(1);
        self.copies.is_multiple_of(MEASURED)
    }

    /// Returns the bytes of the last copy.
    pub(crate) fn bytes(&self) -> u64 {
        self.spans.last().map_or(0, |last| (last.at + last.key as usize + last.value as usize) as u64)
    }

    /// Takes the deadline out of a copied record: moves the key up to the value. The inner `None` means that the record
    /// has expired, the outer one that it has no deadline.
    #[inline(never)]
    fn without_deadline(&mut self, span: PairSpan, now: Millis) -> Option<Option<PairSpan>> {
        let PairSpan { at, key, value } = span;
        let value = value.checked_sub(DEADLINE_BYTES as u32)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
        let key_end = at + key as usize;
        if Deadline::from_bytes(*bytes[key_end..].first_chunk()?).is_over(now) {
            return Some(None);
        }
        bytes.copy_within(at..key_end, at + DEADLINE_BYTES);
        Some(Some(PairSpan { at: at + DEADLINE_BYTES, key, value }))
    }

    /// Clears the pairs and keeps the buffer.
    pub(crate) fn clear(&mut self) {
        self.spans.clear();
    }

    /// Returns whether the buffers are small enough to keep.
    pub(crate) fn is_small(&self) -> bool {
        self.words.len() <= COPY_WORDS
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns a pair's key.
    pub(crate) fn key(&self, index: usize) -> &[u8] {
        self.lend(index).0
    }

    /// Returns a pair, borrowed.
    #[inline]
    pub(crate) fn lend(&self, index: usize) -> (&[u8], &[u8]) {
        let PairSpan { at, key, value } = self.spans[index];
        bytemuck::cast_slice(&self.words)[at..at + key as usize + value as usize].split_at(key as usize)
    }

    /// Returns a pair, owned.
    #[inline]
    pub(crate) fn give(&self, index: usize) -> (Slice, Slice) {
        let PairSpan { at, key, value } = self.spans[index];
        let (key, value) = (key as usize, value as usize);
        (Slice::copied(&self.words, at, key), Slice::copied(&self.words, at + key, value))
    }
}

/// Begins to read what the scan will copy from this leaf, and then from the next one.
#[cold]
fn announce(keys: &Records, cursor: &LeafCursor<Records>, bounds: ScanBounds<'_>) {
    if !cursor.was_ahead {
        keys.announce_records(keys.wanted(cursor, bounds.low, bounds.direction, bounds.most));
    }
    keys.announce_records(ahead_of(cursor, false, cursor.pairs.len().min(bounds.most), bounds));
}

/// The slots that the scan wants of the next leaf, if it continues there.
fn ahead_of<'a>(cursor: &'a LeafCursor<Records>, has_rest: bool, got: usize, bounds: ScanBounds<'_>) -> &'a [Slot] {
    let ahead = &cursor.ahead.pairs[..];
    let count = if has_rest { 0 } else { ahead.len().min(bounds.most - got) };
    match bounds.direction {
        Direction::Forward => &ahead[..count],
        Direction::Backward => &ahead[ahead.len() - count..],
    }
}

/// Selects slots from the near bound on, and counts the words of their records. Selects at least one, however large its
/// record.
fn part_of(slots: &[Slot], within: Range<usize>, bounds: ScanBounds<'_>) -> (Range<usize>, usize) {
    let words_of = |at: usize| Place::of(slots[at].payload).words as usize;
    let (mut total, mut count) = (0, 0);
    while count < within.len().min(bounds.most) && (count == 0 || total < COPY_WORDS) {
        total += words_of(match bounds.direction {
            Direction::Forward => within.start + count,
            Direction::Backward => within.end - 1 - count,
        });
        count += 1;
    }
    let part = match bounds.direction {
        Direction::Forward => within.start..within.start + count,
        Direction::Backward => within.end - count..within.end,
    };
    (part, total)
}
