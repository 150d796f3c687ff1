//! Operations on a map and on the standard library's, for each method and every selection.
//!
//! The one function that is generic in a selection is [`Subject::apply`]; everything else is compiled once.

use crate::suite::{
    Broad, Loose, Rowed, SortedBinary, SortedGuessed, SortedLinear, SortedSteps, Tall, UnsortedPure, UnsortedScalar,
};
use holm_map::{Entry, Examining, Fast, FastNarrow, HybridInterpolation, Inner, Leaves, Map, OccupiedEntry, Paper};
use holm_map::{PaperAhead, Selection, SortedPages, Three, Unsorted};
use std::collections::{BTreeMap, btree_map};
use std::ops::Bound;

/// The paper's root.
type Pure = Inner<HybridInterpolation<false>, 8192, false, 4>;

type Model = BTreeMap<u64, u64>;

/// An operation on a map and its model.
#[derive(Clone, Debug)]
pub enum Operation {
    Insert(u64, u64),
    InsertUnique(u64, u64),
    Remove(u64),
    RemoveEntry(u64),
    Get(u64),
    GetMut(u64, u64),
    OrInsert(u64, u64),
    OrDefault(u64),
    Occupied(u64, u64),
    Ends,
    PopFirst,
    PopLast,
    Range(Bound<u64>, Bound<u64>, u64),
    RangeMut(Bound<u64>, Bound<u64>, u64),
    InsertMany(Vec<(u64, u64)>),
    GetMany(Vec<u64>),
    RemoveMany(Vec<u64>),
    Iterators,
    Retain(u64),
    ExtractIf(Bound<u64>, Bound<u64>, u64, usize),
    SplitOff(u64),
    EndEntries(u64),
    Append(Vec<(u64, u64)>),
    Extend(Vec<(u64, u64)>),
    Clear,
    Shrink,
    Clone,
    Consume(u64),
    Collect,
    Compare(u64),
}

pub use Operation::*;

trait Subject {
    fn apply(&mut self, operation: &Operation, model: &mut Model);
    fn compare(&self, model: &Model);
}

/// A pair in the form that the map returns.
fn given<'a>((key, value): (&u64, &'a u64)) -> (u64, &'a u64) {
    (*key, value)
}

impl<S: Selection> Subject for Map<u64, u64, S> {
    fn compare(&self, model: &Model) {
        assert_eq!((self.len(), self.is_empty()), (model.len(), model.is_empty()));
        assert!(self.iter().eq(model.iter().map(given)), "the pairs");
        assert!(self.iter().rev().eq(model.iter().rev().map(given)), "the pairs from the back");
    }

    fn apply(&mut self, operation: &Operation, model: &mut Model) {
        let done = do_pairs(self, operation, model)
            || do_entries(self, operation, model)
            || do_several(self, operation, model)
            || do_wholes(self, operation, model)
            || do_copies(self, operation, model);
        assert!(done, "{operation:?} is in no group");
    }
}

/// Operations on one pair, and on the ends. Returns whether `operation` belongs to this group.
fn do_pairs<S: Selection>(map: &mut Map<u64, u64, S>, operation: &Operation, model: &mut Model) -> bool {
    match operation {
        Insert(key, value) => assert_eq!(map.insert(*key, *value), model.insert(*key, *value)),
        InsertUnique(key, value) => {
            if let btree_map::Entry::Vacant(vacant) = model.entry(*key) {
                vacant.insert(*value);
                map.insert_unique(*key, *value);
            }
        }
        Remove(key) => assert_eq!(map.remove(key), model.remove(key)),
        RemoveEntry(key) => assert_eq!(map.remove_entry(key), model.remove_entry(key)),
        Get(key) => {
            assert_eq!(map.get(key), model.get(key));
            assert_eq!(map.contains_key(key), model.contains_key(key));
            assert_eq!(map.get_key_value(key), model.get_key_value(key).map(given));
        }
        GetMut(key, value) => {
            let change = |found: &mut u64| std::mem::replace(found, *value);
            assert_eq!(map.get_mut(key).map(change), model.get_mut(key).map(change));
        }
        Ends => {
            assert_eq!(map.first_key_value(), model.first_key_value().map(given));
            assert_eq!(map.last_key_value(), model.last_key_value().map(given));
        }
        PopFirst => assert_eq!(map.pop_first(), model.pop_first()),
        PopLast => assert_eq!(map.pop_last(), model.pop_last()),
        _ => return false,
    }
    true
}

