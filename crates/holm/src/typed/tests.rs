//! Encodings: the order of the bytes is that of the values, and every key comes back. Tables: what a map does.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn bytes<K: Key>(key: &K, is_last: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes, is_last);
    bytes
}

/// Asserts that the bytes of two keys have their order, alone and with anything behind them, and are read back.
fn agree<K: Key>(a: &K, b: &K, order: Ordering) {
    for is_last in [true, false] {
        let (first, second) = (bytes(a, is_last), bytes(b, is_last));
        assert_eq!(first.cmp(&second), order, "{first:x?} {second:x?}");
        let mut rest = &first[..];
        let back = K::decode(&mut rest, is_last).expect("its own bytes");
        assert!(rest.is_empty());
        assert_eq!(bytes(&back, is_last), first, "another key came back");
    }
    // What follows never decides between different keys.
    if order != Ordering::Equal {
        assert_eq!((bytes(a, false), 0xff_u8).cmp(&(bytes(b, false), 0)), order);
        let with = |key: &K, next: u8| [bytes(key, false), vec![next]].concat();
        assert_eq!(with(a, 0xff).cmp(&with(b, 0)), order);
        assert_eq!(with(a, 0).cmp(&with(b, 0xff)), order);
    }
}

/// Few different bytes, the special ones among them, so that strings often share their beginnings.
fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0), Just(1), Just(0xfe), Just(0xff), any::<u8>()], 0..6)
}

macro_rules! orders {
    ($($name:ident: $strategy:expr;)*) => {
        proptest! {
            $(#[test]
            fn $name((a, b) in ($strategy, $strategy)) {
                agree(&a, &b, a.cmp(&b));
            })*
        }
    };
}

orders! {
    u8s: any::<u8>();
    u16s: any::<u16>();
    u32s: any::<u32>();
    u64s: any::<u64>();
    u128s: any::<u128>();
    usizes: any::<usize>();
    i8s: any::<i8>();
    i16s: any::<i16>();
    i32s: any::<i32>();
    i64s: any::<i64>();
    i128s: any::<i128>();
    isizes: any::<isize>();
    truths: any::<bool>();
    characters: any::<char>();
    strings: any::<String>();
    byte_strings: text();
    slices: text().prop_map(Slice::from);
    arrays: any::<[u8; 3]>();
    options: any::<Option<i8>>();
    options_of_strings: proptest::option::of(text());
    reversed: any::<i16>().prop_map(Reverse);
    reversed_strings: text().prop_map(Reverse);
    spans: (0..3_u64, 0..2_000_000_000_u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos));
    tuples_of_one: any::<(u8,)>();
    tuples_of_two: (text(), any::<i8>());
    tuples_of_three: (text(), proptest::option::of(text()), text());
    tuples_of_six: (any::<bool>(), text(), text().prop_map(Reverse), any::<i8>(), any::<Option<u8>>(), text());
    tuples_in_tuples: ((text(), any::<bool>()), (text(), text()));
    times: (any::<bool>(), 0..3_u64, 0..1_000_000_000_u32).prop_map(|(is_later, seconds, nanos)| {
        let span = Duration::new(seconds, nanos);
        if is_later { UNIX_EPOCH + span } else { UNIX_EPOCH - span }
    });
}

