//! Whether a block is a leaf, of which life, and from which leaf it stems: how leaves are replaced in one store.
//!
//! A block is used many times, and each use is a *life* with a number of its own. A fresh leaf names its *origin*, the
//! leaf that it is to replace, by number and life; it counts only once that leaf is gone. So one word commits for any
//! number of fresh leaves: the origin's `home` becoming zero. Nothing has to be forgotten afterwards, for the origin's
//! block comes back with another life, which nobody named.
//!
//! ```text
//! home      life 32 | keyspace 24 | skip 8        zero: no leaf
//! origin    life 32 | TIED 1 | block number 31    zero below the life: none
//! since     life 32 | life of the origin 32
//! ```
//!
//! Three words of one line, which a crash may tear: a block whose words are of different lives has not been committed.
//! So no order is asked of the stores here, only that all three are durable before the commit. A merge has two leaves
//! that give way and one store to say so; therefore the right one is first *tied*: it lives as long as the left one
//! does. To tie is more than one store, and safe only where the stores to a line persist in order.

use holm_medium::{Medium, Pen, Word, persistent};
use holm_tree::leaf::{Fate, Home};

/// In `origin`: not a leaf that has to be gone, but one that has to be there.
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
    /// Whose the leaf is, and what its range shares.
    pub fn home(&self) -> Home {
        let word = self.home.read() as u32;
        Home { keyspace: word & 0xff_ffff, skip: (word >> 24) as u8, first: false }
    }

    /// Begins the block's next life, stemming from the leaf of that number or from none. Flushed by the caller, with
    /// what the leaf holds: before the origin gives way where there is one, after all else where there is none.
    pub fn begin<M: Medium>(&self, pen: &mut Pen<'_, M>, home: Home, origin: Option<(u32, &Self)>) {
        let words = [&self.home, &self.origin, &self.since];
        // Never zero, whatever lay here.
        let next = words.map(|word| life(word.read())).into_iter().max().unwrap_or(0).wrapping_add(1).max(1);
        let (number, since) = origin.map_or((0, 0), |(number, leaf)| (number, life(leaf.home.read())));
        // The home first. Where lines persist in order, a leaf that ended as a tied one stays dead at each step: it
        // would come back if it forgot its tie under its old life.
        pen.write(&self.home, pack(next, home.keyspace & 0xff_ffff | u32::from(home.skip) << 24));
        pen.write(&self.origin, pack(next, number));
        pen.write(&self.since, pack(next, since));
    }

    /// Ends this life: the commit word of whatever replaces the leaf, durably.
    pub fn end<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.home, 0);
        // Before the operation returns, and before the block is used again: else a crash brings the leaf back, and all
        // that has been changed in its place is lost.
        pen.persist(&self.home);
    }

    /// Ties this leaf to the one of that number, of which it is the right neighbour. Flushed by the caller, before that
    /// one's life ends.
    pub fn tie<M: Medium>(&self, pen: &mut Pen<'_, M>, number: u32, left: &Self) {
        let own = life(self.home.read());
        // At each step the leaf counts: by having no origin, and then by what it is tied to.
        pen.write(&self.origin, pack(own, 0));
        pen.write(&self.since, pack(own, life(left.home.read())));
        pen.write(&self.origin, pack(own, TIED | number));
    }

    /// Whether the leaf of that life is still there.
    fn lives(&self, since: u32) -> bool {
        let home = self.home.read();
        home != 0 && life(home) == since
    }

    /// Ends a life in which nothing is left, while a recovery is alone in the world. The recovery fences.
    pub fn give_up<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.home, 0);
        pen.flush(&self.home);
    }

    /// What a crash left of the block. What does not count is scrubbed: a fresh leaf whose origin is still there would
    /// come to life when that origin is replaced by others, or given up. So the recovery fences before it gives up any.
    pub fn settle<'a, M: Medium>(&'a self, pen: &mut Pen<'_, M>, peer: impl Fn(u32) -> Option<&'a Self>) -> Fate {
        let [home, origin, since] = [&self.home, &self.origin, &self.since].map(Word::read);
        if home == 0 {
            return Fate::Free;
        }
        let whole = life(origin) == life(home) && life(since) == life(home);
        let (tied, number) = (origin as u32 & TIED != 0, origin as u32 & !TIED);
        let there = number != 0 && peer(number).is_some_and(|leaf| leaf.lives(since as u32));
        // Tied: the merge was committed if the left leaf is gone. Stemming: it was not, if the origin is still there.
        if !whole || number != 0 && there != tied {
            self.give_up(pen);
            return Fate::Free;
        }
        if tied {
            // The merge has not happened. Left as it is, the leaf would end with its neighbour's next split.
            pen.write(&self.origin, pack(life(home), 0));
            pen.flush(&self.origin);
        }
        Fate::Live { keyspace: home as u32 & 0xff_ffff, first: false }
    }
}
