//! Random operations, compared with the standard library's map, with the database closed and opened in between.

use crate::families::{self, Family};
use crate::tools::Chance;
use crate::twin::{Twin, value};
use std::ops::Bound;

/// Phases of changes; each ends with a full comparison, and most with a reopening.
fn agrees(family: Family, seed: u64, operations: usize) {
    let mut chance = Chance::new(seed);
    let mut twin = Twin::new();
    twin.assert_equal();
    for phase in 0..4 {
        twin.stir(family, operations, &mut chance);
        twin.assert_equal();
        if phase % 2 == 1 {
            twin.reopen(&mut chance);
            twin.assert_equal();
        }
    }
}

#[test]
fn few_letters() {
    (0..2).for_each(|seed| agrees(Family::Letters, seed, 2500));
}

#[test]
fn ties_at_the_heads_boundary() {
    (0..3).for_each(|seed| agrees(Family::Ties, seed, 2000));
}

#[test]
fn long_common_prefixes() {
    (0..2).for_each(|seed| agrees(Family::Paths, seed, 1500));
}

#[test]
fn each_a_prefix_of_the_next() {
    (0..2).for_each(|seed| agrees(Family::Runs, seed, 1000));
}

#[test]
fn prefixes_of_the_greatest_byte() {
    (0..2).for_each(|seed| agrees(Family::High, seed, 1200));
}

#[test]
fn noise() {
    (0..2).for_each(|seed| agrees(Family::Noise, seed, 3000));
}

#[test]
fn numbers() {
    (0..2).for_each(|seed| agrees(Family::Numbers, seed, 2500));
}

/// Kinds take turns, so that ranges with long shared prefixes lie beside ranges without any.
#[test]
fn all_kinds_in_one_tree() {
    for seed in 100..102 {
        let mut chance = Chance::new(seed);
        let mut twin = Twin::new();
        for _ in 0..3 {
            for family in families::ALL {
                twin.stir(family, 400, &mut chance);
            }
            twin.assert_equal();
            twin.reopen(&mut chance);
        }
        twin.assert_equal();
    }
}

/// In ascending, descending and random order: everything is removed and inserted again.
#[test]
fn emptied_and_filled_again() {
    let mut chance = Chance::new(9);
    let mut twin = Twin::new();
    for (round, family) in families::ALL.into_iter().cycle().take(10).enumerate() {
        let mut keys: Vec<_> = (0..2500).map(|_| family.key(&mut chance)).collect();
        match round % 3 {
            0 => keys.sort(),
            1 => keys.sort_by(|a, b| b.cmp(a)),
            _ => {}
        }
        for key in keys {
            let value = value(&key, &mut chance);
            twin.insert(key, value);
        }
        twin.assert_equal();
        let mut gone: Vec<_> = twin.map.keys().cloned().collect();
        match chance.below(3) {
            0 => {}
            1 => gone.reverse(),
            _ => gone.sort_by_key(|key| Chance::new(key.len() as u64 + u64::from(*key.last().unwrap_or(&0))).next()),
        }
        let spared = chance.below(3);
        let count = gone.len().saturating_sub(spared);
        gone[..count].iter().for_each(|key| twin.remove(key));
        twin.assert_equal();
        if chance.one_in(2) {
            twin.reopen(&mut chance);
        }
    }
    twin.assert_equal();
}

/// Enough pairs for three levels of nodes above the leaves: sequential, reversed and mixed.
#[test]
fn many_levels() {
    let mut chance = Chance::new(11);
    let mut twin = Twin::new();
    for i in 0..60_000u32 {
        let number = if i % 2 == 0 { i } else { u32::MAX - i };
        twin.insert([b"a prefix that all share/", &number.to_be_bytes()[..]].concat(), vec![]);
    }
    twin.reopen(&mut chance);
    for i in (0..60_000u32).step_by(3) {
        let number = if i % 2 == 0 { i } else { u32::MAX - i };
        twin.remove(&[b"a prefix that all share/", &number.to_be_bytes()[..]].concat());
    }
    for _ in 0..20_000 {
        let number = chance.next() as u32;
        twin.insert([b"a prefix that all share/", &number.to_be_bytes()[..]].concat(), vec![1]);
    }
    twin.assert_equal();
}

