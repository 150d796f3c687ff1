//! Room by copying: a leaf that is full gives way to fresh ones, and two that are sparse to one.
//!
//! Never in place: slots cleared in place would stay pinned by the two older states, and the leaf as full as before.
//! But where keys come in their order nothing has to be moved: the leaf stays full, and an empty one begins behind it.
//! Under power loss the cut decides for all blocks at once. The death of the process keeps every store in program
//! order, and one store has to commit for all: a fresh leaf names its *origin*, one block that gives way, and lives
//! once that one's word is empty; every other block that gives way names its *heir* before that.

use super::block::{HEIR, Moving};
use super::{Buffered, Form, SLOTS};
use crate::keys::Keys;
use crate::leaf::{Fresh, Home, Leaf, Lens, Room, Split};
use crate::pairs::arrange;
use holm_medium::{Medium, Pen};

/// Two neighbours become one leaf if they hold no more than this together; half of it is left for versions.
pub(super) const MERGE_UP_TO: usize = 14;

/// Whether each of these leads to a record of its own.
fn own_keys<K: Keys>(lens: Lens<'_, K>, pairs: &[Moving]) -> bool {
    pairs.iter().all(|pair| pair.is_own(lens))
}

/// The same of those whose heads a new home will have changed.
fn rehead_own<K: Keys>(lens: Lens<'_, K>, pairs: &[Moving], home: Home) -> bool {
    pairs.iter().all(|pair| pair.skip == usize::from(home.skip) || pair.is_own(lens))
}

/// The blocks that give way, by number.
type Leaving<'a, L> = Vec<(u32, &'a L)>;

impl<const SEGMENTS: usize, F: Form> Buffered<SEGMENTS, F> {
    /// With fewer live pairs than this a leaf without a free slot is full of old versions, not of pairs: it is
    /// refreshed and not split.
    const SPLIT_FROM: usize = if SEGMENTS == 1 { SLOTS / 2 } else { SLOTS * 3 / 4 };

    /// Live pairs in order.
    fn sorted<K: Keys>(&self, lens: Lens<'_, K>) -> Vec<Moving> {
        let mut pairs: Vec<_> = self.segments(lens).flat_map(Self::moving).collect();
        arrange(&mut pairs, |a, b| lens.keys.order(a.slot, b.slot));
        pairs
    }

    /// The blocks of this leaf that hold anything, for no other needs to give way.
    fn filled<'a, K: Keys>(&'a self, own: u32, lens: Lens<'a, K>) -> Leaving<'a, Self> {
        let numbers = std::iter::once(own).chain(self.segments(lens).map(Self::next));
        numbers.zip(self.segments(lens)).filter(|(_, block)| block.now().bits != 0).collect()
    }

    /// The number that fresh leaves stem from, of those that give way.
    fn origin(leaving: &Leaving<'_, Self>, own: u32) -> u32 {
        leaving.first().map_or(own, |(number, _)| *number)
    }

