//! BD+Tree's leaf: unsorted pairs under bitmaps of three epochs (Du and Scott, HOPC'25 and PACMMOD 2:6).
//!
//! Nothing is flushed by an operation; lines are deferred to the end of their epoch. Each of three words holds an
//! epoch's tag and a bitmap; the word with the greatest tag is the present, the others are the states at the ends of
//! the two epochs before in which the leaf changed. A change overwrites the word of its own epoch, else the oldest, so
//! *one eight-byte store both rolls the versions over and publishes the change*, and survives any tearing down to
//! words.
//!
//! ```text
//! bytes 0-23    three words {epoch tag 36 | bitmap 28}
//!       24-51   28 fingerprints of whole keys; 52-55 zero
//!       56-63   origin or heir 32 | keyspace 24 | skip 8
//!       64-511  28 pairs {head, payload}
//! ```
//!
//! **Power loss** cuts at an epoch: the state of each leaf then is the word with the greatest tag up to the cut. **The
//! death of the process** keeps every store in program order (the `visible` model), so each operation must also be one
//! commit word away from done: for insert, update and remove it is the tagged word or, for a pair stored in this very
//! epoch, the payload; for a split or merge it is the old leaf's word becoming empty (see `supersede`).

use super::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, Old, Pairs, Split, damaged};
use crate::keys::{Keys, Slot};
use crate::pair::Pair;
use crate::pairs::arrange;
use crate::sync::atomic::{AtomicU32, Ordering::Relaxed};
use holm_medium::{Epoch, LAST_EPOCH, Medium, Pen, Result, Word, atomics, persistent};

const SLOTS: usize = 28;
const ALL: u32 = (1 << SLOTS) - 1;

/// With fewer live pairs than this, a leaf without a free slot is full of old versions, not of pairs: it is refreshed
/// and not split.
const SPLIT_FROM: u32 = 14;

/// Two neighbours become one leaf if they hold no more than this together; half of it is left for versions.
const MERGE_UP_TO: usize = 14;

/// In the upper half of a home word: this leaf gives way to the leaf of that number, once that one is committed.
const HEIR: u32 = 1 << 31;

persistent! {
    /// 512 bytes: a metadata line and seven lines of pairs.
    #[repr(align(64))]
    pub struct Buffered {
        states: [Word; 3],
        prints: [Word; 4],
        home: Word,
        pairs: [Pair; 28],
    }
}

/// Slots whose pairs came from another leaf by a split or merge and were not stored here since.
///
/// The states of the leaf they came from may still be chosen by a crash, and this leaf's own say nothing of them: taken
/// for pairs of this very epoch, their records would be used again while a cut could bring them back. Volatile, for
/// after a crash every pair is of an epoch before the active one.
#[derive(Default)]
pub struct Moved(AtomicU32);

impl Moved {
    fn contains(&self, index: usize) -> bool {
        self.0.load(Relaxed) >> index & 1 == 1
    }
    fn set(&self, bits: u32) {
        self.0.store(bits, Relaxed);
    }
    fn forget(&self, index: usize) {
        self.set(self.0.load(Relaxed) & !(1 << index));
    }
}

/// A tagged bitmap, unpacked.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    tag: Epoch,
    bits: u32,
}

impl State {
    fn unpack(word: u64) -> Self {
        State { tag: word >> SLOTS, bits: word as u32 & ALL }
    }
    fn pack(self) -> u64 {
        self.tag << SLOTS | u64::from(self.bits)
    }
}

impl Buffered {
    /// The present: the word with the greatest tag. Tags are distinct, so comparing whole words compares tags.
    #[inline]
    fn now(&self) -> State {
        State::unpack(self.states.iter().map(Word::read).max().unwrap_or(0))
    }

    /// The state at the end of an epoch.
    fn at(&self, cut: Epoch) -> State {
        let states = self.states.iter().map(|word| State::unpack(word.read()));
        states.filter(|state| state.tag <= cut).max_by_key(|state| state.tag).unwrap_or(State { tag: 0, bits: 0 })
    }

