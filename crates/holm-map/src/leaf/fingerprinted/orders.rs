//! The order of each leaf, as the last scan found it. A leaf is sorted when a scan reaches it for the first time after
//! a change; later scans read the order.
//!
//! Readers write it, because a scan borrows the map as shared. Two readers that write the same leaf's order at the same
//! time write the same bytes. The word with the mark is written last, so a reader that sees the mark sees the order. A
//! writer of the leaf excludes readers, and removes the mark. Memory is taken where a scan has been: for 64 leaves at a
//! time.

use holm_search::{LINE_BYTES, prefetch};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const WORDS: usize = LINE_BYTES / size_of::<u64>();
/// Leaves whose orders share an allocation.
const GROUP: usize = 64;
/// The byte behind the order of at most 63 slots.
const MARK: usize = LINE_BYTES - 1;

/// The order of one leaf: a byte for each slot, and the mark.
#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; WORDS]);

/// The orders of all leaves.
#[derive(Default)]
pub(super) struct Orders {
    groups: Vec<OnceLock<Box<[Line; GROUP]>>>,
}

impl Orders {
    pub(super) fn bytes(&self) -> usize {
        let taken = self.groups.iter().filter(|group| group.get().is_some()).count();
        taken * size_of::<[Line; GROUP]>() + self.groups.capacity() * size_of::<OnceLock<Box<[Line; GROUP]>>>()
    }

    /// Makes room for `leaves` leaves.
    pub(super) fn grow(&mut self, leaves: usize) {
        self.groups.resize_with(leaves.div_ceil(GROUP), OnceLock::new);
    }

    #[inline(always)]
    fn line(&self, leaf: u32) -> Option<&Line> {
        let lines = self.groups.get(leaf as usize / GROUP)?.get()?;
        Some(&lines[leaf as usize % GROUP])
    }

    /// Prefetches the order of a leaf.
    #[inline(always)]
    pub(super) fn ask(&self, leaf: u32) {
        if let Some(line) = self.line(leaf) {
            prefetch(line);
        }
    }

    /// Reads the order of a leaf, if it has not changed since the order was stored.
    #[inline(always)]
    pub(super) fn get(&self, leaf: u32, order: &mut [u8; LINE_BYTES]) -> bool {
        let Some(Line(words)) = self.line(leaf) else { return false };
        let last = words[WORDS - 1].load(Ordering::Acquire);
        if last.to_le_bytes()[MARK % size_of::<u64>()] == 0 {
            return false;
        }
        let (chunks, _) = order.as_chunks_mut::<8>();
        for (chunk, word) in chunks.iter_mut().zip(words) {
            *chunk = word.load(Ordering::Relaxed).to_le_bytes();
        }
        true
    }

    /// Stores the order of a leaf.
    pub(super) fn put(&self, leaf: u32, mut order: [u8; LINE_BYTES]) {
        let Some(group) = self.groups.get(leaf as usize / GROUP) else { return };
        let lines = group.get_or_init(|| Box::new(std::array::from_fn(|_| Line::default())));
        order[MARK] = 1;
        let (Line(words), (chunks, _)) = (&lines[leaf as usize % GROUP], order.as_chunks::<8>());
        for at in 0..WORDS - 1 {
            words[at].store(u64::from_le_bytes(chunks[at]), Ordering::Relaxed);
        }
        words[WORDS - 1].store(u64::from_le_bytes(chunks[WORDS - 1]), Ordering::Release);
    }

    /// Forgets the order of a leaf that changes.
    #[inline(always)]
    pub(super) fn forget(&mut self, leaf: u32) {
        if let Some(lines) = self.groups.get_mut(leaf as usize / GROUP).and_then(OnceLock::get_mut) {
            *lines[leaf as usize % GROUP].0[WORDS - 1].get_mut() = 0;
        }
    }
}
