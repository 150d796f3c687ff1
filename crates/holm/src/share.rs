//! A leaf's share of a scan: the records of a view that lie in a range, in one buffer, in the order of their keys.

use crate::engine::{Engine, Tree};
use crate::error::Result;
use crate::keys::Records;
use crate::record;
use crate::slice::Slice;
use holm_tree::{Keys, Slot, View};
use std::ops::Range;

/// Of a leaf, so much is copied at once: beyond it, large values are copied as they are asked for.
const SHARE_WORDS: usize = 32 << 10;

/// Copied records, which a scan lends one by one.
#[derive(Default)]
pub(crate) struct Share {
    /// As long as the longest share so far.
    words: Vec<u64>,
    spans: Vec<Span>,
}

/// Where a record lies in a share, in bytes.
#[derive(Clone, Copy)]
struct Span {
    at: usize,
    key: u32,
    value: u32,
}

/// How much of a leaf is wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
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
pub(crate) enum Rest {
    /// Nothing: the scan goes on beyond the leaf.
    Nothing,
    /// The leaf's next share begins at this key or, going backwards, ends below it.
    From(Vec<u8>),
}

impl Share {
    /// Copies the share of a view of a tree; `None` if the view no longer stands, and then the share is good for
    /// nothing.
    pub(crate) fn refill(
        &mut self,
        engine: &Engine,
        (tree, view): (&Tree, &View<Records>),
        wanted: Wanted<'_>,
    ) -> Result<Option<Rest>> {
        let keys = &engine.keys;
        if !view.foreseen {
            keys.approach(view, wanted.low, wanted.forward, wanted.most);
        }
        let within = keys.within(view, wanted.low, wanted.high, wanted.forward);
        let (part, total) = part_of(&view.pairs, within.clone(), wanted);
        // Whoever has got all that was wanted never asks where it goes on.
        let rest = match wanted.forward {
            _ if part.len() == wanted.most => None,
            true if part.end < within.end => keys.key(view.pairs[part.end]),
            false if part.start > within.start => keys.key(view.pairs[part.start]),
            _ => None,
        };
        let slots = &view.pairs[part];
        let ahead = ahead_of(view, &rest, slots.len(), wanted);
        let copied = engine.validated(tree, (Some(view.seen), view.stamp), || self.copy(keys, slots, ahead, total))?;
        let Some(copied) = copied else { return Ok(None) };
        copied.map_err(|payload| engine.no_record(payload))?;
        Ok(Some(rest.map_or(Rest::Nothing, Rest::From)))
    }

    /// Copies the records of some slots, asking meanwhile for what comes next; or names the payload that leads to none.
    fn copy(&mut self, keys: &Records, slots: &[Slot], ahead: &[Slot], total: usize) -> Result<(), u64> {
        if self.words.len() < total {
            // What it holds need not be moved.
            self.words = vec![0; if total < SHARE_WORDS { total.next_power_of_two() } else { total }];
        }
        self.spans.clear();
        self.spans.reserve(slots.len());
        let (mut at, mut next) = (0, ahead.iter());
        for slot in slots {
            // One for one, so that its lines arrive while this one's are copied and do not stand in their way.
            next.next().inspect(|slot| keys.prefetch(slot.payload));
            let record = record::words(&keys.image, slot.payload).ok_or(slot.payload)?;
            let header = record::Header::read(record).ok_or(slot.payload)?;
            self.spans.push(Span { at: at * 8 + 8, key: header.key as u32, value: header.value as u32 });
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
        self.words.len() <= SHARE_WORDS
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
        let Span { at, key, value } = self.spans[index];
        bytemuck::cast_slice(&self.words)[at..at + key as usize + value as usize].split_at(key as usize)
    }

    /// A pair, to be kept.
    #[inline]
    pub(crate) fn give(&self, index: usize) -> (Slice, Slice) {
        let Span { at, key, value } = self.spans[index];
        let (key, value) = (key as usize, value as usize);
        (Slice::copied(&self.words, at, key), Slice::copied(&self.words, at + key, value))
    }
}

/// What the scan will want of the next leaf, if it goes on there.
fn ahead_of<'a>(view: &'a View<Records>, rest: &Option<Vec<u8>>, got: usize, wanted: Wanted<'_>) -> &'a [Slot] {
    let ahead = &view.ahead.pairs[..];
    let count = if rest.is_some() { 0 } else { ahead.len().min(wanted.most - got) };
    if wanted.forward { &ahead[..count] } else { &ahead[ahead.len() - count..] }
}

/// The slots of a share, from the near end on, and the words of their records. At least one, however large it is.
fn part_of(slots: &[Slot], within: Range<usize>, wanted: Wanted<'_>) -> (Range<usize>, usize) {
    let words_of = |at: usize| record::extent(slots[at].payload).1 as usize;
    let (mut total, mut count) = (0, 0);
    while count < within.len().min(wanted.most) && (count == 0 || total < SHARE_WORDS) {
        total += words_of(if wanted.forward { within.start + count } else { within.end - 1 - count });
        count += 1;
    }
    let part = if wanted.forward { within.start..within.start + count } else { within.end - count..within.end };
    (part, total)
}