#[test]
fn words_of_a_language() {
    let Some(words) = families::words() else {
        println!("skipped: no list of words (HOLM_WORDS names one)");
        return;
    };
    let mut chance = Chance::new(12);
    let mut twin = Twin::new();
    for word in words.iter().skip(3).step_by(13) {
        twin.insert(word.clone(), word.iter().rev().copied().collect());
    }
    twin.assert_equal();
    for word in words.iter().skip(3).step_by(39) {
        twin.remove(word);
    }
    twin.reopen(&mut chance);
    twin.assert_equal();
    for word in words.iter().step_by(997) {
        let prefix = &word[..word.len().min(3)];
        let expected: Vec<_> = twin.map.iter().filter(|(key, _)| key.starts_with(prefix)).collect();
        crate::twin::walk(twin.space().prefix(prefix), &expected, &mut chance);
    }
}

/// Keys of which each is a prefix of the next, and every range between any two of them.
#[test]
fn every_range_of_awkward_neighbours() {
    let mut chance = Chance::new(13);
    let mut twin = Twin::new();
    let keys: [&[u8]; 16] = [
        b"",
        b"\0",
        b"\0\0",
        b"a",
        b"a\0",
        b"a\0\0",
        b"ab",
        b"abcdefg",
        b"abcdefg\0",
        b"abcdefgh",
        b"abcdefgh\0",
        b"abcdefghi",
        b"b",
        b"\xff",
        b"\xff\xff",
        b"\xff\xff\0",
    ];
    for round in 0..2 {
        for key in keys.iter().skip(round).step_by(2) {
            twin.insert(key.to_vec(), key.to_vec());
        }
        for low in keys {
            for high in keys {
                if low >= high {
                    assert!(twin.space().range(low..high).next().is_none());
                    assert!(twin.space().range(low..high).next_back().is_none());
                    continue;
                }
                for (from, upto) in [
                    (Bound::Included(low), Bound::Included(high)),
                    (Bound::Included(low), Bound::Excluded(high)),
                    (Bound::Excluded(low), Bound::Included(high)),
                    (Bound::Excluded(low), Bound::Excluded(high)),
                    (Bound::Unbounded, Bound::Excluded(high)),
                    (Bound::Excluded(low), Bound::Unbounded),
                ] {
                    let expected: Vec<_> = twin.map.range::<[u8], _>((from, upto)).collect();
                    crate::twin::walk(twin.space().range::<&[u8]>((from, upto)), &expected, &mut chance);
                }
            }
        }
    }
    twin.assert_equal();
}

/// A leaf too large for a single copy is returned in parts, from either end.
#[test]
fn leaves_of_large_values() {
    let mut chance = Chance::new(15);
    let mut twin = Twin::new();
    for number in 0..60u8 {
        let len = *chance.pick(&[0, 10, 150_000, 400_000, 1_200_000]);
        twin.insert(vec![b'k', number], vec![number; len]);
    }
    twin.assert_equal();
    for _ in 0..40 {
        let (low, high) = (chance.below(60) as u8, chance.below(61) as u8);
        let (low, high) = (vec![b'k', low.min(high)], vec![b'k', low.max(high)]);
        let expected: Vec<_> = twin.map.range(low.clone()..high.clone()).collect();
        crate::twin::walk(twin.space().range(low..high), &expected, &mut chance);
    }
}

#[test]
fn a_value_of_64_megabytes() {
    let mut chance = Chance::new(14);
    let mut twin = Twin::new();
    twin.insert(b"small".to_vec(), b"1".to_vec());
    let mut large = chance.bytes(1 << 10).repeat(64 << 10);
    twin.insert(b"large".to_vec(), large.clone());
    twin.insert(b"larger".to_vec(), b"2".to_vec());
    assert_eq!(twin.space().range("larg".."large~").count(), 2);
    twin.db().sync().expect("a disk");
    twin.reopen(&mut chance);
    twin.assert_equal();
    large.truncate(100);
    twin.insert(b"large".to_vec(), large);
    twin.assert_equal();
    twin.remove(b"large");
    twin.reopen(&mut chance);
    twin.assert_equal();
}