/// Operations on entries. Returns whether `operation` belongs to this group.
fn do_entries<S: Selection>(map: &mut Map<u64, u64, S>, operation: &Operation, model: &mut Model) -> bool {
    match operation {
        OrInsert(key, value) => {
            let ours = *map.entry(*key).and_modify(|found| *found ^= value).or_insert(*value);
            assert_eq!(ours, *model.entry(*key).and_modify(|found| *found ^= value).or_insert(*value));
        }
        OrDefault(key) => {
            assert_eq!(map.entry(*key).or_default(), model.entry(*key).or_default());
            assert_eq!(map.entry(*key).or_insert_with_key(|key| *key), model.get(key).unwrap());
        }
        Occupied(key, value) => match (map.entry(*key), model.entry(*key)) {
            (Entry::Occupied(mut ours), btree_map::Entry::Occupied(mut theirs)) => {
                assert_eq!((ours.key(), ours.get()), (theirs.key(), theirs.get()));
                assert_eq!(ours.insert(*value), theirs.insert(*value));
                assert_eq!(ours.get_mut(), theirs.get_mut());
                assert_eq!(ours.remove(), theirs.remove());
            }
            (Entry::Vacant(ours), btree_map::Entry::Vacant(theirs)) => {
                assert_eq!(ours.key(), theirs.key());
                let (mut ours, mut theirs) = (ours.insert_entry(*key), theirs.insert_entry(*key));
                assert_eq!(ours.insert(*value), theirs.insert(*value));
                assert_eq!(ours.into_mut(), theirs.into_mut());
            }
            _ => panic!("{key} is in one of the two"),
        },
        EndEntries(value) => do_end_entries(map, *value, model),
        _ => return false,
    }
    true
}

/// Operations on the entries of both ends: one is changed, the other removed.
fn do_end_entries<S: Selection>(map: &mut Map<u64, u64, S>, value: u64, model: &mut Model) {
    match (map.first_entry(), model.first_entry()) {
        (Some(mut ours), Some(mut theirs)) => {
            assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
            assert_eq!(ours.insert(value), theirs.insert(value));
        }
        (None, None) => {}
        _ => panic!("a first entry is in one of the two"),
    }
    let (ours, theirs) = (map.last_entry(), model.last_entry());
    assert_eq!(ours.map(OccupiedEntry::remove_entry), theirs.map(btree_map::OccupiedEntry::remove_entry));
}

/// Ranges, iterators and batches. Returns whether `operation` belongs to this group.
fn do_several<S: Selection>(map: &mut Map<u64, u64, S>, operation: &Operation, model: &mut Model) -> bool {
    match operation {
        Range(low, high, turns) => both_ends(map.range((*low, *high)), &mut range(model, *low, *high), *turns),
        RangeMut(low, high, value) => {
            map.range_mut((*low, *high)).for_each(|(key, found)| *found ^= key ^ value);
            let mut expected: Vec<u64> = range(model, *low, *high).map(|(key, _)| key).collect();
            expected.drain(..).for_each(|key| *model.get_mut(&key).unwrap() ^= key ^ value);
        }
        InsertMany(pairs) => {
            let before = model.len();
            model.extend(pairs.iter().copied());
            assert_eq!(map.insert_many(pairs.iter().copied()), model.len() - before);
        }
        GetMany(keys) => {
            assert!(map.get_many(keys).into_iter().eq(keys.iter().map(|key| model.get(key))));
        }
        RemoveMany(keys) => {
            let mut taken = vec![None; keys.len()];
            let count = map.remove_many_with(keys, |at, value| taken[at] = value);
            let expected: Vec<Option<u64>> = keys.iter().map(|key| model.remove(key)).collect();
            assert_eq!((count, taken), (expected.iter().flatten().count(), expected));
        }
        Iterators => {
            assert!(map.keys().eq(model.keys().copied()) && map.values().eq(model.values()));
            assert_eq!((map.iter().len(), map.keys().len()), (model.len(), model.len()));
            map.values_mut().chain([]).for_each(|value| *value = value.rotate_left(1));
            map.iter_mut().rev().for_each(|(key, value)| *value ^= key);
            model.iter_mut().for_each(|(key, value)| *value = value.rotate_left(1) ^ key);
        }
        _ => return false,
    }
    true
}

