//! Isle-Tree's leaf: seven lines of pairs, each sorted on its own and with a counter (Wang and Chattopadhyay, DATE
//! 2020).
//!
//! Durable when an operation returns. A change shifts pairs within one line and then stores that line's counter: it
//! flushes two lines, wherever the key lies. A lookup goes from line to line and *hops* to the next one when a key is
//! too great. Leaves split and merge by replacement, see `lineage`: fresh leaves are compact and sorted as a whole.
//!
//! ```text
//! bytes 0-23    lineage
//!       24-31   counters: byte l for line l, 0 to 4; byte 7 zero
//!       32-63   unused
//!       64-511  7 lines of 4 pairs {head, payload}; the pairs of a line are its first ones, ascending
//! ```
//!
//! **The mark** of a pair is the word that no two pairs of the leaf share ([`Keys::UNIQUE`]); a vacant slot has mark
//! zero. This loses no legal pair: a payload that is a mark is not zero. The key zero lies in the first slot of its
//! line, which counts if the counter says so. While a line is shifted, one mark is in two neighbouring slots, and *the
//! right one of the two counts*. The other word is written before the mark when a pair moves right, and after it when a
//! pair moves left. Assumption about the medium: what persists of a line is a prefix of the stores to it.

pub mod node;

use crate::lineage::Lineage;
use holm_medium::{Medium, Pen, Result, Word, persistent};
use holm_tree::keys::{Keys, Role, Slot};
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, MOST_PAIRS, Old, Pairs, Split, damaged};
use holm_tree::pair::{Pair, mark_and_mate};
use holm_tree::pairs::reheaded;
use std::cmp::Ordering;

const LINES: usize = 7;
/// The number of pairs in a line.
const WIDTH: usize = 4;
const CAPACITY: usize = LINES * WIDTH;

/// Two neighbours merge if they hold at most this many pairs together: three quarters, so that the next few inserts do
/// not split the leaf again.
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

/// The counters of a word. Total over any bits: a racing reader may see any.
fn each(counters: u64) -> [usize; LINES] {
    std::array::from_fn(|line| ((counters >> (line * 8)) as usize & 0xff).min(WIDTH))
}

/// What a crash left of one line.
struct Found {
    /// The number of slots in use.
    filled: usize,
    /// The left slot of two neighbours with equal marks.
    stale: Option<usize>,
}

impl Isle {
    fn counts(&self) -> [usize; LINES] {
        each(self.counters.read())
    }

    fn filled(&self) -> usize {
        self.counts().iter().sum()
    }

    /// The paper's search: reads a line, and continues in the next one at the first key that is too great.
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

    /// Makes a line's counter durable.
    fn count<M: Medium>(&self, pen: &mut Pen<'_, M>, line: usize, count: usize) {
        pen.write(&self.counters, with_counter(self.counters.read(), line, count));
        // Before the next change of the line: otherwise a crash leaves the line two pairs away from its counter.
        pen.persist(&self.counters);
    }

    /// Shifts the pairs behind a stale mark over it, and clears the last slot.
    fn close<M: Medium, K: Keys>(&self, pen: &mut Pen<'_, M>, (line, stale): Place, filled: usize) {
        let pairs = &self.lines[line];
        for at in stale..filled - 1 {
            pen.write(pairs[at].mate::<K>(), pairs[at + 1].mate::<K>().read());
            // From here on the next slot is the stale one.
            let mark = if at + 2 < filled { pairs[at + 2].mark::<K>().read() } else { 0 };
            pen.write(pairs[at + 1].mark::<K>(), mark);
        }
    }

    /// All pairs in order: repeatedly takes the least of the lines' first pairs. The paper does the same from the other
    /// end.
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

    /// Fills a block with ordered pairs, and zeros behind them.
    fn fill<M: Medium>(&self, pen: &mut Pen<'_, M>, pairs: &[Slot]) {
        let counters = pairs.chunks(WIDTH).enumerate().fold(0, |all, (line, some)| with_counter(all, line, some.len()));
        pen.write(&self.counters, counters);
        let slots = pairs.iter().copied().chain(std::iter::repeat(Slot::default()));
        self.lines.as_flattened().iter().zip(slots).for_each(|(pair, slot)| pair.write(pen, slot));
    }

