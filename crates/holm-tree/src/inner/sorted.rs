//! Sorted heads in whole lines, searched by vectors: the twig and branch of most designs.

use super::{Inner, LEAD_WORDS, Lead, Mark, Shape};
use crate::latch::Latch;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use crate::sync::rank;
use holm_search::Search;

/// `8 * LINES - 1` separators, `8 * LINES` children.
#[repr(C, align(64))]
pub struct Sorted<const LINES: usize> {
    latch: Latch,
    /// Count in the lowest 16 bits, then 15 of what the separators share beyond the range and one that says whether any
    /// of them has a text, and what the range shares.
    shape: AtomicU64,
    lead: [AtomicU64; LEAD_WORDS],
    heads: [[AtomicU64; 8]; LINES],
    children: [[AtomicU32; 8]; LINES],
    texts: [[AtomicU32; 8]; LINES],
}

impl<const LINES: usize> Default for Sorted<LINES> {
    fn default() -> Self {
        Sorted {
            latch: Latch::default(),
            shape: AtomicU64::new(0),
            lead: Default::default(),
            heads: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(u64::MAX))),
            children: std::array::from_fn(|_| Default::default()),
            texts: std::array::from_fn(|_| Default::default()),
        }
    }
}

impl<const LINES: usize> Sorted<LINES> {
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
}

impl<const LINES: usize> Inner for Sorted<LINES> {
    const CHILDREN: usize = LINES * 8;

    #[inline]
    fn latch(&self) -> &Latch {
        &self.latch
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
        rank(search, self.heads.as_flattened(), len, head)
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

    fn set_child(&self, index: usize, child: u32) {
        self.place(index).store(child, Relaxed);
    }

    fn adopt(&self, index: usize, mark: Mark, child: u32) {
        let shape = self.shape();
        let len = shape.len;
        for at in (index..len).rev() {
            self.set(at + 1, self.mark(at));
            self.set_child(at + 2, self.child(at + 1));
        }
        self.set(index, mark);
        self.set_child(index + 1, child);
        self.set_shape(Shape { len: len + 1, texts: shape.texts || mark.text != 0, ..shape });
    }

    fn disown(&self, index: usize) {
        let shape = self.shape();
        let len = shape.len;
        for at in index..len - 1 {
            self.set(at, self.mark(at + 1));
            self.set_child(at + 1, self.child(at + 2));
        }
        self.set(len - 1, Mark { head: u64::MAX, text: 0 });
        self.set_shape(Shape { len: len - 1, ..shape });
    }
}
