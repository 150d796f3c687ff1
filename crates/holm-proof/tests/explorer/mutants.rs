//! Every store, flush and fence of a design is needed, and the tests know it: left out, each is caught.

use holm_proof::Subject;
use holm_proof::mutants::{Fate, Hunt};
use holm_proof::subjects::canaries::canary_0;
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

/// For several tests each.
static OF_BUFFERED: LazyLock<Hunt> = LazyLock::new(|| hunt(&buffered));
static OF_FAST_FAIR: LazyLock<Hunt> = LazyLock::new(|| hunt(&fast_fair));

/// The sites of a design that lie in these files.
fn sites_in(hunt: &Hunt, files: &[&str]) -> BTreeSet<Site> {
    hunt.sites().into_iter().filter(|site| files.iter().any(|file| site.place.file().contains(file))).collect()
}

/// Those of the sites that nothing misses; looked for on all cores, for each is a search of its own.
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
fn the_advance_of_an_epoch_needs_each_of_its_four_orders() {
    let mut ground = sites_in(&OF_BUFFERED, &["ground.rs"]);
    ground.retain(|site| site.order != Order::Store);
    assert_eq!(ground.len(), 4, "lines, fence, clock, fence: {ground:?}");
    assert_eq!(survivors(&OF_BUFFERED, ground), BTreeSet::new());
}

#[test]
fn buffered_needs_all_it_does() {
    assert_eq!(survivors(&OF_BUFFERED, sites_in(&OF_BUFFERED, &["leaf/buffered", "rebuild.rs"])), BTreeSet::new());
}

/// Both stores of a rollover, the one within an epoch, which is one of them, and recovery's.
#[test]
fn the_literal_versions_need_all_stores() {
    let hunt = hunt(&bd_tree_literal);
    let stores = sites_in(&hunt, &["buffered/literal.rs"]);
    assert_eq!(orders(&Vec::from_iter(stores.iter().copied())), [Order::Store; 3], "{stores:?}");
    assert_eq!(survivors(&hunt, stores), BTreeSet::new());
}

#[test]
fn a_strict_design_needs_all_it_does() {
    let hunt = hunt(&canary_0);
    assert_eq!(survivors(&hunt, sites_in(&hunt, &["canary.rs"])), BTreeSet::new());
}

#[test]
fn fast_fair_needs_all_it_does() {
    let leaf = sites_in(&OF_FAST_FAIR, &["fast_fair.rs"]);
    assert!(leaf.len() > 30, "{leaf:?}");
    // The fence after every block's own recovery is for designs that write there; this one writes in its chains.
    let every = sites_in(&OF_BUFFERED, &["rebuild.rs"]);
    let chains = &sites_in(&OF_FAST_FAIR, &["rebuild.rs"]) - &every;
    assert_eq!((every.len(), chains.len()), (1, 1), "one fence each: {every:?} {chains:?}");
    assert_eq!(survivors(&OF_FAST_FAIR, leaf.into_iter().chain(chains)), BTreeSet::new());
}

/// What only the coming and going of trees goes through. Four sites of a fresh leaf are missed by nobody: its header
/// word is written again by the first put, which also flushes that line and fences, and until then no crash tells an
/// empty tree from none; of the two words behind each mark, the mates are marks where keys have records.
#[test]
fn fast_fair_needs_what_it_does_to_plant_and_to_give_up() {
    let known = sites_in(&OF_FAST_FAIR, &["fast_fair.rs"]);
    let mut fates = OF_FAST_FAIR.comings_and_goings().expect("a sound design");
    fates.retain(|(site, _)| !known.contains(site) && site.place.file().ends_with("fast_fair.rs"));
    let left: Vec<_> = fates.iter().filter(|(_, missed)| missed.is_none()).map(|(site, _)| site.order).collect();
    assert_eq!((fates.len(), left), (9, vec![Order::Store, Order::Store, Order::Flush, Order::Fence]), "{fates:?}");
}

/// The sites of a strict design that nothing misses: neither one tree with its crashes, nor trees that come and go.
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

/// A leaf just planted is promised to be found, but no crash tells an empty tree from none, and the first pair goes
/// into the link's own line. The fence after every block's own recovery is for designs that write there.
#[test]
fn borders_needs_all_it_does() {
    let hunt = hunt(&borders);
    let leaf = sites_in(&hunt, &["borders.rs"]);
    assert!(leaf.len() > 20, "{} {leaf:?}", leaf.len());
    let left = needless(&hunt, &["borders.rs", "rebuild.rs"]);
    let rebuild = &sites_in(&OF_BUFFERED, &["rebuild.rs"]);
    let orders: Vec<_> = left.iter().filter(|site| !rebuild.contains(site)).map(|site| site.order).collect();
    assert_eq!(orders, [Order::Flush, Order::Fence], "{left:#?}");
    assert_eq!(left.len(), 3, "{left:#?}");
}

