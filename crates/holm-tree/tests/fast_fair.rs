//! FAST and FAIR's leaf: flushes and fences by formula, bits torn at random, and every crash of every operation on one
//! leaf.

#[path = "fast_fair/crashes.rs"]
mod crashes;
#[path = "strict/grove.rs"]
mod grove;
#[path = "strict/names.rs"]
mod names;
#[path = "strict/recorded.rs"]
mod recorded;
#[path = "strict/stage.rs"]
mod stage;

use grove::{Grove, ORDERS, mixed};
use holm_medium::{Area, FIRST_EPOCH, Loc, Mapped, MappedOptions, Medium, Pool};
use holm_search::Search;
use holm_tree::leaf::fast_fair::FastFair;
use holm_tree::leaf::{Cut, Leaf, Lens, Pairs};
use holm_tree::{Keys, Toward, Words};
use names::Names;
use std::sync::atomic::AtomicU32;

/// The line of a slot, from the page's table.
fn line(slot: usize) -> u64 {
    (slot as u64 + 1) / 4
}

/// Lines that an insert at `at` of `count` flushes, each with its fence.
fn shifted(count: usize, at: usize) -> u64 {
    line(count) - line(at) + 1 + u64::from((count + 2).is_multiple_of(4))
}

#[test]
fn flushes_and_fences_are_those_of_the_formulas() {
    for (name, order) in ORDERS {
        let grove = Grove::new("fast_fair", Words);
        let (mut splits, mut worst) = (0, 0);
        for i in 0..4_000 {
            let key = order(mixed(i) % 1_200 + i / 4);
            let view = grove.index.view(&grove.root, Toward::Holding(key));
            let count = view.pairs.len();
            let at = view.pairs.partition_point(|slot| slot.head < key);
            let present = view.pairs.get(at).is_some_and(|slot| slot.head == key);
            let removes = mixed(i + 7) % 16 < if i < 3_000 { 3 } else { 12 };
            let before = grove.counts();
            if removes {
                grove.remove(key);
            } else {
                grove.put(key, 0);
            }
            let spent = grove.counts() - before;
            let half = FastFair::CAPACITY / 2;
            let expected = match (removes, present) {
                (true, false) => (0, 0),
                (true, true) => (line(count - 1) - line(at) + 1, line(count - 1) - line(at) + 1),
                (false, true) => (1, 1),
                (false, false) if count < FastFair::CAPACITY => (shifted(count, at), shifted(count, at)),
                (false, false) => {
                    splits += 1;
                    // A key between the halves belongs to the left one: the separator is the right one's first key.
                    let lines = shifted(half, if at > half { at - half } else { at });
                    (10 + lines, 3 + lines)
                }
            };
            worst = worst.max(spent.flushes);
            assert_eq!((spent.flushes, spent.fences), expected, "{name}: {count} pairs, at {at}, present: {present}");
            let before = grove.counts();
            let _ = (grove.get(key), grove.index.view(&grove.root, Toward::Last));
            assert_eq!(grove.counts(), before, "{name}: reading writes nothing");
        }
        assert!(splits > 10 && worst > 13, "{name}: {splits} splits, {worst} flushes at the worst");
    }
}

/// Any bits and any count: readers and recovery end, and nobody panics.
fn torn<K: Keys>(keys: &K, probes: &[K::Fence]) {
    let quill = Pool::open(Mapped::heap(4096, 64, MappedOptions::default()), FIRST_EPOCH).expect("a block");
    let image = quill.pool().medium.image();
    let words = image.words(Area::Leaves.at(512), 128).expect("two blocks");
    let [left, right] = [512, 1024].map(|at| image.at::<FastFair>(Loc::new(Area::Leaves, at)).expect("two blocks"));
    let lens = Lens { keys, search: Search::portable() };
    let mut pen = quill.cut_at(FIRST_EPOCH);
    let mut seed = 0;
    for round in 0..4_000 {
        for word in words {
            seed += 1;
            let bits = mixed(seed);
            // Ties, zeros and records that exist are likelier than noise makes them.
            let value = [0, 1, bits % 4, bits % 40, bits, bits >> 29][(bits >> 61) as usize % (round % 6 + 1)];
            pen.write(word, value);
        }
        let count = AtomicU32::new([round as u32 % 33, mixed(seed) as u32][round % 2]);
        for probe in probes {
            let _ = (left.get(&count, lens, K::probe(probe)), left.glance(&count, lens, K::probe(probe)));
        }
        let mut pairs = Pairs::default();
        left.live(&count, &mut pairs);
        let _ = (left.next(), left.recover(1, &count, &mut pen, Cut::Visible, &|_| None));
        left.mend(&count, lens, &mut pen, Some(right));
        left.rederive(&count, lens);
        left.live(&count, &mut pairs);
    }
}

#[test]
fn never_panics_on_torn_bits() {
    torn(&Words, &[0, 1, 2, 39, u64::MAX]);
    let names = Names::default();
    (0..40u8).for_each(|i| {
        names.lay(&[0, 0, 0, 0, 0, 0, 0, i / 8, i]);
    });
    torn(&names, &[vec![], vec![0; 9], vec![0, 0, 0, 0, 0, 0, 0, 2, 17], vec![255; 12]]);
}
