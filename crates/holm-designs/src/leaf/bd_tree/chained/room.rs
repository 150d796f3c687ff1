//! Splits and compaction in a chain: what replaces a full leaf, and where the links lead.

use super::link::Link;
use super::{Beside, Block, Chained};
use holm_medium::{Medium, Pen};
use holm_tree::keys::Keys;
use holm_tree::leaf::buffered::State;
use holm_tree::leaf::buffered::Versions;
use holm_tree::leaf::buffered::block::Moving;
use holm_tree::leaf::{Fresh, Home, Leaf, Lens, Room, Split};

impl Chained {
    /// Makes a fresh block a leaf with the pairs in these slots. Nothing leads to it yet.
    pub(super) fn begin<M: Medium>(&self, roll: &Beside, pen: &mut Pen<'_, M>, slots: u32, home: Home, next: u32) {
        roll.begin();
        roll.set_moved(0, slots);
        // The states of the block's last use: no crash can choose them any more, and slots that they name could not be
        // written. The links of that use stay: one of them may be the only proof that a tree's first leaf was released.
        self.block.versions.scrub(pen, 0);
        self.block.set_home(pen, home, 0);
        self.block.publish(pen, slots);
        // Last: only the link says that the block is the first leaf of its keyspace.
        let bits = Link { next, first: home.first }.pack();
        self.links().put(pen, State { tag: pen.epoch(), bits });
    }

    /// The same, with pairs of another leaf.
    pub(super) fn fill<M: Medium, K: Keys>(
        fresh: &Fresh<'_, Self>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        pairs: &[Moving],
        home: Home,
        next: u32,
    ) {
        let slots = fresh.leaf.block.lay(lens, pen, pairs, home);
        fresh.leaf.begin(fresh.beside, pen, slots, home, next);
    }

    /// See [`Leaf::split_and_put`]; `coming` is the key that found no room.
    pub(super) fn make_room<M: Medium, K: Keys>(
        &self,
        roll: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        Room { own, fresh: [left, right], range, before, .. }: Room<'_, Self, K::Fence>,
        coming: Option<K::Probe<'_>>,
    ) -> Split<K::Fence> {
        let unchanged = Split { left: own, right: None };
        let (home, next) = (Home { skip: 0, first: false, ..self.block.home() }, self.next());
        let pairs = self.block.ordered(roll, lens, Block::SPLIT_FROM);
        let many = pairs.len() >= Block::SPLIT_FROM;
        let last = pairs.last().filter(|_| many);
        if let Some(separator) = last.and_then(|last| self.block.behind_all(lens, last, coming)) {
            Self::fill(&right, lens, pen, &[], home, next);
            // After the leaf that it leads to: otherwise, if the process dies in between, the chain leads into a free
            // block.
            self.lead(pen, right.number);
            return Split { right: Some((separator, right.number)), ..unchanged };
        }
        if self.is_first() {
            let separator = self.hand_on(lens, pen, &right, home, range.1);
            return Split { right: separator.map(|it| (it, right.number)), ..unchanged };
        }
        let Some(before) = before else { return unchanged };
        let halves = pairs.split_at(pairs.len() / 2);
        let separator = if many { Block::divided(lens, halves) } else { None };
        if separator.is_some() {
            Self::fill(&right, lens, pen, halves.1, home, next);
            Self::fill(&left, lens, pen, halves.0, home, right.number);
        } else {
            // The leaf is full of old versions.
            Self::fill(&left, lens, pen, &pairs, home, next);
        }
        // The commit word, after all that it leads to: if the process dies before it, nothing has changed.
        before.lead(pen, left.number);
        Split { left: left.number, right: separator.map(|it| (it, right.number)) }
    }

    /// A first leaf moves all pairs but the lowest key's to a fresh leaf behind it. The first leaf is found without a
    /// link, so it cannot be replaced. Returns the separator, if there is room for one.
    fn hand_on<M: Medium, K: Keys>(
        &self,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        right: &Fresh<'_, Self>,
        home: Home,
        high: Option<&K::Fence>,
    ) -> Option<K::Fence> {
        let separator = Some(K::least()).filter(|least| high.is_none_or(|high| least < high))?;
        let is_lowest = |slot| lens.keys.compare(slot, 0, K::probe(&separator)).is_lt();
        let going: Vec<_> = self.block.moving().filter(|pair| !is_lowest(pair.slot)).collect();
        Self::fill(right, lens, pen, &going, home, self.next());
        self.lead(pen, right.number);
        // After the link: otherwise, if the process dies in between, the pairs are lost. If it dies here, both leaves
        // have them.
        self.block.publish(pen, self.among(is_lowest));
        Some(separator)
    }
}
