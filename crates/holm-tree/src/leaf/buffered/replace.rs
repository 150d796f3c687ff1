//! Room by copying: a leaf that is full gives way to fresh ones, and two that are sparse to one.
//!
//! Never in place: slots cleared in place would stay pinned by the two older states, and the leaf as full as before.
//! But where keys come in their order nothing has to be moved: the leaf stays full, and an empty one begins behind it.
//! Under power loss the cut decides for all blocks at once. The death of the process keeps every store in program
//! order, and one store has to commit for all: a fresh leaf names its *origin*, one block that gives way, and lives
//! once that one's word is empty; every other block that gives way names its *heir* before that.

use super::block::{HEIR, Moving};
use super::order::Order;
use super::{Buffered, Form, Roll, SLOTS};
use crate::keys::Keys;
use crate::leaf::{Fresh, Home, Leaf, Lens, Room, Split};
use holm_medium::{Medium, Pen};

/// Two neighbours become one leaf if they hold no more than this together; half of it is left for versions.
pub const MERGE_UP_TO: usize = 14;

/// Whether each of these leads to a record of its own.
fn own_keys<K: Keys>(lens: Lens<'_, K>, pairs: &[Moving]) -> bool {
    pairs.iter().all(|pair| pair.is_own(lens))
}

/// The same of those whose heads a new home will have changed.
fn rehead_own<K: Keys>(lens: Lens<'_, K>, pairs: &[Moving], home: Home) -> bool {
    pairs.iter().all(|pair| pair.skip == usize::from(home.skip) || pair.is_own(lens))
}

/// How many blocks so many pairs take: one, if there are none.
fn blocks_for(pairs: &[Moving]) -> usize {
    pairs.len().div_ceil(SLOTS).max(1)
}

/// The blocks that give way, by number.
type Leaving<'a, L> = Vec<(u32, &'a L)>;

impl<const SEGMENTS: usize, F: Form> Buffered<SEGMENTS, F> {
    /// With fewer live pairs than this a leaf without a free slot is full of old versions, not of pairs: it is
    /// refreshed and not split.
    pub const SPLIT_FROM: usize = if SEGMENTS == 1 { SLOTS / 2 } else { SLOTS * 3 / 4 };

