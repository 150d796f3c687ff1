//! The buffer in front of a medium that writes blocks of 256 bytes: it combines lines of one block into one write.
//!
//! Persistent memory of this kind writes whole blocks. A flushed line enters a small buffer. Lines that follow join
//! their block there, and the block that was used least recently leaves. A block that leaves without all of its lines
//! costs the medium a read as well. The model counts, and delays nothing.

use crate::sync::Mutex;

/// Lines of 64 bytes in a block.
const LINES: u64 = 4;

/// Blocks in the buffer. Counts with four times as many differ by less than two percent.
const ENTRIES: usize = 16;

/// A block in the buffer, and a bit for each of its lines that was flushed.
#[derive(Clone, Copy)]
struct Entry {
    block: u64,
    lines: u8,
}

#[derive(Default)]
struct Held {
    /// The most recently used block comes last.
    entries: Vec<Entry>,
    begun: u64,
    partial: u64,
}

/// The buffer of one medium.
#[derive(Default)]
pub(crate) struct BlockBuffer(Mutex<Held>);

impl BlockBuffer {
    /// Flushes a line, by its number.
    pub(crate) fn flush(&self, line: u64) {
        let (block, bit) = (line / LINES, 1 << (line % LINES));
        let mut held = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let found = held.entries.iter().position(|entry| entry.block == block);
        let lines = match found {
            Some(at) => held.entries.remove(at).lines,
            None => {
                if held.entries.len() == ENTRIES && held.entries.remove(0).lines != (1 << LINES) - 1 {
                    held.partial += 1;
                }
                held.begun += 1;
                0
            }
        };
        held.entries.push(Entry { block, lines: lines | bit });
    }

    /// Returns the blocks that have entered, each of which is written once, and those that have left incomplete.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let held = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (held.begun, held.partial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lines: impl IntoIterator<Item = u64>) -> (u64, u64) {
        let buffer = BlockBuffer::default();
        lines.into_iter().for_each(|line| buffer.flush(line));
        buffer.counts()
    }

    #[test]
    fn lines_of_a_block_are_combined_while_it_is_held() {
        assert_eq!(counted([0, 1, 2, 3, 0]), (1, 0));
        assert_eq!(counted([0, 4, 1, 5]), (2, 0));
        // Sixteen other blocks push the first one out, with one of its four lines.
        let others = (1..=16).map(|block| block * LINES);
        assert_eq!(counted(std::iter::once(0).chain(others.clone())), (17, 1));
        assert_eq!(counted(std::iter::once(0).chain(others).chain([1])), (18, 2));
    }

    #[test]
    fn the_least_recently_used_block_leaves() {
        let fifteen = (1..=15).map(|block| block * LINES);
        // Block 0 is used again, so block 1 leaves.
        let lines = std::iter::once(0).chain(fifteen).chain([1, 16 * LINES]);
        assert_eq!(counted(lines.clone().chain([2])).0, 17);
        assert_eq!(counted(lines.chain([LINES + 1])).0, 18);
    }

    #[test]
    fn whole_blocks_are_not_partial() {
        assert_eq!(counted(0..400), (100, 0));
        assert_eq!(counted((0..100).map(|block| block * LINES)), (100, 84));
    }
}
