//! What all designs share that are durable when an operation returns: every key and value against the standard
//! library's map, readers beside writers, flushes and fences by a table, every crash of every operation on one leaf.

#[path = "strict/counts.rs"]
mod counts;
#[path = "strict/crashes.rs"]
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
use holm_tree::designs;
use holm_tree::leaf::Leaf;
use holm_tree::{Design, Toward, Words};
use names::Names;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

macro_rules! tests {
    ($($name:ident)*) => {
        $(
            mod $name {
                use super::*;

                const STRICT: bool = {
                    let card = <designs::$name as Design>::Leaf::CARD;
                    card.keeps && !card.defers
                };
                const KEEPS_NAMES: bool = STRICT && !<designs::$name as Design>::Leaf::CARD.needs_whole_keys;

                #[test]
                fn words_agree_with_a_map_whatever_keys_and_values() {
                    if STRICT {
                        words_agree(stringify!($name));
                    }
                }

                #[test]
                fn names_agree_with_a_map_though_heads_are_equal() {
                    if KEEPS_NAMES {
                        names_agree(stringify!($name));
                    }
                }

                #[test]
                fn readers_beside_writers_see_what_is_there() {
                    if STRICT {
                        readers_beside_writers(stringify!($name));
                    }
                }

                #[test]
                fn words_survive_every_crash_of_every_operation() {
                    if STRICT {
                        crashes::every_operation::<<designs::$name as Design>::Leaf, _>(&Words, 2);
                    }
                }

                #[test]
                fn names_of_few_heads_survive_every_crash() {
                    if KEEPS_NAMES {
                        crashes::every_operation::<<designs::$name as Design>::Leaf, _>(&Names::default(), 0);
                    }
                }
            }
        )*
    };
}

holm_tree::for_each_design!(tests);

fn words_agree(design: &str) {
    // Zero, equal neighbours, a value equal to keys, both ends of the range: what the published code loses.
    let values: [fn(u64, u64) -> u64; 4] =
        [|_, _| 0, |_, turn| turn / 3, |key, _| key, |_, turn| [0, 1, u64::MAX][turn as usize % 3]];
    for (name, order) in ORDERS {
        for value in values {
            let mut grove = Grove::new(design, Words);
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

fn names_agree(design: &str) {
    let names = Names::default();
    let mut grove = Grove::new(design, names.clone());
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

fn readers_beside_writers(design: &str) {
    let grove = Grove::new(design, Words);
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
