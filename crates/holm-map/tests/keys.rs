//! Maps of every type of keys, beside the standard library's.

mod suite;

use holm_map::{Fast, Key, Map, Paper, Real, Selection, Vectors};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use suite::{Random, Rowed, SortedGuessed, Tall, steps};

fn check_selection<K: Key, S: Selection>(make: &impl Fn(u64) -> K, vectors: Vectors) {
    let (mut map, mut expected, mut random) = (Map::<K, u64, S>::with_vectors(vectors), BTreeMap::new(), Random(7));
    let own = |(key, value): (&K, &u64)| (*key, *value);
    for step in 0..steps(240) as u64 {
        let (key, other) = (make(random.next()), make(random.next()));
        assert_eq!(map.insert(key, step), expected.insert(key, step));
        assert_eq!(map.get(&other), expected.get(&other));
        if step % 4 == 0 {
            assert_eq!(map.remove(&other), expected.remove(&other));
            assert!(
                map.range(other..)
                    .take(9)
                    .map(|(key, value)| (key, *value))
                    .eq(expected.range(other..).take(9).map(own))
            );
        }
    }
    assert!(map.iter().map(|(key, value)| (key, *value)).eq(expected.iter().map(own)));
    assert!(map.iter().rev().map(|(key, value)| (key, *value)).eq(expected.iter().rev().map(own)));
    let keys: Vec<K> = (0..200).map(|_| make(random.next())).chain(expected.keys().copied()).collect();
    assert!(map.get_many(&keys).into_iter().eq(keys.iter().map(|key| expected.get(key))));
    let mut upper = map.split_off(&keys[0]);
    assert!(upper.keys().eq(expected.split_off(&keys[0]).into_keys()));
    map.remove_many(&keys);
    assert!(map.is_empty());
    upper.insert_many(keys.iter().map(|key| (*key, 1)));
    assert!(keys.iter().all(|key| upper.contains_key(key)));
}

fn check<K: Key>(make: impl Fn(u64) -> K) {
    for vectors in Vectors::all_available() {
        check_selection::<K, Fast>(&make, vectors);
        check_selection::<K, Paper>(&make, vectors);
    }
    check_selection::<K, Tall>(&make, Vectors::detect());
    check_selection::<K, Rowed>(&make, Vectors::detect());
    check_selection::<K, SortedGuessed>(&make, Vectors::detect());
}

#[test]
fn maps_of_whole_numbers() {
    check(|number| number as u8);
    check(|number| number as i8);
    check(|number| number as u16);
    check(|number| (number >> 7) as i16);
    check(|number| number as usize);
    check(|number| number as isize >> (number % 60));
}

#[test]
fn maps_of_numbers_of_sixteen_bytes() {
    check(|number| u128::from(number) << (number % 65));
    check(|number| u128::from(number) | u128::from(number) << 64);
    check(|number| i128::from(number as i64) << (number % 64));
    check(|number| i128::from(number % 500) - 250);
    check(|number| if number % 9 == 0 { i128::MAX } else { i128::MIN + i128::from(number % 300) });
}

#[test]
fn maps_of_other_scalars() {
    check(|number| number % 2 == 0);
    check(|number| char::from_u32((number % 0x11_0000) as u32).unwrap_or('\u{e000}'));
    check(|number| Reverse(number as u16));
    check(|number| Reverse(Real::new(number as f32 - 9e18).unwrap()));
    check(|number| Reverse(u128::from(number)));
}

#[test]
fn maps_of_tuples() {
    check(|number| (number as u8, (number >> 8) as i8));
    check(|number| (number as u32 % 5, Reverse((number >> 40) as u32)));
    check(|number| (number as i64 >> 60, number));
    check(|number| (number % 3 == 0, (number % 7) as u16, char::from((number % 99) as u8)));
    check(|number| (number % 4, (number >> 32) as u32, number as i16, number as u16));
    check(|number| Reverse(((number % 4) as u8, number as usize)));
}
