//! Splits and compaction in a chain: what replaces a full leaf, and where the links lead.

use super::link::Link;
use super::{Block, Chained, Volatile};
use holm_medium::{Medium, WriteHandle};
use holm_tree::keys::Keys;
use holm_tree::leaf::buffered::State;
use holm_tree::leaf::buffered::Versions;
use holm_tree::leaf::buffered::block::MovingPair;
use holm_tree::leaf::{Home, LeafRef, Linked, Split, SplitRequest, WriteContext};

impl Chained {
    /// Makes a fresh block a leaf with the pairs in these slots. Nothing leads to it yet.
    pub(super) fn begin<M: Medium>(
        &self,
        overflow: &Volatile,
        handle: &mut WriteHandle<'_, M>,
        slots: u32,
        home: Home,
        next: u32,
    ) {
        overflow.begin();
        overflow.set_moved(0, slots);
        // The states of the block's last use: no crash can choose them any more, and slots that they name could not be
        // written. The links of that use stay: one of them may be the only proof that a tree's first leaf was released.
        self.block.versions.scrub(handle, 0);
        self.block.set_home(handle, home, 0);
        self.block.publish(handle, slots);
        // Last: only the link says that the block is the first leaf of its keyspace.
        let bits = Link { next, first: home.first }.pack();
        self.links().put(handle, State { tag: handle.epoch(), bits });
    }

    /// The same, with pairs of another leaf.
    pub(super) fn fill<M: Medium, K: Keys>(
        fresh: LeafRef<'_, Self>,
        keys: &K,
        handle: &mut WriteHandle<'_, M>,
        pairs: &[MovingPair],
        home: Home,
        next: u32,
    ) {
        let slots = fresh.leaf.block.write_pairs(keys, handle, pairs, home);
        fresh.leaf.begin(fresh.volatile, handle, slots, home, next);
    }

    /// See [`holm_tree::leaf::Leaf::split`].
    pub(super) fn make_room<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let SplitRequest { own, fresh: [left, right], range, previous, room_for, .. } = request;
        let (context, handle) = context.parts();
        let keys = context.keys;
        let (home, next) = (Home { skip: 0, first: false, ..self.block.home() }, self.next());
        let pairs = self.block.ordered(context, Block::SPLIT_FROM);
        let many = pairs.len() >= Block::SPLIT_FROM;
        let last = pairs.last().filter(|_| many);
        if let Some(separator) = last.and_then(|last| Block::separator_after(keys, last, room_for.key())) {
            Self::fill(right, keys, handle, &[], home, next);
            // After the leaf that it leads to: otherwise, if the process dies in between, the chain leads into a free
            // block.
            self.lead(handle, right.number);
            return Split::new(own, Some((separator, right.number)));
        }
        if self.is_first() {
            let separator = self.hand_on(keys, handle, right, home, range.high);
            return Split::new(own, separator.map(|it| (it, right.number)));
        }
        let Some(previous) = previous else { return Split::new(own, None) };
        let halves = pairs.split_at(pairs.len() / 2);
        let separator = if many { Block::divided(keys, halves.0, halves.1) } else { None };
        if separator.is_some() {
            Self::fill(right, keys, handle, halves.1, home, next);
            Self::fill(left, keys, handle, halves.0, home, right.number);
        } else {
            // The leaf is full of old versions.
            Self::fill(left, keys, handle, &pairs, home, next);
        }
        // The commit word, after all that it leads to: if the process dies before it, nothing has changed.
        previous.lead(handle, left.number);
        Split::new(left.number, separator.map(|it| (it, right.number)))
    }

    /// A first leaf moves all pairs but the lowest key's to a fresh leaf behind it. The first leaf is found without a
    /// link, so it cannot be replaced. Returns the separator, if there is room for one.
    fn hand_on<M: Medium, K: Keys>(
        &self,
        keys: &K,
        handle: &mut WriteHandle<'_, M>,
        right: LeafRef<'_, Self>,
        home: Home,
        high: Option<&K::Separator>,
    ) -> Option<K::Separator> {
        let separator = Some(K::least()).filter(|least| high.is_none_or(|high| least < high))?;
        let is_lowest = |slot| keys.compare(slot, 0, K::search_key(&separator)).is_lt();
        let going: Vec<_> = self.block.moving_pairs().filter(|pair| !is_lowest(pair.slot)).collect();
        Self::fill(right, keys, handle, &going, home, self.next());
        self.lead(handle, right.number);
        // After the link: otherwise, if the process dies in between, the pairs are lost. If it dies here, both leaves
        // have them.
        self.block.publish(handle, self.among(is_lowest));
        Some(separator)
    }
}
