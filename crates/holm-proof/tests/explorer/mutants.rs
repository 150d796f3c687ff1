//! Every store, flush and fence of a design is needed, and the tests detect its absence: left out, each is caught.

use holm_proof::Subject;
use holm_proof::mutants::{Fate, Hunt};
use holm_proof::subjects::faulty::canary;
use holm_proof::subjects::{
    bd_tree_literal, borders, buffered, circ, fast_fair, fp_tree, holm_strict, isle, lb_tree, nv_tree, ss_tree, wb_tree,
};
use holm_proof::{Order, Site};
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};
use std::thread;

fn hunt(subject: &'static Subject) -> Hunt {
    Hunt::of(subject).expect("a sound design")
}

/// Shared by several tests each.
static OF_BUFFERED: LazyLock<Hunt> = LazyLock::new(|| hunt(&buffered));
static OF_FAST_FAIR: LazyLock<Hunt> = LazyLock::new(|| hunt(&fast_fair));

/// The sites of a design that lie in these files.
fn sites_in(hunt: &Hunt, files: &[&str]) -> BTreeSet<Site> {
    hunt.sites().into_iter().filter(|site| files.iter().any(|file| site.place.file().contains(file))).collect()
}

/// Those of the sites whose absence no crash reveals. All cores search, because each site is a search of its own.
fn survivors(hunt: &Hunt, sites: impl IntoIterator<Item = Site>) -> BTreeSet<Site> {
    let (rest, left) = (Mutex::new(Vec::from_iter(sites)), Mutex::new(BTreeSet::new()));
    let next = || rest.lock().expect("nobody panicked").pop();
    let work = || {
        while let Some(site) = next() {
            match hunt.fate(site) {
                Fate::Caught(violation) => println!("{site}: {}; {}", violation.wrong, violation.script),
                Fate::Survived => drop(left.lock().expect("nobody panicked").insert(site)),
            }
        }
    };
    thread::scope(|scope| {
        (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)));
    });
    left.into_inner().expect("nobody panicked")
}

#[test]
fn the_end_of_an_epoch_needs_each_of_its_four_sites() {
    let mut ground = sites_in(&OF_BUFFERED, &["storage_ops.rs"]);
    ground.retain(|site| site.order != Order::Store);
    assert_eq!(ground.len(), 4, "lines, fence, clock, fence: {ground:?}");
    assert_eq!(survivors(&OF_BUFFERED, ground), BTreeSet::new());
}

#[test]
fn buffered_needs_all_it_does() {
    assert_eq!(survivors(&OF_BUFFERED, sites_in(&OF_BUFFERED, &["leaf/buffered", "rebuild/"])), BTreeSet::new());
}

/// Both stores of a rollover, the store within an epoch, which is one of them, and recovery's.
#[test]
fn the_literal_versions_need_all_stores() {
    let hunt = hunt(&bd_tree_literal);
    let stores = sites_in(&hunt, &["bd_tree/literal.rs"]);
    assert_eq!(orders(&Vec::from_iter(stores.iter().copied())), [Order::Store; 3], "{stores:?}");
    assert_eq!(survivors(&hunt, stores), BTreeSet::new());
}

#[test]
fn a_strict_design_needs_all_it_does() {
    let hunt = hunt(&canary);
    assert_eq!(survivors(&hunt, sites_in(&hunt, &["canary.rs"])), BTreeSet::new());
}

#[test]
fn fast_fair_needs_all_it_does() {
    let leaf = sites_in(&OF_FAST_FAIR, &["fast_fair.rs"]);
    assert!(leaf.len() > 30, "{leaf:?}");
    // The fence after every block's own recovery is for designs that write there; this design writes in its chains.
    let every = sites_in(&OF_BUFFERED, &["rebuild/"]);
    let chains = &sites_in(&OF_FAST_FAIR, &["rebuild/"]) - &every;
    assert_eq!((every.len(), chains.len()), (1, 1), "one fence each: {every:?} {chains:?}");
    assert_eq!(survivors(&OF_FAST_FAIR, leaf.into_iter().chain(chains)), BTreeSet::new());
}

/// What only the creation and dropping of trees reach. No crash needs four sites of a fresh leaf. The first put writes
/// its header word again, flushes that line and fences, and until then no crash distinguishes an empty tree from none.
/// Of the two words behind each mark, the other words are marks only where keys have records.
#[test]
fn fast_fair_needs_what_it_does_to_create_and_drop_trees() {
    let known = sites_in(&OF_FAST_FAIR, &["fast_fair.rs"]);
    let mut fates = OF_FAST_FAIR.comings_and_goings().expect("a sound design");
    fates.retain(|(site, _)| !known.contains(site) && site.place.file().ends_with("fast_fair.rs"));
    let left: Vec<_> = fates.iter().filter(|(_, missed)| missed.is_none()).map(|(site, _)| site.order).collect();
    assert_eq!((fates.len(), left), (9, vec![Order::Store, Order::Store, Order::Flush, Order::Fence]), "{fates:?}");
}

/// The sites of a strict design that no crash needs: neither with one tree, nor with trees that are created and
/// dropped.
fn needless(hunt: &Hunt, files: &[&str]) -> Vec<Site> {
    let of_design = |site: &Site| files.iter().any(|file| site.place.file().contains(file));
    let known = sites_in(hunt, files);
    let (mut rest, mut left) = (known.clone(), BTreeSet::new());
    for (site, missed) in hunt.comings_and_goings().expect("a sound design") {
        match missed {
            Some(_) => drop(rest.remove(&site)),
            None if of_design(&site) && !known.contains(&site) => drop(left.insert(site)),
            None => {}
        }
    }
    left.append(&mut survivors(hunt, rest));
    left.into_iter().collect()
}

