//! FAST and FAIR's leaf: every key and value against the standard library's map, flushes and fences by formula, readers
//! beside a writer, bits torn at random, and every crash of every operation on one leaf.

#[path = "fast_fair/crashes.rs"]
mod crashes;
#[path = "fast_fair/names.rs"]
mod names;
#[path = "fast_fair/recorded.rs"]
mod recorded;

use holm_medium::{Area, Counts, FIRST_EPOCH, Flush, Ground, Loc, Mapped, MappedOptions, Medium, Pool, Quill};
use holm_search::Search;
use holm_tree::leaf::fast_fair::FastFair;
use holm_tree::leaf::{Cut, Leaf, Lens, Pairs};
use holm_tree::{Index, Keys, Root, Toward, Words, designs};
use names::Names;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

struct Grove<K: Keys> {
    quill: Arc<Quill<Mapped>>,
    index: Box<dyn Index<K>>,
    root: Root,
}

impl<K: Keys> Grove<K> {
    fn new(keys: K) -> Self {
        let options = MappedOptions { count: true, flush: Flush::Nothing, ..MappedOptions::default() };
        let quill =
            Arc::new(Pool::open(Mapped::anonymous(options).expect("address space"), FIRST_EPOCH).expect("memory"));
        let index = designs::open("fast_fair", quill.clone(), keys, Search::detect()).expect("a design of that name");
        let root = index.plant(&mut quill.clock().check_in().expect("a sound pool"), 7).expect("memory");
        Grove { quill, index, root }
    }
    fn put(&self, key: K::Probe<'_>, payload: u64) -> Option<u64> {
        let mut stay = self.quill.clock().check_in().expect("a sound pool");
        self.index.put(&self.root, &mut stay, key, payload, None).expect("memory").map(|old| old.payload)
    }
    fn remove(&self, key: K::Probe<'_>) -> Option<u64> {
        let mut stay = self.quill.clock().check_in().expect("a sound pool");
        self.index.remove(&self.root, &mut stay, key, None).expect("memory").map(|old| old.payload)
    }
    fn get(&self, key: K::Probe<'_>) -> Option<u64> {
        self.index.get(&self.root, key).payload
    }
    fn payloads(&self) -> Vec<u64> {
        let audit = self.index.audit(&self.root);
        assert_eq!(audit.faults, Vec::<String>::new());
        audit.payloads
    }
    /// As after the death of the process.
    fn rebuild(&mut self) {
        let rebuilt = self.index.rebuild(Cut::Visible, self.quill.clock().active(), 2).expect("sound leaves");
        let mut roots = rebuilt.roots;
        assert_eq!(roots.len(), 1);
        self.root = roots.pop().expect("one tree");
        assert_eq!(self.root.keyspace(), 7);
    }
    fn counts(&self) -> Counts {
        self.quill.pool().medium.counts()
    }
}

fn mixed(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 29
}

/// The key of a turn.
type Order = fn(u64) -> u64;

/// Orders in which keys arrive, the least and the greatest among them.
const ORDERS: [(&str, Order); 5] = [
    ("ascending", |i| i),
    ("descending", |i| u64::MAX - i),
    ("random", mixed),
    (
        "clustered",
        |i| if i.is_multiple_of(50) { [0, u64::MAX][i as usize / 50 % 2] } else { ((i % 7) << 60) | (i / 7) },
    ),
    ("towards the middle", |i| if i.is_multiple_of(2) { i } else { u64::MAX - i }),
];

