//! A tree set over heap memory at tiny size, for Miri: undefined behaviour, data races, and the effects of weak memory.
//! Natively the same tests are a second of stress.

use holm_medium::{FIRST_EPOCH, Flush, Ground, Mapped, MappedOptions, Pool, Quill};
use holm_search::Search;
use holm_tree::inner::Sorted;
use holm_tree::leaf::Cut;
use holm_tree::leaf::buffered::{Buffered, Fingerprints, Triple};
use holm_tree::{Design, Forest, Index, Latch, Root, Slab, Words};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

/// The default design with eight children per node.
struct Tiny;

impl Design for Tiny {
    const NAME: &'static str = "tiny";
    type Leaf = Buffered<1, (Triple, Fingerprints)>;
    type Twig = Sorted<1>;
    type Branch = Sorted<1>;
}

struct Grove {
    quill: Arc<Quill<Mapped>>,
    forest: Forest<Mapped, Tiny, Words>,
    root: Root,
}

fn grove() -> Grove {
    let options = MappedOptions { flush: Flush::Nothing, count: true, ..MappedOptions::default() };
    let quill = Arc::new(Pool::open(Mapped::heap(256 << 10, 4 << 10, options), FIRST_EPOCH).expect("memory"));
    let forest = Forest::new(quill.clone(), Words, Search::all_available()[0]);
    let root = forest.plant(&mut quill.clock().check_in().expect("sound"), 0).expect("memory");
    Grove { quill, forest, root }
}

impl Grove {
    fn put(&self, key: u64, payload: u64) -> Option<u64> {
        let mut stay = self.quill.clock().check_in().expect("sound");
        self.forest.put(&self.root, &mut stay, key, payload, None).expect("memory").map(|old| old.payload)
    }

    fn remove(&self, key: u64) -> Option<u64> {
        let mut stay = self.quill.clock().check_in().expect("sound");
        self.forest.remove(&self.root, &mut stay, key, None).expect("memory").map(|old| old.payload)
    }
}

/// Fewer rounds where each step is interpreted.
fn rounds(of: u64) -> u64 {
    if cfg!(miri) { of / 20 } else { of }
}

#[test]
fn a_tree_of_some_levels_and_its_rebuild() {
    let mut grove = grove();
    let keys = if cfg!(miri) { 150 } else { 1_500 };
    (0..keys).for_each(|key| assert_eq!(grove.put(key * 7 % keys, key), None));
    grove.quill.advance().expect("sound");
    (0..keys).step_by(3).for_each(|key| assert!(grove.remove(key).is_some()));
    assert_eq!(grove.forest.audit(&grove.root).faults, Vec::<String>::new());
    let rebuilt = grove.forest.rebuild(Cut::Visible, grove.quill.clock().active(), 2).expect("sound leaves");
    grove.root = rebuilt.roots.into_iter().next().expect("one tree");
    assert_eq!(grove.forest.audit(&grove.root).faults, Vec::<String>::new());
    assert_eq!(grove.root.pairs(), keys - keys.div_ceil(3));
}

#[test]
fn writers_a_reader_and_ticks() {
    let grove = grove();
    (0..24).for_each(|key| assert_eq!(grove.put(key * 1_000, 0), None));
    let last = rounds(400);
    thread::scope(|scope| {
        for thread in 0..2 {
            let grove = &grove;
            scope.spawn(move || {
                for round in 1..=last {
                    assert_eq!(grove.put(thread * 12_000 + round, round), None);
                    assert_eq!(grove.put(thread * 1_000, round), Some(round - 1), "my own last put");
                }
            });
        }
        scope.spawn(|| (0..4).all(|_| grove.quill.advance().is_ok()));
        scope.spawn(|| {
            let mut seen = 0;
            for _ in 0..last {
                let payload = grove.forest.get(&grove.root, 0).payload.expect("it is never removed");
                assert!(payload >= seen, "time runs backwards");
                seen = payload;
            }
        });
    });
    assert_eq!(grove.root.pairs(), 24 + 2 * last);
    assert_eq!(grove.forest.audit(&grove.root).faults, Vec::<String>::new());
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
                        match latch.read().and_then(|seen| latch.hold(seen)) {
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
                if let Some(seen) = latch.read() {
                    let pair = [1, 0].map(|index| words[index].load(Relaxed));
                    assert!(!latch.still(seen) || pair[0] == pair[1], "torn: {pair:?}");
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
