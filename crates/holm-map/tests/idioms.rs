//! Idioms of users of the standard library's map: they compile, and give the same results.

use holm_map::{Entry, ExtractIf, IntoIter, Iter, IterMut, Map, Paper, RangeMut, ValuesMut};
use std::cell::Cell;
use std::collections::BTreeMap;

#[test]
fn maps_are_made_of_arrays_and_of_each_other() {
    let mut map = Map::from([(2_u64, "b"), (1, "a"), (2, "c")]);
    let other = BTreeMap::from([(2_u64, "b"), (1, "a"), (2, "c")]);
    assert_eq!(format!("{map:?} {map:#?}"), format!("{other:?} {other:#?}"));
    map.extend(&Map::from([(5, "e")]));
    map.extend(&BTreeMap::from([(4, "d")]));
    map.extend([(0, "_")]);
    assert_eq!(map.keys().collect::<Vec<_>>(), [0, 1, 2, 4, 5]);
    let copied: Map<u64, &str, Paper> = map.iter().map(|(key, value)| (key, *value)).collect();
    assert!(copied == map);
}

/// A vacant entry is filled in its place. This includes the first entry of a map and entries that split a leaf.
#[test]
fn counting_by_entries() {
    let (mut ours, mut theirs) = (Map::<u64, u64>::new(), BTreeMap::new());
    assert!(matches!(ours.entry(3), Entry::Vacant(_)));
    assert_eq!((ours.len(), ours.memory_usage()), (0, Map::<u64, u64>::new().memory_usage()));
    for number in 0..3000_u64 {
        let key = (number * number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        *ours.entry(key).or_default() += 1;
        *theirs.entry(key).or_default() += 1;
    }
    assert!(ours.iter().map(|(key, count)| (key, *count)).eq(theirs));
}

#[test]
fn iterators_show_what_is_still_to_come() {
    let mut map: Map<i32, char> = (0..).zip('a'..='f').collect();
    let mut pairs = map.iter_mut();
    assert!(pairs.next().is_some() && pairs.next_back().is_some());
    assert_eq!(format!("{pairs:?}"), "[(1, 'b'), (2, 'c'), (3, 'd'), (4, 'e')]");
    assert_eq!(format!("{:?}", map.range_mut(4..)), "[(4, 'e'), (5, 'f')]");
    let mut values = map.values_mut();
    assert_eq!(values.nth(3), Some(&mut 'd'));
    assert_eq!(format!("{values:?}"), "['e', 'f']");
    assert_eq!(format!("{:?}", map.extract_if(.., |_, _| true)), "ExtractIf { .. }");
    let mut pairs = map.into_iter();
    assert_eq!((pairs.nth(2), pairs.next_back()), (Some((2, 'c')), Some((5, 'f'))));
    assert_eq!(format!("{pairs:?}"), "[(3, 'd'), (4, 'e')]");
}

/// Iterators with mutable values are `Send` if the values are, even if the values are not `Sync`.
#[test]
fn what_may_be_sent() {
    fn sent<T: Send>() {}
    fn shared<T: Sync>() {}
    sent::<(Map<u64, Cell<u64>>, IntoIter<u64, Cell<u64>>)>();
    sent::<(IterMut<'_, u64, Cell<u64>>, RangeMut<'_, u64, Cell<u64>>, ValuesMut<'_, u64, Cell<u64>>)>();
    sent::<(Iter<'_, u64, u64>, ExtractIf<'_, u64, Cell<u64>, fn(&u64, &mut Cell<u64>) -> bool>)>();
    shared::<(Map<u64, u64, Paper>, IterMut<'_, u64, u64>, IntoIter<u64, u64>)>();
    let mut map: Map<u64, Cell<u64>> = (0..100).map(|key| (key, Cell::new(key))).collect();
    std::thread::scope(|scope| {
        let values = map.values_mut();
        scope.spawn(|| values.for_each(|value| value.set(7)));
    });
    assert!(map.values().all(|value| value.get() == 7));
}