#[test]
fn words_agree_with_a_map_whatever_keys_and_values() {
    // Zero, equal neighbours, a value equal to keys, both ends of the range: what the published code loses.
    let values: [fn(u64, u64) -> u64; 4] =
        [|_, _| 0, |_, turn| turn / 3, |key, _| key, |_, turn| [0, 1, u64::MAX][turn as usize % 3]];
    for (name, order) in ORDERS {
        for value in values {
            let mut grove = Grove::new(Words);
            let mut map = BTreeMap::new();
            for round in 0..2 {
                for i in 0..1_500 {
                    let (key, value) = (order(i), value(order(i), i + round));
                    assert_eq!(grove.put(key, value), map.insert(key, value), "{name}: put {key}");
                    if i % 5 == 4 {
                        let gone = order(mixed(i) % i);
                        assert_eq!(grove.remove(gone), map.remove(&gone), "{name}: remove {gone}");
                    }
                }
                assert_eq!(grove.payloads(), map.values().copied().collect::<Vec<_>>(), "{name}");
                grove.rebuild();
                assert_eq!(grove.payloads(), map.values().copied().collect::<Vec<_>>(), "{name}: rebuilt");
                let backwards = round == 1;
                let keys: Vec<_> = map.keys().copied().collect();
                for index in 0..keys.len() {
                    let key = keys[if backwards { keys.len() - 1 - index } else { index }];
                    assert_eq!(grove.get(key), map.get(&key).copied(), "{name}: get {key}");
                    assert_eq!(grove.remove(key), map.remove(&key), "{name}: remove {key}");
                    assert_eq!(grove.get(key), None, "{name}: {key} after its removal");
                }
                assert_eq!(grove.payloads(), [], "{name}: emptied");
                if backwards {
                    grove.rebuild();
                    assert_eq!(grove.payloads(), [], "{name}: emptied and rebuilt");
                }
            }
        }
    }
}

#[test]
fn names_agree_with_a_map_though_heads_are_equal() {
    let names = Names::default();
    let mut grove = Grove::new(names.clone());
    let mut map = BTreeMap::new();
    let name = |i: u64| match i % 4 {
        0 => format!("the same eight bytes, {}", i % 700).into_bytes(),
        1 => vec![b'a'; (i % 40) as usize],
        2 => [vec![0; (i % 12) as usize], vec![255; (i % 3) as usize]].concat(),
        _ => mixed(i).to_be_bytes().to_vec(),
    };
    for i in 0..12_000 {
        let key = name(mixed(i) % 3_000);
        if mixed(i + 1).is_multiple_of(3) {
            assert_eq!(grove.remove(&key), map.remove(&key), "remove {key:?} at {i}");
        } else {
            let payload = names.lay(&key);
            assert_eq!(grove.put(&key, payload), map.insert(key, payload), "put at {i}");
        }
        if i % 4_000 == 3_999 {
            grove.rebuild();
            assert_eq!(grove.payloads(), map.values().copied().collect::<Vec<_>>());
        }
    }
    while let Some((key, payload)) = map.pop_first() {
        assert_eq!(grove.get(&key), Some(payload));
        assert_eq!(grove.remove(&key), Some(payload));
    }
    assert_eq!(grove.payloads(), []);
}

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
        let grove = Grove::new(Words);
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

#[test]
fn readers_beside_writers_see_what_is_there() {
    let grove = Grove::new(Words);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2u64)
            .map(|thread| {
                let grove = &grove;
                scope.spawn(move || {
                    for i in 0..20_000 {
                        assert_eq!(grove.put(mixed(i * 2 + thread), i), None);
                        if i % 3 == 2 {
                            assert_eq!(grove.remove(mixed((i - 1) * 2 + thread)), Some(i - 1));
                        }
                    }
                })
            })
            .collect();
        for thread in 0..2u64 {
            let (grove, done) = (&grove, &done);
            scope.spawn(move || {
                // Pairs that never go: once seen, always seen.
                let mut seen = 0;
                while !done.load(Relaxed) {
                    while grove.get(mixed(seen * 2 + thread)).is_some() {
                        seen += 3;
                    }
                    for i in (0..seen).step_by(3) {
                        assert_eq!(grove.get(mixed(i * 2 + thread)), Some(i));
                    }
                    let view = grove.index.view(&grove.root, Toward::Holding(mixed(seen)));
                    assert!(view.pairs.is_sorted_by(|a, b| a.head < b.head));
                }
            });
        }
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        done.store(true, Relaxed);
    });
    assert_eq!(grove.root.pairs(), 2 * (20_000 - 6_666));
    assert_eq!(grove.payloads().len() as u64, grove.root.pairs());
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
