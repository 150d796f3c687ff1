//! One leaf, one operation, every crash: small fills exhaustively under the model of prefixes per line, and recovery
//! itself crashed in its turn. For any linked leaf of 512 bytes.

use crate::names::Names;
use crate::recorded::{BLOCKS, Event, Recorded, Words as Bits, crash};
use holm_medium::{Area, FIRST_EPOCH, Loc, Pen, Pool, Quill};
use holm_search::Search;
use holm_tree::leaf::{Cut, Fate, Fresh, Full, Home, Leaf, Lens, Pairs};
use holm_tree::{Keys, Words};

/// Keys by rank, and payloads as mean as the kind allows.
pub trait Sample: Keys + Clone {
    fn ranked(&self, rank: usize) -> Self::Fence;
    fn payload(&self, key: &Self::Fence, turn: u64) -> u64;
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
        self.lay(key)
    }
}

#[derive(Clone, Debug)]
pub enum Act<F> {
    Put(F, u64),
    Remove(F),
    Split,
}

/// Leaves 1 to 3 of a recorded medium; the first is the first of its keyspace.
pub struct Stage<K: Keys, L: Leaf> {
    quill: Quill<Recorded>,
    keys: K,
    besides: [L::Beside; BLOCKS],
}

pub type Contents<F> = Vec<(F, u64)>;

impl<S: Sample, L: Leaf> Stage<S, L> {
    pub fn new(keys: &S) -> Self {
        let quill = Pool::open(Recorded::new(), FIRST_EPOCH).expect("it has a block");
        let stage: Self = Stage { quill, keys: keys.clone(), besides: Default::default() };
        stage.leaf(1).format(&stage.besides[1], &mut stage.pen(), Home { keyspace: 5, skip: 0, first: true });
        stage.medium().take();
        stage
    }

    fn medium(&self) -> &Recorded {
        &self.quill.pool().medium
    }

