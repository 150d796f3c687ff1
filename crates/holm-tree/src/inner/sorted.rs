//! Sorted heads in whole lines, searched by vector instructions or by another method: the inner node of most designs.

use super::lined::{Lined, lines_of_heads};
use super::{
    Compared, FreshNode, InMemory, Inner, NewChild, NodeContents, NodeContext, NodePrefix, NodeSearch, PREFIX_WORDS,
    Range, Route as _, SeparatorEntry, Shape, entry_of,
};
use crate::keys::Keys;
use crate::latch::Latch;
use crate::leaf::KeyRange;
use crate::locks::{Locks, PerLeaf};
use crate::long_separators::LongSeparators;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use holm_medium::{Medium, WriteHandle};
use holm_search::Search;
use std::marker::PhantomData;

/// `8 * LINES - 1` separators, `8 * LINES` children.
#[repr(C, align(64))]
pub struct Sorted<const LINES: usize, L: Locks = PerLeaf, W: NodeSearch = Compared> {
    latch: Latch,
    /// The lowest 16 bits: the count. The next 15: the prefix's bytes beyond those of the range; then one bit: whether
    /// any separator is a long one. The rest: the bytes that the range shares.
    shape: AtomicU64,
    prefix: [AtomicU64; PREFIX_WORDS],
    heads: Lined<[[AtomicU64; 8]; LINES]>,
    children: Lined<[[AtomicU32; 8]; LINES]>,
    long: [[AtomicU32; 8]; LINES],
    locks: L,
    way: PhantomData<W>,
}

impl<const LINES: usize, L: Locks, W: NodeSearch> Default for Sorted<LINES, L, W> {
    fn default() -> Self {
        Sorted {
            latch: Latch::default(),
            shape: AtomicU64::new(0),
            prefix: Default::default(),
            heads: lines_of_heads(),
            children: Lined(std::array::from_fn(|_| Default::default())),
            long: std::array::from_fn(|_| Default::default()),
            locks: L::default(),
            way: PhantomData,
        }
    }
}

impl<const LINES: usize, L: Locks, W: NodeSearch> Sorted<LINES, L, W> {
    fn head(&self, index: usize) -> &AtomicU64 {
        &self.heads.as_flattened()[index]
    }
    fn long(&self, index: usize) -> &AtomicU32 {
        &self.long.as_flattened()[index]
    }
    fn place(&self, index: usize) -> &AtomicU32 {
        &self.children.as_flattened()[index]
    }
    fn set(&self, index: usize, entry: SeparatorEntry) {
        self.head(index).store(entry.head, Relaxed);
        self.long(index).store(entry.long, Relaxed);
    }
    fn set_shape(&self, Shape { len, assured, extra, long: long_separators }: Shape) {
        let long_separators = u64::from(long_separators) << 31;
        self.shape.store((assured as u64) << 32 | long_separators | (extra as u64) << 16 | len as u64, Relaxed);
    }

    /// Stores these separators and children; the heads leave out what the range shares.
    fn hold<K: Keys>(
        &self,
        long_separators: &LongSeparators,
        range: KeyRange<'_, K::Separator>,
        separators: &[K::Separator],
        children: &[u32],
    ) {
        let prefix = NodePrefix::of::<K>(range, separators);
        let entries: Vec<_> =
            separators.iter().map(|separator| entry_of::<K>(long_separators, separator, prefix.skip())).collect();
        self.rewrite(prefix, &entries, children);
    }

    fn rewrite(&self, prefix: NodePrefix, entries: &[SeparatorEntry], children: &[u32]) {
        debug_assert_eq!(entries.len() + 1, children.len());
        let long_separators = entries.iter().any(|entry| entry.long != 0);
        self.set_shape(Shape {
            len: entries.len(),
            assured: prefix.assured,
            extra: prefix.extra,
            long: long_separators,
        });
        self.prefix.iter().zip(prefix.words).for_each(|(word, lead)| word.store(lead, Relaxed));
        entries.iter().enumerate().for_each(|(index, entry)| self.set(index, *entry));
        // Unused heads read as the greatest, so that whole lines may be compared.
        (entries.len()..Self::CHILDREN).for_each(|index| self.set(index, SeparatorEntry { head: u64::MAX, long: 0 }));
        children.iter().enumerate().for_each(|(index, child)| self.place(index).store(*child, Relaxed));
    }

    /// Inserts a separator at `index` and a child to its right; there is room.
    fn insert(&self, index: usize, entry: SeparatorEntry, child: u32) {
        let shape = self.shape();
        let len = shape.len;
        for at in (index..len).rev() {
            self.set(at + 1, self.entry(at));
            self.place(at + 2).store(self.child(at + 1), Relaxed);
        }
        self.set(index, entry);
        self.place(index + 1).store(child, Relaxed);
        self.set_shape(Shape { len: len + 1, long: shape.long || entry.long != 0, ..shape });
    }
}

