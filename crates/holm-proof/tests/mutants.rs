//! Every store, flush and fence of a design is needed, and the tests know it: left out, each is caught.

use holm_proof::mutants::{Fate, fate, sites};
use holm_proof::{Order, Site};
use holm_tree::Design;
use holm_tree::designs::buffered;
use holm_tree::designs::canaries::canary_0;
use std::collections::BTreeSet;

fn in_file(site: &Site, file: &str) -> bool {
    site.place.file().ends_with(file)
}

/// Those of the sites that nothing misses.
fn survivors<D: Design>(sites: impl IntoIterator<Item = Site>) -> BTreeSet<Site> {
    let survives = |site: &Site| match fate::<D>(*site) {
        Fate::Survived => true,
        Fate::Caught(violation) => {
            println!("{site}: {}; {}", violation.wrong, violation.script);
            false
        }
    };
    sites.into_iter().filter(survives).collect()
}

#[test]
fn the_advance_of_an_epoch_needs_each_of_its_four_orders() {
    let all = sites::<buffered>().expect("a sound design");
    let ground: Vec<_> =
        all.into_iter().filter(|site| in_file(site, "ground.rs") && site.order != Order::Store).collect();
    assert_eq!(ground.len(), 4, "lines, fence, clock, fence: {ground:?}");
    assert_eq!(survivors::<buffered>(ground), BTreeSet::new());
}

#[test]
fn buffered_needs_all_it_does() {
    let all = sites::<buffered>().expect("a sound design");
    let leaf: Vec<_> =
        all.into_iter().filter(|site| in_file(site, "buffered.rs") || in_file(site, "rebuild.rs")).collect();
    // Recovery from the loss of power unties a leaf from its heir, and does so again after the next; that this is
    // flushed matters only to a pool that is then closed in good order, loses power, and is opened as it was left.
    let left = survivors::<buffered>(leaf);
    assert!(left.len() <= 1 && left.iter().all(|site| site.order == Order::Flush), "{left:?}");
}

#[test]
fn a_strict_design_needs_all_it_does() {
    let all = sites::<canary_0>().expect("a sound design");
    let leaf: Vec<_> = all.into_iter().filter(|site| in_file(site, "canary.rs")).collect();
    assert_eq!(survivors::<canary_0>(leaf), BTreeSet::new());
}
