//! Leaves that shift sorted pairs, FAST and FAIR's and Circ-Tree's: every key and value against the standard library's
//! map, flushes, fences and lines by formula, readers beside a writer, bits torn at random, and every crash of every
//! operation on one leaf.

#[path = "shifting/crashes.rs"]
mod crashes;
#[path = "shifting/formulas.rs"]
mod formulas;
#[path = "shifting/lines.rs"]
mod lines;
#[path = "shifting/names.rs"]
mod names;
#[path = "shifting/recorded.rs"]
mod recorded;
#[path = "shifting/stage.rs"]
mod stage;
#[path = "shifting/torn.rs"]
mod torn;

use holm_medium::{Counts, FIRST_EPOCH, Flush, Ground, Mapped, MappedOptions, Pool, Quill};
use holm_search::Search;
use holm_tree::designs::{circ, circ_fingerprints, circ_sentinels, fast_fair, fast_fair_fingerprints_4k};
use holm_tree::designs::{
    circ_linear_4k, circ_sentinels_4k, fast_fair_sentinels, fast_fair_sentinels_4k, fast_fair_sentinels_inlaid,
};
use holm_tree::leaf::Cut;
use holm_tree::{Design, Forest, Index, Keys, Root, Toward, Words};
use names::Names;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

struct Grove<D: Design, K: Keys> {
    quill: Arc<Quill<Mapped>>,
    index: Forest<Mapped, D, K>,
    root: Root,
}

impl<D: Design, K: Keys> Grove<D, K> {
    fn new(keys: K) -> Self {
        let options = MappedOptions { count: true, flush: Flush::Nothing, ..MappedOptions::default() };
        let quill =
            Arc::new(Pool::open(Mapped::anonymous(options).expect("address space"), FIRST_EPOCH).expect("memory"));
        let index = Forest::new(quill.clone(), keys, Search::detect());
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

/// Each order of keys with each kind of values; so many keys.
fn words_agree<D: Design>(many: u64) {
    // Zero, equal neighbours, a value equal to keys, both ends of the range: what the published code loses.
    let values: [fn(u64, u64) -> u64; 4] =
        [|_, _| 0, |_, turn| turn / 3, |key, _| key, |_, turn| [0, 1, u64::MAX][turn as usize % 3]];
    for (name, order) in ORDERS {
        for value in values {
            let mut grove = Grove::<D, _>::new(Words);
            let mut map = BTreeMap::new();
            for round in 0..2 {
                for i in 0..many {
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

fn names_agree<D: Design>() {
    let names = Names::default();
    let mut grove = Grove::<D, _>::new(names.clone());
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

fn readers_beside_writers<D: Design>() {
    let grove = Grove::<D, _>::new(Words);
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

#[test]
fn words_agree_with_a_map_whatever_keys_and_values() {
    words_agree::<fast_fair>(1_500);
    words_agree::<circ>(1_500);
}

#[test]
fn every_guide_agrees_with_a_map() {
    words_agree::<fast_fair_sentinels>(400);
    words_agree::<fast_fair_sentinels_inlaid>(400);
    words_agree::<circ_sentinels>(400);
    words_agree::<circ_fingerprints>(400);
    words_agree::<circ_linear_4k>(700);
    words_agree::<circ_sentinels_4k>(700);
    words_agree::<fast_fair_sentinels_4k>(700);
    words_agree::<fast_fair_fingerprints_4k>(700);
}

#[test]
fn names_agree_with_a_map_though_heads_are_equal() {
    names_agree::<fast_fair>();
    names_agree::<circ>();
    names_agree::<fast_fair_sentinels_4k>();
    names_agree::<fast_fair_fingerprints_4k>();
    names_agree::<circ_sentinels>();
}

#[test]
fn readers_beside_writers_see_what_is_there() {
    readers_beside_writers::<fast_fair>();
    readers_beside_writers::<circ_sentinels>();
}
