//! Isle-Tree's leaf: seven lines of pairs, each sorted on its own, and a counter for each (Wang and Chattopadhyay, DATE
//! 2020).
//!
//! Durable when an operation returns. A change shifts pairs within one line and then stores that line's counter: two
//! lines flushed, wherever the key falls. A lookup goes from line to line and *hops* to the next once a key is too
//! great. Leaves split and merge by replacement, see `lineage`: fresh leaves are compact and sorted throughout.
//!
//! ```text
//! bytes 0-23    lineage
//!       24-31   counters: byte l for line l, 0 to 4; byte 7 zero
//!       32-63   unused
//!       64-511  7 lines of 4 pairs {head, payload}; the pairs of a line are its first ones, ascending
//! ```
//!
//! **The mark** of a pair is the word that no two pairs of the leaf share ([`Keys::UNIQUE`]); a vacant slot has mark
//! zero. No legal pair is lost by that: a payload that is a mark is not zero, and the key zero lies in the first slot
//! of its line, which counts if the counter says so. While a line is shifted one mark stands in it twice, and *the
//! right one of the two counts*: the mate is written before the mark on the way to the right, and after it on the way
//! to the left. Assumed of the medium: what persists of a line is a prefix of the stores to it.

pub mod node;

use crate::lineage::Lineage;
use holm_medium::{Medium, Pen, Result, Word, persistent};
use holm_tree::keys::{Keys, Role, Slot};
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, MOST_PAIRS, Old, Pairs, Split, damaged};
use holm_tree::pair::{Pair, mark_and_mate};
use holm_tree::pairs::reheaded;
use std::cmp::Ordering;

const LINES: usize = 7;
/// Pairs of a line.
const WIDTH: usize = 4;
const CAPACITY: usize = LINES * WIDTH;

/// Two neighbours become one leaf if they hold no more than this together: three quarters, so that the next few inserts
/// do not split it again.
const MERGE_UP_TO: usize = CAPACITY * 3 / 4;

persistent! {
    /// 512 bytes: a line of header and seven lines of pairs.
    #[repr(align(64))]
    pub struct Isle {
        lineage: Lineage,
        counters: Word,
        unused: [Word; 4],
        lines: [[Pair; 4]; 7],
    }
}

const _: () = assert!(size_of::<Isle>() == 512 && CAPACITY <= MOST_PAIRS);

/// Where a pair lies: its line, and its slot there.
type Place = (usize, usize);

/// A word of counters with one of them changed.
fn with_counter(counters: u64, line: usize, count: usize) -> u64 {
    counters & !(0xff << (line * 8)) | (count as u64) << (line * 8)
}

/// A word of counters, one by one. Total over any bits: a racing reader may meet any.
fn each(counters: u64) -> [usize; LINES] {
    std::array::from_fn(|line| ((counters >> (line * 8)) as usize & 0xff).min(WIDTH))
}

/// What a crash left of one line.
struct Found {
    /// Slots that hold something.
    filled: usize,
    /// Of two equal marks side by side, the left one.
    stale: Option<usize>,
}

impl Isle {
    fn counts(&self) -> [usize; LINES] {
        each(self.counters.read())
    }

    fn filled(&self) -> usize {
        self.counts().iter().sum()
    }

    /// The paper's search: line by line, and on to the next one at the first key that is too great.
    #[inline]
    fn find<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<(Place, Slot)> {
        let skip = self.skip();
        let head = K::head(probe, skip);
        for (line, count) in self.counts().into_iter().enumerate() {
            for (at, pair) in self.lines[line][..count].iter().enumerate() {
                let slot = pair.slot();
                match slot.head.cmp(&head).then_with(|| lens.keys.compare(slot, skip, probe)) {
                    Ordering::Less => {}
                    Ordering::Equal => return Some(((line, at), slot)),
                    Ordering::Greater => break,
                }
            }
        }
        None
    }

    /// The counter of a line, durably.
    fn count<M: Medium>(&self, pen: &mut Pen<'_, M>, line: usize, count: usize) {
        pen.write(&self.counters, with_counter(self.counters.read(), line, count));
        // Before the next change of the line: else a crash finds it two pairs away from its counter.
        pen.persist(&self.counters);
    }

    /// Shifts what lies behind a stale mark over it, and clears the last slot.
    fn close<M: Medium, K: Keys>(&self, pen: &mut Pen<'_, M>, (line, stale): Place, filled: usize) {
        let pairs = &self.lines[line];
        for at in stale..filled - 1 {
            pen.write(pairs[at].mate::<K>(), pairs[at + 1].mate::<K>().read());
            // From here on the next one is the stale one.
            let mark = if at + 2 < filled { pairs[at + 2].mark::<K>().read() } else { 0 };
            pen.write(pairs[at + 1].mark::<K>(), mark);
        }
    }