/// Orders alone, for who says which may be left.
fn orders(sites: &[Site]) -> Vec<Order> {
    sites.iter().map(|site| site.order).collect()
}

/// As for FAST and FAIR: the header word of a planted leaf, and what makes it durable, are missed by nobody, and of the
/// two words of a slot, of which either may be the mark, the mate.
#[test]
fn circ_needs_all_it_does() {
    let hunt = hunt(&circ);
    let leaf = sites_in(&hunt, &["circ.rs"]);
    assert!(leaf.len() > 30, "{leaf:?}");
    let left = needless(&hunt, &["circ.rs"]);
    assert_eq!(orders(&left), [Order::Store, Order::Store, Order::Flush, Order::Fence], "{left:#?}");
}

/// The fence behind a planted leaf: whoever puts the first pair into it fences too, but by his own thread alone. And
/// the one before recovery gives up empty leaves, from which nothing stems here: it is for designs that replace them.
#[test]
fn isle_needs_all_it_does() {
    let left = needless(&hunt(&isle), &["isle.rs", "lineage.rs", "rebuild.rs"]);
    assert_eq!(orders(&left), [Order::Fence, Order::Fence], "{left:#?}");
}

/// The first put into a planted leaf writes its header word anew, flushes that line and fences.
const PLANTED: [Order; 3] = [Order::Store, Order::Flush, Order::Fence];

#[test]
fn wb_tree_needs_all_it_does() {
    let left = needless(&hunt(&wb_tree), &["wb_tree.rs", "roster.rs"]);
    assert_eq!(orders(&left), PLANTED, "{left:#?}");
}

/// The paper makes each step durable by itself. It need not: the first half of the log waits for the second, the log
/// and the copied leaf for its bitmap, which is written twice, and a pair for its fingerprint. A planted leaf as above.
#[test]
fn fp_tree_needs_what_it_does_but_for_small_steps() {
    let left = needless(&hunt(&fp_tree), &["fp_tree.rs", "printed.rs", "roster.rs"]);
    let [stores, flushes, fences] = PLANTED.map(|it| left.iter().filter(|site| site.order == it).count());
    assert_eq!((stores, flushes, fences), (2, 2, 5), "{left:#?}");
}

/// Of a planted leaf the first put flushes the header's line and fences.
#[test]
fn nv_tree_needs_all_it_does() {
    let left = needless(&hunt(&nv_tree), &["nv_tree.rs", "lineage.rs", "rebuild.rs"]);
    assert_eq!(orders(&left), [Order::Flush, Order::Fence], "{left:#?}");
}

/// All of them plant: the header that becomes zero before the links change, for a block that a rebuild has passed over
/// still says that it is a leaf, and those given up here do not; the fence behind the links, for one of the two is what
/// it was; and a planted leaf's header as above.
#[test]
fn lb_tree_needs_all_it_does() {
    let left = needless(&hunt(&lb_tree), &["lb_tree.rs"]);
    let [stores, flushes, fences] = PLANTED.map(|it| left.iter().filter(|site| site.order == it).count());
    assert_eq!((stores, flushes, fences), (2, 2, 3), "{left:#?}");
}

/// A planted leaf's header as above.
#[test]
fn holm_strict_needs_all_it_does() {
    let hunt = hunt(&holm_strict);
    let leaf = sites_in(&hunt, &["holm_strict.rs", "printed.rs"]);
    assert!(leaf.len() > 20, "{} {leaf:?}", leaf.len());
    let left = needless(&hunt, &["holm_strict.rs", "printed.rs"]);
    assert_eq!(orders(&left), PLANTED, "{left:#?}");
}

/// Of a planted leaf the first put flushes the header's line and fences. The fence after every block's own recovery is
/// for designs that write there. The one behind all lists is missed by a script of its own, in `subnodes`.
#[test]
fn ss_tree_needs_all_it_does() {
    let files = ["ss_tree.rs", "compact.rs", "growth.rs", "ss_tree/recovery.rs", "subnode.rs", "rebuild.rs"];
    let left = needless(&hunt(&ss_tree), &files);
    assert_eq!(orders(&left), [Order::Flush, Order::Fence, Order::Fence, Order::Fence], "{left:#?}");
}
