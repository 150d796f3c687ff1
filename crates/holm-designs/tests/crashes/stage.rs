//! One leaf, its successors, and every crash: operations on a few blocks are recorded, each image is recovered as a
//! rebuild does it, and recovery itself is crashed in turn.

#![allow(dead_code, reason = "each program of tests uses its part")]

use crate::names::Names;
use crate::recorded::{Event, Recorded, Words as Bits, crash};
use holm_medium::{Area, FIRST_EPOCH, Loc, Medium, Storage, WriteHandle, Writer};
use holm_search::Search;
use holm_tree::leaf::{
    AlongLinks, BlockState, ByBlock, ByRange, ByVersions, Full, Home, KeyRange, Leaf, LeafRef, Linked, Merge,
    MergeRequest, MergedInto, Overflow, Pairs, Ranged, ReadContext, RecoveryPoint, RoomFor, Scrubbed, SplitRequest,
    WriteContext,
};
use holm_tree::{Keys, Words};
use std::cell::RefCell;
use std::ops::Range;

/// Keys by rank, and the worst payloads that the kind of keys allows.
pub trait Sample: Keys + Clone {
    fn ranked(&self, rank: usize) -> Self::Separator;
    fn payload(&self, key: &Self::Separator, turn: u64) -> u64;
}

/// The rank of the greatest key of all.
pub const LAST: usize = 1000;

impl Sample for Words {
    fn ranked(&self, rank: usize) -> u64 {
        if rank == LAST { u64::MAX } else { rank as u64 * 3 }
    }
    /// All zero, all one, or from turn 2 on some equal to their neighbours' and some not.
    fn payload(&self, key: &u64, turn: u64) -> u64 {
        if turn < 2 || key % 4 < 2 { turn % 2 } else { key % 100 + turn }
    }
}

impl Sample for Names {
    fn ranked(&self, rank: usize) -> Vec<u8> {
        format!("head{:04}{rank:04}", rank / 4).into_bytes()
    }
    fn payload(&self, key: &Vec<u8>, _: u64) -> u64 {
        self.write_record(key)
    }
}

#[derive(Clone, Debug)]
pub enum Act<F> {
    Put(F, u64),
    Remove(F),
    /// Splits the first leaf.
    Split,
    /// Merges the first leaf and the second, if they fit.
    Merge,
}

/// A few leaves of a recorded medium; the tree is created in block 1.
pub struct Stage<L: Leaf, K: Keys> {
    pub writer: Writer<Recorded>,
    pub keys: K,
    pub besides: Vec<L::Volatile>,
    /// Where each range begins, in order, and the leaf's number: the inner nodes' contents.
    leaves: RefCell<Vec<(K::Separator, u32)>>,
}

pub type Contents<F> = Vec<(F, u64)>;

impl<L: Leaf, S: Sample> Stage<L, S> {
    /// The blocks that do not belong to the storage itself.
    const NUMBERS: Range<u32> = 512_usize.div_ceil(size_of::<L>()) as u32..(size_of::<Bits>() / size_of::<L>()) as u32;

    pub fn new(keys: &S) -> Self {
        let writer = Storage::open(Recorded::new(), FIRST_EPOCH).expect("it has a block");
        let besides = (0..Self::NUMBERS.end).map(|_| L::Volatile::default()).collect();
        let stage = Stage { writer, keys: keys.clone(), besides, leaves: RefCell::default() };
        stage.create();
        stage
    }

    pub fn medium(&self) -> &Recorded {
        &self.writer.storage().medium
    }

