//! A leaf's share of a scan: the records of a cursor that lie in a range, in one buffer, in the order of their keys.

use crate::engine::{Engine, KeyspaceTree};
use crate::error::Result;
use crate::keys::Records;
use crate::record;
use crate::slice::Slice;
use holm_tree::{Keys, LeafCursor, Slot};
use std::ops::Range;

/// Of a leaf, so much is copied at once: beyond it, large values are copied as they are asked for.
const COPY_WORDS: usize = 32 << 10;

/// Copied records, which a scan lends one by one.
#[derive(Default)]
pub(crate) struct CopiedPairs {
    /// As long as the longest share so far.
    words: Vec<u64>,
    spans: Vec<PairSpan>,
}

/// Where a record lies in a share, in bytes.
#[derive(Clone, Copy)]
struct PairSpan {
    at: usize,
    key: u32,
    value: u32,
}

/// How much of a leaf is wanted.
#[derive(Clone, Copy)]
pub(crate) struct ScanBounds<'a> {
    /// At or above this key.
    pub(crate) low: &'a [u8],
    /// Below this one; `None`: no end.
    pub(crate) high: Option<&'a [u8]>,
    /// From the low end on, or from the high one.
    pub(crate) forward: bool,
    /// At most so many pairs.
    pub(crate) most: usize,
}

/// What is left of a leaf after a share of it.
pub(crate) enum Remainder {
    /// Nothing: the scan goes on beyond the leaf.
    Nothing,
    /// The leaf's next share begins at this key or, going backwards, ends below it.
    From(Vec<u8>),
}

impl CopiedPairs {
    /// Copies the share of a cursor of a tree; `None` if the cursor no longer stands, and then the share is good for
    /// nothing.
    pub(crate) fn refill(
        &mut self,
        engine: &Engine,
        (tree, cursor): (&KeyspaceTree, &LeafCursor<Records>),
        bounds: ScanBounds<'_>,
    ) -> Result<Option<Remainder>> {
        let keys = &engine.keys;
        if !cursor.was_ahead {
            keys.prefetch_records(cursor, bounds.low, bounds.forward, bounds.most);
        }
        let within = keys.within(cursor, bounds.low, bounds.high, bounds.forward);
        let (part, total) = part_of(&cursor.pairs, within.clone(), bounds);
        // Whoever has got all that was wanted never asks where it goes on.
        let rest = match bounds.forward {
            _ if part.len() == bounds.most => None,
            true if part.end < within.end => keys.key(cursor.pairs[part.end]),
            false if part.start > within.start => keys.key(cursor.pairs[part.start]),
            _ => None,
        };
        let slots = &cursor.pairs[part];
        let ahead = ahead_of(cursor, &rest, slots.len(), bounds);
        let copied = engine
            .validated(tree, (Some(cursor.leaf_version), cursor.stamp), || self.copy(keys, slots, ahead, total))?;
        let Some(copied) = copied else { return Ok(None) };
        copied.map_err(|payload| engine.no_record(payload))?;
        Ok(Some(rest.map_or(Remainder::Nothing, Remainder::From)))
    }

    /// Copies the records of some slots, asking meanwhile for what comes next; or names the payload that leads to none.
    fn copy(&mut self, keys: &Records, slots: &[Slot], ahead: &[Slot], total: usize) -> Result<(), u64> {
        if self.words.len() < total {
            // What it holds need not be moved.
            self.words = vec![0; if total < COPY_WORDS { total.next_power_of_two() } else { total }];
        }
        self.spans.clear();
        self.spans.reserve(slots.len());
        let (mut at, mut next) = (0, ahead.iter());
        for slot in slots {
            // One for one, so that its lines arrive while this one's are copied and do not stand in their way.
            next.next().inspect(|slot| keys.prefetch(slot.payload));
            let record = record::words(&keys.image, slot.payload).ok_or(slot.payload)?;
            let header = record::Header::read(record).ok_or(slot.payload)?;
            self.spans.push(PairSpan { at: at * 8 + 8, key: header.key as u32, value: header.value as u32 });
            keys.search.copy(holm_medium::atomics(record), &mut self.words[at..at + record.len()]);
            at += record.len();
        }
        next.for_each(|slot| keys.prefetch(slot.payload));
        Ok(())
    }

    /// Forgets its pairs and keeps the room.
    pub(crate) fn clear(&mut self) {
        self.spans.clear();
    }

    /// Whether it takes so little room that it may be kept.
    pub(crate) fn is_small(&self) -> bool {
        self.words.len() <= COPY_WORDS
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// A pair's key.
    pub(crate) fn key(&self, index: usize) -> &[u8] {
        self.lend(index).0
    }

    /// A pair, to be looked at.
    #[inline]
    pub(crate) fn lend(&self, index: usize) -> (&[u8], &[u8]) {
        let PairSpan { at, key, value } = self.spans[index];
        bytemuck::cast_slice(&self.words)[at..at + key as usize + value as usize].split_at(key as usize)
    }

    /// A pair, to be kept.
    #[inline]
    pub(crate) fn give(&self, index: usize) -> (Slice, Slice) {
        let PairSpan { at, key, value } = self.spans[index];
        let (key, value) = (key as usize, value as usize);
        (Slice::copied(&self.words, at, key), Slice::copied(&self.words, at + key, value))
    }
}

/// What the scan will want of the next leaf, if it goes on there.
fn ahead_of<'a>(
    cursor: &'a LeafCursor<Records>,
    rest: &Option<Vec<u8>>,
    got: usize,
    bounds: ScanBounds<'_>,
) -> &'a [Slot] {
    let ahead = &cursor.ahead.pairs[..];
    let count = if rest.is_some() { 0 } else { ahead.len().min(bounds.most - got) };
    if bounds.forward { &ahead[..count] } else { &ahead[ahead.len() - count..] }
}

/// The slots of a share, from the near end on, and the words of their records. At least one, however large it is.
fn part_of(slots: &[Slot], within: Range<usize>, bounds: ScanBounds<'_>) -> (Range<usize>, usize) {
    let words_of = |at: usize| record::extent(slots[at].payload).1 as usize;
    let (mut total, mut count) = (0, 0);
    while count < within.len().min(bounds.most) && (count == 0 || total < COPY_WORDS) {
        total += words_of(if bounds.forward { within.start + count } else { within.end - 1 - count });
        count += 1;
    }
    let part = if bounds.forward { within.start..within.start + count } else { within.end - count..within.end };
    (part, total)
}