    /// The commit of a split or merge after the death of the process: the origin's word becomes empty, in one store,
    /// and the leaves that stem from it are committed by that. Only then may they forget where they stem from:
    /// forgetting first, a process that dies in between would leave both generations live.
    fn supersede<M: Medium>(pen: &mut Pen<'_, M>, leaving: &Leaving<'_, Self>, heirs: &[&Fresh<'_, Self>]) {
        for (_, block) in leaving.iter().skip(1) {
            // One store can empty only one: these are decided for by it.
            block.set_kin(pen, HEIR | heirs[0].number);
        }
        leaving.iter().for_each(|(_, block)| block.publish(pen, 0));
        heirs.iter().for_each(|heir| heir.leaf.set_kin(pen, 0));
    }

    /// Another block behind the last one, if there may be one more, and it will not grow beyond what a split can
    /// divide.
    fn extend<M: Medium, K: Keys>(&self, lens: Lens<'_, K>, pen: &mut Pen<'_, M>, fresh: &Fresh<'_, Self>) -> bool {
        let (count, last) =
            self.segments(lens).zip(1..).map(|(block, count)| (count, block)).last().unwrap_or((1, self));
        let live: u32 = self.segments(lens).map(|block| block.now().bits.count_ones()).sum();
        let may = count < SEGMENTS && live as usize <= 2 * SLOTS;
        if may {
            fresh.leaf.format(fresh.beside, pen, self.home());
            // Nothing to order: a block of an epoch that is lost is an empty one.
            last.set_next(pen, fresh.number);
        }
        may
    }

    /// Between the last pair and a key that comes behind it, if one does.
    fn behind_all<K: Keys>(&self, lens: Lens<'_, K>, last: &Moving, coming: Option<K::Probe<'_>>) -> Option<K::Fence> {
        let probe = coming.filter(|probe| lens.keys.compare(last.slot, last.skip, *probe).is_lt())?;
        let key = lens.keys.key(last.slot).filter(|_| last.is_own(lens))?;
        Some(K::separator(&key, &K::fence(probe)))
    }

    /// See [`crate::leaf::Leaf::split`]; `coming` is the key that found no room.
    pub(super) fn make_room<M: Medium, K: Keys>(
        &self,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        Room { own, fresh: [left, right], range }: Room<'_, Self, K::Fence>,
        coming: Option<K::Probe<'_>>,
    ) -> Split<K::Fence> {
        let [left, right] = [&left, &right];
        if self.extend(lens, pen, left) {
            return Split { left: own, right: None };
        }
        let home = self.home();
        let pairs = self.sorted(lens);
        let at = |low: &K::Fence, high: Option<&K::Fence>| Home { skip: K::common(low, high) as u8, ..home };
        let many = pairs.len() >= Self::SPLIT_FROM;
        let last = pairs.last().filter(|_| many);
        if let Some(separator) = last.and_then(|last| self.behind_all(lens, last, coming)) {
            // Nothing commits, for nothing has changed: without its first pair the fresh leaf is none.
            right.leaf.format(right.beside, pen, at(&separator, range.1));
            return Split { left: own, right: Some((separator, right.number)) };
        }
        // Refreshed if old versions fill it, and where a record is not the slot's own, which only damage could bring
        // about: what is derived from its key would be damage, too.
        let middle = pairs.len() / 2;
        let parted = many
            .then(|| own_keys(lens, &pairs[middle - 1..=middle]))
            .filter(|own| *own)
            .and_then(|_| lens.keys.key(pairs[middle - 1].slot).zip(lens.keys.key(pairs[middle].slot)))
            .map(|(last, first)| K::separator(&last, &first))
            .map(|separator| (at(range.0, Some(&separator)), at(&separator, range.1), separator))
            .filter(|(lower, upper, _)| {
                rehead_own(lens, &pairs[..middle], *lower) && rehead_own(lens, &pairs[middle..], *upper)
            });
        let leaving = self.filled(own, lens);
        let origin = Self::origin(&leaving, own);
        let Some((lower, upper, separator)) = parted else {
            if pairs.len() > SLOTS {
                // Damage, and no block that could hold them: nothing is made of it.
                return Split { left: own, right: None };
            }
            left.leaf.settle(left.beside, lens, pen, &pairs, home, origin);
            Self::supersede(pen, &leaving, &[left]);
            return Split { left: left.number, right: None };
        };
        left.leaf.settle(left.beside, lens, pen, &pairs[..middle], lower, origin);
        right.leaf.settle(right.beside, lens, pen, &pairs[middle..], upper, origin);
        Self::supersede(pen, &leaving, &[left, right]);
        Split { left: left.number, right: Some((separator, right.number)) }
    }

    /// See [`crate::leaf::Leaf::merge`].
    pub(super) fn unite<M: Medium, K: Keys>(
        &self,
        own: [u32; 2],
        other: &Self,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: &Fresh<'_, Self>,
        range: (&K::Fence, Option<&K::Fence>),
    ) -> bool {
        let pairs = [self.sorted(lens), other.sorted(lens)].concat();
        if pairs.len() > MERGE_UP_TO {
            return false;
        }
        let home = Home { skip: K::common(range.0, range.1) as u8, ..self.home() };
        if !rehead_own(lens, &pairs, home) {
            return false;
        }
        let leaving = [self.filled(own[0], lens), other.filled(own[1], lens)].concat();
        fresh.leaf.settle(fresh.beside, lens, pen, &pairs, home, Self::origin(&leaving, own[0]));
        Self::supersede(pen, &leaving, &[fresh]);
        true
    }
}