    pub fn handle(&self) -> WriteHandle<'_, Recorded> {
        self.writer.begin_write_at(FIRST_EPOCH)
    }

    pub fn volatile(&self, number: u32) -> &L::Volatile {
        &self.besides[number as usize]
    }

    /// What a reader of the leaf has.
    pub fn read(&self, number: u32) -> ReadContext<'_, L::Volatile, S> {
        let image = Some(&**self.medium().image());
        ReadContext { volatile: self.volatile(number), keys: &self.keys, search: Search::portable(), image }
    }

    /// What the writer of the leaf has.
    pub fn write<'a, 'h>(
        &'a self,
        number: u32,
        handle: &'a mut WriteHandle<'h, Recorded>,
    ) -> WriteContext<'a, 'h, L::Volatile, Recorded, S> {
        WriteContext { read: self.read(number), handle }
    }

    pub fn leaf(&self, number: u32) -> &L {
        let offset = u64::from(number) * size_of::<L>() as u64;
        self.medium().image().at(Loc::new(Area::Leaves, offset)).expect("as many blocks")
    }

    fn create(&self) {
        let number = Self::NUMBERS.start;
        self.leaf(number).format(self.volatile(number), &mut self.handle(), Home { keyspace: 5, skip: 0, first: true });
        *self.leaves.borrow_mut() = vec![(S::Separator::default(), number)];
        self.medium().take();
    }

    /// The numbers of a leaf's blocks.
    fn blocks_of(&self, leaf: u32) -> impl Iterator<Item = u32> {
        let behind = move |place| L::Overflow::block(self.leaf(leaf), self.read(leaf), place);
        let behind = (1..L::Overflow::BLOCKS).map(behind).take_while(|number| *number != 0);
        std::iter::once(leaf).chain(behind)
    }

    fn leaf_ref(&self, number: u32) -> LeafRef<'_, L> {
        LeafRef { number, leaf: self.leaf(number), volatile: self.volatile(number) }
    }

    /// The blocks of no leaf.
    fn fresh(&self) -> Vec<LeafRef<'_, L>> {
        let used: Vec<_> = self.leaves.borrow().iter().flat_map(|leaf| self.blocks_of(leaf.1)).collect();
        let free = Self::NUMBERS.filter(|number| !used.contains(number));
        free.map(|number| self.leaf_ref(number)).collect()
    }

    /// The place of the leaf whose range holds a key.
    fn home_of(&self, key: &S::Separator) -> usize {
        self.leaves.borrow().partition_point(|leaf| leaf.0 <= *key) - 1
    }

    /// The number of the leaf at a place.
    fn number_of(&self, index: usize) -> u32 {
        self.leaves.borrow()[index].1
    }

    pub fn load(&self, image: &Bits) {
        let mut handle = self.handle();
        for (word, value) in self.medium().words().iter().zip(image) {
            if word.read() != *value {
                handle.write(word, *value);
            }
        }
        self.medium().take();
    }

    /// The pairs of a leaf in order; a search must find each of them, too.
    fn pairs(&self, number: u32) -> Result<Contents<S::Separator>, String> {
        let (leaf, context) = (self.leaf(number), self.read(number));
        let mut pairs = Pairs::default();
        L::Overflow::pairs(leaf, context, &mut pairs);
        pairs.sort(&self.keys, Search::portable(), leaf.skip());
        let mut found = vec![];
        for slot in pairs.iter() {
            let key = self.keys.key(*slot).ok_or_else(|| format!("no record behind {slot:?}"))?;
            if leaf.get(context, S::search_key(&key)) != Some(slot.payload) {
                return Err(format!("{key:?} is there and not found"));
            }
            found.push((key, slot.payload));
        }
        Ok(found)
    }

    /// The pairs of the first leaf.
    pub fn lowest(&self) -> Contents<S::Separator> {
        self.pairs(self.number_of(0)).expect("a sound leaf")
    }

    /// All pairs, leaf by leaf.
    pub fn contents(&self) -> Result<Contents<S::Separator>, String> {
        let leaves: Result<Vec<_>, _> = self.leaves.borrow().iter().map(|leaf| self.pairs(leaf.1)).collect();
        let all = leaves?.concat();
        if all.is_sorted_by(|a, b| a.0 < b.0) { Ok(all) } else { Err(format!("out of order: {all:?}")) }
    }
}

