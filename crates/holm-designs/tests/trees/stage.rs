//! One leaf, its successors, and every crash: operations on a few blocks are recorded, each image is recovered as a
//! rebuild does it, and recovery itself is crashed in turn.

#![allow(dead_code, reason = "each program of tests uses its part")]

use crate::names::Names;
use crate::recorded::{Event, Recorded, Words as Bits, crash};
use holm_medium::{Area, FIRST_EPOCH, Loc, Medium, Storage, WriteHandle, Writer};
use holm_search::Search;
use holm_tree::leaf::{BlockState, Fresh, Full, Home, Leaf, Pairs, ReadContext, RecoveryPoint};
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

    pub fn context(&self) -> ReadContext<'_, S> {
        ReadContext { keys: &self.keys, search: Search::portable(), image: Some(self.medium().image()) }
    }

    pub fn leaf(&self, number: u32) -> &L {
        let offset = u64::from(number) * size_of::<L>() as u64;
        self.medium().image().at(Loc::new(Area::Leaves, offset)).expect("as many blocks")
    }

    fn create(&self) {
        let number = Self::NUMBERS.start;
        let volatile = &self.besides[number as usize];
        self.leaf(number).format(volatile, &mut self.handle(), Home { keyspace: 5, skip: 0, first: true });
        *self.leaves.borrow_mut() = vec![(S::Separator::default(), number)];
        self.medium().take();
    }

    /// The numbers of a leaf's blocks.
    fn blocks_of(&self, leaf: u32) -> impl Iterator<Item = u32> {
        let behind = move |place| self.leaf(leaf).overflow_block(&self.besides[leaf as usize], self.context(), place);
        let behind = (1..L::BLOCKS).map(behind).take_while(|number| *number != 0);
        std::iter::once(leaf).chain(behind)
    }

    /// The blocks of no leaf.
    fn fresh(&self) -> Vec<Fresh<'_, L>> {
        let used: Vec<_> = self.leaves.borrow().iter().flat_map(|leaf| self.blocks_of(leaf.1)).collect();
        let free = Self::NUMBERS.filter(|number| !used.contains(number));
        free.map(|number| Fresh { number, leaf: self.leaf(number), volatile: &self.besides[number as usize] }).collect()
    }

    pub fn act(&self, act: &Act<S::Separator>) {
        let mut handle = self.handle();
        match act {
            Act::Put(key, payload) => {
                let put = |handle: &mut WriteHandle<'_, Recorded>| {
                    let (leaf, volatile) = self.leaf_of(self.home_of(key));
                    leaf.insert(volatile, self.context(), handle, S::search_key(key), *payload)
                };
                if put(&mut handle) == Err(Full) {
                    self.split(self.home_of(key));
                    assert_ne!(put(&mut handle), Err(Full), "room in the leaf");
                }
            }
            Act::Remove(key) => {
                if self.leaf_of(self.home_of(key)).0.crowded() {
                    self.split(self.home_of(key));
                }
                let (leaf, volatile) = self.leaf_of(self.home_of(key));
                leaf.remove(volatile, self.context(), &mut handle, S::search_key(key)).expect("the key is there");
            }
            Act::Split => self.split(0),
            Act::Merge => {
                let own = [0, 1].map(|index| self.leaves.borrow()[index].1);
                let fresh = self.fresh().pop().expect("a block is free");
                let (number, range) = (fresh.number, (&S::Separator::default(), None));
                let [left, right] = own.map(|number| self.leaf(number));
                let [volatile, theirs] = own.map(|number| &self.besides[number as usize]);
                if left.absorb(volatile, (right, theirs), self.context(), &mut handle) {
                    self.leaves.borrow_mut().remove(1);
                } else if left.merge(
                    [(own[0], volatile), (own[1], theirs)],
                    right,
                    self.context(),
                    &mut handle,
                    fresh,
                    range,
                ) {
                    *self.leaves.borrow_mut() = vec![(S::Separator::default(), number)];
                }
            }
        }
    }

    /// Splits or replaces a leaf, by its place in the order.
    fn split(&self, index: usize) {
        let fresh: [_; 2] = self.fresh().into_iter().take(2).collect::<Vec<_>>().try_into().ok().expect("two are free");
        let mut leaves = self.leaves.borrow_mut();
        let (low, own) = leaves[index].clone();
        let high = leaves.get(index + 1).map(|next| next.0.clone());
        let (leaf, volatile) = (self.leaf(own), &self.besides[own as usize]);
        let split = leaf.split(own, volatile, self.context(), &mut self.handle(), fresh, (&low, high.as_ref()));
        leaves[index] = (low, split.left);
        leaves.splice(index + 1..index + 1, split.right);
    }

    /// The place of the leaf whose range holds a key.
    fn home_of(&self, key: &S::Separator) -> usize {
        self.leaves.borrow().partition_point(|leaf| leaf.0 <= *key) - 1
    }

    fn leaf_of(&self, index: usize) -> (&L, &L::Volatile) {
        let number = self.leaves.borrow()[index].1;
        (self.leaf(number), &self.besides[number as usize])
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

    /// Recovers as a rebuild does: each block, then the chain if there is one.
    pub fn recover(&self) -> Result<(), String> {
        let said = |error: holm_medium::MediumError| error.to_string();
        let mut handle = self.handle();
        let mut live = vec![];
        for number in Self::NUMBERS {
            let (leaf, volatile) = (self.leaf(number), &self.besides[number as usize]);
            let peer = |number| (number < Self::NUMBERS.end).then(|| self.leaf(number));
            if leaf.recover(number, volatile, &mut handle, RecoveryPoint::At(FIRST_EPOCH - 1), &peer).map_err(said)?
                != BlockState::Free
            {
                live.push(number);
            }
        }
        // As in the rebuild, once for all leaves.
        handle.fence();
        if L::CAPABILITIES.linked {
            live = self.chain(&mut handle)?;
        } else {
            let behind: Vec<_> = live.iter().filter_map(|number| self.blocks_of(*number).nth(1)).collect();
            live.retain(|number| !behind.contains(number));
            let mut kept = vec![];
            for number in live {
                let volatile = &self.besides[number as usize];
                if self.leaf(number).scrub_leaf(number, volatile, self.context(), &mut handle, false).map_err(said)? {
                    kept.push(number);
                }
            }
            live = kept;
        }
        handle.fence();
        let mut leaves = vec![];
        for number in live {
            self.leaf(number).rebuild_volatile(&self.besides[number as usize], self.context());
            let first = self.pairs(number)?.first().map(|pair| pair.0.clone()).unwrap_or_default();
            leaves.push((self.leaf(number).low(self.context()).unwrap_or(first), number));
        }
        if !L::CAPABILITIES.linked {
            leaves.sort_unstable();
            self.divide(&leaves, &mut handle)?;
        }
        if let Some(first) = leaves.first_mut() {
            first.0 = S::Separator::default();
        }
        *self.leaves.borrow_mut() = leaves;
        Ok(())
    }

    /// As in the rebuild: resolves leaves that overlap with their right neighbours.
    fn divide(&self, leaves: &[(S::Separator, u32)], handle: &mut WriteHandle<'_, Recorded>) -> Result<(), String> {
        for pair in leaves.windows(2) {
            let [left, right] = [pair[0].1, pair[1].1];
            let last = self.pairs(left)?.last().map(|pair| pair.0.clone());
            if last.is_some_and(|last| last >= pair[1].0) {
                let (leaf, volatile) = (self.leaf(left), &self.besides[left as usize]);
                leaf.repair_link(volatile, self.context(), handle, Some(self.leaf(right)));
                handle.fence();
                leaf.rebuild_volatile(volatile, self.context());
            }
        }
        Ok(())
    }

    fn chain(&self, handle: &mut WriteHandle<'_, Recorded>) -> Result<Vec<u32>, String> {
        let mut reached = vec![Self::NUMBERS.start];
        loop {
            let at = reached[reached.len() - 1];
            let (leaf, volatile, next) = (self.leaf(at), &self.besides[at as usize], self.leaf(at).next());
            if next >= Self::NUMBERS.end {
                return Err(format!("the chain leads to {next}"));
            }
            leaf.repair_link(volatile, self.context(), handle, (next != 0).then(|| self.leaf(next)));
            leaf.rebuild_volatile(volatile, self.context());
            match next {
                0 => return Ok(reached),
                _ if reached.len() == self.besides.len() => return Err("the chain is a circle".into()),
                _ => reached.push(next),
            }
        }
    }

    /// The pairs of a leaf in order; a search must find each of them, too.
    fn pairs(&self, number: u32) -> Result<Contents<S::Separator>, String> {
        let (leaf, volatile) = (self.leaf(number), &self.besides[number as usize]);
        let mut pairs = Pairs::default();
        leaf.leaf_pairs(volatile, self.context(), &mut pairs);
        pairs.sort(&self.keys, Search::portable(), leaf.skip());
        let mut found = vec![];
        for slot in pairs.iter() {
            let key = self.keys.key(*slot).ok_or_else(|| format!("no record behind {slot:?}"))?;
            if leaf.get(volatile, self.context(), S::search_key(&key)) != Some(slot.payload) {
                return Err(format!("{key:?} is there and not found"));
            }
            found.push((key, slot.payload));
        }
        Ok(found)
    }

    /// The pairs of the first leaf.
    pub fn lowest(&self) -> Contents<S::Separator> {
        let number = self.leaves.borrow()[0].1;
        self.pairs(number).expect("a sound leaf")
    }

    /// All pairs, leaf by leaf.
    pub fn contents(&self) -> Result<Contents<S::Separator>, String> {
        let leaves: Result<Vec<_>, _> = self.leaves.borrow().iter().map(|leaf| self.pairs(leaf.1)).collect();
        let all = leaves?.concat();
        if all.is_sorted_by(|a, b| a.0 < b.0) { Ok(all) } else { Err(format!("out of order: {all:?}")) }
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
pub fn explore<L: Leaf, S: Sample>(
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
