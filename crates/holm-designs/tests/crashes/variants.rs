//! The variants with other guides: each guide finds what a crash has left of one leaf.

use crate::fills::every_operation;
use crate::names::Names;
use holm_designs::guide::{Aside, Fingerprints, Guide, Halving, Linear, Sentinels, Vector};
use holm_designs::leaf::circ::Circ;
use holm_designs::leaf::fast_fair::FastFair;
use holm_tree::Words;

/// Every recovery derives the signs: they find each pair, whatever the crash. The crash leaves the same as in the
/// bases, so few fills are enough.
fn lead_to_what_survived<G: Guide>(most: usize) {
    every_operation::<FastFair<31, G>, _>(&Words, &[0, 2, most], 2, true);
    every_operation::<FastFair<31, G>, _>(&Names::default(), &[3, 9], 0, false);
    every_operation::<Circ<30, G>, _>(&Words, &[0, 2, most - 1], 2, true);
    every_operation::<Circ<30, G>, _>(&Names::default(), &[3, 9], 0, false);
}

#[test]
fn searches_without_signs_find_what_survived() {
    lead_to_what_survived::<Halving>(14);
    lead_to_what_survived::<Linear>(14);
}

#[test]
fn sentinels_find_what_survived() {
    lead_to_what_survived::<Sentinels<Aside<8>, Vector>>(30);
}

#[test]
fn fingerprints_find_what_survived() {
    lead_to_what_survived::<Fingerprints<Aside<4>, Vector>>(30);
}
