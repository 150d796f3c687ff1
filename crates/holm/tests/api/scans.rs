//! Scans in steps, with changes in between that divide and merge the leaves around where they are.

use crate::tools::{Chance, assert_sound, folder, relaxed};
use std::collections::BTreeSet;

const KEYS: u32 = 6_000;

/// Every tenth number stays, and comes once and in order, from whichever end. The others come and go.
#[test]
fn what_stays_comes_once_although_leaves_are_divided_and_merge() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let staying: BTreeSet<u32> = (0..KEYS).step_by(10).collect();
    staying.iter().for_each(|key| space.insert(key.to_be_bytes(), [1; 40]).expect("room"));
    let mut chance = Chance::new(5);
    for round in 0..6 {
        let (forward, limited) = (round % 2 == 0, round % 3 == 0);
        let iter = space.iter();
        let mut iter = if limited { iter.limit(2 * KEYS as usize) } else { iter };
        let mut found = Vec::new();
        while let Some(pair) = if forward { iter.next() } else { iter.next_back() } {
            let (key, _) = pair.expect("sound");
            let key = u32::from_be_bytes(key[..].try_into().expect("four bytes"));
            if staying.contains(&key) {
                found.push(key);
            }
            // Close to where the scan is, on both sides of it.
            let near = (key / 10 * 10).saturating_sub(chance.below(200) as u32) + chance.below(400) as u32;
            for other in (near.min(KEYS)..near.min(KEYS) + 30).filter(|key| !key.is_multiple_of(10)) {
                match chance.one_in(2) {
                    true => space.insert(other.to_be_bytes(), [2; 40]).expect("room"),
                    false => drop(space.remove(other.to_be_bytes()).expect("sound")),
                }
            }
        }
        if !forward {
            found.reverse();
        }
        assert!(found.iter().eq(&staying), "round {round}: {} of {}", found.len(), staying.len());
    }
    assert_sound(&db);
}
