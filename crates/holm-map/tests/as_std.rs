//! What a user of the standard library's map relies on without reading it: the order of drops, what a panic leaves, and
//! what the ends cost.

mod suite;

use holm_map::{Fast, Map, Paper, Selection};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use suite::{Random, SortedBinary, Tall, steps};

/// A value that records its drop.
struct Recorded(u64, Rc<RefCell<Vec<u64>>>);

impl Drop for Recorded {
    fn drop(&mut self) {
        self.1.borrow_mut().push(self.0);
    }
}

fn shuffled(len: u64) -> impl Iterator<Item = u64> {
    let mut random = Random(len);
    (0..len).map(move |_| random.next())
}

/// Bug: values were dropped in the order of their slots.
#[test]
fn values_are_dropped_in_the_order_of_their_keys() {
    fn check<S: Selection>(end: impl Fn(Map<u64, Recorded, S>)) {
        let dropped = Rc::new(RefCell::new(Vec::new()));
        let mut map = Map::<u64, Recorded, S>::selected();
        let mut keys: Vec<u64> = shuffled(steps(900) as u64).collect();
        keys.iter().for_each(|key| drop(map.insert(*key, Recorded(*key, dropped.clone()))));
        end(map);
        keys.sort_unstable();
        assert_eq!(*dropped.borrow(), keys);
    }
    fn every<S: Selection>() {
        check::<S>(drop);
        check::<S>(|mut map| map.clear());
        check::<S>(|map| drop(map.into_iter()));
        check::<S>(|map| map.into_values().for_each(drop));
        check::<S>(|mut map| map.retain(|_, _| false));
    }
    every::<Fast>();
    every::<Paper>();
    every::<Tall>();
    every::<SortedBinary>();
}

/// Bug: pairs that the iterator had given were lost with it, up to a group of them.
#[test]
fn an_iterator_that_panics_leaves_what_it_gave() {
    fn given<'a>(keys: &'a [u64], panicking: bool) -> impl Iterator<Item = (u64, u64)> + 'a {
        let end = std::iter::from_fn(
            move || if panicking { panic!("the iterator panics, as it was asked to") } else { None },
        );
        keys.iter().map(|key| (key % 300, *key)).chain(end)
    }
    fn check<S: Selection>(keys: &[u64]) {
        let (mut ours, mut theirs) = (Map::<u64, u64, S>::selected(), BTreeMap::new());
        ours.insert(7, 7);
        theirs.insert(7, 7);
        catch_unwind(AssertUnwindSafe(|| ours.extend(given(keys, true)))).unwrap_err();
        theirs.extend(given(keys, false));
        assert!(ours.iter().map(|(key, value)| (key, *value)).eq(theirs), "{} pairs", keys.len());
    }
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let ended = catch_unwind(|| {
        for len in [0, 1, 15, 16, 17, 63, 64, 65, 200] {
            let keys: Vec<u64> = shuffled(len).collect();
            check::<Fast>(&keys);
            check::<Paper>(&keys);
            check::<Tall>(&keys);
        }
    });
    std::panic::set_hook(told);
    ended.unwrap();
}

/// Bug: the last pair was found by a walk over all. A walk notes the order of the leaves that it reads, so the map's
/// memory says how many those were.
#[test]
#[cfg_attr(miri, ignore = "a large map")]
fn the_ends_of_a_map_are_found_without_the_pairs_between() {
    let map: Map<u64, u64> = shuffled(100_000).zip(0..).collect();
    let (first, last) = (map.first_key_value(), map.last_key_value());
    let before = map.memory_usage();
    assert_eq!((map.iter().last(), map.iter().max(), map.iter().min()), (last, last, first));
    assert_eq!((map.range(..).last(), map.range(..).max(), map.range(..).min()), (last, last, first));
    assert_eq!((map.keys().max(), map.keys().min()), (last.map(|pair| pair.0), first.map(|pair| pair.0)));
    assert_eq!((map.keys().last(), map.values().last()), (last.map(|pair| pair.0), last.map(|pair| pair.1)));
    assert_eq!((map.iter().skip(3).count(), map.keys().count()), (map.len() - 3, map.len()));
    let few = map.memory_usage() - before;
    let sum: u64 = map.values().sum();
    assert_eq!(sum, (0..map.len() as u64).sum());
    let all = map.memory_usage() - before;
    assert!(few > 0 && few * 8 < all, "the ends took {few} bytes of orders, all leaves {all}");
    let end = last.map(|(key, _)| key);
    let mut map = map;
    assert_eq!(map.iter_mut().max().map(|(key, _)| key), end);
    assert_eq!(map.range_mut(..).last().map(|(key, _)| key), end);
    assert_eq!(map.clone().into_iter().max().map(|(key, _)| key), end);
}

/// Leaves that lose pairs to a neighbour, get some, split and merge are sorted anew.
#[test]
fn a_scan_after_every_change() {
    fn check<S: Selection>(len: u64) {
        let (mut map, mut expected, mut random) = (Map::<u64, u64, S>::selected(), BTreeMap::new(), Random(len));
        // The keys ascend in part, so that leaves share with neighbours on both sides.
        for step in (0..len).chain((0..len).rev()) {
            let key = random.below(len) * 8 + step % 8;
            assert_eq!(map.insert(key, step), expected.insert(key, step));
            if step % 3 == 0 {
                assert_eq!(map.pop_first(), expected.pop_first());
            }
            assert!(map.iter().eq(expected.iter().map(|(key, value)| (*key, value))), "step {step} of {len}");
        }
    }
    for len in [60, 300, 500] {
        check::<Fast>(len / if cfg!(miri) { 10 } else { 1 });
        check::<Tall>(len / if cfg!(miri) { 10 } else { 1 });
    }
}

/// Readers note the order of leaves that other readers are reading.
#[test]
fn readers_of_the_same_leaves_agree() {
    let mut map: Map<u64, u64> = Map::new();
    let mut expected = BTreeMap::new();
    for round in 0..steps(60) as u64 {
        for key in shuffled(round % 7 + 90) {
            map.insert(key, round);
            expected.insert(key, round);
        }
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    assert!(map.iter().eq(expected.iter().map(|(key, value)| (*key, value))));
                    assert!(map.iter().rev().eq(expected.iter().rev().map(|(key, value)| (*key, value))));
                });
            }
        });
        let gone = *expected.keys().nth(round as usize).unwrap();
        assert_eq!(map.remove(&gone), expected.remove(&gone));
    }
}

/// A clone has the shape of its original, also where leaves are free, and changes apart from it.
#[test]
fn clones_are_of_their_own() {
    fn check<S: Selection>() {
        let mut map = Map::<u64, String, S>::selected();
        assert!(map.clone().is_empty());
        let keys: Vec<u64> = shuffled(steps(2500) as u64).collect();
        for kept in [1, 3, 40] {
            keys.iter().for_each(|key| drop(map.insert(*key, key.to_string())));
            map.retain(|key, _| key % kept == 0);
            let mut copy = map.clone();
            assert!(copy == map && copy.len() == map.len());
            for (at, key) in keys.iter().enumerate() {
                assert_eq!(copy.get(key), map.get(key));
                if at % 2 == 0 {
                    copy.insert(key ^ 1, "more".to_owned());
                } else {
                    copy.remove(key);
                }
            }
            assert!(map.iter().all(|(key, value)| *value == key.to_string()));
            assert!(copy.iter().zip(copy.keys().skip(1)).all(|((key, _), next)| key < next));
        }
    }
    check::<Fast>();
    check::<Paper>();
    check::<Tall>();
    check::<SortedBinary>();
}
