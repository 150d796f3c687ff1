//! The scripts do what their names say: else the scenarios that use them would look at nothing.

use holm_proof::script::{grow_root, merge, refresh, regrow, split, split_within};
use holm_proof::{Grove, History, Script, advance};
use holm_tree::designs::buffered;
use std::collections::BTreeSet;

/// The leaves of a tree before and after a script's steps, from left to right.
fn leaves(script: &Script) -> (Vec<u32>, Vec<u32>) {
    let (grove, _) = Grove::<buffered>::plant(script, advance, &BTreeSet::new()).expect("a sound design");
    let (contents, before) = grove.contents().expect("a sound tree");
    grove.run(&script.steps, &mut History::from(&contents)).expect("a sound design");
    (before, grove.contents().expect("a sound tree").1)
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
fn a_leaf_full_of_versions_is_written_anew() {
    // Its first epoch only: two epochs later the block that was given up comes back.
    let mut script = refresh();
    script.steps.truncate(12);
    let (before, after) = leaves(&script);
    assert_eq!((before.len(), after.len()), (1, 1));
    assert_ne!(before, after);
}

#[test]
fn blocks_are_used_again() {
    let (before, after) = leaves(&regrow(28));
    let greatest = before.iter().max();
    assert!(after.iter().any(|leaf| !before.contains(leaf) && Some(leaf) < greatest), "{before:?} {after:?}");
}

#[test]
fn the_root_grows() {
    let (before, after) = leaves(&grow_root(28));
    assert!(before.len() <= 64 && after.len() > 64, "{} {}", before.len(), after.len());
}
