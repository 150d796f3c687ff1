//! The scripts do what their names say: otherwise the scenarios that use them would test nothing.

use holm_proof::Subject;
use holm_proof::script::{come_along, empty, ends, grow_root, inherit, merge, refresh, regrow, split, split_within};
use holm_proof::subjects::{borders, buffered, holm_strict};
use holm_proof::{History, Script, Step, TreeFixture, advance};
use std::collections::BTreeSet;

/// The leaves of a tree before and after a script's steps, from left to right.
fn leaves_of(subject: &'static Subject, script: &Script) -> (Vec<u32>, Vec<u32>) {
    let (fixture, _) = TreeFixture::create(subject, script, advance, &BTreeSet::new()).expect("a sound design");
    let (contents, before) = fixture.contents().expect("a sound tree");
    fixture.run(&script.steps, &mut History::from(&contents)).expect("a sound design");
    (before, fixture.contents().expect("a sound tree").1)
}

fn leaves(script: &Script) -> (Vec<u32>, Vec<u32>) {
    leaves_of(&buffered, script)
}

#[test]
fn leaves_split() {
    let (before, after) = leaves(&split(28));
    assert!(after.len() > before.len(), "{before:?} {after:?}");
    let (before, after) = leaves(&split_within(28));
    assert!(after.len() > before.len(), "{before:?} {after:?}");
    assert_eq!((before[0], before.last()), (after[0], after.last()), "neither the first nor the last");
}

#[test]
fn leaves_merge() {
    let (before, after) = leaves(&merge(28));
    assert!(after.len() < before.len(), "{before:?} {after:?}");
}

#[test]
fn a_merged_pair_is_updated_next() {
    for (subject, capacity) in [(&borders, 31), (&holm_strict, 29)] {
        let script = come_along(capacity);
        let count = |steps: usize| {
            let script = Script { steps: script.steps[..steps].to_vec(), ..script.clone() };
            leaves_of(subject, &script).1.len()
        };
        let merged = (0..script.steps.len()).find(|steps| count(*steps) == 1).expect("they merge");
        let last = 10 * (capacity as u64 + 1);
        assert!(matches!(script.steps[merged], Step::Put(key, _) if key == last), "{}: {merged}", subject.name);
    }
}

#[test]
fn a_leaf_full_of_versions_is_rewritten() {
    // Its first epoch only: two epochs later the released block comes back.
    let mut script = refresh();
    script.steps.truncate(12);
    let (before, after) = leaves(&script);
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_ne!(before, after);
}

#[test]
fn blocks_are_reused() {
    let (before, after) = leaves(&regrow(28));
    let greatest = before.iter().max();
    assert!(after.iter().any(|leaf| !before.contains(leaf) && Some(leaf) < greatest), "{before:?} {after:?}");
}

#[test]
fn the_root_grows() {
    for (before, after) in [leaves(&grow_root(28)), leaves_of(&borders, &grow_root(31))] {
        assert!(before.len() <= 64 && after.len() > 64, "{} {}", before.len(), after.len());
    }
}

#[test]
fn a_merged_leaf_grows_and_the_released_block_is_reused() {
    let mut script = inherit(31);
    let (before, after) = leaves_of(&borders, &script);
    assert_eq!((before.len(), &before), (2, &after));
    script.steps.truncate(42);
    assert_eq!(leaves_of(&borders, &script).1, before[..1]);
}

#[test]
fn a_leaf_becomes_empty() {
    let mut script = empty(31);
    script.steps.truncate(1);
    let (before, after) = leaves_of(&borders, &script);
    assert_eq!(after, [&before[..2], &before[3..]].concat(), "it took its right neighbour over");
}

#[test]
fn the_ends_of_the_key_space_are_inserted_and_removed() {
    let mut script = ends();
    let counts = [1, 2, 12].map(|steps| {
        script.steps = ends().steps[..steps].to_vec();
        leaves_of(&borders, &script).1.len()
    });
    assert_eq!(counts, [2, 2, 1], "the greatest key has a leaf of its own for as long as it is there");
}
