//! Three words, each of which says one thing under the epoch in which it came to be: what a block is now, and what it
//! was at the ends of the two epochs before.

use holm_medium::{Epoch, LAST_EPOCH, Medium, Pen, Word};

/// Bits of what a word says.
const BITS: u32 = 28;

/// What was said, and since which epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// The epoch in which the block changed to this.
    pub tag: Epoch,
    /// 28 bits: of versions, a bit per slot.
    pub bits: u32,
}

impl State {
    /// A tag of 36 bits above the others: words in the order of their tags.
    pub fn unpack(word: u64) -> Self {
        State { tag: word >> BITS, bits: word as u32 & ((1 << BITS) - 1) }
    }

    /// See [`State::unpack`].
    pub fn pack(self) -> u64 {
        self.tag << BITS | u64::from(self.bits)
    }
}

/// Such words, wherever they lie: the one with the greatest tag is the present, the others are the states at the ends
/// of the two epochs before in which there was a change. A change overwrites the word of its own epoch, else the
/// oldest, so *one eight-byte store both rolls the versions over and publishes the change*, and survives any tearing
/// down to words.
#[derive(Clone, Copy)]
pub(super) struct Tagged<'a>(pub(super) &'a [Word; 3]);

impl<'a> Tagged<'a> {
    fn states(self) -> impl Iterator<Item = State> + use<'a> {
        self.0.iter().map(|word| State::unpack(word.read()))
    }

    #[inline]
    fn read(self) -> [u64; 3] {
        self.0.each_ref().map(Word::read)
    }

    /// The word of an epoch that is no earlier than the present's, or else the oldest.
    #[inline]
    fn word_for(self, epoch: Epoch) -> &'a Word {
        let words = self.read();
        let (oldest, newest) =
            words.into_iter().fold((u64::MAX, 0), |(low, high), word| (low.min(word), high.max(word)));
        let wanted = if State::unpack(newest).tag == epoch { newest } else { oldest };
        &self.0[words.iter().position(|word| *word == wanted).unwrap_or(0)]
    }

    /// The present. Tags are distinct, so comparing whole words compares tags.
    #[inline]
    pub(super) fn now(self) -> State {
        State::unpack(self.read().into_iter().max().unwrap_or(0))
    }

    /// The state at the end of an epoch that a crash may choose; zero if there was none yet.
    #[inline]
    pub(super) fn at(self, cut: Epoch) -> State {
        let last = State { tag: cut.min(LAST_EPOCH), bits: (1 << BITS) - 1 }.pack();
        let until = self.read().map(|word| if word <= last { word } else { 0 });
        State::unpack(until.into_iter().max().unwrap_or(0))
    }

    /// Makes a state the present, in one store. The oldest of three distinct tags is no state that a crash may choose
    /// while an operation of the epoch runs: two epochs back is the second-oldest at the furthest. The caller flushes.
    #[inline]
    #[track_caller]
    pub(super) fn put<M: Medium>(self, pen: &mut Pen<'_, M>, state: State) {
        pen.write(self.word_for(state.tag), state.pack());
    }

    /// The least tag, if it is beyond any that can be here once a crash has cut history there. Not by how much they are
    /// beyond: epochs in which nothing changed leave no record, however many pass. But only two with changes go without
    /// one.
    pub(super) fn beyond(self, cut: Epoch) -> Option<Epoch> {
        self.states().map(|state| state.tag).min().filter(|least| *least > cut)
    }

    /// Takes away what is later than the cut, each word by itself: a crash in between finds the rest. Tells whether
    /// there was anything. The caller flushes.
    pub(super) fn scrub<M: Medium>(self, pen: &mut Pen<'_, M>, cut: Epoch) -> bool {
        let mut any = false;
        for word in self.0.iter().filter(|word| State::unpack(word.read()).tag > cut) {
            pen.write(word, 0);
            any = true;
        }
        any
    }

    /// The present's tag in a copy of the words.
    pub(super) fn latest(words: &[u64; 3]) -> Epoch {
        words.iter().map(|word| State::unpack(*word).tag).max().unwrap_or(0)
    }
}
