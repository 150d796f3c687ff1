//! Byte strings as the tree's keys: slots hold heads, records hold whole keys.

use crate::catalog::CATALOG;
use crate::direction::Direction;
use crate::record::{self, Header, Place};
use holm_medium::{Image, Word, atomics};
use holm_search::{Search, prefetch_lines};
use holm_tree::head::{head_of, masked};
use holm_tree::inner::NodePrefix;
use holm_tree::{Keys, LeafCursor, LongSeparators, Slot};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Records up to this many words are verified where a leaf's range depends on them.
const SMALL_WORDS: u32 = 512;

/// The most bytes that are announced at once.
const MOST_ANNOUNCED: u64 = 256 << 10;

/// Records with no more bytes between them are announced as one run: a page.
const NEAR: u64 = 4 << 10;

/// A search key, hashed once.
#[derive(Clone, Copy)]
pub struct SearchKey<'a> {
    pub(crate) bytes: &'a [u8],
    fingerprint: u8,
}

impl<'a> SearchKey<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        SearchKey { bytes, fingerprint: xxh3_64(bytes) as u8 }
    }
}

/// The keys of a tree whose slots hold heads and lead to records of an image.
#[derive(Clone)]
pub struct Records {
    pub(crate) image: Arc<Image>,
    pub(crate) search: Search,
    /// Whether to show the remains of a damaged database. Only a read-only open may: a write would make the damage
    /// worse.
    pub(crate) tolerates_damage: bool,
}

fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl Records {
    /// Returns the words that hold a slot's key, and its length in bytes.
    fn key_words(&self, payload: u64) -> Option<(&[Word], usize)> {
        let words = record::words(&self.image, payload)?;
        let header = Header::read(words)?;
        Some((&words[1..], header.key))
    }

    fn compare_whole(&self, payload: u64, bytes: &[u8]) -> Option<Ordering> {
        let (words, len) = self.key_words(payload)?;
        for (index, word) in words.iter().take(len.div_ceil(8)).enumerate() {
            let left = masked(word.read().swap_bytes(), len - index * 8);
            let right = head_of(bytes, index * 8);
            if left != right {
                return Some(left.cmp(&right));
            }
        }
        Some(len.cmp(&bytes.len()))
    }

    fn order_whole(&self, a: u64, b: u64) -> Option<Ordering> {
        let ((a, a_len), (b, b_len)) = (self.key_words(a)?, self.key_words(b)?);
        let words = a.iter().zip(b).take(a_len.min(b_len).div_ceil(8)).enumerate();
        for (index, (a, b)) in words {
            let left = masked(a.read().swap_bytes(), a_len - index * 8);
            let right = masked(b.read().swap_bytes(), b_len - index * 8);
            if left != right {
                return Some(left.cmp(&right));
            }
        }
        Some(a_len.cmp(&b_len))
    }
}

impl Records {
    /// Returns whether a slot's record is what was written, as far as is known without reading a large value.
    fn vouches(&self, slot: Slot, skip: usize) -> bool {
        let is_small = Place::of(slot.payload).words <= SMALL_WORDS;
        self.heads(slot, skip) && (!is_small || record::verify(&self.image, slot.payload).is_ok())
    }

    /// Prefetches the records that a scan from `low` on wants of a leaf cursor. Only heads decide which: the records
    /// that the exact answer depends on are among them.
    pub(crate) fn prefetch_records(&self, cursor: &LeafCursor<Records>, low: &[u8], direction: Direction, most: usize) {
        self.wanted(cursor, low, direction, most).iter().for_each(|slot| self.prefetch(slot.payload));
    }