    /// All pairs in order, by taking the least of the lines' first ones again and again, as the paper does from the
    /// other end.
    fn sorted<K: Keys>(&self, lens: Lens<'_, K>) -> Vec<Slot> {
        let counts = self.counts();
        let mut taken = [0; LINES];
        let mut pairs = Vec::with_capacity(CAPACITY);
        loop {
            let fronts = (0..LINES).filter(|line| taken[*line] < counts[*line]);
            let fronts = fronts.map(|line| (line, self.lines[line][taken[line]].slot()));
            match fronts.min_by(|a, b| lens.keys.order(a.1, b.1)) {
                Some((line, slot)) => {
                    taken[line] += 1;
                    pairs.push(slot);
                }
                None => return pairs,
            }
        }
    }

    /// Fills a block with pairs in order, and zeros behind them.
    fn fill<M: Medium>(&self, pen: &mut Pen<'_, M>, pairs: &[Slot]) {
        let counters = pairs.chunks(WIDTH).enumerate().fold(0, |all, (line, some)| with_counter(all, line, some.len()));
        pen.write(&self.counters, counters);
        let slots = pairs.iter().copied().chain(std::iter::repeat(Slot::default()));
        self.lines.as_flattened().iter().zip(slots).for_each(|(pair, slot)| pair.write(pen, slot));
    }

    /// A line as it is, and its counter at the last time when it was durable; `None` for what no crash leaves.
    fn survey<K: Keys>(&self, line: usize, count: usize) -> Option<Found> {
        let marks = self.lines[line].each_ref().map(|pair| pair.mark::<K>().read());
        let later = marks[1..].iter().take_while(|mark| **mark != 0).count();
        let gap = marks[1 + later..].iter().any(|mark| *mark != 0);
        // Behind the key zero, or before its first pair is counted, the line looks empty.
        let filled = if later > 0 || marks[0] != 0 || count > 0 { later + 1 } else { 0 };
        let mut twice = (1..filled).filter(|at| marks[at - 1] == marks[*at]).map(|at| at - 1);
        let (stale, more) = (twice.next(), twice.next());
        let near = filled.abs_diff(count) <= 1 && (stale.is_none() || filled >= count);
        (near && !gap && more.is_none()).then_some(Found { filled, stale })
    }
}

impl Leaf for Isle {
    const CARD: Card = Card {
        source: "Isle-Tree: Wang and Chattopadhyay, DATE 2020",
        defers: false,
        needs_line_order: true,
        needs_whole_keys: false,
        linked: false,
        keeps: true,
    };
    const CAPACITY: usize = CAPACITY;
    type Beside = ();

    #[inline]
    fn get<K: Keys>(&self, _: &(), lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.find(lens, probe).map(|(_, slot)| slot.payload)
    }

    fn live(&self, _: &(), out: &mut Pairs) {
        for (line, count) in self.counts().into_iter().enumerate() {
            self.lines[line][..count].iter().for_each(|pair| out.push(pair.slot()));
        }
    }

    fn sparse<K: Keys>(&self, _: &Self::Beside, _: Lens<'_, K>) -> bool {
        self.filled() < CAPACITY / 2
    }

    fn skip(&self) -> usize {
        self.lineage.home().skip.into()
    }