/// Operations on a whole map. Returns whether `operation` belongs to this group.
fn do_wholes<S: Selection>(map: &mut Map<u64, u64, S>, operation: &Operation, model: &mut Model) -> bool {
    match operation {
        Retain(part) => {
            map.retain(|key, value| (*key ^ *value) % 5 >= *part);
            model.retain(|key, value| (*key ^ *value) % 5 >= *part);
        }
        ExtractIf(low, high, part, most) => {
            let keys: Vec<u64> = range(model, *low, *high).map(|(key, _)| key).collect();
            let wanted = |key: &u64, value: &mut u64| {
                *value = value.rotate_left(1);
                (*key ^ *value) % 5 < *part
            };
            let ours: Vec<_> = map.extract_if((*low, *high), wanted).take(*most).collect();
            let mut theirs = Vec::new();
            for key in keys {
                if theirs.len() < *most && wanted(&key, model.get_mut(&key).unwrap()) {
                    theirs.extend(model.remove_entry(&key));
                }
            }
            assert_eq!(ours, theirs);
        }
        SplitOff(key) => {
            let (ours, theirs) = (map.split_off(key), model.split_off(key));
            ours.compare(&theirs);
            map.compare(model);
            // Puts the pairs back, so that later operations have pairs to work on.
            map.extend(ours);
            model.extend(theirs);
        }
        Append(pairs) => {
            let mut other: Map<u64, u64, S> = pairs.iter().copied().collect();
            map.append(&mut other);
            assert!(other.is_empty());
            model.append(&mut pairs.iter().copied().collect());
        }
        Extend(pairs) => {
            map.extend(pairs.iter().map(|(key, value)| (key, value)));
            model.extend(pairs.iter().map(|(key, value)| (key, value)));
        }
        Clear => {
            map.clear();
            model.clear();
        }
        Shrink => {
            map.shrink_to_fit();
            assert!(map.memory_usage() > 0);
        }
        _ => return false,
    }
    true
}

/// Copies of a map. Returns whether `operation` belongs to this group.
fn do_copies<S: Selection>(map: &mut Map<u64, u64, S>, operation: &Operation, model: &mut Model) -> bool {
    match operation {
        Clone => {
            let clone = map.clone();
            assert!(clone == *map && clone <= *map);
            assert_eq!(format!("{map:?}"), format!("{model:?}"));
            *map = clone;
        }
        Consume(turns) => {
            let taken = map.clone();
            both_ends(taken.into_iter(), &mut model.clone().into_iter(), *turns);
            assert!(map.clone().into_keys().eq(model.keys().copied()));
            assert!(map.clone().into_values().rev().eq(model.values().rev().copied()));
        }
        Collect => {
            let pairs: Vec<(u64, u64)> = map.iter().map(|(key, value)| (key, *value)).collect();
            assert!(Map::<u64, u64, S>::bulk_load(pairs.iter().copied()).as_ref() == Ok(&*map));
            // If a key comes twice, the last pair remains.
            let twice = pairs.iter().rev().map(|(key, value)| (*key, !value)).chain(pairs.iter().copied());
            assert!(twice.collect::<Map<u64, u64, S>>() == *map);
            let falling = pairs.iter().rev().copied();
            assert_eq!(Map::<u64, u64, S>::bulk_load(falling).is_err(), pairs.len() > 1);
        }
        Compare(value) => {
            let mut other = map.clone();
            let mut changed = model.clone();
            if let (Some((_, ours)), Some((_, theirs))) = (other.iter_mut().next_back(), changed.iter_mut().next_back())
            {
                (*ours, *theirs) = (*value, *value);
            }
            assert_eq!((other == *map, (*map).cmp(&other)), (changed == *model, (*model).cmp(&changed)));
        }
        _ => return false,
    }
    true
}

/// Compares pairs from both ends, in turns that `turns` decides, until nothing is left.
fn both_ends<T: PartialEq + std::fmt::Debug>(
    mut ours: impl DoubleEndedIterator<Item = T>,
    theirs: &mut dyn DoubleEndedIterator<Item = T>,
    mut turns: u64,
) {
    loop {
        turns = turns.rotate_left(1);
        let (one, other) =
            if turns & 1 == 0 { (ours.next(), theirs.next()) } else { (ours.next_back(), theirs.next_back()) };
        assert_eq!(one, other);
        if one.is_none() {
            return assert!(ours.next().is_none() && ours.next_back().is_none());
        }
    }
}