    /// Slots named by the states at the ends of the two epochs before.
    fn older(&self, epoch: Epoch) -> u32 {
        self.at(epoch.saturating_sub(1)).bits | self.at(epoch.saturating_sub(2)).bits
    }

    /// The one store that commits. The oldest of three distinct tags is no state that a crash may choose while an
    /// operation of `epoch` runs: two epochs back is the second-oldest at the furthest.
    fn publish<M: Medium>(&self, pen: &mut Pen<'_, M>, bits: u32) {
        let tag = pen.epoch();
        pen.write(self.word_for(tag), State { tag, bits }.pack());
        pen.defer(&self.states);
    }

    /// The word of an epoch, or else the oldest.
    fn word_for(&self, epoch: Epoch) -> &Word {
        let by_age = |word: &&Word| {
            let state = State::unpack(word.read());
            if state.tag == epoch { (0, 0) } else { (1, state.tag) }
        };
        self.states.iter().min_by_key(by_age).expect("three words")
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        self.pairs[index].slot()
    }

    /// The slots whose fingerprint is the probe's.
    #[inline]
    fn candidates<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> u32 {
        let prints: &[_; 4] = atomics(&self.prints).try_into().expect("four words");
        lens.search.bytes_equal(prints, K::print(probe)) & self.now().bits
    }

    #[inline]
    fn find<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<(usize, u64)> {
        let mut candidates = self.candidates(lens, probe);
        while candidates != 0 {
            let index = candidates.trailing_zeros() as usize;
            let slot = self.slot(index);
            // All of the record at once: its value is wanted next, and what the comparison waits for is its first line.
            lens.keys.prefetch(slot.payload);
            if lens.keys.is(slot, probe) {
                return Some((index, slot.payload));
            }
            candidates &= candidates - 1;
        }
        None
    }

    fn set_print<M: Medium>(&self, pen: &mut Pen<'_, M>, index: usize, print: u8) {
        let (word, shift) = (&self.prints[index / 8], index % 8 * 8);
        pen.write(word, word.read() & !(0xff << shift) | u64::from(print) << shift);
    }

    fn print(&self, index: usize) -> u8 {
        (self.prints[index / 8].read() >> (index % 8 * 8)) as u8
    }

    fn set_home<M: Medium>(&self, pen: &mut Pen<'_, M>, home: Home, kin: u32) {
        pen.write(&self.home, u64::from(home.skip) << 56 | u64::from(home.keyspace) << 32 | u64::from(kin));
        pen.defer(&self.home);
    }

    fn set_kin<M: Medium>(&self, pen: &mut Pen<'_, M>, kin: u32) {
        pen.write(&self.home, self.home.read() & !0xffff_ffff | u64::from(kin));
        pen.defer(&self.home);
    }

    fn kin(&self) -> u32 {
        self.home.read() as u32
    }

    fn home(&self) -> Home {
        let word = self.home.read();
        Home { keyspace: (word >> 32) as u32 & 0xff_ffff, skip: (word >> 56) as u8, first: false }
    }

    /// Live pairs in order, each with its fingerprint.
    fn sorted<K: Keys>(&self, lens: Lens<'_, K>) -> Vec<(Slot, u8)> {
        let bits = self.now().bits;
        let live = (0..SLOTS).filter(|index| bits >> index & 1 == 1);
        let mut pairs: Vec<_> = live.map(|index| (self.slot(index), self.print(index))).collect();
        arrange(&mut pairs, |a, b| lens.keys.order(a.0, b.0));
        pairs
    }