    fn pen(&self) -> Pen<'_, Recorded> {
        self.quill.cut_at(FIRST_EPOCH)
    }

    fn lens(&self) -> Lens<'_, S> {
        Lens { keys: &self.keys, search: Search::portable() }
    }

    fn leaf(&self, number: u32) -> &L {
        let found = self.medium().image_leaf(number);
        found.expect("four blocks")
    }

    fn act(&self, act: &Act<S::Fence>) {
        let mut pen = self.pen();
        match act {
            Act::Put(key, payload) => {
                let (leaf, count) = self.home_of(key);
                let put = leaf.insert(count, self.lens(), &mut pen, S::probe(key), *payload);
                assert_ne!(put, Err(Full), "room in the leaf");
            }
            Act::Remove(key) => {
                let (leaf, count) = self.home_of(key);
                leaf.remove(count, self.lens(), &mut pen, S::probe(key)).expect("the key is there");
            }
            Act::Split => {
                let fresh = [2, 3].map(|number| {
                    let index = number as usize;
                    Fresh { number, leaf: self.leaf(number), beside: &self.besides[index] }
                });
                let range = (&S::Fence::default(), None);
                let split = self.leaf(1).split(1, &self.besides[1], self.lens(), &mut pen, fresh, range);
                assert_eq!((split.left, split.right.expect("enough pairs").1), (1, 2));
            }
        }
    }

    /// Whether the first leaf of an image takes no other key; the image is gone afterwards.
    fn is_full(&self, image: &Bits) -> bool {
        self.load(image);
        self.recover().expect("a sound leaf");
        let key = self.keys.ranked(LAST - 3);
        let put = self.leaf(1).insert(&self.besides[1], self.lens(), &mut self.pen(), S::probe(&key), LAST as u64);
        self.medium().take();
        put == Err(Full)
    }

    /// The leaf whose range holds a key: the second one, if there is one and it starts no higher.
    fn home_of(&self, key: &S::Fence) -> (&L, &L::Beside) {
        let right = self.leaf(1).next();
        let mut pairs = Pairs::default();
        if right != 0 {
            self.leaf(right).live(&self.besides[right as usize], &mut pairs);
        }
        let starts = pairs.first().and_then(|slot| self.keys.key(*slot));
        let number = if starts.is_some_and(|starts| starts <= *key) { right } else { 1 };
        (self.leaf(number), &self.besides[number as usize])
    }

    fn load(&self, image: &Bits) {
        let mut pen = self.pen();
        for (word, value) in self.medium().words().iter().zip(image) {
            if word.read() != *value {
                pen.write(word, *value);
            }
        }
        self.medium().take();
    }

    /// As a rebuild does it: each block, then the chain.
    fn recover(&self) -> Result<(), String> {
        let mut pen = self.pen();
        for number in 1..BLOCKS as u32 {
            let count = &self.besides[number as usize];
            let fate = self.leaf(number).recover(number, count, &mut pen, Cut::At(FIRST_EPOCH - 1), &|_| None);
            let fate = fate.map_err(|error| error.to_string())?;
            assert!(number > 1 || fate == Fate::Live { keyspace: 5, first: true }, "{fate:?}");
        }
        let mut at = 1;
        for _ in 1..BLOCKS {
            let (leaf, count) = (self.leaf(at), &self.besides[at as usize]);
            let next = leaf.next();
            if next as usize >= BLOCKS {
                return Err(format!("the chain leads to {next}"));
            }
            leaf.mend(count, self.lens(), &mut pen, (next != 0).then(|| self.leaf(next)));
            leaf.rederive(count, self.lens());
            if next == 0 {
                // As the rebuild does, once for all leaves.
                pen.fence();
                return Ok(());
            }
            at = next;
        }
        Err("the chain is a circle".into())
    }

    /// All pairs in the order of chain and slots; each must be found, too.
    fn contents(&self) -> Result<Contents<S::Fence>, String> {
        let mut all = vec![];
        let mut at = 1;
        while at != 0 {
            let (leaf, count) = (self.leaf(at), &self.besides[at as usize]);
            let mut pairs = Pairs::default();
            leaf.live(count, &mut pairs);
            for slot in pairs.iter() {
                let key = self.keys.key(*slot).ok_or_else(|| format!("no record behind {slot:?}"))?;
                if leaf.get(count, self.lens(), S::probe(&key)) != Some(slot.payload) {
                    return Err(format!("{key:?} is there and not found"));
                }
                all.push((key, slot.payload));
            }
            at = leaf.next();
        }
        if all.is_sorted_by(|a, b| a.0 < b.0) { Ok(all) } else { Err(format!("out of order: {all:?}")) }
    }
}

impl Recorded {
    fn image_leaf<L: Leaf>(&self, number: u32) -> Option<&L> {
        use holm_medium::Medium;
        self.image().at(Loc::new(Area::Leaves, u64::from(number) * 512))
    }
}

/// How many images there were, and which of them recovery got wrong.
#[derive(Default)]
pub struct Verdict {
    pub images: usize,
    pub wrong: Vec<String>,
    pub flushes: usize,
    pub fences: usize,
}

/// What does not happen: the flush or the fence of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeftOut {
    Nothing,
    Flush(usize),
    Fence(usize),
}

