//! Which slots of a block counted at the ends of the latest epochs: what a crash may choose between.

use super::{ALL, SLOTS};
use holm_medium::{Epoch, Medium, Pen, Persistent, Word, persistent};

/// The slots that counted, and since which epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// The epoch in which the block changed to this.
    pub tag: Epoch,
    /// A bit per slot.
    pub bits: u32,
}

impl State {
    /// A tag of 36 bits above the bitmap: words in the order of their tags.
    pub fn unpack(word: u64) -> Self {
        State { tag: word >> SLOTS, bits: word as u32 & ALL }
    }

    /// See [`State::unpack`].
    pub fn pack(self) -> u64 {
        self.tag << SLOTS | u64::from(self.bits)
    }
}

/// 24 bytes that say which slots count now, and which did at the ends of the two epochs before this one.
pub trait Versions: Persistent {
    /// Whether a crash must keep the stores to one line in order.
    const NEEDS_LINE_ORDER: bool;

    /// The present.
    fn now(&self) -> State;

    /// The state at the end of an epoch, which is one of the two before the active one, or the last that a crash has
    /// kept: then whatever of a change the crash has torn apart does not show.
    fn at(&self, cut: Epoch) -> State;

    /// Slots that no change of this epoch may write: the states at the ends of the two epochs before name them.
    #[inline]
    fn pinned(&self, epoch: Epoch) -> u32 {
        self.at(epoch.saturating_sub(1)).bits | self.at(epoch.saturating_sub(2)).bits
    }

    /// Makes a state the present, in an epoch no earlier than the present's. The last store commits; the states at the
    /// ends of the two epochs before stand throughout. The caller flushes.
    fn put<M: Medium>(&self, pen: &mut Pen<'_, M>, state: State);

    /// A tag beyond any that can be here if a crash has cut history there.
    fn beyond(&self, cut: Epoch) -> Option<Epoch>;

    /// Takes away what is later than the cut; tells whether there was anything. The caller flushes.
    fn scrub<M: Medium>(&self, pen: &mut Pen<'_, M>, cut: Epoch) -> bool;

    /// The present's tag in a copy of the words.
    fn latest(words: &[u64; 3]) -> Epoch;
}

persistent! {
    /// Three tagged bitmaps: the word with the greatest tag is the present, the others are the states at the ends of
    /// the two epochs before in which the block changed. A change overwrites the word of its own epoch, else the
    /// oldest, so *one eight-byte store both rolls the versions over and publishes the change*, and survives any
    /// tearing down to words.
    pub struct Triple {
        words: [Word; 3],
    }
}

impl Triple {
    fn states(&self) -> impl Iterator<Item = State> {
        self.words.iter().map(|word| State::unpack(word.read()))
    }

    /// The word of an epoch, or else the oldest.
    fn word_for(&self, epoch: Epoch) -> &Word {
        let by_age = |word: &&Word| {
            let state = State::unpack(word.read());
            if state.tag == epoch { (0, 0) } else { (1, state.tag) }
        };
        self.words.iter().min_by_key(by_age).expect("three words")
    }
}

impl Versions for Triple {
    const NEEDS_LINE_ORDER: bool = false;

    /// Tags are distinct, so comparing whole words compares tags.
    #[inline]
    fn now(&self) -> State {
        State::unpack(self.words.iter().map(Word::read).max().unwrap_or(0))
    }

    #[inline]
    fn at(&self, cut: Epoch) -> State {
        let until = self.states().filter(|state| state.tag <= cut);
        until.max_by_key(|state| state.tag).unwrap_or(State { tag: 0, bits: 0 })
    }

    /// The oldest of three distinct tags is no state that a crash may choose while an operation of the epoch runs: two
    /// epochs back is the second-oldest at the furthest.
    #[inline]
    fn put<M: Medium>(&self, pen: &mut Pen<'_, M>, state: State) {
        pen.write(self.word_for(state.tag), state.pack());
    }

    /// Not by how much they are beyond: epochs in which nothing changed leave no record, however many pass. But only
    /// two with changes go without one.
    fn beyond(&self, cut: Epoch) -> Option<Epoch> {
        self.states().map(|state| state.tag).min().filter(|least| *least > cut)
    }

    /// Each by itself: a crash in between finds the rest.
    fn scrub<M: Medium>(&self, pen: &mut Pen<'_, M>, cut: Epoch) -> bool {
        let mut any = false;
        for word in self.words.iter().filter(|word| State::unpack(word.read()).tag > cut) {
            pen.write(word, 0);
            any = true;
        }
        any
    }

    fn latest(words: &[u64; 3]) -> Epoch {
        words.iter().map(|word| State::unpack(*word).tag).max().unwrap_or(0)
    }
}
