//! A model of what reads of persistent memory cost: a cache of a stated size, the medium's buffer of blocks behind it,
//! and the time that both imply.
//!
//! An operation is the lines that it accesses, in the order of its first access to each. A line that the cache lacks is
//! fetched, also for a store: the cache writes parts of lines only into lines that it holds. The medium reads whole
//! blocks of 256 bytes into a buffer, from which the other lines of a block are fetched sooner.
//!
//! A flush leaves its line in the cache. Which fetches overlap cannot be seen, so times are bounds: every line waits
//! alone, or the lines of a block wait together. Accesses to volatile memory cost nothing here.

use holm_lab::measured::word;

/// Lines of 64 bytes in a block of the medium.
const LINES: u64 = 4;

/// Blocks in the medium's buffer, as many as in the one that combines written lines.
const ENTRIES: usize = 16;

/// Lines in a set of the cache.
const WAYS: usize = 8;

/// Nanoseconds until a line arrives whose block the medium has to read: a random read of Optane.
const MEDIUM_NS: u64 = 305;

/// Nanoseconds until a line arrives whose block is in the buffer. One such block and three such lines take 169 ns a
/// line, as sequential reads of Optane do.
const BUFFERED_NS: u64 = 124;

/// Returns the bytes of the cache beside as many pairs: a 64th of 24 bytes for each, as 37 MB beside a hundred million.
pub(crate) fn cache_bytes(pairs: u64) -> u64 {
    pairs * 24 / 64
}

/// What was used most recently, in sets of as many ways.
struct Recent {
    /// The most recently used comes last.
    sets: Vec<Vec<u64>>,
    ways: usize,
}

impl Recent {
    fn new(sets: usize, ways: usize) -> Self {
        Recent { sets: vec![Vec::with_capacity(ways); sets], ways }
    }

    /// Uses a number. Returns whether it was there.
    fn uses(&mut self, number: u64) -> bool {
        // By a hash, as caches of the last level do: else the headers of all leaves would share a few sets.
        let set = (word(number) % self.sets.len() as u64) as usize;
        let set = &mut self.sets[set];
        let found = set.iter().position(|held| *held == number);
        if let Some(at) = found {
            set.remove(at);
        } else if set.len() == self.ways {
            set.remove(0);
        }
        set.push(number);
        found.is_some()
    }
}

/// What operations have cost so far.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct ReadCosts {
    /// Lines that the cache lacked.
    pub(crate) lines: u64,
    /// Blocks that the medium read for them.
    pub(crate) blocks: u64,
    /// Nanoseconds, if every line waits alone.
    pub(crate) alone_ns: u64,
    /// Nanoseconds, if the lines of a block wait together.
    pub(crate) together_ns: u64,
}

/// The cache and the buffer.
pub(crate) struct ReadModel {
    cache: Recent,
    buffer: Recent,
    costs: ReadCosts,
}

impl ReadModel {
    /// Creates an empty cache of as many bytes, at least one set, and an empty buffer.
    pub(crate) fn new(cache_bytes: u64) -> Self {
        let sets = (cache_bytes / 64 / WAYS as u64).max(1);
        ReadModel {
            cache: Recent::new(sets as usize, WAYS),
            buffer: Recent::new(1, ENTRIES),
            costs: ReadCosts::default(),
        }
    }

    /// Runs an operation that accesses these lines, by their numbers.
    pub(crate) fn operation(&mut self, lines: &[u64]) {
        let mut awaited = Vec::new();
        for line in lines {
            if self.cache.uses(*line) {
                continue;
            }
            let block = line / LINES;
            let is_near = self.buffer.uses(block);
            let wait = if is_near { BUFFERED_NS } else { MEDIUM_NS };
            self.costs.lines += 1;
            self.costs.blocks += u64::from(!is_near);
            self.costs.alone_ns += wait;
            if !awaited.contains(&block) {
                awaited.push(block);
                self.costs.together_ns += wait;
            }
        }
    }

    /// Returns the costs since the last call, and counts anew. Cache and buffer stay as they are.
    pub(crate) fn take_costs(&mut self) -> ReadCosts {
        std::mem::take(&mut self.costs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(cache_bytes: u64, operations: &[&[u64]]) -> ReadCosts {
        let mut model = ReadModel::new(cache_bytes);
        operations.iter().for_each(|lines| model.operation(lines));
        model.take_costs()
    }

    #[test]
    fn a_line_that_the_cache_holds_costs_nothing() {
        let once = ReadCosts { lines: 1, blocks: 1, alone_ns: MEDIUM_NS, together_ns: MEDIUM_NS };
        assert_eq!(costs(4096, &[&[7]]), once);
        assert_eq!(costs(4096, &[&[7], &[7, 7]]), once);
    }

    #[test]
    fn lines_of_a_block_are_read_once_and_wait_together_at_best() {
        let all = ReadCosts { lines: 4, blocks: 1, alone_ns: MEDIUM_NS + 3 * BUFFERED_NS, together_ns: MEDIUM_NS };
        assert_eq!(costs(4096, &[&[4, 5, 6, 7]]), all);
        // Another operation cannot have waited for them.
        let apart = costs(4096, &[&[4], &[5]]);
        assert_eq!((apart.blocks, apart.together_ns), (1, MEDIUM_NS + BUFFERED_NS));
        assert_eq!(all.alone_ns.div_ceil(4), 170);
    }

    #[test]
    fn the_buffer_and_each_set_forget_what_was_used_least_recently() {
        // One set of eight lines, each of a block of its own.
        let blocks = |count: u64| (0..count).map(|block| block * LINES).collect::<Vec<_>>();
        assert_eq!(costs(512, &[&blocks(8), &blocks(8)]).lines, 8);
        assert_eq!(
            costs(512, &[&blocks(9), &blocks(9)]),
            ReadCosts { lines: 18, blocks: 9, ..costs(512, &[&blocks(9), &blocks(9)]) }
        );
        assert_eq!(costs(512, &[&blocks(17), &blocks(17)]).blocks, 34);
        // Used again, so the second one leaves.
        assert_eq!(costs(512, &[&blocks(8), &[0], &[100 * LINES], &[0]]).lines, 9);
        assert_eq!(costs(512, &[&blocks(8), &[0], &[100 * LINES], &[LINES]]).lines, 10);
    }

    #[test]
    fn costs_are_taken_and_what_is_held_stays() {
        let mut model = ReadModel::new(cache_bytes(100_000));
        model.operation(&[1, 2]);
        assert_eq!(model.take_costs().lines, 2);
        model.operation(&[1, 2, 3]);
        assert_eq!(
            model.take_costs(),
            ReadCosts { lines: 1, blocks: 0, alone_ns: BUFFERED_NS, together_ns: BUFFERED_NS }
        );
    }
}
