//! A tree set over heap memory at tiny size, for Miri: undefined behaviour, data races, and the effects of weak memory.
//! Natively the same tests are a second of stress.

use holm_medium::{FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps, Writer};
use holm_search::Search;
use holm_tree::inner::Sorted;
use holm_tree::leaf::RecoveryPoint;
use holm_tree::leaf::buffered::{Buffered, Fingerprints, Triple};
use holm_tree::{Design, Index, Latch, Slab, TreeRoot, TreeSet, Words};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

/// The default design with eight children per node.
struct Tiny;

impl Design for Tiny {
    const NAME: &'static str = "tiny";
    type Leaf = Buffered<1, (Triple, Fingerprints)>;
    type LeafParent = Sorted<1>;
    type Upper = Sorted<1>;
}

struct TreeFixture {
    writer: Arc<Writer<Mapped>>,
    tree_set: TreeSet<Mapped, Tiny, Words>,
    root: TreeRoot,
}

fn fixture() -> TreeFixture {
    let options = MappedOptions { flush: Flush::Nothing, count: true, ..MappedOptions::default() };
    let writer = Arc::new(Storage::open(Mapped::heap(256 << 10, 4 << 10, options), FIRST_EPOCH).expect("memory"));
    let tree_set = TreeSet::new(writer.clone(), Words, Search::all_available()[0]);
    let root = tree_set.create_tree(&mut writer.clock().pin().expect("sound"), 0).expect("memory");
    TreeFixture { writer, tree_set, root }
}

impl TreeFixture {
    fn put(&self, key: u64, payload: u64) -> Option<u64> {
        let mut guard = self.writer.clock().pin().expect("sound");
        self.tree_set.put(&self.root, &mut guard, key, payload).expect("memory").map(|old| old.payload)
    }

    fn remove(&self, key: u64) -> Option<u64> {
        let mut guard = self.writer.clock().pin().expect("sound");
        self.tree_set.remove(&self.root, &mut guard, key).expect("memory").map(|old| old.payload)
    }
}

/// Fewer rounds where each step is interpreted.
fn rounds(of: u64) -> u64 {
    if cfg!(miri) { of / 20 } else { of }
}

#[test]
fn a_tree_of_some_levels_and_its_rebuild() {
    let mut fixture = fixture();
    let keys = if cfg!(miri) { 150 } else { 1_500 };
    (0..keys).for_each(|key| assert_eq!(fixture.put(key * 7 % keys, key), None));
    fixture.writer.end_epoch().expect("sound");
    (0..keys).step_by(3).for_each(|key| assert!(fixture.remove(key).is_some()));
    assert_eq!(fixture.tree_set.audit(&fixture.root).faults, Vec::<String>::new());
    let rebuilt =
        fixture.tree_set.rebuild(RecoveryPoint::Visible, fixture.writer.clock().active(), 2).expect("sound leaves");
    fixture.root = rebuilt.roots.into_iter().next().expect("one tree");
    assert_eq!(fixture.tree_set.audit(&fixture.root).faults, Vec::<String>::new());
    assert_eq!(fixture.root.pairs(), keys - keys.div_ceil(3));
}

#[test]
fn writers_a_reader_and_ticks() {
    let fixture = fixture();
    (0..24).for_each(|key| assert_eq!(fixture.put(key * 1_000, 0), None));
    let last = rounds(400);
    thread::scope(|scope| {
        for thread in 0..2 {
            let fixture = &fixture;
            scope.spawn(move || {
                for round in 1..=last {
                    assert_eq!(fixture.put(thread * 12_000 + round, round), None);
                    assert_eq!(fixture.put(thread * 1_000, round), Some(round - 1), "my own last put");
                }
            });
        }
        scope.spawn(|| (0..4).all(|_| fixture.writer.end_epoch().is_ok()));
        scope.spawn(|| {
            let mut seen = 0;
            for _ in 0..last {
                let payload = fixture.tree_set.get(&fixture.root, 0).payload.expect("it is never removed");
                assert!(payload >= seen, "time runs backwards");
                seen = payload;
            }
        });
    });
    assert_eq!(fixture.root.pairs(), 24 + 2 * last);
    assert_eq!(fixture.tree_set.audit(&fixture.root).faults, Vec::<String>::new());
}

/// Two words that are written under a latch with the weakest stores possible.
#[test]
fn no_pair_is_torn() {
    let latch = Latch::default();
    let words = [AtomicU64::new(0), AtomicU64::new(0)];
    let last = rounds(2_000);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..last {
                    let held = loop {
                        match latch.read().and_then(|version| latch.try_lock(version)) {
                            Some(held) => break held,
                            None => thread::yield_now(),
                        }
                    };
                    words.iter().for_each(|word| word.store(word.load(Relaxed) + 1, Relaxed));
                    drop(held);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..last * 2 {
                if let Some(version) = latch.read() {
                    let pair = [1, 0].map(|index| words[index].load(Relaxed));
                    assert!(!latch.validate(version) || pair[0] == pair[1], "torn: {pair:?}");
                }
            }
        });
    });
    assert_eq!(words.map(AtomicU64::into_inner), [last * 2; 2]);
}

#[test]
fn numbers_have_one_owner_and_one_place() {
    let slab = Slab::<AtomicU64>::default();
    thread::scope(|scope| {
        for thread in 1..=3 {
            let slab = &slab;
            scope.spawn(move || {
                for _ in 0..rounds(400) {
                    let (number, node) = slab.take();
                    assert_eq!(node.swap(thread, Relaxed), 0, "node {number} has two owners");
                    assert_eq!(slab.get(number).expect("taken").swap(0, Relaxed), thread);
                    slab.give(number);
                }
            });
        }
    });
}