impl<L: Staged, S: Sample> Stage<L, S> {
    pub fn act(&self, act: &Act<S::Separator>) {
        let mut handle = self.handle();
        match act {
            Act::Put(key, payload) => {
                let put = |handle: &mut WriteHandle<'_, Recorded>| {
                    let number = self.number_of(self.home_of(key));
                    self.leaf(number).insert(&mut self.write(number, handle), S::search_key(key), *payload)
                };
                // A leaf that shares its block after a split is full still, and is replaced next. Then the greatest key
                // may need another split.
                for _ in 0..3 {
                    if put(&mut handle) != Err(Full) {
                        return;
                    }
                    self.split(self.home_of(key));
                }
                assert_ne!(put(&mut handle), Err(Full), "room in the leaf");
            }
            Act::Remove(key) => {
                if self.leaf(self.number_of(self.home_of(key))).crowded() {
                    self.split(self.home_of(key));
                }
                let number = self.number_of(self.home_of(key));
                let removed = self.leaf(number).remove(&mut self.write(number, &mut handle), S::search_key(key));
                removed.expect("the key is there");
            }
            Act::Split => self.split(0),
            Act::Merge => self.merge(&mut handle),
        }
    }

    /// Splits or replaces a leaf, by its place in the order.
    fn split(&self, index: usize) {
        let fresh: [_; 2] = self.fresh().into_iter().take(2).collect::<Vec<_>>().try_into().ok().expect("two are free");
        let mut leaves = self.leaves.borrow_mut();
        let (low, own) = leaves[index].clone();
        let high = leaves.get(index + 1).map(|next| next.0.clone());
        let range = KeyRange { low: &low, high: high.as_ref() };
        let request = SplitRequest { own, fresh, spare: &[], range, previous: None, room_for: RoomFor::Any };
        let split = self.leaf(own).split(&mut self.write(own, &mut self.handle()), request);
        leaves[index] = (low, split.left);
        leaves.splice(index + 1..index + 1, split.right);
    }

    /// Merges the first leaf and the second, if they fit.
    fn merge(&self, handle: &mut WriteHandle<'_, Recorded>) {
        let [own, right] = [0, 1].map(|index| self.number_of(index));
        let least = S::Separator::default();
        let fresh = self.fresh().pop().expect("a block is free");
        let range = KeyRange { low: &least, high: None };
        let request = MergeRequest { own, right: self.leaf_ref(right), fresh: Some(fresh), range, shared: 0 };
        let kept = match self.leaf(own).merge(&mut self.write(own, handle), request) {
            MergedInto::Neither => return,
            MergedInto::Left => own,
            MergedInto::Right => right,
            MergedInto::Fresh => fresh.number,
        };
        self.leaves.borrow_mut().splice(..2, [(least, kept)]);
    }

    /// Recovers as a rebuild does: each block, then what the design's strategy asks for.
    pub fn recover(&self) -> Result<(), String> {
        let mut handle = self.handle();
        let mut live = vec![];
        for number in Self::NUMBERS {
            let peer = |number| (number < Self::NUMBERS.end).then(|| self.leaf(number));
            let point = RecoveryPoint::At(FIRST_EPOCH - 1);
            let block_state = self.leaf(number).recover(number, self.volatile(number), &mut handle, point, &peer);
            if block_state.map_err(|error| error.to_string())? != BlockState::Free {
                live.push(number);
            }
        }
        // As in the rebuild, once for all leaves.
        handle.fence();
        let live = L::Recovery::find(self, live, &mut handle)?;
        handle.fence();
        let mut leaves = vec![];
        for number in live {
            self.leaf(number).rebuild_volatile(self.read(number));
            let first = self.pairs(number)?.first().map(|pair| pair.0.clone()).unwrap_or_default();
            leaves.push((L::Recovery::low(self, number).unwrap_or(first), number));
        }
        L::Recovery::order(self, &mut leaves, &mut handle)?;
        if let Some(first) = leaves.first_mut() {
            first.0 = S::Separator::default();
        }
        *self.leaves.borrow_mut() = leaves;
        Ok(())
    }
}

