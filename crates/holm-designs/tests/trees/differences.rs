//! What an epoch has changed, read off the blocks that it has dirtied: the sum over all epochs is the tree, under
//! splits, merges, drops and reuse of blocks and slots. Beside it stand readers that make the mistakes one can make
//! here.

use holm_designs::designs;
use holm_lab::words;
use holm_medium::{
    BLOCK, Clock, Epoch, FIRST_EPOCH, Flush, LINE, Mapped, MappedOptions, Storage, StorageOps, Writer, parts,
};
use holm_search::Search;
use holm_tree::{BlockDifference, Index, TreeRoot, Words};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the reader does wrong, if anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bug {
    None,
    /// It takes a pair that has moved for one that came and one that went.
    CountsMoved,
    /// It reads an epoch when the second epoch after it has begun.
    ReadsLate,
    /// It compares with the state two epochs before.
    EarlierState,
    /// It leaves an epoch out.
    SkipsAnEpoch,
}

/// A tree set of a design of either list, or of a faulty one.
fn open(design: &str, writer: &Arc<Writer<Mapped>>) -> Box<dyn Index<Words>> {
    let search = Search::detect();
    words::design_or_variant(design, writer.clone(), search)
        .or_else(|| designs::faulty::open(design, writer.clone(), Words, search))
        .expect("a design")
}

/// The trees, a model of them, and a copy that follows the differences.
struct Bench {
    writer: Arc<Writer<Mapped>>,
    index: Box<dyn Index<Words>>,
    roots: BTreeMap<u32, TreeRoot>,
    /// Payloads by keyspace and key. No payload is used twice.
    model: BTreeMap<(u32, u64), u64>,
    /// The payloads of the copy, by keyspace.
    copy: BTreeSet<(u32, u64)>,
    serial: u64,
    state: u64,
}

impl Bench {
    fn new(design: &str, seed: u64) -> Self {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let writer = Arc::new(Storage::open(Mapped::heap(1 << 22, 64, options), FIRST_EPOCH).expect("memory"));
        let index = open(design, &writer);
        let (roots, model, copy) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Bench { writer, index, roots, model, copy, serial: 0, state: seed }
    }

    fn clock(&self) -> &Clock {
        self.writer.clock()
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (self.state >> 33) % limit
    }

    /// One random operation; `inserts` of eight are puts.
    fn step(&mut self, inserts: u64) {
        let keyspace = 1 + self.below(2) as u32;
        let (key, choice) = (self.below(700), self.below(8));
        let drops = self.below(1_500) == 0;
        self.serial += 1;
        let mut guard = self.writer.clock().pin().expect("open");
        if !self.roots.contains_key(&keyspace) {
            let root = self.index.create_tree(&mut guard, keyspace).expect("room");
            self.roots.insert(keyspace, root);
        }
        let root = &self.roots[&keyspace];
        if drops {
            self.index.drop_tree(root, &mut guard, &mut |_| ()).expect("open");
            self.roots.remove(&keyspace);
            self.model.retain(|(other, _), _| *other != keyspace);
        } else if choice < inserts {
            self.index.put(root, &mut guard, key, self.serial).expect("room");
            self.model.insert((keyspace, key), self.serial);
        } else {
            self.index.remove(root, &mut guard, key).expect("open");
            self.model.remove(&(keyspace, key));
        }
    }

    /// The blocks that an ended epoch has dirtied.
    fn blocks(&self, ended: Epoch) -> BTreeSet<u32> {
        let mut blocks = BTreeSet::new();
        self.clock().drain(ended, |first, count| {
            blocks.extend((first..first + count).map(|line| (parts(line * LINE).1 / BLOCK) as u32));
        });
        blocks.remove(&0);
        blocks
    }