proptest! {
    #[test]
    fn floats((a, b) in (any::<u64>(), any::<u64>())) {
        let (wide_a, wide_b) = (f64::from_bits(a), f64::from_bits(b));
        agree(&wide_a, &wide_b, wide_a.total_cmp(&wide_b));
        let (narrow_a, narrow_b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        agree(&narrow_a, &narrow_b, narrow_a.total_cmp(&narrow_b));
    }

    /// Any bytes: a key or none, never a panic; and a key has one encoding.
    #[test]
    fn any_bytes_are_a_key_or_none(any in vec(any::<u8>(), 0..24)) {
        type Long = (Option<String>, Vec<u8>, Reverse<Vec<u8>>, bool, SystemTime, Duration);
        for is_last in [true, false] {
            let mut rest = &any[..];
            if let Some(key) = <(char, f32, Option<bool>)>::decode(&mut rest, is_last) {
                prop_assert_eq!(&bytes(&key, is_last)[..], &any[..any.len() - rest.len()]);
            }
            let mut rest = &any[..];
            if let Some(key) = Long::decode(&mut rest, is_last) {
                prop_assert_eq!(&bytes(&key, is_last)[..], &any[..any.len() - rest.len()]);
            }
            let mut rest = &any[..];
            if let Some(key) = <(Vec<u8>, u8)>::decode(&mut rest, is_last) {
                prop_assert_eq!(&bytes(&key, is_last)[..], &any[..any.len() - rest.len()]);
            }
        }
    }

    #[test]
    fn a_prefix_is_of_exactly_the_tuples_that_begin_so(
        keys in vec((text(), any::<u8>(), text()), 0..40),
        at in 0..40_usize,
    ) {
        let Some((first, second, _)) = keys.get(at) else { return Ok(()) };
        for key in &keys {
            let whole = bytes(key, true);
            let mut one = Vec::new();
            Prefix::<(Vec<u8>, u8, Vec<u8>)>::encode_prefix(&(first,), &mut one);
            prop_assert_eq!(whole.starts_with(&one), key.0 == *first);
            let mut two = Vec::new();
            Prefix::<(Vec<u8>, u8, Vec<u8>)>::encode_prefix(&(first, second), &mut two);
            prop_assert_eq!(whole.starts_with(&two), (&key.0, key.1) == (first, *second));
        }
    }
}

#[test]
fn the_extremes_of_floats_have_their_places() {
    let sorted =
        [-f64::NAN, f64::NEG_INFINITY, -1.0, -f64::MIN_POSITIVE, -0.0, 0.0, 5e-324, 1.0, f64::INFINITY, f64::NAN];
    let encoded: Vec<_> = sorted.iter().map(|number| bytes(number, true)).collect();
    assert!(encoded.is_sorted_by(|a, b| a < b), "{encoded:x?}");
}

#[test]
fn the_documented_bytes() {
    assert_eq!(bytes(&0x0102_u16, true), [1, 2]);
    assert_eq!(bytes(&-2_i8, true), [0x7e]);
    assert_eq!(bytes(&1_usize, true), [0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bytes(&1.0_f32, true), [0xbf, 0x80, 0, 0]);
    assert_eq!(bytes(&"a\0".to_owned(), true), *b"a\0");
    assert_eq!(bytes(&("a\0".to_owned(), true), true), *b"a\0\xff\0\x01\x01");
    let (mut as_vector, mut as_slice) = (Vec::new(), Vec::new());
    AsKey::<Vec<u8>>::encode(b"a\0", &mut as_vector, false);
    AsKey::<Slice>::encode(b"a\0", &mut as_slice, true);
    assert_eq!((&as_vector[..], &as_slice[..]), (&b"a\0\xff\0\x01"[..], &b"a\0"[..]));
    assert_eq!(bytes(&Some(7_u8), true), [1, 7]);
    assert_eq!(bytes(&Reverse(7_u8), true), [0xf8]);
    assert_eq!(
        bytes(&(UNIX_EPOCH - Duration::new(0, 1)), true),
        [0x7f, 255, 255, 255, 255, 255, 255, 255, 0x3b, 0x9a, 0xc9, 0xff]
    );
    #[cfg(feature = "uuid")]
    assert_eq!(bytes(&uuid::Uuid::from_u128(5), true), 5_u128.to_be_bytes());
}

fn opened() -> (tempfile::TempDir, crate::Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let db = crate::Database::builder().capacity(1 << 30).open(folder.path().join("db")).expect("a database");
    (folder, db)
}

#[test]
fn a_table_is_a_map() -> Result<()> {
    let (_folder, db) = opened();
    let table: Table<(String, i16), String> = Table::new(db.keyspace("reefs")?);
    let mut map = BTreeMap::new();
    for number in 0..600_i16 {
        let (name, depth) = (["", "a", "a\0", "ab"][usize::from(number.unsigned_abs()) % 4], number * 31 % 200 - 100);
        table.insert((name, depth), number.to_string())?;
        map.insert((name.to_owned(), depth), number.to_string());
    }
    let all = |pairs: Pairs<_, _, _, _>| pairs.collect::<Result<Vec<((String, i16), String)>>>();
    assert_eq!(all(table.iter())?, map.clone().into_iter().collect::<Vec<_>>());
    let range = ("a".to_owned(), 5)..=("a\0".to_owned(), -5);
    assert_eq!(
        all(table.range(range.clone()))?,
        map.range(range).map(|(k, v)| (k.clone(), v.clone())).collect::<Vec<_>>()
    );
    assert_eq!(table.prefix(("a",)).count(), map.keys().filter(|(name, _)| name == "a").count());
    let back: Vec<_> = table.iter().keys().rev().collect::<Result<_>>()?;
    assert_eq!(back, map.keys().rev().cloned().collect::<Vec<_>>());
    assert_eq!(table.first()?, map.first_key_value().map(|(k, v)| (k.clone(), v.clone())));
    assert_eq!(table.last()?, map.last_key_value().map(|(k, v)| (k.clone(), v.clone())));
    assert!(table.contains_key(("ab", -7))? && table.remove(("ab", -7))? && !table.contains_key(("ab", -7))?);
    assert_eq!(table.take(("ab", -3))?, map.remove(&("ab".into(), -3)));
    Ok(())
}

#[test]
fn bytes_of_another_type_are_an_error_and_harm_no_others() -> Result<()> {
    let (_folder, db) = opened();
    let raw = db.keyspace("numbers")?;
    let table: Table<u32, u16> = Table::new(raw.clone());
    table.insert(1_u32, 10)?;
    raw.insert(2_u32.to_be_bytes(), "three")?;
    raw.insert("three", 3_u16.to_be_bytes())?;
    table.insert(4_u32, 40)?;
    match table.get(2_u32) {
        Err(Error::Encoding { keyspace, what }) => {
            assert_eq!((&*keyspace, &*what), ("numbers", "found b\"three\" (5 bytes), expected a u16"));
        }
        other => panic!("{other:?}"),
    }
    let found: Vec<_> = table.iter().map(|pair| pair.ok()).collect();
    assert_eq!(found, [Some((1, 10)), None, Some((4, 40)), None]);
    // Keys alone need no value.
    assert_eq!(table.iter().keys().filter(Result::is_ok).count(), 3);
    // A swap tells of the former value that it is none, and has replaced it.
    assert!(matches!(table.swap(2_u32, 20), Err(Error::Encoding { .. })));
    assert_eq!(table.get(2_u32)?, Some(20));
    Ok(())
}

#[test]
fn a_transaction_sees_its_writes_and_a_snapshot_none_that_follow() -> Result<()> {
    let (_folder, db) = opened();
    let table: Table<String, u64> = Table::new(db.keyspace("counts")?);
    table.insert("a", 1)?;
    let before = db.snapshot()?;
    db.transact(|transaction| {
        let counts = table.within(transaction);
        let sum = counts.get("a")?.unwrap_or(0) + 1;
        counts.insert("b", sum)?;
        assert_eq!(counts.take("a")?, Some(1));
        assert_eq!(counts.iter().collect::<Result<Vec<_>>>()?, [("b".to_owned(), 2)]);
        counts.remove("absent")
    })?;
    assert_eq!(table.iter().collect::<Result<Vec<_>>>()?, [("b".to_owned(), 2)]);
    let then = table.at(&before).expect("it exists");
    assert_eq!(then.iter().collect::<Result<Vec<_>>>()?, [("a".to_owned(), 1)]);
    let other: Table<String, u64> = Table::new(db.keyspace("later")?);
    assert!(other.at(&before).is_none());
    Ok(())
}

/// The iterator of a range that cannot be read returns its error once.
#[test]
fn a_range_that_fails_says_so_once() -> Result<()> {
    let ((_a, one), (_b, two)) = (opened(), opened());
    let table: Table<String, u64> = Table::new(one.keyspace("counts")?);
    let transaction = two.begin();
    let within = table.within(&transaction);
    let mut pairs = within.iter();
    assert!(matches!(pairs.next(), Some(Err(Error::Invalid { .. }))));
    assert!(pairs.next().is_none() && pairs.next_back().is_none());
    assert_eq!(table.within(&transaction).iter().keys().filter(Result::is_err).count(), 1);
    Ok(())
}
