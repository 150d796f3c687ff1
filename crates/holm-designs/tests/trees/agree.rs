//! Compares every key and value with the standard library's map, with rebuilds in between.

#![allow(dead_code, reason = "each program of tests uses its part")]

use crate::fixture::{ORDERS, TreeFixture, mixed};
use crate::names::Names;
use holm_tree::Words;
use std::collections::BTreeMap;

/// Runs each order of keys with each kind of values, over `many` keys.
pub fn words(create: impl Fn() -> TreeFixture<Words>, many: u64) {
    // Zero, equal neighbours, a value equal to its key, both ends of the range: values that the published code loses.
    let values: [fn(u64, u64) -> u64; 4] =
        [|_, _| 0, |_, turn| turn / 3, |key, _| key, |_, turn| [0, 1, u64::MAX][turn as usize % 3]];
    for (name, order) in ORDERS {
        for value in values {
            let mut fixture = create();
            let mut map = BTreeMap::new();
            for round in 0..2 {
                for i in 0..many {
                    let (key, value) = (order(i), value(order(i), i + round));
                    assert_eq!(fixture.put(key, value), map.insert(key, value), "{name}: put {key}");
                    if i % 5 == 4 {
                        let gone = order(mixed(i) % i);
                        assert_eq!(fixture.remove(gone), map.remove(&gone), "{name}: remove {gone}");
                    }
                }
                assert_eq!(fixture.payloads(), map.values().copied().collect::<Vec<_>>(), "{name}");
                fixture.rebuild();
                assert_eq!(fixture.payloads(), map.values().copied().collect::<Vec<_>>(), "{name}: rebuilt");
                let backwards = round == 1;
                let keys: Vec<_> = map.keys().copied().collect();
                for index in 0..keys.len() {
                    let key = keys[if backwards { keys.len() - 1 - index } else { index }];
                    assert_eq!(fixture.get(key), map.get(&key).copied(), "{name}: get {key}");
                    assert_eq!(fixture.remove(key), map.remove(&key), "{name}: remove {key}");
                    assert_eq!(fixture.get(key), None, "{name}: {key} after its removal");
                }
                assert_eq!(fixture.payloads(), [0; 0], "{name}: emptied");
                if backwards {
                    fixture.rebuild();
                    assert_eq!(fixture.payloads(), [0; 0], "{name}: emptied and rebuilt");
                }
            }
        }
    }
}

/// Byte-string keys, most of which have equal heads.
pub fn names(create: impl FnOnce(Names) -> TreeFixture<Names>) {
    let names = Names::default();
    let mut fixture = create(names.clone());
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
            assert_eq!(fixture.remove(&key), map.remove(&key), "remove {key:?} at {i}");
        } else {
            let payload = names.write_record(&key);
            assert_eq!(fixture.put(&key, payload), map.insert(key, payload), "put at {i}");
        }
        if i % 4_000 == 3_999 {
            fixture.rebuild();
            assert_eq!(fixture.payloads(), map.values().copied().collect::<Vec<_>>());
        }
    }
    while let Some((key, payload)) = map.pop_first() {
        assert_eq!(fixture.get(&key), Some(payload));
        assert_eq!(fixture.remove(&key), Some(payload));
    }
    assert_eq!(fixture.payloads(), [0; 0]);
}
