//! Whether a block is a leaf, in which life, and which leaf it replaces: how one store replaces leaves.
//!
//! A block is used many times, and each use is a *life* with a number of its own. A fresh leaf names its *origin*, the
//! leaf that it replaces, by number and life. It counts only once that leaf is gone. So one word commits any number of
//! fresh leaves: the origin's `home`, when it becomes zero. Nothing needs cleaning up afterwards: the origin's block
//! returns with another life, which no leaf names.
//!
//! ```text
//! home      life 32 | keyspace 24 | skip 8        zero: no leaf
//! origin    life 32 | TIED 1 | block number 31    zero below the life: none
//! since     life 32 | life of the origin 32
//! ```
//!
//! A crash may tear these three words of one line: a block whose words have different lives was not committed. So these
//! stores need no order; all three must be durable before the commit. A merge replaces two leaves with one committing
//! store. Therefore the right leaf is first *tied*: it lives as long as the left one does. Tying takes more than one
//! store, and is safe only where the stores to a line persist in order.

use holm_medium::{Medium, Word, WriteHandle, persistent};
use holm_tree::leaf::{BlockState, Home};

/// In `origin`: the named leaf must exist, instead of being gone.
const TIED: u32 = 1 << 31;

persistent! {
    /// The three words.
    pub struct Lineage {
        home: Word,
        origin: Word,
        since: Word,
    }
}

/// The life in the upper half of a word.
fn life(word: u64) -> u32 {
    (word >> 32) as u32
}

fn pack(life: u32, rest: u32) -> u64 {
    u64::from(life) << 32 | u64::from(rest)
}

impl Lineage {
    /// The leaf's keyspace, and the length of the prefix that its range shares.
    pub fn home(&self) -> Home {
        let word = self.home.read() as u32;
        Home { keyspace: word & 0xff_ffff, skip: (word >> 24) as u8, first: false }
    }

    /// Begins the block's next life, with the leaf of that number as origin, or with none. The caller flushes this
    /// together with the leaf's contents: before the origin ends if there is one, and after all else if there is none.
    pub fn begin<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, home: Home, origin: Option<(u32, &Self)>) {
        let words = [&self.home, &self.origin, &self.since];
        // Never zero, whatever the block contains.
        let next = words.map(|word| life(word.read())).into_iter().max().unwrap_or(0).wrapping_add(1).max(1);
        let (number, since) = origin.map_or((0, 0), |(number, leaf)| (number, life(leaf.home.read())));
        // The home first. Where stores to a line persist in order, a leaf that ended while tied stays dead at each
        // step. It would come back if its tie were cleared under its old life.
        handle.write(&self.home, pack(next, home.keyspace & 0xff_ffff | u32::from(home.skip) << 24));
        handle.write(&self.origin, pack(next, number));
        handle.write(&self.since, pack(next, since));
    }

    /// Ends this life durably: the commit word of any replacement of the leaf.
    pub fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.home, 0);
        // Before the operation returns, and before the block is reused: otherwise a crash brings the leaf back, and all
        // changes to its replacements are lost.
        handle.persist(&self.home);
    }

    /// Ties this leaf to its left neighbour, the leaf of that number. The caller flushes this before the left leaf's
    /// life ends.
    pub fn tie<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, number: u32, left: &Self) {
        let own = life(self.home.read());
        // The leaf counts at each step: first because it has no origin, and then because of the leaf to which it is
        // tied.
        handle.write(&self.origin, pack(own, 0));
        handle.write(&self.since, pack(own, life(left.home.read())));
        handle.write(&self.origin, pack(own, TIED | number));
    }

    /// Whether the leaf of that life still exists.
    fn lives(&self, since: u32) -> bool {
        let home = self.home.read();
        home != 0 && life(home) == since
    }

    /// Ends the life of an empty leaf while recovery runs alone. Recovery fences.
    pub fn give_up<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.home, 0);
        handle.flush(&self.home);
    }

    /// What a crash left of the block. Recovery scrubs what does not count: a fresh leaf whose origin still exists
    /// would begin to count when that origin is replaced or released. So recovery fences before it releases any leaf.
    pub fn resolve<'a, M: Medium>(
        &'a self,
        handle: &mut WriteHandle<'_, M>,
        peer: impl Fn(u32) -> Option<&'a Self>,
    ) -> BlockState {
        let [home, origin, since] = [&self.home, &self.origin, &self.since].map(Word::read);
        if home == 0 {
            return BlockState::Free;
        }
        let whole = life(origin) == life(home) && life(since) == life(home);
        let (tied, number) = (origin as u32 & TIED != 0, origin as u32 & !TIED);
        let there = number != 0 && peer(number).is_some_and(|leaf| leaf.lives(since as u32));
        // If tied, the merge was committed when the left leaf is gone. Otherwise, the replacement was not committed
        // while the origin still exists.
        if !whole || number != 0 && there != tied {
            self.give_up(handle);
            return BlockState::Free;
        }
        if tied {
            // The merge was not committed. Without this store, the leaf would end with its neighbour's next split.
            handle.write(&self.origin, pack(life(home), 0));
            handle.flush(&self.origin);
        }
        BlockState::Live { keyspace: home as u32 & 0xff_ffff, first: false }
    }
}