    /// Adds what an epoch has changed to the copy. Returns `false` if a block does not know, or if a change is none.
    fn follow(&mut self, blocks: &BTreeSet<u32>, epoch: Epoch, bug: Bug) -> bool {
        let read = self.index.block_difference().expect("it tells");
        let (mut came, mut went) = (BTreeSet::new(), BTreeSet::new());
        let mut difference = BlockDifference::default();
        for block in blocks {
            if !read(self.writer.image(), *block, epoch, &mut difference) {
                return false;
            }
            if bug == Bug::EarlierState {
                let mut before = BlockDifference::default();
                read(self.writer.image(), *block, epoch - 1, &mut before);
                difference.came.append(&mut before.came);
                difference.went.append(&mut before.went);
            }
            came.extend(difference.came.iter().map(|payload| (difference.keyspace, *payload)));
            went.extend(difference.went.iter().map(|payload| (difference.keyspace, *payload)));
        }
        let moved: BTreeSet<_> = came.intersection(&went).copied().collect();
        let moved = if bug == Bug::CountsMoved { BTreeSet::new() } else { moved };
        let is_change = |it: &&(u32, u64)| !moved.contains(*it);
        // What came was not there before, and what went was.
        let is_new = came.iter().filter(is_change).all(|it| !self.copy.contains(it));
        is_new
            && went.iter().filter(is_change).all(|it| self.copy.remove(it))
            && came.iter().filter(is_change).all(|it| self.copy.insert(*it))
    }

    /// Whether the copy has what the model had.
    fn agrees(&self, model: &BTreeMap<(u32, u64), u64>) -> bool {
        self.copy == model.iter().map(|((keyspace, _), payload)| (*keyspace, *payload)).collect()
    }
}

/// Epochs of random operations. The differences of an epoch are read while the next one is active, before its
/// operations, among them or after them. Returns how many epochs were right.
fn right_epochs(design: &str, seed: u64, bug: Bug) -> usize {
    const EPOCHS: usize = 150;
    let mut bench = Bench::new(design, seed);
    let mut late = None;
    for epoch in 0..EPOCHS {
        let inserts = if epoch / 25 % 2 == 0 { 7 } else { 2 };
        for _ in 0..bench.below(90) {
            bench.step(inserts);
        }
        let ended = bench.clock().advance();
        let (blocks, model) = (bench.blocks(ended), bench.model.clone());
        // What runs in the next epoch meanwhile.
        for _ in 0..[0, 3, 60][bench.below(3) as usize] {
            bench.step(inserts);
        }
        let reads = match bug {
            Bug::ReadsLate => late.replace((blocks, ended, model)),
            Bug::SkipsAnEpoch if epoch == 40 => None,
            _ => Some((blocks, ended, model)),
        };
        if let Some((blocks, epoch_read, model)) = reads
            && !(bench.follow(&blocks, epoch_read, bug) && bench.agrees(&model))
        {
            return epoch;
        }
        bench.writer.publish_epoch(ended).expect("memory");
    }
    EPOCHS
}

#[test]
fn the_sum_of_all_differences_is_the_tree() {
    for (design, seeds) in [("buffered", 8), ("holm", 8)] {
        (0..seeds).for_each(|seed| assert_eq!(right_epochs(design, seed, Bug::None), 150, "{design}, seed {seed}"));
    }
    for design in ["bd_tree", "bd_tree_literal", "holm_four", "buffered_unsorted", "holm_prints_aside"] {
        (0..2).for_each(|seed| assert_eq!(right_epochs(design, seed, Bug::None), 150, "{design}, seed {seed}"));
    }
}

/// Designs without states of epochs; and one whose leaves keep pairs when a link passes over them.
#[test]
fn other_designs_do_not_tell() {
    for design in ["fp_tree", "wb_tree", "borders", "ss_tree", "holm_strict", "isle_all", "bd_tree_chained"] {
        assert!(Bench::new(design, 1).index.block_difference().is_none(), "{design}");
    }
}

/// A slot that is used again an epoch early shows the pair of another epoch.
#[test]
fn a_slot_that_is_used_again_an_epoch_early_is_caught() {
    assert!((1..4).any(|seed| right_epochs("bd_tree_forgetful", seed, Bug::None) < 150));
}

#[test]
fn wrong_readers_are_caught() {
    for bug in [Bug::CountsMoved, Bug::ReadsLate, Bug::EarlierState, Bug::SkipsAnEpoch] {
        for design in ["buffered", "holm"] {
            assert!(right_epochs(design, 1, bug) < 150, "{bug:?}, {design}");
        }
    }
}
