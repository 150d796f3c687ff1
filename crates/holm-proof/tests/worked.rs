//! The worked example of `docs/new-leaf.md`: a leaf of its own, which runs what every design of the list runs. The page
//! quotes this program and its leaf, and `tidy` compares them.

#![forbid(unsafe_code)]

#[path = "worked/shore.rs"]
mod leaf;

use holm_medium::{Counts, FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps};
use holm_proof::mutants::Hunt;
use holm_proof::{Subject, scenarios};
use holm_search::Search;
use holm_tree::inner::Sorted;
use holm_tree::{Index, TreeSet, Words};
use std::sync::Arc;

holm_tree::designs! { $ for_each_example:
    /// Two pairs in the header's line. Durable when an operation returns.
    shore: leaf leaf::Shore, parent Sorted<8>, upper Sorted<8>;
}

static SHORE: Subject = Subject::of::<shore>();

macro_rules! tests {
    ($subject:path; $($scenario:ident)*) => {
        $(
            #[test]
            fn $scenario() {
                scenarios::$scenario(&$subject).unwrap_or_else(|wrong| panic!("{wrong}"));
            }
        )*
    };
}

holm_proof::for_each_scenario!(tests, SHORE);

#[test]
fn needs_all_it_does() {
    let hunt = Hunt::of(&SHORE).expect("a sound design");
    assert_eq!(hunt.undeclared(), Ok(vec![]));
    assert_eq!(hunt.declared_in_vain(), Ok(vec![]));
}

#[test]
fn the_first_two_inserts_flush_one_line_and_the_others_two() {
    let options = MappedOptions { count: true, flush: Flush::Nothing, ..MappedOptions::default() };
    let medium = Mapped::anonymous(options).expect("address space");
    let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
    let tree = TreeSet::<_, shore, _>::new(writer.clone(), Words, Search::detect());
    let mut guard = writer.clock().pin().expect("a sound storage");
    let root = tree.create_tree(&mut guard, 7).expect("memory");
    let counts = || writer.storage().medium.counts();
    for key in 0..30 {
        let before: Counts = counts();
        tree.put(&root, &mut guard, key, key).expect("memory");
        let spent = counts() - before;
        let lines = if key < 2 { 1 } else { 2 };
        assert_eq!((spent.flushes, spent.fences), (lines, lines), "{key}");
    }
}