    /// Fills a fresh block with pairs and publishes them, uncommitted: `kin` names the leaf it stems from.
    fn settle<M: Medium, K: Keys>(
        &self,
        moved: &Moved,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        pairs: &[(Slot, u8, usize)],
        home: Home,
        kin: u32,
    ) {
        let mut prints = [0u64; 4];
        for (index, (slot, print, skip)) in pairs.iter().enumerate() {
            let same = *skip == usize::from(home.skip);
            let head = if same { Some(slot.head) } else { lens.keys.rehead(*slot, home.skip.into()) };
            let pair = &self.pairs[index];
            pen.write(&pair.head, head.unwrap_or(slot.head));
            pen.write(&pair.payload, slot.payload);
            prints[index / 8] |= u64::from(*print) << (index % 8 * 8);
        }
        for (word, value) in self.prints.iter().zip(prints) {
            pen.write(word, value);
        }
        pairs.chunks(4).zip(self.pairs.as_chunks::<4>().0).for_each(|(_, line)| pen.defer(line));
        moved.set((1u32 << pairs.len()) - 1);
        // Before the bitmap: found live after the death of the process, a leaf must already name what it stems from.
        self.set_home(pen, home, kin);
        self.publish(pen, (1u32 << pairs.len()) - 1);
    }

    /// The commit of a split or merge under the visible model: this leaf's word becomes empty, in one store, and the
    /// leaves that stem from it are committed by that. Only then may they forget where they stem from: forgetting
    /// first, a process that dies in between would leave both generations live.
    fn supersede<M: Medium>(&self, pen: &mut Pen<'_, M>, heirs: &[&Self]) {
        self.publish(pen, 0);
        for heir in heirs {
            heir.set_kin(pen, 0);
        }
    }
}

/// Whether each of these, a slot with its fingerprint and what its head leaves out, leads to a record of its own.
fn own_keys<K: Keys>(lens: Lens<'_, K>, pairs: &[(Slot, u8, usize)]) -> bool {
    pairs.iter().all(|(slot, print, skip)| lens.keys.is_own(*slot, *skip, *print))
}

/// The same of those whose heads a new home will have changed.
fn rehead_own<K: Keys>(lens: Lens<'_, K>, pairs: &[(Slot, u8, usize)], home: Home) -> bool {
    let changed = |(slot, print, skip): &(Slot, u8, usize)| {
        *skip == usize::from(home.skip) || lens.keys.is_own(*slot, *skip, *print)
    };
    pairs.iter().all(changed)
}

impl Leaf for Buffered {
    const CARD: Card = Card {
        source: "BD+Tree: Du and Scott, HOPC 2025",
        defers: true,
        needs_line_order: false,
        needs_whole_keys: false,
        linked: false,
        keeps: true,
    };
    const CAPACITY: usize = SLOTS;
    type Beside = Moved;

    #[inline]
    fn get<K: Keys>(&self, _: &Moved, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.find(lens, probe).map(|(_, payload)| payload)
    }

    #[inline]
    fn aim<K: Keys>(&self, _: &Moved, lens: Lens<'_, K>, probe: K::Probe<'_>) {
        let candidates = self.candidates(lens, probe);
        if candidates != 0 {
            holm_search::prefetch(&self.pairs[candidates.trailing_zeros() as usize]);
        }
    }

    #[inline]
    fn glance<K: Keys>(&self, _: &Moved, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        let candidates = self.candidates(lens, probe);
        (candidates != 0).then(|| self.pairs[candidates.trailing_zeros() as usize].payload.read())
    }

    fn live(&self, _: &Moved, out: &mut Pairs) {
        let mut bits = self.now().bits;
        while bits != 0 {
            out.push(self.slot(bits.trailing_zeros() as usize));
            bits &= bits - 1;
        }
    }

    fn sparse(&self, _: &Moved) -> bool {
        (self.now().bits.count_ones() as usize) < MERGE_UP_TO / 2
    }

    fn skip(&self) -> usize {
        self.home().skip.into()
    }

    fn stamp(&self) -> Epoch {
        self.now().tag
    }

