//! Properties against the standard library's map, for each method and each selection. The sequences of operations come
//! from proptest, which shrinks them, or are decoded from arbitrary bytes, as a fuzzer would provide.

#[path = "suite/operations.rs"]
mod operations;
mod suite;

use operations::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::ops::Bound;

fn key() -> impl Strategy<Value = u64> {
    any::<u16>().prop_map(key_of)
}

fn bound() -> impl Strategy<Value = Bound<u64>> {
    prop_oneof![key().prop_map(Bound::Included), key().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
}

fn some_pairs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    vec((key(), any::<u64>()), 0..100)
}

/// Sequences with as many insertions of pairs as other `operations`, and some removals.
fn sequence(operations: BoxedStrategy<Operation>) -> impl Strategy<Value = Vec<Operation>> {
    let insert = (key(), any::<u64>()).prop_map(|(key, value)| Insert(key, value));
    let many = some_pairs().prop_map(InsertMany);
    vec(prop_oneof![4 => insert, 1 => many, 2 => key().prop_map(Remove), 5 => operations], 1..150)
}

/// Defines a property for each group of methods.
macro_rules! properties {
    ($($name:ident: $($operation:expr),*;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 8 }, ..ProptestConfig::default() })]
            $(
                #[test]
                fn $name(operations in sequence(prop_oneof![$($operation),*].boxed())) {
                    run(&operations);
                }
            )*

            #[test]
            fn any_bytes_are_operations(bytes in vec(any::<u8>(), 0..3000)) {
                run(&decoded(&bytes));
            }
        }
    };
}

properties! {
    lookups: key().prop_map(Get), (key(), any::<u64>()).prop_map(|(key, value)| GetMut(key, value)),
        key().prop_map(RemoveEntry), (key(), any::<u64>()).prop_map(|(key, value)| InsertUnique(key, value));
    entries: (key(), any::<u64>()).prop_map(|(key, value)| OrInsert(key, value)), key().prop_map(OrDefault),
        (key(), any::<u64>()).prop_map(|(key, value)| Occupied(key, value));
    ends: Just(Ends), Just(PopFirst), Just(PopLast), any::<u64>().prop_map(EndEntries);
    ranges: (bound(), bound(), any::<u64>()).prop_map(|(low, high, turns)| Range(low, high, turns)),
        (bound(), bound(), any::<u64>()).prop_map(|(low, high, value)| RangeMut(low, high, value));
    batches: some_pairs().prop_map(InsertMany), vec(key(), 0..100).prop_map(GetMany),
        vec(key(), 0..100).prop_map(RemoveMany);
    iterators: Just(Iterators), any::<u64>().prop_map(Consume);
    wholes: (0..6_u64).prop_map(Retain), some_pairs().prop_map(Append), some_pairs().prop_map(Extend), Just(Clear),
        Just(Shrink);
    parts: (bound(), bound(), 0..6_u64, 0..200_usize)
            .prop_map(|(low, high, part, most)| ExtractIf(low, high, part, most)),
        key().prop_map(SplitOff);
    copies: Just(Clone), Just(Collect), any::<u64>().prop_map(Compare);
}