    fn format<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, home: Home) {
        self.fill(pen, &[]);
        self.lineage.begin(pen, home, None);
        // Before anybody puts a pair here: else a crash finds, beside that pair, what the block's last owner left. Till
        // then a leaf without pairs is a free block, in whichever order its lines persist.
        pen.persist(self);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        assert!(K::UNIQUE == Role::Head || payload != 0, "a payload of zero leads to no record");
        if let Some(((line, at), old)) = self.find(lens, probe) {
            let word = &self.lines[line][at].payload;
            // The commit word.
            pen.write(word, payload);
            // Before the update is acknowledged.
            pen.persist(word);
            return Ok(Some(Old { payload: old.payload, young: false }));
        }
        let counts = self.counts();
        let line = counts.iter().position(|count| *count < WIDTH).ok_or(Full)?;
        let (pairs, count, skip) = (&self.lines[line], counts[line], self.skip());
        let mut at = count;
        while at > 0 && lens.keys.compare(pairs[at - 1].slot(), skip, probe).is_gt() {
            // The mark last: until then the slot is vacant or still what it was.
            pen.write(pairs[at].mate::<K>(), pairs[at - 1].mate::<K>().read());
            pen.write(pairs[at].mark::<K>(), pairs[at - 1].mark::<K>().read());
            at -= 1;
        }
        let (mark, mate) = mark_and_mate::<K>(Slot { head: K::head(probe, skip), payload });
        pen.write(pairs[at].mate::<K>(), mate);
        // The commit word: no mark stands here twice any more. Of the key zero in an empty line, the counter is.
        pen.write(pairs[at].mark::<K>(), mark);
        pen.persist(pairs);
        self.count(pen, line, count + 1);
        Ok(None)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let ((line, at), old) = self.find(lens, probe)?;
        let (pairs, count) = (&self.lines[line], self.counts()[line]);
        let alone = count == 1;
        if alone {
            // The commit word, and here it comes first: cleared before it, the slot would be taken for the key zero.
            self.count(pen, line, 0);
        }
        let next = if at + 1 < count { pairs[at + 1].mark::<K>().read() } else { 0 };
        // The commit word where there are others: the victim's slot is stale, or vacant.
        pen.write(pairs[at].mark::<K>(), next);
        if at + 1 < count {
            self.close::<M, K>(pen, (line, at), count);
        }
        // Before the removal is acknowledged: else a crash finds one pair more than are counted, and counts it.
        pen.persist(pairs);
        if !alone {
            self.count(pen, line, count - 1);
        }
        Some(Old { payload: old.payload, young: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        range: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        let pairs = self.sorted(lens);
        let middle = CAPACITY / 2;
        let key = |slot: usize| lens.keys.key(pairs[slot]);
        // There may be room by now. No key where a record is gone, which only damage could bring about: the forest
        // reports a leaf that stays full.
        let ends = (pairs.len() == CAPACITY).then(|| key(middle - 1).zip(key(middle))).flatten();
        let Some((last, first)) = ends else { return Split { left: own, right: None } };
        let separator = K::separator(&last, &first);
        let home = self.lineage.home();
        let ranges = [(range.0, Some(&separator)), (&separator, range.1)];
        for ((fresh, half), (low, high)) in fresh.iter().zip(pairs.chunks(middle)).zip(ranges) {
            let home = Home { skip: K::common(low, high) as u8, ..home };
            fresh.leaf.lineage.begin(pen, home, Some((own, &self.lineage)));
            fresh.leaf.fill(pen, &reheaded(lens.keys, half, self.skip(), home.skip.into()));
            pen.flush(fresh.leaf);
        }
        // Before the old leaf ends: else a crash finds neither it nor what it held.
        pen.fence();
        self.lineage.end(pen);
        let [left, right] = fresh;
        Split { left: left.number, right: Some((separator, right.number)) }
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        own: [(u32, &Self::Beside); 2],
        right: &Self,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: Fresh<'_, Self>,
        range: (&K::Fence, Option<&K::Fence>),
    ) -> bool {
        if self.filled() + right.filled() > MERGE_UP_TO {
            return false;
        }
        let home = Home { skip: K::common(range.0, range.1) as u8, ..self.lineage.home() };
        let of = |leaf: &Self| reheaded(lens.keys, &leaf.sorted(lens), leaf.skip(), home.skip.into());
        let pairs = [of(self), of(right)].concat();
        // An empty leaf is free after any crash, so it needs no commit; and being that, it can commit for nobody.
        let empty = self.filled() == 0;
        let (origin, commits) = if empty { (own[1].0, right) } else { (own[0].0, self) };
        fresh.leaf.lineage.begin(pen, home, Some((origin, &commits.lineage)));
        fresh.leaf.fill(pen, &pairs);
        pen.flush(fresh.leaf);
        if !empty {
            right.lineage.tie(pen, own[0].0, &self.lineage);
            pen.flush(&right.lineage);
        }
        // Before the one ends that commits: else a crash finds the right leaf beside the one that replaces it, or none.
        pen.fence();
        commits.lineage.end(pen);
        true
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        self.lineage.end(pen);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &(),
        pen: &mut Pen<'_, M>,
        _: Cut,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        let counters = self.counters.read();
        let fate = self.lineage.settle(pen, |number| peer(number).map(|leaf| &leaf.lineage));
        let sound = each(counters).into_iter().enumerate().fold(0, |all, (line, count)| with_counter(all, line, count));
        if fate != Fate::Free && counters != sound {
            let (found, expected) = (format!("{counters:#018x}"), "seven counters of 0 to 4, and zero");
            return Err(damaged::<Self>((own, 24), "a leaf's line", found, expected));
        }
        Ok(fate)
    }

    fn normalise<M: Medium, K: Keys>(
        &self,
        own: u32,
        _: &(),
        _: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        placed: bool,
    ) -> Result<bool> {
        let mut counters = self.counters.read();
        if counters == 0 && !placed {
            // Whatever lies in its lines.
            self.lineage.give_up(pen);
            return Ok(false);
        }
        for (line, count) in self.counts().into_iter().enumerate() {
            let Some(Found { filled, stale }) = self.survey::<K>(line, count) else {
                let marks = self.lines[line].each_ref().map(|pair| pair.mark::<K>().read());
                let found = format!("{count} pairs counted, marks {marks:x?}");
                return Err(damaged::<Self>(
                    (own, 64 * (1 + line as u64)),
                    "a leaf's line",
                    found,
                    "what one change of a sorted line passes through",
                ));
            };
            if let Some(stale) = stale {
                // An insert is undone, a removal completed: either way one pair less than there are slots filled. Not
                // flushed: found again as it was, the line is closed again, by its old counter and by the new one.
                self.close::<M, K>(pen, (line, stale), filled);
            }
            counters = with_counter(counters, line, filled - usize::from(stale.is_some()));
        }
        if counters != self.counters.read() {
            pen.write(&self.counters, counters);
            pen.flush(&self.counters);
        }
        // One that is empty only now is a leaf still: the next recovery gives it up.
        Ok(true)
    }
}
