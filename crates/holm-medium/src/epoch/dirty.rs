//! Which lines an epoch has written: a mask of four lines per 256 bytes, and a flag per sixteen masks.
//!
//! The masks lie beside the image and belong to the medium. Leaves thus spend no bytes on them, and any line of either
//! area can be marked. A put marks two or three lines; marking a line twice costs two loads. There is no list that
//! could overflow: the end of an epoch walks the flags, 4 KiB of them per 16 MiB of image that was touched.
//!
//! *A put executes no locked instruction.* A locked instruction lets no later load begin before all earlier stores are
//! done: an operation would wait for the line that it has just written, and so would the next one. Only the thread that
//! holds the latch of a leaf changes the leaf's mask, and all threads store the same value to a flag. Only records, and
//! leaves of some sizes, share a mask with those of other writers: locked instructions change these masks.

use crate::loc::{Area, LINE, parts};
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::sync::OnceLock;

const LINES_PER_BLOCK: u64 = 8;
/// Bytes of the lines of one mask. If the leaf size is no multiple of this, two leaves share a mask.
pub const MASK_BYTES: usize = 256;
const LINES_PER_MASK: u64 = MASK_BYTES as u64 / LINE;
const MASKS_PER_BLOCK: usize = (LINES_PER_BLOCK / LINES_PER_MASK) as usize;
/// Masks per flag.
const GROUP: usize = 16;
const MASKS: usize = BLOCKS_PER_CHUNK * MASKS_PER_BLOCK;
const BLOCK_BYTES: u64 = LINES_PER_BLOCK * LINE;
/// Few where schedules are explored or each step is interpreted: each run makes its chunks anew.
const BLOCKS_PER_CHUNK: usize = if cfg!(any(shuttle, miri)) { 1 << 7 } else { 1 << 15 };
const CHUNK_BYTES: u64 = BLOCKS_PER_CHUNK as u64 * BLOCK_BYTES;

/// Lines of one 512-byte block. Without lines there is nothing to mark.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct LineSet {
    /// Location of the block divided by 512.
    block: u64,
    /// Bit i: its line i.
    lines: u8,
}

impl LineSet {
    /// A run of lines (location divided by 64), block by block: a record of a few lines touches one or two blocks.
    pub fn of(first: u64, count: u64) -> impl Iterator<Item = LineSet> {
        let (mut line, end) = (first, first + count);
        std::iter::from_fn(move || {
            let from = line % LINES_PER_BLOCK;
            let lines = (LINES_PER_BLOCK - from).min(end - line);
            let block = line / LINES_PER_BLOCK;
            line += lines;
            (lines > 0).then(|| LineSet { block, lines: ((0xff_u32 >> (LINES_PER_BLOCK - lines)) << from) as u8 })
        })
    }

    /// The same for lines that all lie in one block, as the words of a leaf do; `None` if they do not.
    #[inline]
    pub fn within(first: u64, count: u64) -> Option<LineSet> {
        let (from, end) = (first % LINES_PER_BLOCK, first % LINES_PER_BLOCK + count);
        let lines = || (1_u32 << end) - (1 << from);
        (end <= LINES_PER_BLOCK).then(|| LineSet { block: first / LINES_PER_BLOCK, lines: lines() as u8 })
    }

    /// Joins the lines of `others`, if they lie in the same block or if this has no lines yet. Returns whether it did.
    #[inline]
    pub fn join(&mut self, others: LineSet) -> bool {
        let same = self.block == others.block || self.lines == 0;
        if same {
            *self = LineSet { block: others.block, lines: self.lines | others.lines };
        }
        same
    }
}

struct Chunk {
    touched: AtomicBool,
    /// For each group, whether any of its masks may be nonzero.
    flags: [AtomicBool; MASKS / GROUP],
    masks: [AtomicU8; MASKS],
}

impl Chunk {
    fn new() -> Self {
        Chunk {
            touched: AtomicBool::new(false),
            flags: [const { AtomicBool::new(false) }; MASKS / GROUP],
            masks: [const { AtomicU8::new(0) }; MASKS],
        }
    }

    fn line_count(&self) -> u64 {
        let groups = self.flags.iter().zip(self.masks.chunks(GROUP)).filter(|(flag, _)| flag.load(Relaxed));
        groups.flat_map(|(_, masks)| masks).map(|mask| u64::from(mask.load(Relaxed).count_ones())).sum()
    }

    #[inline]
    fn mark(&self, shared: bool, index: usize, lines: u8) {
        let mask = &self.masks[index];
        let before = mask.load(Relaxed);
        if before & lines == lines {
            return;
        }
        if shared {
            mask.fetch_or(lines, Relaxed);
        } else {
            mask.store(before | lines, Relaxed);
        }
        raise(&self.flags[index / GROUP]);
        raise(&self.touched);
    }
}

/// The lines that one epoch has dirtied, in both areas.
pub(super) struct Dirty {
    /// One entry per chunk of the reserved address space: an unused chunk costs a word or two.
    areas: [Box<[OnceLock<Box<Chunk>>]>; 2],
    /// One more than the last chunk in use of each area: the end of an epoch looks no further.
    upto: [AtomicUsize; 2],
    /// By area, whether different writers may change the same mask.
    shared: [AtomicBool; 2],
}

impl Dirty {
    /// Masks for areas of at most `reserved` bytes.
    pub(super) fn new(reserved: [usize; 2]) -> Self {
        Dirty {
            areas: reserved.map(|bytes| (0..(bytes as u64).div_ceil(CHUNK_BYTES)).map(|_| OnceLock::new()).collect()),
            upto: [AtomicUsize::new(0), AtomicUsize::new(0)],
            shared: [AtomicBool::new(false), AtomicBool::new(true)],
        }
    }