/// Runs operations on an image and crashes them everywhere, with something left out.
pub fn explore<S: Sample, L: Leaf>(
    stage: &Stage<S, L>,
    start: &Bits,
    acts: &[Act<S::Fence>],
    left_out: LeftOut,
) -> Verdict {
    stage.load(start);
    stage.recover().expect("a sound leaf");
    let idle = [Event::Fence];
    assert_eq!(stage.medium().take(), idle, "recovery writes nothing to a leaf that no crash has touched");
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

/// A leaf of pairs; `worn`: what a split left behind lies after them; `shift`: a ring has moved on by so many places.
pub fn fill<S: Sample, L: Leaf>(stage: &Stage<S, L>, ranks: &[usize], turn: u64, worn: bool, shift: usize) -> Bits {
    let fresh = Stage::<S, L>::new(&stage.keys);
    if worn {
        let passing = |rank: usize| fresh.keys.ranked(500 + rank);
        (0..L::CAPACITY).for_each(|rank| fresh.act(&Act::Put(passing(rank), stage.keys.payload(&passing(rank), turn))));
        fresh.act(&Act::Split);
        // Its neighbour plays no part.
        fresh.leaf(1).relink(&mut fresh.pen(), 0);
        let mut left = L::CAPACITY / 2;
        for (index, rank) in ranks.iter().enumerate() {
            let key = fresh.keys.ranked(*rank);
            fresh.act(&Act::Put(key.clone(), stage.keys.payload(&key, turn)));
            if index < L::CAPACITY / 2 {
                left -= 1;
                fresh.act(&Act::Remove(passing(left)));
            }
        }
        (0..left).rev().for_each(|rank| fresh.act(&Act::Remove(passing(rank))));
        let mut image = fresh.medium().snapshot();
        image[128..].fill(0xABAD_1DEA);
        image[129] = 0;
        image[193] = 0;
        return image;
    }
    let passing = |step: usize| fresh.keys.ranked(500 + step);
    for step in 0..shift {
        fresh.act(&Act::Put(passing(step), stage.keys.payload(&passing(step), turn)));
        if step > 0 {
            fresh.act(&Act::Remove(passing(step - 1)));
        }
    }
    for (index, rank) in ranks.iter().enumerate() {
        let key = fresh.keys.ranked(*rank);
        fresh.act(&Act::Put(key.clone(), stage.keys.payload(&key, turn)));
        if index == 0 && shift > 0 {
            fresh.act(&Act::Remove(passing(shift - 1)));
        }
    }
    fresh.medium().snapshot()
}

/// Every fill up to `most`, with and without the least and the greatest key, every position, every operation.
pub fn every_operation<S: Sample, L: Leaf>(keys: &S, fills: &[usize], turn: u64, worn: bool) -> usize {
    every_operation_from::<S, L>(keys, fills, (turn, worn, 0))
}

/// The same after a ring has moved on.
pub fn every_operation_from<S: Sample, L: Leaf>(
    keys: &S,
    fills: &[usize],
    (turn, worn, shift): (u64, bool, usize),
) -> usize {
    let stage = Stage::<S, L>::new(keys);
    let mut images = 0;
    for &count in fills {
        for (first, top) in [(0, false), (1, false), (1, true)] {
            let mut ranks: Vec<_> = (0..count).map(|index| 2 * index + first).collect();
            if let Some(last) = ranks.last_mut().filter(|_| top) {
                *last = LAST;
            }
            let start = fill(&stage, &ranks, turn, worn, shift);
            let mut acts = vec![];
            for at in 0..=count {
                let rank = if at == count { LAST - 1 + usize::from(!top) } else { (2 * at + first).wrapping_sub(1) };
                if rank != usize::MAX && !(top && at == count) && count < L::CAPACITY {
                    let key = keys.ranked(rank);
                    acts.push(Act::Put(key.clone(), keys.payload(&key, turn)));
                }
            }
            for rank in &ranks {
                let key = keys.ranked(*rank);
                acts.push(Act::Remove(key.clone()));
                acts.push(Act::Put(key.clone(), keys.payload(&key, turn + 1)));
            }
            if stage.is_full(&start) {
                acts.push(Act::Split);
            }
            for act in acts {
                let verdict = explore(&stage, &start, &[act], LeftOut::Nothing);
                assert_eq!(verdict.wrong, Vec::<String>::new(), "{count} pairs from rank {first}, top {top}");
                images += verdict.images;
            }
        }
    }
    images
}