    /// Returns the slots whose records a scan from `low` on wants of a leaf cursor, as far as heads tell.
    pub(crate) fn wanted<'a>(
        &self,
        cursor: &'a LeafCursor<Records>,
        low: &[u8],
        direction: Direction,
        most: usize,
    ) -> &'a [Slot] {
        let skipped = match direction {
            Direction::Forward => {
                let head = head_of(low, cursor.skip);
                cursor.pairs.partition_point(|slot| slot.head < head)
            }
            Direction::Backward => cursor.pairs.len().saturating_sub(most),
        };
        let wanted = &cursor.pairs[skipped..];
        &wanted[..most.min(wanted.len())]
    }

    /// Begins to read the records of some slots from the disk, where reads wait for it. Records that lie together are
    /// read together.
    #[cold]
    pub(crate) fn announce_records(&self, slots: &[Slot]) {
        let mut run = 0..0;
        for slot in slots {
            // The areas are far from each other, so a run lies in one.
            let place = Place::of(slot.payload);
            let start = place.location();
            let end = start + MOST_ANNOUNCED.min(place.bytes());
            if run.start <= start && start <= run.end + NEAR && end - run.start <= MOST_ANNOUNCED {
                run.end = end.max(run.end);
            } else {
                self.image.announce(run.start, run.end - run.start);
                run = start..end;
            }
        }
        self.image.announce(run.start, run.end - run.start);
    }

    /// Returns the positions of a cursor's pairs at or above `low` and below `high`; `None` means no high bound. The
    /// result is arbitrary if the cursor's copy is no longer valid.
    pub(crate) fn within(
        &self,
        cursor: &LeafCursor<Records>,
        low: &[u8],
        high: Option<&[u8]>,
        direction: Direction,
    ) -> Range<usize> {
        let forward = direction == Direction::Forward;
        let below = |bytes| {
            let search_key = SearchKey { bytes, fingerprint: 0 };
            let is_below = |slot: &Slot| self.compare(*slot, cursor.skip, search_key).is_lt();
            // A scan that continues in another leaf begins with its first pair.
            match cursor.pairs.first() {
                Some(first) if is_below(first) => cursor.pairs.partition_point(is_below),
                _ => 0,
            }
        };
        // Heads compare correctly only with a key of the leaf's own range. Forward, the low bound is such a key,
        // because the search for it found the leaf; so is a high bound below the leaf's edge. Backward, a low bound
        // above the edge is such a key, and so is a high bound not beyond the last pair. The upper end of the leaf's
        // range is itself outside the range.
        let edge = cursor.edge.as_deref();
        let start = if forward || edge.is_none_or(|edge| edge < low) { below(low) } else { 0 };
        let beyond = |high: &&[u8]| match cursor.pairs.last() {
            Some(last) if !forward => self.compare_whole(last.payload, high).is_some_and(Ordering::is_lt),
            _ => edge.is_some_and(|edge| edge <= *high),
        };
        let end = high.filter(|high| !beyond(high)).map_or(cursor.pairs.len(), below);
        start..end.max(start)
    }
}

impl Keys for Records {
    type SearchKey<'a> = SearchKey<'a>;
    type Separator = Vec<u8>;