    /// Live pairs, for one fresh leaf if they are fewer than `many`, for two otherwise.
    pub fn ordered<K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>, many: usize) -> Vec<Moving> {
        let mut pairs: Vec<_> = self.segments(roll, lens).flat_map(|(_, block)| block.moving()).collect();
        let order = |a: &Moving, b: &Moving| lens.keys.order(a.slot, b.slot);
        let count = pairs.len();
        if count < many {
            F::Order::whole(&mut pairs, order);
        } else {
            F::Order::halves(&mut pairs, count / 2, order);
        }
        pairs
    }

    /// The blocks of this leaf that hold anything, for no other needs to give way.
    fn filled<'a, K: Keys>(
        &'a self,
        own: u32,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'a, K>,
    ) -> Leaving<'a, Self> {
        let number = |place| if place == 0 { own } else { roll.number(place) };
        let blocks = self.segments(roll, lens).map(|(place, block)| (number(place), block));
        blocks.filter(|(_, block)| block.now().bits != 0).collect()
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

    /// Another block behind the last one, if there may be one more.
    fn extend<M: Medium>(
        &self,
        own: u32,
        roll: &Roll<SEGMENTS, F::Prints>,
        pen: &mut Pen<'_, M>,
        fresh: &Fresh<'_, Self>,
    ) -> bool {
        let may = roll.blocks() < SEGMENTS;
        if may {
            // Nothing to order: a block of an epoch that is lost is an empty one, and so is one without its first pair.
            fresh.leaf.blank(fresh.beside, pen, self.home(), own);
            roll.add(fresh.number);
            fresh.leaf.copied(roll, roll.blocks() - 1);
        }
        may
    }

    /// Makes a leaf of pairs, in as many of the fresh blocks as it takes, uncommitted. Gives these.
    fn settle_in<'f, 'l, M: Medium, K: Keys>(
        fresh: &'f [&'l Fresh<'l, Self>],
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        pairs: &[Moving],
        home: Home,
        origin: u32,
    ) -> &'f [&'l Fresh<'l, Self>] {
        let used = &fresh[..blocks_for(pairs)];
        // Equal shares: so each block has slots left for updates of its own.
        let share = pairs.len().div_ceil(used.len());
        let first = used[0];
        for (place, block) in used.iter().enumerate() {
            let part = &pairs[pairs.len().min(place * share)..pairs.len().min((place + 1) * share)];
            let owner = if place == 0 { 0 } else { first.number };
            block.beside.begin();
            let slots = block.leaf.settle(lens, pen, part, home, [origin, owner]);
            if place > 0 {
                first.beside.add(block.number);
            }
            first.beside.set_moved(place, slots);
            block.leaf.copied(first.beside, place);
        }
        used
    }

    /// Between the last pair and a key that comes behind it, if one does.
    pub fn behind_all<K: Keys>(
        &self,
        lens: Lens<'_, K>,
        last: &Moving,
        coming: Option<K::Probe<'_>>,
    ) -> Option<K::Fence> {
        let probe = coming.filter(|probe| lens.keys.compare(last.slot, last.skip, *probe).is_lt())?;
        let key = lens.keys.key(last.slot).filter(|_| last.is_own(lens))?;
        Some(K::separator(&key, &K::fence(probe)))
    }

    /// What these pairs are divided by. Not where a record is not the slot's own, which only damage could bring about:
    /// what is derived from its key would be damage, too.
    pub fn divided<K: Keys>(lens: Lens<'_, K>, (lower, upper): (&[Moving], &[Moving])) -> Option<K::Fence> {
        let ends = [*lower.last()?, *upper.first()?];
        let own = own_keys(lens, &ends);
        let (last, first) = own.then(|| lens.keys.key(ends[0].slot).zip(lens.keys.key(ends[1].slot)))??;
        Some(K::separator(&last, &first))
    }

    /// The same, and what the halves' ranges share.
    fn parted<K: Keys>(
        &self,
        lens: Lens<'_, K>,
        (lower, upper): (&[Moving], &[Moving]),
        range: (&K::Fence, Option<&K::Fence>),
    ) -> Option<(K::Fence, [Home; 2])> {
        let separator = Self::divided(lens, (lower, upper))?;
        let home = |low: &K::Fence, high: Option<&K::Fence>| Home { skip: K::common(low, high) as u8, ..self.home() };
        let homes = [home(range.0, Some(&separator)), home(&separator, range.1)];
        let fit = rehead_own(lens, lower, homes[0]) && rehead_own(lens, upper, homes[1]);
        fit.then_some((separator, homes))
    }

    /// See [`crate::leaf::Leaf::split`]; `coming` is the key that found no room.
    pub fn make_room<M: Medium, K: Keys>(
        &self,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        Room { own, fresh: [left, right], spare, range, .. }: Room<'_, Self, K::Fence>,
        coming: Option<K::Probe<'_>>,
    ) -> Split<K::Fence> {
        let unchanged = Split { left: own, right: None };
        if self.extend(own, roll, pen, &left) {
            return unchanged;
        }
        let pairs = self.ordered(roll, lens, Self::SPLIT_FROM);
        let many = pairs.len() >= Self::SPLIT_FROM;
        let last = pairs.last().filter(|_| many);
        if let Some(separator) = last.and_then(|last| self.behind_all(lens, last, coming)) {
            // Nothing commits, for nothing has changed: without its first pair the fresh leaf is none.
            let home = Home { skip: K::common(&separator, range.1) as u8, ..self.home() };
            right.leaf.format(right.beside, pen, home);
            return Split { right: Some((separator, right.number)), ..unchanged };
        }
        if pairs.len() > (2 + spare.len()) * SLOTS {
            // Asked for without the spare blocks.
            return unchanged;
        }
        let leaving = self.filled(own, roll, lens);
        let origin = Self::origin(&leaving, own);
        let (below, above) = spare.split_at(spare.len() / 2);
        let lower: Vec<_> = std::iter::once(&left).chain(below).collect();
        let upper: Vec<_> = std::iter::once(&right).chain(above).collect();
        let halves = pairs.split_at(pairs.len() / 2);
        let parted = if many { self.parted(lens, halves, range) } else { None };
        let Some((separator, homes)) = parted else {
            // Old versions fill it.
            let all = [lower, upper].concat();
            let used = Self::settle_in(&all, lens, pen, &pairs, self.home(), origin);
            Self::supersede(pen, &leaving, used);
            return Split { left: left.number, right: None };
        };
        let used = [
            Self::settle_in(&lower, lens, pen, halves.0, homes[0], origin),
            Self::settle_in(&upper, lens, pen, halves.1, homes[1], origin),
        ];
        Self::supersede(pen, &leaving, &used.concat());
        Split { left: left.number, right: Some((separator, right.number)) }
    }

    /// See [`crate::leaf::Leaf::merge`].
    pub fn unite<M: Medium, K: Keys>(
        &self,
        own: [(u32, &Roll<SEGMENTS, F::Prints>); 2],
        other: &Self,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: &Fresh<'_, Self>,
        range: (&K::Fence, Option<&K::Fence>),
    ) -> bool {
        let [(left, roll), (right, theirs)] = own;
        let pairs = [self.ordered(roll, lens, usize::MAX), other.ordered(theirs, lens, usize::MAX)].concat();
        if pairs.len() > MERGE_UP_TO {
            return false;
        }
        let home = Home { skip: K::common(range.0, range.1) as u8, ..self.home() };
        if !rehead_own(lens, &pairs, home) {
            return false;
        }
        let leaving = [self.filled(left, roll, lens), other.filled(right, theirs, lens)].concat();
        let fresh = [fresh];
        let used = Self::settle_in(&fresh, lens, pen, &pairs, home, Self::origin(&leaving, left));
        Self::supersede(pen, &leaving, used);
        true
    }
}
