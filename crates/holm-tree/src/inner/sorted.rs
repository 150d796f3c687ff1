//! Sorted heads in whole lines, searched by vectors or in another way: the twig and branch of most designs.

use super::lined::{Lined, lines_of_heads};
use super::{Arrival, Compared, Inner, LEAD_WORDS, Lead, Mark, Range, Shape, Station, Way, mark_of};
use crate::keys::Keys;
use crate::latch::Latch;
use crate::locks::{InBerths, Locks};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use crate::texts::Texts;
use holm_medium::{Medium, Pen};
use holm_search::Search;
use std::marker::PhantomData;

/// `8 * LINES - 1` separators, `8 * LINES` children.
#[repr(C, align(64))]
pub struct Sorted<const LINES: usize, L: Locks = InBerths, W: Way = Compared> {
    latch: Latch,
    /// Count in the lowest 16 bits, then 15 of what the separators share beyond the range and one that says whether any
    /// of them has a text, and what the range shares.
    shape: AtomicU64,
    lead: [AtomicU64; LEAD_WORDS],
    heads: Lined<[[AtomicU64; 8]; LINES]>,
    children: Lined<[[AtomicU32; 8]; LINES]>,
    texts: [[AtomicU32; 8]; LINES],
    locks: L,
    way: PhantomData<W>,
}

impl<const LINES: usize, L: Locks, W: Way> Default for Sorted<LINES, L, W> {
    fn default() -> Self {
        Sorted {
            latch: Latch::default(),
            shape: AtomicU64::new(0),
            lead: Default::default(),
            heads: lines_of_heads(),
            children: Lined(std::array::from_fn(|_| Default::default())),
            texts: std::array::from_fn(|_| Default::default()),
            locks: L::default(),
            way: PhantomData,
        }
    }
}

impl<const LINES: usize, L: Locks, W: Way> Sorted<LINES, L, W> {
    fn head(&self, index: usize) -> &AtomicU64 {
        &self.heads.as_flattened()[index]
    }
    fn text(&self, index: usize) -> &AtomicU32 {
        &self.texts.as_flattened()[index]
    }
    fn place(&self, index: usize) -> &AtomicU32 {
        &self.children.as_flattened()[index]
    }
    fn set(&self, index: usize, mark: Mark) {
        self.head(index).store(mark.head, Relaxed);
        self.text(index).store(mark.text, Relaxed);
    }
    fn set_shape(&self, Shape { len, assured, extra, texts }: Shape) {
        let texts = u64::from(texts) << 31;
        self.shape.store((assured as u64) << 32 | texts | (extra as u64) << 16 | len as u64, Relaxed);
    }

    /// Holds these separators and children from now on, its heads leaving out what the range shares.
    fn hold<K: Keys>(
        &self,
        texts: &Texts,
        range: (&K::Fence, Option<&K::Fence>),
        fences: &[K::Fence],
        children: &[u32],
    ) {
        let lead = Lead::of::<K>(range, fences);
        let marks: Vec<_> = fences.iter().map(|fence| mark_of::<K>(texts, fence, lead.skip())).collect();
        self.rewrite(lead, &marks, children);
    }

    fn rewrite(&self, lead: Lead, marks: &[Mark], children: &[u32]) {
        debug_assert_eq!(marks.len() + 1, children.len());
        let texts = marks.iter().any(|mark| mark.text != 0);
        self.set_shape(Shape { len: marks.len(), assured: lead.assured, extra: lead.extra, texts });
        self.lead.iter().zip(lead.words).for_each(|(word, lead)| word.store(lead, Relaxed));
        marks.iter().enumerate().for_each(|(index, mark)| self.set(index, *mark));
        // What lies beyond reads as the greatest head, so that whole lines may be compared.
        (marks.len()..Self::CHILDREN).for_each(|index| self.set(index, Mark { head: u64::MAX, text: 0 }));
        children.iter().enumerate().for_each(|(index, child)| self.place(index).store(*child, Relaxed));
    }

