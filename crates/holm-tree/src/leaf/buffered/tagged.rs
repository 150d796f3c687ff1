//! Three tagged words. Each has a state of a block and the epoch in which that state began: the present state, and the
//! states at the ends of the two epochs before.

use holm_medium::{Epoch, EpochSpan, LAST_EPOCH, Medium, Word, WriteHandle};
use std::hint::select_unpredictable;

/// The bits of a state.
const BITS: u32 = 28;

/// A state, and the epoch in which it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// The epoch in which the block changed to this.
    pub tag: Epoch,
    /// 28 bits; for versions, one bit per slot.
    pub bits: u32,
}

impl State {
    /// Unpacks a word. The tag is the upper 36 bits, so words order as their tags do.
    pub fn unpack(word: u64) -> Self {
        State { tag: word >> BITS, bits: word as u32 & ((1 << BITS) - 1) }
    }

    /// See [`State::unpack`].
    pub fn pack(self) -> u64 {
        self.tag << BITS | u64::from(self.bits)
    }
}

/// Three such words, wherever they lie. The word with the greatest tag is the present. The others are the states at the
/// ends of the two latest earlier epochs with changes. A change overwrites the word of its own epoch, else the oldest
/// word. So *one eight-byte store both rolls the versions over and publishes the change*, and survives any tearing down
/// to words.
#[derive(Clone, Copy)]
pub struct Tagged<'a>(pub &'a [Word; 3]);