    fn search_key(separator: &Vec<u8>) -> SearchKey<'_> {
        SearchKey::new(separator)
    }
    fn to_separator(search_key: SearchKey<'_>) -> Vec<u8> {
        search_key.bytes.to_vec()
    }
    #[inline]
    fn precedes(one: SearchKey<'_>, other: SearchKey<'_>) -> bool {
        one.bytes < other.bytes
    }
    fn is_below(search_key: SearchKey<'_>, separator: &Vec<u8>) -> bool {
        search_key.bytes < &separator[..]
    }
    fn is_at_or_below(search_key: SearchKey<'_>, separator: &Vec<u8>) -> bool {
        search_key.bytes <= &separator[..]
    }
    #[inline]
    fn head(search_key: SearchKey<'_>, skip: usize) -> u64 {
        head_of(search_key.bytes, skip)
    }
    #[inline]
    fn fingerprint(search_key: SearchKey<'_>) -> u8 {
        search_key.fingerprint
    }
    #[inline]
    fn is(&self, slot: Slot, search_key: SearchKey<'_>) -> bool {
        self.key_words(slot.payload).is_some_and(|(words, len)| {
            len == search_key.bytes.len() && self.search.starts_with(atomics(words), search_key.bytes)
        })
    }
    fn compare(&self, slot: Slot, skip: usize, search_key: SearchKey<'_>) -> Ordering {
        let heads = slot.head.cmp(&head_of(search_key.bytes, skip));
        heads.then_with(|| self.compare_whole(slot.payload, search_key.bytes).unwrap_or(Ordering::Equal))
    }
    fn order(&self, a: Slot, b: Slot) -> Ordering {
        a.head.cmp(&b.head).then_with(|| self.order_whole(a.payload, b.payload).unwrap_or(Ordering::Equal))
    }
    fn key(&self, slot: Slot) -> Option<Vec<u8>> {
        let (words, len) = self.key_words(slot.payload)?;
        let mut key: Vec<u8> = words.iter().take(len.div_ceil(8)).flat_map(|word| word.read().to_le_bytes()).collect();
        key.truncate(len);
        Some(key)
    }
    fn rehead(&self, slot: Slot, skip: usize) -> Option<u64> {
        let (words, len) = self.key_words(slot.payload)?;
        let left = len.saturating_sub(skip);
        if left == 0 {
            return Some(0);
        }
        let word = |at: usize| words.get(at).map_or(0, |word| word.read().swap_bytes());
        let (at, shift) = (skip / 8, skip % 8 * 8);
        // Two words where the eight bytes straddle them. The bytes after the key belong to the value, hence the mask.
        let head = if shift == 0 { word(at) } else { word(at) << shift | word(at + 1) >> (64 - shift) };
        Some(masked(head, left))
    }
    fn announce(&self, payload: u64) {
        let place = Place::of(payload);
        self.image.announce(place.location(), MOST_ANNOUNCED.min(place.bytes()));
    }
    #[inline]
    fn prefetch(&self, payload: u64) {
        if let Some(words) = record::words(&self.image, payload) {
            // At most eight lines: the copy of a longer record prefetches as it goes.
            prefetch_lines(&words[..words.len().min(64)]);
        }
    }
    fn shortest_separator(low: &Vec<u8>, high: &Vec<u8>) -> Vec<u8> {
        let upto = (shared(low, high) + 1).min(high.len());
        high[..upto].to_vec()
    }
    fn least() -> Vec<u8> {
        vec![0]
    }
    fn common(low: &Vec<u8>, high: Option<&Vec<u8>>) -> usize {
        high.map_or(0, |high| shared(low, high).min(255))
    }
    fn as_long(separator: &Vec<u8>, skip: usize) -> Option<&[u8]> {
        // The head's zero padding would swallow a zero at the end.
        (separator.len() > skip + 8 || separator.last() == Some(&0)).then_some(separator)
    }
    fn compare_long(long_separators: &LongSeparators, number: u32, search_key: SearchKey<'_>) -> Ordering {
        long_separators.compare(number, search_key.bytes)
    }
    fn separator_bytes(separator: &Vec<u8>) -> Vec<u8> {
        separator.clone()
    }
    fn from_long(long: &[u8]) -> Vec<u8> {
        long.to_vec()
    }
    fn from_head(search_key: SearchKey<'_>, prefix: &NodePrefix, head: u64) -> Vec<u8> {
        let mut separator = Vec::with_capacity(prefix.skip() + 8);
        separator.extend_from_slice(search_key.bytes.get(..prefix.assured).unwrap_or(search_key.bytes));
        separator.extend(prefix.bytes());
        let len = 8 - (head.trailing_zeros() / 8).min(8) as usize;
        separator.extend_from_slice(&head.to_be_bytes()[..len]);
        separator
    }
    fn beyond(key: &Vec<u8>, skip: usize) -> Option<Vec<u8>> {
        beyond(key.get(..skip)?)
    }
    fn shares(key: &Vec<u8>, other: &Vec<u8>, skip: usize) -> bool {
        shared(key, other) >= skip
    }
    fn truncate(key: &Vec<u8>, count: usize) -> Vec<u8> {
        key[..count.min(key.len())].to_vec()
    }
    #[inline]
    fn sound(&self, keyspace: u32, slot: Slot, skip: usize) -> bool {
        if keyspace == CATALOG && !self.tolerates_damage {
            // A wrong number or name that is believed would lose a whole keyspace.
            return record::verify(&self.image, slot.payload).is_ok() && self.heads(slot, skip);
        }
        true
    }
    fn is_whole(&self, slot: Slot, skip: usize) -> bool {
        // A whole record may still be the record that was here before.
        record::verify(&self.image, slot.payload).is_ok() && self.heads(slot, skip)
    }
    fn ends(&self, slots: &[Slot], skip: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let vouched = |slot: &&Slot| self.vouches(**slot, skip);
        let (first, last) = (slots.first()?, slots.last()?);
        let (first, last) = match self.tolerates_damage {
            // The other pairs of the leaf can still be found.
            true => (slots.iter().find(vouched).unwrap_or(first), slots.iter().rfind(vouched).unwrap_or(last)),
            false => (Some(first).filter(vouched)?, Some(last).filter(vouched)?),
        };
        self.key(*first).zip(self.key(*last))
    }
    fn is_own(&self, slot: Slot, skip: usize, fingerprint: Option<u8>) -> bool {
        let known = |key: Vec<u8>| fingerprint.is_none_or(|fingerprint| xxh3_64(&key) as u8 == fingerprint);
        self.heads(slot, skip) && self.key(slot).is_some_and(known)
    }
    fn extent(payload: u64) -> Option<(u64, u32)> {
        record::extent(payload)
    }
    fn location(payload: u64) -> Option<(u64, u32)> {
        let place = Place::of(payload);
        Some((place.location(), place.words))
    }
    fn payload_in_leaf(offset: u64, words: u32) -> Option<u64> {
        Some(record::payload_in_leaf(offset, words))
    }
}

/// The least byte string above all that start with `prefix`; `None` if there is none.
pub(crate) fn beyond(prefix: &[u8]) -> Option<Vec<u8>> {
    let upto = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix[..=upto].to_vec();
    end[upto] += 1;
    Some(end)
}