    /// Takes in a separator at `index` and a child to its right; there is room.
    fn insert(&self, index: usize, mark: Mark, child: u32) {
        let shape = self.shape();
        let len = shape.len;
        for at in (index..len).rev() {
            self.set(at + 1, self.mark(at));
            self.place(at + 2).store(self.child(at + 1), Relaxed);
        }
        self.set(index, mark);
        self.place(index + 1).store(child, Relaxed);
        self.set_shape(Shape { len: len + 1, texts: shape.texts || mark.text != 0, ..shape });
    }
}

impl<const LINES: usize, L: Locks, W: Way> Inner for Sorted<LINES, L, W> {
    const CHILDREN: usize = LINES * 8;
    type Locks = L;

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
            texts: shape >> 31 & 1 == 1,
        }
    }
    #[inline]
    fn approach(&self) {
        holm_search::prefetch_lines(&self.children);
    }
    #[inline]
    fn lead_word(&self, index: usize) -> u64 {
        self.lead[index].load(Relaxed)
    }
    #[inline]
    fn mark(&self, index: usize) -> Mark {
        Mark { head: self.head(index).load(Relaxed), text: self.text(index).load(Relaxed) }
    }
    #[inline]
    fn child(&self, index: usize) -> u32 {
        self.place(index).load(Relaxed)
    }
    #[inline]
    fn rank(&self, search: Search, len: usize, head: u64) -> usize {
        W::rank(search, self.heads.as_flattened(), len, head)
    }

    fn fill<M: Medium, K: Keys>(
        &self,
        _: &mut Pen<'_, M>,
        texts: &Texts,
        _: Station,
        range: (&K::Fence, Option<&K::Fence>),
        fences: &[K::Fence],
        children: &[u32],
    ) {
        self.hold::<K>(texts, range, fences, children);
    }

    fn set_child<M: Medium>(&self, _: &mut Pen<'_, M>, index: usize, child: u32) {
        self.place(index).store(child, Relaxed);
    }

    /// Written anew if the separator does not begin as the others do, or if its head would not say all and all of them
    /// share more than heads leave out.
    fn adopt<M: Medium, K: Keys>(
        &self,
        _: &mut Pen<'_, M>,
        texts: &Texts,
        range: &Range<K>,
        (position, separator, child): Arrival<'_, K::Fence>,
        probe: K::Probe<'_>,
    ) {
        let shape = self.shape();
        let (len, skip) = (shape.len, shape.skip());
        let fence = |index| self.fence::<K>(texts, index, probe);
        let begins_alike = shape.extra == 0 || K::shares(separator, &fence(0), skip);
        let is_short = len > 1 && K::text(separator, skip).is_some() && {
            let (first, last) = (fence(0), fence(len - 1));
            K::common((&first).min(separator), Some((&last).max(separator))) > skip
        };
        if begins_alike && !is_short {
            return self.insert(position, mark_of::<K>(texts, separator, skip), child);
        }
        let (mut fences, mut children) = self.take_apart::<K>(texts, probe);
        fences.insert(position, separator.clone());
        children.insert(position + 1, child);
        let low = range.0.clone().unwrap_or_default();
        self.hold::<K>(texts, (&low, range.1.as_ref()), &fences, &children);
    }

    fn disown<M: Medium>(&self, _: &mut Pen<'_, M>, index: usize) {
        let shape = self.shape();
        let len = shape.len;
        for at in index..len - 1 {
            self.set(at, self.mark(at + 1));
            self.place(at + 1).store(self.child(at + 2), Relaxed);
        }
        self.set(len - 1, Mark { head: u64::MAX, text: 0 });
        self.set_shape(Shape { len: len - 1, ..shape });
    }

    fn split<M: Medium, K: Keys>(
        &self,
        _: &mut Pen<'_, M>,
        texts: &Texts,
        range: &Range<K>,
        (_, right): (u32, &Self),
        probe: K::Probe<'_>,
    ) -> K::Fence {
        let low = range.0.clone().unwrap_or_default();
        let (fences, children) = self.take_apart::<K>(texts, probe);
        let middle = fences.len() / 2;
        let separator = &fences[middle];
        right.hold::<K>(texts, (separator, range.1.as_ref()), &fences[middle + 1..], &children[middle + 1..]);
        self.hold::<K>(texts, (&low, Some(separator)), &fences[..middle], &children[..=middle]);
        separator.clone()
    }
}
