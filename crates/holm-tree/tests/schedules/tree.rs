//! A whole forest at tiny size: writers, a reader and ticks over two to nine leaves, through splits of leaves, twigs
//! and roots, and through merges. Whatever a finished put has put, later gets see, and the audit at the end is clean.

use crate::explore::{caught, explore};
use holm_medium::{FIRST_EPOCH, Flush, Ground, Mapped, MappedOptions, Pool, Quill};
use holm_search::Search;
use holm_tree::inner::Sorted;
use holm_tree::leaf::buffered::Buffered;
use holm_tree::{Design, Forest, Index, Root, Toward, Words};
use shuttle::thread;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The default design with eight children a node.
struct Tiny;

impl Design for Tiny {
    const NAME: &'static str = "tiny";
    type Leaf = Buffered;
    type Twig = Sorted<1>;
    type Branch = Sorted<1>;
}

struct Grove {
    quill: Arc<Quill<Mapped>>,
    forest: Forest<Mapped, Tiny, Words>,
    root: Root,
    /// What finished operations have left, key by key; a key that is being written is not there to be compared.
    settled: Mutex<BTreeMap<u64, Option<u64>>>,
}

impl Grove {
    /// With these keys in it, each its own payload.
    fn new(keys: impl Iterator<Item = u64>) -> Self {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let medium = Mapped::heap(64 << 10, 4 << 10, options);
        let quill = Arc::new(Pool::open(medium, FIRST_EPOCH).expect("memory"));
        let forest = Forest::new(quill.clone(), Words, Search::all_available()[0]);
        let root = forest.plant(&mut quill.clock().check_in().expect("sound"), 0).expect("memory");
        let grove = Grove { quill, forest, root, settled: Mutex::default() };
        keys.for_each(|key| grove.put(key, key));
        grove
    }

    fn settle(&self, key: u64, payload: Option<Option<u64>>) -> Option<Option<u64>> {
        let mut settled = self.settled.lock().expect("no panic");
        match payload {
            Some(payload) => settled.insert(key, payload),
            None => settled.remove(&key),
        }
    }

    fn put(&self, key: u64, payload: u64) {
        let before = self.settle(key, None).flatten();
        let mut stay = self.quill.clock().check_in().expect("sound");
        let old = self.forest.put(&self.root, &mut stay, key, payload, None).expect("memory");
        assert_eq!(old.map(|old| old.payload), before, "what put {key} found");
        self.settle(key, Some(Some(payload)));
    }

    fn remove(&self, key: u64) {
        let before = self.settle(key, None).flatten();
        let mut stay = self.quill.clock().check_in().expect("sound");
        let old = self.forest.remove(&self.root, &mut stay, key, None).expect("memory");
        assert_eq!(old.map(|old| old.payload), before, "what remove {key} found");
        self.settle(key, Some(None));
    }

    /// Gets a key; what it should be is known only if nobody wrote to it meanwhile.
    fn get(&self, key: u64) {
        let known = || self.settled.lock().expect("no panic").get(&key).copied();
        let before = known();
        let payload = self.forest.get(&self.root, key).payload;
        if before.is_some() && before == known() {
            assert_eq!(payload, before.flatten(), "what get {key} found");
        }
    }

    fn tick(&self) {
        self.quill.advance().expect("sound");
    }

    /// Everything in order, and an audit.
    fn end(&self) {
        let settled = self.settled.lock().expect("no panic").clone();
        let kept: Vec<_> = settled.into_iter().filter_map(|(key, payload)| Some((key, payload?))).collect();
        let mut all = Vec::new();
        let mut edge = 0;
        loop {
            let view = self.forest.view(&self.root, Toward::Holding(edge));
            all.extend(view.pairs.iter().map(|slot| (slot.head, slot.payload)));
            match view.high {
                Some(high) => edge = high,
                None => break,
            }
        }
        assert_eq!(all, kept);
        assert_eq!(self.forest.audit(&self.root).faults, Vec::<String>::new());
    }
}

/// One leaf, two slots short of full: two writers and a tick meet in its split, a reader passes through.
fn split() {
    let grove = Grove::new((0..26).map(|key| key * 10));
    thread::scope(|scope| {
        scope.spawn(|| [31, 32].into_iter().for_each(|key| grove.put(key, 1)));
        scope.spawn(|| {
            grove.put(201, 2);
            grove.remove(0);
            grove.put(10, 3);
        });
        scope.spawn(|| [31, 201, 130, 10].into_iter().for_each(|key| grove.get(key)));
        scope.spawn(|| grove.tick());
    });
    grove.end();
}

#[test]
fn a_leaf_splits_among_writers_a_reader_and_a_tick() {
    explore(200, split);
}

/// A full leaf of a full twig that is the root: its split needs the twig's, and that needs a new root.
#[test]
fn a_root_splits_among_writers_and_a_reader() {
    explore(40, || {
        let grove = Grove::new((0..14 * 7 + 28).map(|key| key * 10));
        thread::scope(|scope| {
            scope.spawn(|| [1_201, 11].into_iter().for_each(|key| grove.put(key, 1)));
            scope.spawn(|| [1_202, 1_203].into_iter().for_each(|key| grove.put(key, 2)));
            scope.spawn(|| [1_201, 0, 1_250, 700].into_iter().for_each(|key| grove.get(key)));
        });
        grove.end();
    });
}

/// Two leaves, one about to be sparse: writers meet in the merge, one with a pair for the leaf that gives way.
#[test]
fn leaves_merge_among_writers_a_reader_and_a_tick() {
    explore(200, || {
        let grove = Grove::new((0..29).map(|key| key * 10));
        (0..7).chain(14..22).for_each(|key| grove.remove(key * 10));
        thread::scope(|scope| {
            scope.spawn(|| [70, 80].into_iter().for_each(|key| grove.remove(key)));
            scope.spawn(|| {
                grove.put(221, 1);
                grove.remove(220);
            });
            scope.spawn(|| [70, 220, 130, 280].into_iter().for_each(|key| grove.get(key)));
            scope.spawn(|| grove.tick());
        });
        grove.end();
    });
}

/// A leaf of which every slot is pinned by the two epochs before: room comes from refreshing it, not from splitting.
#[test]
fn versions_fill_a_leaf_among_writers_and_ticks() {
    explore(100, || {
        let grove = Grove::new((0..9).map(|key| key * 10));
        thread::scope(|scope| {
            scope.spawn(|| (0..3).for_each(|_| grove.tick()));
            for thread in 0..2 {
                let grove = &grove;
                scope.spawn(move || {
                    for round in 1..4 {
                        (0..4).for_each(|key| grove.put((key * 2 + thread) * 10, round));
                    }
                });
            }
        });
        grove.end();
    });
}

/// A reader that follows a pointer and does not ask whether the leaf still stands: what it read may have moved.
#[test]
fn a_reader_that_does_not_ask_is_caught() {
    caught(200, "seen at once", || {
        let grove = Grove::new((0..4).map(|key| key * 10));
        thread::scope(|scope| {
            scope.spawn(|| [0, 10].into_iter().for_each(|key| grove.put(key, 77)));
            scope.spawn(|| {
                let first = grove.forest.get(&grove.root, 0);
                let second = grove.forest.get(&grove.root, 10);
                assert!(first.payload == Some(77) || second.payload != Some(77), "not what was seen at once");
            });
        });
    });
}