    /// Marks lines. Any thread that has pinned the epoch may mark. Only the thread that holds the latch of a leaf or a
    /// node, or one that runs alone, marks its lines: of two concurrent marks one would be lost, and a power cut would
    /// lose its lines.
    #[inline]
    pub(super) fn mark(&self, LineSet { block, lines }: LineSet) {
        if lines == 0 {
            return;
        }
        let (area, offset) = parts(block * BLOCK_BYTES);
        let block = (offset / BLOCK_BYTES) as usize;
        let index = block / BLOCKS_PER_CHUNK;
        let place = &self.areas[area as usize][index];
        let chunk = place.get().unwrap_or_else(|| {
            // Before the chunk exists, since a thread that finds the chunk relies on this. Not while it is being made:
            // the scheduler may switch threads here, and another thread would then find the cell occupied forever.
            self.upto[area as usize].fetch_max(index + 1, Relaxed);
            place.get_or_init(|| Box::new(Chunk::new()))
        });
        let first = block % BLOCKS_PER_CHUNK * MASKS_PER_BLOCK;
        let shared = self.shared[area as usize].load(Relaxed);
        chunk.mark(shared, first, lines & ((1 << LINES_PER_MASK) - 1));
        chunk.mark(shared, first + 1, lines >> LINES_PER_MASK);
    }

    /// Declares that two leaves may share a mask; call it before any leaf is marked.
    pub(super) fn share_masks(&self) {
        self.shared[Area::Leaves as usize].store(true, Relaxed);
    }

    /// Counts the lines that are marked at this moment. Writers go on, so some of their marks are counted and some not.
    pub(super) fn line_count(&self) -> u64 {
        let chunks = Area::ALL.into_iter().flat_map(|area| {
            let upto = self.upto[area as usize].load(Relaxed);
            self.areas[area as usize][..upto].iter().filter_map(OnceLock::get)
        });
        chunks.filter(|chunk| chunk.touched.load(Relaxed)).map(|chunk| chunk.line_count()).sum()
    }

    /// Takes all marks, in ascending order of location, as runs (first line, number of lines). Call it only after all
    /// operations of the epoch have unpinned, which makes their relaxed marks visible here.
    pub(super) fn drain(&self, mut visit: impl FnMut(u64, u64)) {
        for area in Area::ALL {
            let upto = self.upto[area as usize].load(Relaxed);
            for (index, chunk) in self.areas[area as usize][..upto].iter().enumerate() {
                let Some(chunk) = chunk.get() else { continue };
                if chunk.touched.swap(false, Relaxed) {
                    drain_chunk(chunk, area.at(index as u64 * CHUNK_BYTES) / LINE, &mut visit);
                }
            }
        }
    }
}

/// Any number of threads may set a flag at once.
#[inline]
fn raise(flag: &AtomicBool) {
    if !flag.load(Relaxed) {
        flag.store(true, Relaxed);
    }
}

fn drain_chunk(chunk: &Chunk, first_line: u64, visit: &mut impl FnMut(u64, u64)) {
    let (mut start, mut count) = (0, 0);
    for (group, flag) in chunk.flags.iter().enumerate().filter(|(_, flag)| flag.load(Relaxed)) {
        flag.store(false, Relaxed);
        for index in group * GROUP..(group + 1) * GROUP {
            let mut mask = chunk.masks[index].load(Relaxed);
            if mask == 0 {
                continue;
            }
            chunk.masks[index].store(0, Relaxed);
            while mask != 0 {
                let line = first_line + index as u64 * LINES_PER_MASK + u64::from(mask.trailing_zeros());
                mask &= mask - 1;
                if count > 0 && start + count == line {
                    count += 1;
                } else {
                    if count > 0 {
                        visit(start, count);
                    }
                    (start, count) = (line, 1);
                }
            }
        }
    }
    if count > 0 {
        visit(start, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_one_block_join() {
        let mut marks = LineSet::default();
        assert!(LineSet::of(18, 2).all(|more| marks.join(more)) && LineSet::of(23, 1).all(|more| marks.join(more)));
        assert_eq!(marks, LineSet { block: 2, lines: 0b1000_1100 });
        let more: Vec<_> = LineSet::of(23, 10).collect();
        assert_eq!(more.iter().map(|marks| marks.lines).collect::<Vec<_>>(), [0x80, 0xff, 0x01]);
        assert!(marks.join(more[0]) && !marks.join(more[1]), "of another block");
    }

    #[test]
    fn every_mark_is_drained_once_in_runs() {
        let dirty = Dirty::new([1 << 27, 1 << 26]);
        let records = Area::Records.at(0) / LINE;
        for line in [0, 1, 7, 8, 9, 300_000, records + 5, records + 6, 500_000, 1, 8] {
            LineSet::of(line, 1).for_each(|marks| dirty.mark(marks));
        }
        LineSet::of(1_000_005, 20).for_each(|marks| dirty.mark(marks));
        assert_eq!(dirty.line_count(), 29);
        let mut runs = vec![];
        dirty.drain(|first, count| runs.push((first, count)));
        assert_eq!(runs, [(0, 2), (7, 3), (300_000, 1), (500_000, 1), (1_000_005, 20), (records + 5, 2)]);
        dirty.drain(|_, _| panic!("nothing is left"));
        assert_eq!(dirty.line_count(), 0);
    }
}