/// A leaf just created must be found, but no crash distinguishes an empty tree from none, and the first pair goes into
/// the link's own line. The fence after every block's own recovery is for designs that write there.
#[test]
fn borders_needs_all_it_does() {
    let hunt = hunt(&borders);
    let leaf = sites_in(&hunt, &["borders.rs"]);
    assert!(leaf.len() > 20, "{} {leaf:?}", leaf.len());
    let left = needless(&hunt, &["borders.rs", "rebuild/"]);
    let rebuild = &sites_in(&OF_BUFFERED, &["rebuild/"]);
    let orders: Vec<_> = left.iter().filter(|site| !rebuild.contains(site)).map(|site| site.order).collect();
    assert_eq!(orders, [Order::Flush, Order::Fence], "{left:#?}");
    assert_eq!(left.len(), 3, "{left:#?}");
}

/// The kinds of sites only, for tests that name what may be left out.
fn orders(sites: &[Site]) -> Vec<Order> {
    sites.iter().map(|site| site.order).collect()
}

/// As for FAST and FAIR: no crash needs the header word of a created leaf, and what makes it durable. Nor does any
/// crash need the other word of a slot, of which either word may be the mark.
#[test]
fn circ_needs_all_it_does() {
    let hunt = hunt(&circ);
    let leaf = sites_in(&hunt, &["circ.rs"]);
    assert!(leaf.len() > 30, "{leaf:?}");
    let left = needless(&hunt, &["circ.rs"]);
    assert_eq!(orders(&left), [Order::Store, Order::Store, Order::Flush, Order::Fence], "{left:#?}");
}

/// The fence behind a created leaf: the thread that puts the first pair into it fences too, but only for itself. And
/// the fence before recovery releases empty leaves, which no leaf here has as origin: it is for designs that replace
/// them.
#[test]
fn isle_needs_all_it_does() {
    let left = needless(&hunt(&isle), &["isle.rs", "lineage.rs", "rebuild/"]);
    assert_eq!(orders(&left), [Order::Fence, Order::Fence], "{left:#?}");
}

/// The first put into a created leaf rewrites its header word, flushes that line and fences.
const PLANTED: [Order; 3] = [Order::Store, Order::Flush, Order::Fence];

#[test]
fn wb_tree_needs_all_it_does() {
    let left = needless(&hunt(&wb_tree), &["wb_tree.rs", "roster.rs"]);
    assert_eq!(orders(&left), PLANTED, "{left:#?}");
}

/// The paper makes each step durable separately. That is not necessary. The first half of the log may wait for the
/// second, the log and the copied leaf for its bitmap, which is written twice, and a pair for its fingerprint. A
/// created leaf as above.
#[test]
fn fp_tree_needs_all_but_some_small_steps() {
    let left = needless(&hunt(&fp_tree), &["fp_tree.rs", "fingerprinted_pairs.rs", "roster.rs"]);
    let [stores, flushes, fences] = PLANTED.map(|it| left.iter().filter(|site| site.order == it).count());
    assert_eq!((stores, flushes, fences), (2, 2, 5), "{left:#?}");
}

/// For a created leaf, the first put flushes the header's line and fences.
#[test]
fn nv_tree_needs_all_it_does() {
    let left = needless(&hunt(&nv_tree), &["nv_tree.rs", "lineage.rs", "rebuild/"]);
    assert_eq!(orders(&left), [Order::Flush, Order::Fence], "{left:#?}");
}

/// All of these create a leaf. The header that becomes zero before the links change: it matters for a block that a
/// rebuild has passed over, which still says that it is a leaf, and blocks released here do not. The fence behind the
/// links, one of which is what it was. And a created leaf's header as above.
#[test]
fn lb_tree_needs_all_it_does() {
    let left = needless(&hunt(&lb_tree), &["lb_tree.rs"]);
    let [stores, flushes, fences] = PLANTED.map(|it| left.iter().filter(|site| site.order == it).count());
    assert_eq!((stores, flushes, fences), (2, 2, 3), "{left:#?}");
}

/// A created leaf's header as above.
#[test]
fn holm_strict_needs_all_it_does() {
    let hunt = hunt(&holm_strict);
    let leaf = sites_in(&hunt, &["holm_strict.rs", "fingerprinted_pairs.rs"]);
    assert!(leaf.len() > 20, "{} {leaf:?}", leaf.len());
    let left = needless(&hunt, &["holm_strict.rs", "fingerprinted_pairs.rs"]);
    assert_eq!(orders(&left), PLANTED, "{left:#?}");
}

/// For a created leaf, the first put flushes the header's line and fences. The fence after every block's own recovery
/// is for designs that write there. A separate script, in `subnodes`, needs the fence behind all lists.
#[test]
fn ss_tree_needs_all_it_does() {
    let files = ["ss_tree.rs", "compact.rs", "growth.rs", "ss_tree/recovery.rs", "subnode.rs", "rebuild/"];
    let left = needless(&hunt(&ss_tree), &files);
    assert_eq!(orders(&left), [Order::Flush, Order::Fence, Order::Fence, Order::Fence], "{left:#?}");
}
