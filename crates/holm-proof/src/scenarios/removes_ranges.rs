//! Without a crash: ranges are removed as from a map, between puts, and the tree is recovered afterwards.

use super::Verdict;
use crate::crashes::Persistency;
use crate::fixture::{TreeFixture, advance};
use crate::model::{Contents, Step};
use crate::script::Script;
use crate::snapshot::Snapshot;
use crate::subject::Subject;
use holm_medium::MediumError;
use holm_tree::RangeRemoval;
use holm_tree::leaf::KeyRange;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, BTreeSet};

/// Rounds of puts, one range removal each.
const ROUNDS: u64 = 30;

/// Removes a range of a tree and of its map, some leaves at a time, and compares what gave way.
fn remove(
    fixture: &TreeFixture,
    map: &mut BTreeMap<u64, u64>,
    (low, high): (u64, Option<u64>),
    most_leaves: usize,
) -> Result<(), String> {
    let mut expected: Vec<_> =
        map.extract_if(low.., |key, _| high.is_none_or(|high| *key < high)).map(|(_, payload)| payload).collect();
    let (mut gone, mut next) = (vec![], Some(low));
    let (tree, root) = fixture.tree();
    while let Some(low) = next {
        let mut guard = fixture.clock().pin().map_err(|error| error.to_string())?;
        let range = KeyRange { low: &low, high: high.as_ref() };
        let removed = &mut |_, old: holm_tree::Superseded| gone.push(old.payload);
        let request = RangeRemoval { range, most_leaves, removed };
        next = tree.remove_range(root, &mut guard, request).map_err(|error| error.to_string())?;
    }
    gone.sort_unstable();
    expected.sort_unstable();
    let equal = gone == expected || !fixture.subject().capabilities.stores_pairs;
    let said = || format!("{low}..{high:?}: {gone:?} gave way, expected {expected:?}");
    if equal { Ok(()) } else { Err(said()) }
}

/// Removes ranges of random places and lengths.
///
/// # Errors
/// The first content that is not the map's.
pub fn removes_ranges(subject: &'static Subject) -> Verdict {
    let (none, mut removals) = (BTreeSet::new(), 0);
    let said = |error: MediumError| format!("{}: {error}", subject.name);
    for seed in 0..3 {
        let mut random = Pcg64::seed_from_u64(seed);
        let most = subject.capacity as u64 * 12;
        let past = (0..most / 3).map(|key| Step::Put(key * 3, key + 1)).collect();
        let script = Script { name: "ranges".into(), past, steps: vec![], blocks: 256 };
        let (fixture, history) = TreeFixture::create(subject, &script, advance, &none).map_err(said)?;
        let mut map: BTreeMap<u64, u64> = history.now().iter().copied().collect();
        let equal = |fixture: &TreeFixture, map: &BTreeMap<u64, u64>, when: &str| -> Result<(), String> {
            let (contents, _) = fixture.contents().map_err(said)?;
            let (tree, root) = fixture.tree();
            let faults = tree.audit(root).faults;
            let expected: Contents = map.iter().map(|(key, payload)| (*key, *payload)).collect();
            if subject.capabilities.stores_pairs && (contents != expected || !faults.is_empty()) {
                return Err(format!("seed {seed}, {when}: {contents:?}, expected {expected:?}; {faults:?}"));
            }
            Ok(())
        };
        for round in 0..ROUNDS {
            let low = random.random_range(0..most);
            let longest = most >> random.random_range(0..7);
            let high = (round % 10 != 9).then(|| low + random.random_range(0..longest));
            remove(&fixture, &mut map, (low, high), random.random_range(1..9))?;
            removals += 1;
            equal(&fixture, &map, &format!("after {low}..{high:?}"))?;
            let (tree, root) = fixture.tree();
            for put in 0..subject.capacity as u64 {
                let (key, payload) = (random.random_range(0..most), (round + 1) << 32 | (put + 1));
                let mut guard = fixture.clock().pin().map_err(said)?;
                tree.put(root, &mut guard, key, payload).map_err(said)?;
                map.insert(key, payload);
            }
            if round % 3 == 0 {
                fixture.end_epoch().map_err(said)?;
            }
        }
        (0..2).try_for_each(|_| fixture.end_epoch()).map_err(said)?;
        let left = Snapshot::of(fixture.image());
        for crash in [Persistency::Line, Persistency::Visible] {
            let revived = TreeFixture::revive(subject, &left, crash, advance, &none).map_err(said)?;
            equal(&revived, &map, "recovered")?;
            let mut later = map.clone();
            remove(&revived, &mut later, (0, None), 3)?;
            equal(&revived, &later, "cleared")?;
        }
    }
    Ok(format!("{removals} ranges"))
}