    fn newer(logged: &[u64; 8], found: &[u64; 8]) -> bool {
        let tag = |line: &[u64; 8]| line[..3].iter().map(|word| State::unpack(*word).tag).max();
        tag(found) >= tag(logged)
    }

    fn format<M: Medium>(&self, moved: &Moved, pen: &mut Pen<'_, M>, home: Home) {
        moved.set(0);
        self.set_home(pen, home, 0);
        self.publish(pen, 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        moved: &Moved,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        let (now, older) = (self.now().bits, self.older(pen.epoch()));
        let present = self.find(lens, probe);
        if let Some((index, old)) = present
            && older >> index & 1 == 0
        {
            // Stored in this epoch and named by no older state: the payload itself is the commit word.
            pen.write(&self.pairs[index].payload, payload);
            pen.defer(&self.pairs[index]);
            let young = !moved.contains(index);
            moved.forget(index);
            return Ok(Some(Old { payload: old, young }));
        }
        let free = !(now | older) & ALL;
        if free == 0 {
            return Err(Full);
        }
        let index = free.trailing_zeros() as usize;
        let pair = &self.pairs[index];
        pen.write(&pair.payload, payload);
        pen.write(&pair.head, K::head(probe, self.skip()));
        pen.defer(pair);
        self.set_print(pen, index, K::print(probe));
        moved.forget(index);
        let gone = present.map_or(0, |(index, _)| 1 << index);
        // After the pair and its fingerprint: published first, a process that dies in between shows a pair of noise.
        self.publish(pen, now & !gone | 1 << index);
        Ok(present.map(|(_, payload)| Old { payload, young: false }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        moved: &Moved,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let (index, payload) = self.find(lens, probe)?;
        let young = self.older(pen.epoch()) >> index & 1 == 0 && !moved.contains(index);
        self.publish(pen, self.now().bits & !(1 << index));
        Some(Old { payload, young })
    }

    /// By replacement, never in place: slots cleared in place would stay pinned by the two older states, and the leaf
    /// as full as before.
    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        _: &Moved,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        range: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        let home = self.home();
        let skip = self.skip();
        let pairs: Vec<_> = self.sorted(lens).into_iter().map(|(slot, print)| (slot, print, skip)).collect();
        let [left, right] = &fresh;
        let at = |low: &K::Fence, high: Option<&K::Fence>| Home { skip: K::common(low, high) as u8, ..home };
        // Refreshed if old versions fill it, and where a record is not the slot's own, which only damage could bring
        // about: what is derived from its key would be damage, too.
        let middle = pairs.len() / 2;
        let parted = (pairs.len() as u32 >= SPLIT_FROM)
            .then(|| own_keys(lens, &pairs[middle - 1..=middle]))
            .filter(|own| *own)
            .and_then(|_| lens.keys.key(pairs[middle - 1].0).zip(lens.keys.key(pairs[middle].0)))
            .map(|(last, first)| K::separator(&last, &first))
            .map(|separator| (at(range.0, Some(&separator)), at(&separator, range.1), separator))
            .filter(|(lower, upper, _)| {
                rehead_own(lens, &pairs[..middle], *lower) && rehead_own(lens, &pairs[middle..], *upper)
            });
        let Some((lower, upper, separator)) = parted else {
            left.leaf.settle(left.beside, lens, pen, &pairs, home, own);
            self.supersede(pen, &[left.leaf]);
            return Split { left: left.number, right: None };
        };
        left.leaf.settle(left.beside, lens, pen, &pairs[..middle], lower, own);
        right.leaf.settle(right.beside, lens, pen, &pairs[middle..], upper, own);
        self.supersede(pen, &[left.leaf, right.leaf]);
        Split { left: left.number, right: Some((separator, right.number)) }
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        own: [u32; 2],
        right: &Self,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: Fresh<'_, Self>,
        range: (&K::Fence, Option<&K::Fence>),
    ) -> bool {
        let tagged = |leaf: &Self| {
            let skip = leaf.skip();
            leaf.sorted(lens).into_iter().map(move |(slot, print)| (slot, print, skip))
        };
        let pairs: Vec<_> = tagged(self).chain(tagged(right)).collect();
        if pairs.len() > MERGE_UP_TO {
            return false;
        }
        let home = Home { skip: K::common(range.0, range.1) as u8, ..self.home() };
        if !rehead_own(lens, &pairs, home) {
            return false;
        }
        fresh.leaf.settle(fresh.beside, lens, pen, &pairs, home, own[0]);
        // Two leaves give way, and one store can empty only one: the right one first says who inherits from it, so that
        // the left one's commit word decides for both.
        right.set_kin(pen, HEIR | fresh.number);
        self.publish(pen, 0);
        right.publish(pen, 0);
        fresh.leaf.set_kin(pen, 0);
        true
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        self.publish(pen, 0);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &Moved,
        pen: &mut Pen<'_, M>,
        cut: Cut,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        match cut {
            Cut::Visible => return self.recover_visible(pen, peer),
            Cut::At(cut) => {
                let tags = self.states.each_ref().map(|word| State::unpack(word.read()).tag);
                // Not by how much they are beyond: epochs in which nothing changed leave no record, however many pass.
                if let Some(least) = tags.into_iter().min().filter(|least| *least > cut) {
                    let expected = format!("at most {cut}, for only two epochs with changes go without a record");
                    return Err(damaged::<Self>(
                        (own, 0),
                        "the least of three epochs' tags",
                        least.to_string(),
                        expected,
                    ));
                }
                for (word, tag) in self.states.iter().zip(tags) {
                    if tag > cut {
                        // Scrubbed for good: the clock starts again where history was cut, and a word of a lost epoch
                        // would come back to life when that epoch's number is used again.
                        pen.write(word, 0);
                        pen.flush(&self.states);
                    }
                }
                if self.now().bits != 0 && self.kin() != 0 {
                    pen.write(&self.home, self.home.read() & !0xffff_ffff);
                    pen.flush(&self.home);
                }
            }
        }
        if self.now().tag > LAST_EPOCH {
            return Err(damaged::<Self>(
                (own, 0),
                "an epoch's tag",
                self.now().tag.to_string(),
                format!("<= {LAST_EPOCH}"),
            ));
        }
        let live = Fate::Live { keyspace: self.home().keyspace, first: false };
        Ok(if self.now().bits == 0 { Fate::Free } else { live })
    }
}

impl Buffered {
    fn recover_visible<'a, M: Medium>(
        &'a self,
        pen: &mut Pen<'_, M>,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        let kin = self.kin();
        let now = self.now();
        if now.bits == 0 {
            return Ok(Fate::Free);
        }
        let live = |number: u32| peer(number).filter(|leaf| leaf.now().bits != 0);
        let gives_way_in = if kin & HEIR != 0 {
            // Its heir is committed once the leaf that the heir stems from is gone.
            let heir = live(kin & !HEIR).filter(|heir| heir.kin() == 0 || live(heir.kin()).is_none());
            // In the heir's epoch, as the merge itself would have done. Under this leaf's own tag, which may long have
            // been durable, a power cut during this recovery would take back the merge and find this leaf empty.
            heir.map(|heir| heir.now().tag)
        } else {
            live(kin).filter(|_| kin != 0).map(|_| now.tag)
        };
        if let Some(tag) = gives_way_in {
            pen.write(self.word_for(tag), State { tag, bits: 0 }.pack());
            pen.flush(&self.states);
            return Ok(Fate::Free);
        }
        if kin != 0 {
            pen.write(&self.home, self.home.read() & !0xffff_ffff);
            pen.flush(&self.home);
        }
        Ok(Fate::Live { keyspace: self.home().keyspace, first: false })
    }
}