/// A leaf that the stage can work with.
pub trait Staged: Merge<Recovery: Steps<Self>> {}

impl<L: Merge<Recovery: Steps<L>>> Staged for L {}

/// The steps of a strategy of recovery after that of each block.
pub trait Steps<L: Leaf> {
    /// Finds the leaves among the live blocks and repairs them.
    fn find<S: Sample>(
        stage: &Stage<L, S>,
        live: Vec<u32>,
        handle: &mut WriteHandle<'_, Recorded>,
    ) -> Result<Vec<u32>, String>;

    /// The lower end of a leaf's range, if it is durable.
    fn low<S: Sample>(_: &Stage<L, S>, _: u32) -> Option<S::Separator> {
        None
    }

    /// Orders the leaves, each with the lower end of its range.
    fn order<S: Sample>(
        _: &Stage<L, S>,
        _: &mut [(S::Separator, u32)],
        _: &mut WriteHandle<'_, Recorded>,
    ) -> Result<(), String> {
        Ok(())
    }
}

impl<L: Linked, P> Steps<L> for AlongLinks<P> {
    fn find<S: Sample>(
        stage: &Stage<L, S>,
        _: Vec<u32>,
        handle: &mut WriteHandle<'_, Recorded>,
    ) -> Result<Vec<u32>, String> {
        let mut reached = vec![Stage::<L, S>::NUMBERS.start];
        loop {
            let at = reached[reached.len() - 1];
            let (leaf, next) = (stage.leaf(at), stage.leaf(at).next());
            if next >= Stage::<L, S>::NUMBERS.end {
                return Err(format!("the chain leads to {next}"));
            }
            leaf.repair_link(&mut stage.write(at, handle), (next != 0).then(|| stage.leaf(next)));
            leaf.rebuild_volatile(stage.read(at));
            match next {
                0 => return Ok(reached),
                _ if reached.len() == stage.besides.len() => return Err("the chain is a circle".into()),
                _ => reached.push(next),
            }
        }
    }

    fn low<S: Sample>(stage: &Stage<L, S>, number: u32) -> Option<S::Separator> {
        stage.leaf(number).low(stage.read(number))
    }
}

impl<L: Scrubbed> Steps<L> for ByBlock {
    fn find<S: Sample>(
        stage: &Stage<L, S>,
        mut live: Vec<u32>,
        handle: &mut WriteHandle<'_, Recorded>,
    ) -> Result<Vec<u32>, String> {
        let behind: Vec<_> = live.iter().filter_map(|number| stage.blocks_of(*number).nth(1)).collect();
        live.retain(|number| !behind.contains(number));
        let mut kept = vec![];
        for number in live {
            let stays = stage.leaf(number).scrub_leaf(number, &mut stage.write(number, handle), false);
            if stays.map_err(|error| error.to_string())? {
                kept.push(number);
            }
        }
        Ok(kept)
    }

    /// As in the rebuild, it also resolves leaves that overlap with their right neighbours.
    fn order<S: Sample>(
        stage: &Stage<L, S>,
        leaves: &mut [(S::Separator, u32)],
        handle: &mut WriteHandle<'_, Recorded>,
    ) -> Result<(), String> {
        leaves.sort_unstable();
        for pair in leaves.windows(2) {
            let [left, right] = [pair[0].1, pair[1].1];
            let last = stage.pairs(left)?.last().map(|pair| pair.0.clone());
            if last.is_some_and(|last| last >= pair[1].0) {
                let leaf = stage.leaf(left);
                leaf.repair_overlap(&mut stage.write(left, handle), stage.leaf(right));
                handle.fence();
                leaf.rebuild_volatile(stage.read(left));
            }
        }
        Ok(())
    }
}

