//! Every store, flush and fence of a design is needed, and the tests detect its absence: left out, each is caught, or
//! the design declares it a survivor, beside the step and with a reason.

use holm_proof::Subject;
use holm_proof::mutants::{Hunt, every_trial};
use std::sync::LazyLock;

fn hunt(subject: &'static Subject) -> Hunt {
    Hunt::of(subject).expect("a sound design")
}

#[track_caller]
fn expect_none(offences: Result<Vec<String>, String>) {
    let offences = offences.expect("a sound design");
    assert!(offences.is_empty(), "{} offences:\n{}", offences.len(), offences.join("\n"));
}

/// In a build of all designs, only `cargo xtask mutants leaves` doubts what they declare: that takes as long as all
/// the rest.
fn is_doubted() -> bool {
    cfg!(one_design) || every_trial()
}

/// A test for each design. The trials of the unmodified design are shared with the tests of the common ground.
macro_rules! designs {
    ($($name:ident)*) => {
        $(
            #[cfg(any(not(one_design), $name))]
            mod $name {
                use super::*;

                pub(super) static HUNT: LazyLock<Hunt> = LazyLock::new(|| hunt(&holm_proof::subjects::$name));

                #[test]
                fn needs_all_it_does() {
                    expect_none(HUNT.undeclared());
                }

                #[test]
                fn survives_what_it_declares() {
                    if is_doubted() {
                        expect_none(HUNT.declared_in_vain());
                    }
                }
            }
        )*
    };
}

holm_designs::for_each_design!(designs);

#[cfg(not(one_design))]
mod canary {
    use super::*;

    static HUNT: LazyLock<Hunt> = LazyLock::new(|| hunt(&holm_proof::subjects::faulty::canary));

    #[test]
    fn needs_all_it_does() {
        expect_none(HUNT.undeclared());
    }

    #[test]
    fn survives_what_it_declares() {
        expect_none(HUNT.declared_in_vain());
    }
}

/// The steps of the tree and of the medium, which no design answers for.
#[cfg(not(one_design))]
mod ground {
    use super::*;
    use holm_proof::{Order, Site};
    use std::collections::BTreeSet;

    fn sites_in(hunt: &Hunt, file: &str) -> BTreeSet<Site> {
        hunt.sites().into_iter().filter(|site| site.place.file().contains(file)).collect()
    }

    #[test]
    fn the_end_of_an_epoch_needs_each_of_its_four_sites() {
        let mut ground = sites_in(&buffered::HUNT, "storage_ops.rs");
        ground.retain(|site| site.order != Order::Store);
        assert_eq!(ground.len(), 4, "lines, fence, clock, fence: {ground:?}");
        assert_eq!(buffered::HUNT.survivors(ground), BTreeSet::new());
    }

    /// Each step of a rebuild is for the designs of one recovery, so it suffices that one of three designs needs it. A
    /// fence follows every block's own recovery, for designs that write there. One follows the repair of chains. One
    /// precedes the release of empty leaves, for designs whose leaves have origins. The design with the most images
    /// comes last.
    #[test]
    fn a_rebuild_needs_each_of_its_sites() {
        let hunts = [&fast_fair::HUNT, &nv_tree::HUNT, &buffered::HUNT];
        let reached: BTreeSet<_> = hunts.iter().flat_map(|hunt| sites_in(hunt, "rebuild/")).collect();
        let needless = |site: &Site| hunts.iter().all(|hunt| hunt.survivors([*site]).contains(site));
        let left: Vec<_> = reached.iter().filter(|site| needless(site)).collect();
        assert_eq!(left, Vec::<&Site>::new(), "of {reached:?}");
    }
}