impl<'a> Tagged<'a> {
    fn states(self) -> impl Iterator<Item = State> + use<'a> {
        self.0.iter().map(|word| State::unpack(word.read()))
    }

    #[inline]
    fn read(self) -> [u64; 3] {
        self.0.each_ref().map(Word::read)
    }

    /// Returns the word to overwrite: that of `epoch`, which is no earlier than the present's, else the oldest.
    #[inline]
    fn word_for(self, epoch: Epoch) -> &'a Word {
        // Without a branch: no predictor could guess which of the three it is.
        let of_two = |chosen: bool, [(a, at), (b, bt)]: [(u64, usize); 2]| {
            (select_unpredictable(chosen, b, a), select_unpredictable(chosen, bt, at))
        };
        let [a, b, c] = self.read();
        let oldest = of_two(b < a, [(a, 0), (b, 1)]);
        let oldest = of_two(c < oldest.0, [oldest, (c, 2)]);
        let newest = of_two(b > a, [(a, 0), (b, 1)]);
        let newest = of_two(c > newest.0, [newest, (c, 2)]);
        &self.0[select_unpredictable(State::unpack(newest.0).tag == epoch, newest.1, oldest.1)]
    }

    /// Returns the present state. Tags are distinct, so comparing whole words compares tags.
    #[inline]
    pub fn now(self) -> State {
        State::unpack(self.read().into_iter().max().unwrap_or(0))
    }

    /// Returns the state at the end of an epoch that a crash may choose; zero if there was none yet.
    #[inline]
    pub fn at(self, recovery_epoch: Epoch) -> State {
        Self::at_of(&self.read(), recovery_epoch)
    }

    /// The same for a copy of the words.
    #[inline]
    pub fn at_of(words: &[u64; 3], recovery_epoch: Epoch) -> State {
        let last = State { tag: recovery_epoch.min(LAST_EPOCH), bits: (1 << BITS) - 1 }.pack();
        let until = words.map(|word| if word <= last { word } else { 0 });
        State::unpack(until.into_iter().max().unwrap_or(0))
    }

    /// In a copy of the words: returns the state at the end of an epoch. `None` if later epochs have brought more
    /// changes than two consecutive epochs can, or have left no word of that state.
    pub fn ended_of(words: &[u64; 3], epoch: Epoch) -> Option<State> {
        let later = || words.iter().map(|word| State::unpack(*word).tag).filter(|tag| *tag > epoch);
        let follow = later().max().unwrap_or(0) <= later().min().unwrap_or(0) + 1;
        Some(Self::at_of(words, epoch)).filter(|_| follow && later().count() < 3)
    }

    /// In a copy of the words, among the states after an epoch: returns the tag of the first that names a slot, and the
    /// last tag of all. `None` if there is no state after it.
    pub fn after(words: &[u64; 3], recovery_epoch: Epoch) -> Option<EpochSpan> {
        let states = || words.iter().map(|word| State::unpack(*word)).filter(|state| state.tag > recovery_epoch);
        let last = states().map(|state| state.tag).max()?;
        // A state that names no slot may belong to a block that an interrupted recovery took.
        let first = states().filter(|state| state.bits != 0).map(|state| state.tag).min().unwrap_or(last);
        Some(EpochSpan { first, last })
    }

    /// Returns what the states at the ends of the two epochs before name, together. No tag is greater than `epoch`.
    #[inline]
    pub fn before(self, epoch: Epoch) -> u32 {
        let [a, b, c] = self.read();
        let (low, high) = (a.min(b), a.max(b));
        let (newest, middle, oldest) = (high.max(c), low.max(high.min(c)), low.min(c));
        let (last, other) = if State::unpack(newest).tag < epoch { (newest, middle) } else { (middle, oldest) };
        let (last, other) = (State::unpack(last), State::unpack(other));
        // The state of one epoch before is also that of two before, unless it began in that very epoch.
        last.bits | if last.tag + 1 == epoch { other.bits } else { 0 }
    }

    /// Makes a state the present, in one store. Of three distinct tags, the oldest is no state that a crash may choose
    /// while an operation of the epoch runs: a crash goes back at most to the second-oldest. The caller flushes.
    #[inline]
    #[track_caller]
    pub fn put<M: Medium>(self, handle: &mut WriteHandle<'_, M>, state: State) {
        handle.write(self.word_for(state.tag), state.pack());
    }

    /// Returns the least tag if it is later than any tag that a crash with this recovery point can leave. The distance
    /// does not count: epochs without changes leave no log entry, however many pass. At most two epochs with changes
    /// can lack one.
    pub fn beyond(self, recovery_epoch: Epoch) -> Option<Epoch> {
        self.states().map(|state| state.tag).min().filter(|least| *least > recovery_epoch)
    }

    /// Removes every state later than the recovery point, word by word; a crash in between finds the rest. Returns
    /// whether there was any. The caller flushes.
    pub fn scrub<M: Medium>(self, handle: &mut WriteHandle<'_, M>, recovery_epoch: Epoch) -> bool {
        let mut any = false;
        for word in self.0.iter().filter(|word| State::unpack(word.read()).tag > recovery_epoch) {
            handle.write(word, 0);
            any = true;
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holm_medium::{Area, FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage};

    /// Every three tags up to 6, where two are equal only if nothing was stored yet, and every epoch from the greatest
    /// tag on.
    fn each(check: impl Fn(&[Word; 3], Epoch)) {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let writer = Storage::open(Mapped::heap(1024, 64, options), FIRST_EPOCH).expect("memory");
        let image = writer.storage().medium_image();
        let words: &[Word; 3] = image.words(Area::Leaves.at(512), 3).expect("inside").try_into().expect("three");
        for tags in 0..7_u64.pow(3) {
            let tags = [tags % 7, tags / 7 % 7, tags / 49];
            if (0..3).any(|at| tags[at] != 0 && tags[at] == tags[(at + 1) % 3]) {
                continue;
            }
            for (word, (tag, bits)) in words.iter().zip(tags.into_iter().zip([1, 2, 4])) {
                writer.begin_write_at(FIRST_EPOCH).write(word, if tag == 0 { 0 } else { State { tag, bits }.pack() });
            }
            let latest = tags.into_iter().max().unwrap_or(0);
            (latest.max(1)..latest + 4).for_each(|epoch| check(words, epoch));
        }
    }

    #[test]
    fn what_was_before_is_what_was_at_the_two_ends() {
        each(|words, epoch| {
            let words = Tagged(words);
            let ends = [epoch - 1, epoch.saturating_sub(2)].map(|end| words.at(end).bits);
            assert_eq!(words.before(epoch), ends[0] | ends[1], "{:?} in {epoch}", words.states().collect::<Vec<_>>());
        });
    }

    #[test]
    fn a_change_overwrites_the_word_of_its_epoch_or_the_oldest() {
        each(|words, epoch| {
            let tags = || Tagged(words).states().map(|state| state.tag);
            let wanted = if tags().any(|tag| tag == epoch) { epoch } else { tags().min().unwrap_or(0) };
            assert_eq!(
                State::unpack(Tagged(words).word_for(epoch).read()).tag,
                wanted,
                "of {:?}",
                tags().collect::<Vec<_>>()
            );
        });
    }
}