impl<L: Ranged> Steps<L> for ByRange {
    fn find<S: Sample>(
        stage: &Stage<L, S>,
        mut live: Vec<u32>,
        handle: &mut WriteHandle<'_, Recorded>,
    ) -> Result<Vec<u32>, String> {
        let low = |number: u32| stage.leaf(number).low(stage.read(number)).expect("words are keys");
        live.sort_by_key(|number| (low(*number), stage.leaf(*number).generation()));
        let (mut leaves, mut replaced) = (vec![], vec![]);
        for (index, number) in live.iter().enumerate() {
            let high = live.get(index + 1).map(|next| low(*next));
            if high == Some(low(*number)) {
                replaced.push(*number);
                continue;
            }
            let peer = |number| stage.besides.get(number as usize);
            let settled = stage.leaf(*number).settle(*number, stage.read(*number), high.as_ref(), &peer);
            settled.map_err(|error| error.to_string())?;
            leaves.push(*number);
        }
        let named: Vec<_> = leaves.iter().flat_map(|number| stage.blocks_of(*number)).collect();
        let unnamed = replaced.into_iter().filter(|number| !named.contains(number));
        unnamed.for_each(|number| stage.leaf(number).release(handle));
        Ok(leaves)
    }

    fn low<S: Sample>(stage: &Stage<L, S>, number: u32) -> Option<S::Separator> {
        stage.leaf(number).low(stage.read(number))
    }
}

impl<L: Leaf> Steps<L> for ByVersions {
    fn find<S: Sample>(_: &Stage<L, S>, _: Vec<u32>, _: &mut WriteHandle<'_, Recorded>) -> Result<Vec<u32>, String> {
        unreachable!("the stage is for designs that are durable when an operation returns")
    }
}

/// The number of images, and those that recovery got wrong.
#[derive(Default)]
pub struct Verdict {
    pub images: usize,
    pub wrong: Vec<String>,
    pub flushes: usize,
    pub fences: usize,
}

/// What is left out: the flush or the fence with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeftOut {
    Nothing,
    Flush(usize),
    Fence(usize),
}

/// Runs operations on an image and crashes them everywhere, with one thing left out.
pub fn explore<L: Staged, S: Sample>(
    stage: &Stage<L, S>,
    start: &Bits,
    acts: &[Act<S::Separator>],
    left_out: LeftOut,
) -> Verdict {
    stage.load(start);
    stage.recover().expect("a sound leaf");
    let idle = [Event::Fence, Event::Fence];
    let wrote = stage.medium().take();
    if stage.leaves.borrow().is_empty() {
        // Designs without a chain do not find an empty leaf.
        stage.create();
    } else {
        assert_eq!(wrote, idle, "recovery writes nothing to a leaf that no crash has touched");
    }
    let start = &stage.medium().snapshot();
    let mut history = vec![stage.contents()];
    for act in acts {
        stage.act(act);
        stage.medium().note(Event::Done);
        history.push(stage.contents());
    }
    let mut events = stage.medium().take();
    let mut verdict = Verdict::default();
    events.retain(|event| {
        let number = match event {
            Event::Flush { .. } => &mut verdict.flushes,
            Event::Fence => &mut verdict.fences,
            _ => return true,
        };
        *number += 1;
        left_out != if *event == Event::Fence { LeftOut::Fence(*number - 1) } else { LeftOut::Flush(*number - 1) }
    });
    crash(start, &events, |image, done, begun| {
        verdict.images += 1;
        stage.load(image);
        let found = stage.recover().and_then(|()| stage.contents());
        let right = found == history[done] || begun && found == history[done + 1];
        if found.is_err() || !right {
            verdict.wrong.push(format!("{acts:?}, {done} done, one begun: {begun}: {found:?} of {history:?}"));
            return;
        }
        let again = stage.medium().take();
        if verdict.images.is_multiple_of(3) && again != idle {
            crash(image, &again, |image, _, _| {
                stage.load(image);
                if stage.recover().and_then(|()| stage.contents()) != found {
                    verdict.wrong.push(format!("{acts:?}, crashed in recovery from {found:?}"));
                }
            });
        }
    });
    verdict
}