impl<const LINES: usize, L: Locks, W: NodeSearch> Inner for Sorted<LINES, L, W> {
    const CHILDREN: usize = LINES * 8;
    type Locks = L;
    type Placement = InMemory;

    #[inline]
    fn latch(&self) -> &Latch {
        &self.latch
    }
    #[inline]
    fn locks(&self) -> &L {
        &self.locks
    }
    #[inline]
    fn shape(&self) -> Shape {
        let shape = self.shape.load(Relaxed);
        Shape {
            len: (shape as u16 as usize).min(Self::CHILDREN - 1),
            assured: (shape >> 32) as usize,
            extra: (shape >> 16 & 0x7fff) as usize,
            long: shape >> 31 & 1 == 1,
        }
    }
    #[inline]
    fn prefetch_children(&self) {
        holm_search::prefetch_lines(&self.children);
    }
    #[inline]
    fn prefix_word(&self, index: usize) -> u64 {
        self.prefix[index].load(Relaxed)
    }
    #[inline]
    fn entry(&self, index: usize) -> SeparatorEntry {
        SeparatorEntry { head: self.head(index).load(Relaxed), long: self.long(index).load(Relaxed) }
    }
    #[inline]
    fn child(&self, index: usize) -> u32 {
        self.place(index).load(Relaxed)
    }
    #[inline]
    fn rank(&self, search: Search, len: usize, head: u64) -> usize {
        W::rank(search, self.heads.as_flattened(), len, head)
    }

    fn fill<M: Medium, K: Keys>(&self, context: &mut NodeContext<'_, '_, M>, contents: NodeContents<'_, K>) {
        let NodeContents { range, separators, children, .. } = contents;
        self.hold::<K>(context.long_separators, range, separators, children);
    }

    fn set_child<M: Medium>(&self, _: &mut WriteHandle<'_, M>, index: usize, child: u32) {
        self.place(index).store(child, Relaxed);
    }

    /// The node is rewritten if the separator does not begin with the prefix. It is also rewritten if the separator's
    /// head would not determine it, and all separators share more bytes than heads leave out.
    fn insert_child<M: Medium, K: Keys>(
        &self,
        context: &mut NodeContext<'_, '_, M>,
        range: &Range<K>,
        NewChild { position, separator, child }: NewChild<'_, K::Separator>,
        search_key: K::SearchKey<'_>,
    ) {
        let long_separators = context.long_separators;
        let shape = self.shape();
        let (len, skip) = (shape.len, shape.skip());
        let separator_at = |index| self.separator::<K>(long_separators, index, search_key);
        let begins_alike = shape.extra == 0 || K::shares(separator, &separator_at(0), skip);
        let is_short = len > 1 && K::as_long(separator, skip).is_some() && {
            let (first, last) = (separator_at(0), separator_at(len - 1));
            K::common((&first).min(separator), Some((&last).max(separator))) > skip
        };
        if begins_alike && !is_short {
            return self.insert(position, entry_of::<K>(long_separators, separator, skip), child);
        }
        let (mut separators, mut children) = self.unpack::<K>(long_separators, search_key);
        separators.insert(position, separator.clone());
        children.insert(position + 1, child);
        let low = range.low.clone().unwrap_or_default();
        self.hold::<K>(long_separators, KeyRange { low: &low, high: range.high.as_ref() }, &separators, &children);
    }

    fn remove_child<M: Medium>(&self, _: &mut WriteHandle<'_, M>, index: usize) {
        let shape = self.shape();
        let len = shape.len;
        for at in index..len - 1 {
            self.set(at, self.entry(at + 1));
            self.place(at + 1).store(self.child(at + 2), Relaxed);
        }
        self.set(len - 1, SeparatorEntry { head: u64::MAX, long: 0 });
        self.set_shape(Shape { len: len - 1, ..shape });
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut NodeContext<'_, '_, M>,
        range: &Range<K>,
        FreshNode { node: right, .. }: FreshNode<'_, Self>,
        search_key: K::SearchKey<'_>,
    ) -> K::Separator {
        let long_separators = context.long_separators;
        let low = range.low.clone().unwrap_or_default();
        let (separators, children) = self.unpack::<K>(long_separators, search_key);
        let middle = separators.len() / 2;
        let separator = &separators[middle];
        right.hold::<K>(
            long_separators,
            KeyRange { low: separator, high: range.high.as_ref() },
            &separators[middle + 1..],
            &children[middle + 1..],
        );
        let lower = KeyRange { low: &low, high: Some(separator) };
        self.hold::<K>(long_separators, lower, &separators[..middle], &children[..=middle]);
        separator.clone()
    }
}