/// The model's range: empty where the standard library's panics.
fn range(model: &Model, low: Bound<u64>, high: Bound<u64>) -> impl DoubleEndedIterator<Item = (u64, &u64)> {
    let above = move |key: &u64| match low {
        Bound::Included(low) => *key >= low,
        Bound::Excluded(low) => *key > low,
        Bound::Unbounded => true,
    };
    let below = move |key: &u64| match high {
        Bound::Included(high) => *key <= high,
        Bound::Excluded(high) => *key < high,
        Bound::Unbounded => true,
    };
    model.iter().filter(move |(key, _)| above(key) && below(key)).map(given)
}

/// Returns an empty map of every selection.
fn subjects() -> Vec<Box<dyn Subject>> {
    fn subject<S: Selection>() -> Box<dyn Subject> {
        Box::new(Map::<u64, u64, S>::selected())
    }
    vec![
        subject::<Fast>(),
        subject::<FastNarrow>(),
        subject::<Paper>(),
        subject::<PaperAhead>(),
        subject::<SortedPages>(),
        subject::<Three<Leaves<Unsorted, 128, true, 2>, Inner<Examining, 128, true, 1>, Pure>>(),
        subject::<Tall>(),
        subject::<Rowed>(),
        subject::<Loose>(),
        subject::<Broad>(),
        subject::<UnsortedScalar>(),
        subject::<UnsortedPure>(),
        subject::<SortedLinear>(),
        subject::<SortedBinary>(),
        subject::<SortedSteps>(),
        subject::<SortedGuessed>(),
    ]
}

/// Applies all operations to an empty map of every selection, and compares with the standard library's map.
pub fn run(operations: &[Operation]) {
    for mut subject in subjects() {
        let mut model = Model::new();
        operations.iter().for_each(|operation| subject.apply(operation, &mut model));
        subject.compare(&model);
    }
}

/// Returns one of few keys, which include both ends of the range.
pub fn key_of(number: u16) -> u64 {
    match number % 512 {
        511 => u64::MAX,
        number => u64::from(number) * (u64::MAX / 511),
    }
}

/// Decodes operations from bytes. Every byte string is valid.
pub fn decoded(bytes: &[u8]) -> Vec<Operation> {
    let chunks =
        bytes.chunks_exact(4).map(|chunk| (chunk[0], key_of(u16::from_le_bytes([chunk[1], chunk[2]])), chunk[3]));
    let run = |key: u64, count: u8| (0..u64::from(count)).map(move |step| key.wrapping_add(step << 55));
    chunks
        .map(|(what, key, more)| match what % 40 {
            0..10 => Insert(key, u64::from(more)),
            10..14 => Remove(key),
            14 => InsertUnique(key, u64::from(more)),
            15 => RemoveEntry(key),
            16 => GetMut(key, u64::from(more)),
            17 => OrInsert(key, u64::from(more)),
            18 => OrDefault(key),
            19 => Occupied(key, u64::from(more)),
            20 => {
                if more % 2 == 0 {
                    PopFirst
                } else {
                    PopLast
                }
            }
            21 => Range(Bound::Included(key), Bound::Excluded(key.rotate_left(1)), u64::from(more) * 0x0101_0101),
            22 => RangeMut(Bound::Excluded(key), Bound::Unbounded, u64::from(more)),
            23 => InsertMany(run(key, more).map(|key| (key, !key)).collect()),
            24 => GetMany(run(key, more).collect()),
            25 => RemoveMany(run(key, more).collect()),
            26 => Iterators,
            27 if more < 64 => Retain(u64::from(more % 6)),
            28 if more < 64 => Shrink,
            29 if more < 8 => Clear,
            30 if more < 128 => EndEntries(key),
            30 => SplitOff(key),
            31 => Ends,
            32 => ExtractIf(Bound::Included(key), Bound::Unbounded, u64::from(more % 6), usize::from(more)),
            33 => Append(run(key, more).map(|key| (key, key)).collect()),
            34 => Extend(run(key, more).map(|key| (key, key)).collect()),
            35 => Clone,
            36 => Consume(u64::from(more) * 0x0101_0101),
            37 => Collect,
            38 => Compare(u64::from(more)),
            _ => Get(key),
        })
        .collect()
}