    /// A line as it is, and its counter when the line was last durable; `None` for what no crash leaves.
    fn survey<K: Keys>(&self, line: usize, count: usize) -> Option<Found> {
        let marks = self.lines[line].each_ref().map(|pair| pair.mark::<K>().read());
        let later = marks[1..].iter().take_while(|mark| **mark != 0).count();
        let gap = marks[1 + later..].iter().any(|mark| *mark != 0);
        // A line with only the key zero looks empty by its marks, a line whose first pair is not yet counted by its
        // counter.
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
        // Before any pair is put here: otherwise a crash leaves, beside that pair, the pairs of the block's last use.
        // Until then a leaf without pairs is a free block, in whichever order its lines persist.
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
            // Before the update is acknowledged: otherwise a crash brings the old payload back.
            pen.persist(word);
            return Ok(Some(Old { payload: old.payload, young: false }));
        }
        let counts = self.counts();
        let line = counts.iter().position(|count| *count < WIDTH).ok_or(Full)?;
        let (pairs, count, skip) = (&self.lines[line], counts[line], self.skip());
        let mut at = count;
        while at > 0 && lens.keys.compare(pairs[at - 1].slot(), skip, probe).is_gt() {
            // The mark last: until then the slot is vacant or has its old pair.
            pen.write(pairs[at].mate::<K>(), pairs[at - 1].mate::<K>().read());
            pen.write(pairs[at].mark::<K>(), pairs[at - 1].mark::<K>().read());
            at -= 1;
        }
        let (mark, mate) = mark_and_mate::<K>(Slot { head: K::head(probe, skip), payload });
        pen.write(pairs[at].mate::<K>(), mate);
        // The commit word: no mark is in two slots any more. For the key zero in an empty line, the counter commits.
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
            // The commit word, which here comes first: otherwise the cleared slot would be taken for the key zero.
            self.count(pen, line, 0);
        }
        let next = if at + 1 < count { pairs[at + 1].mark::<K>().read() } else { 0 };
        // The commit word if the line has other pairs: the removed pair's slot is stale, or vacant.
        pen.write(pairs[at].mark::<K>(), next);
        if at + 1 < count {
            self.close::<M, K>(pen, (line, at), count);
        }
        // Before the removal is acknowledged: otherwise a crash leaves one pair more than the counter says, and
        // recovery counts it.
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
        // There may be room by now. There is no key if a record is missing, which only damage can cause: the tree set
        // then reports a leaf that stays full.
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
        // Before the old leaf ends: otherwise a crash loses both it and its pairs.
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
        // An empty leaf is free after any crash, so it needs no commit. For the same reason it cannot commit for
        // another leaf.
        let empty = self.filled() == 0;
        let (origin, commits) = if empty { (own[1].0, right) } else { (own[0].0, self) };
        fresh.leaf.lineage.begin(pen, home, Some((origin, &commits.lineage)));
        fresh.leaf.fill(pen, &pairs);
        pen.flush(fresh.leaf);
        if !empty {
            right.lineage.tie(pen, own[0].0, &self.lineage);
            pen.flush(&right.lineage);
        }
        // Before the committing leaf ends: otherwise a crash leaves the right leaf beside the one that replaces it, or
        // neither.
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
            // Its lines may contain anything.
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
                // This undoes an insert or completes a removal: either way, one pair less than there are filled slots.
                // Not flushed: if a crash loses it, the next recovery closes the line again, by the old counter or by
                // the new one.
                self.close::<M, K>(pen, (line, stale), filled);
            }
            counters = with_counter(counters, line, filled - usize::from(stale.is_some()));
        }
        if counters != self.counters.read() {
            pen.write(&self.counters, counters);
            pen.flush(&self.counters);
        }
        // A leaf that only now became empty still is a leaf; the next recovery releases it.
        Ok(true)
    }
}
