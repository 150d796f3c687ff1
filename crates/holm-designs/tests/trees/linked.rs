//! Rebuilds of designs whose leaves form a chain: empty leaves leave the chain and become free, and the first leaf
//! stays. The rebuild reports a chain with a wrong link.

use holm_designs::{designs, variants};
use holm_medium::{Area, FIRST_EPOCH, Ground, Mapped, MappedOptions, MediumError, Pool, Quill};
use holm_search::Search;
use holm_tree::leaf::Cut;
use holm_tree::{Index, Rebuilt, Root, Toward, Words};
use std::sync::Arc;

struct Grove {
    quill: Arc<Quill<Mapped>>,
    index: Box<dyn Index<Words>>,
}

/// The designs of the list, and the variant whose links have versions.
fn linked() -> impl Iterator<Item = Grove> {
    let all = designs::CARDS.iter().chain(variants::CARDS.iter().filter(|(name, _)| *name == "bd_tree_chained"));
    all.filter(|(_, card)| card.linked).map(|(name, _)| {
        let medium = Mapped::anonymous(MappedOptions::default()).expect("address space");
        let quill = Arc::new(Pool::open(medium, FIRST_EPOCH).expect("memory"));
        let open = designs::open(name, quill.clone(), Words, Search::detect());
        let index = open.or_else(|| variants::open(name, quill.clone(), Words, Search::detect()));
        Grove { quill, index: index.expect("a design of that name") }
    })
}

impl Grove {
    fn plant(&self, keyspace: u32) -> Root {
        self.index.plant(&mut self.quill.clock().check_in().expect("sound"), keyspace).expect("memory")
    }
    fn put(&self, root: &Root, keys: impl Iterator<Item = u64>) {
        for key in keys {
            let mut stay = self.quill.clock().check_in().expect("sound");
            self.index.put(root, &mut stay, key, key, None).expect("memory");
        }
    }
    fn remove(&self, root: &Root, keys: impl Iterator<Item = u64>) {
        for key in keys {
            let mut stay = self.quill.clock().check_in().expect("sound");
            self.index.remove(root, &mut stay, key, None).expect("memory").expect("the key is there");
        }
    }
    fn rebuild(&self) -> Result<Rebuilt, MediumError> {
        self.index.rebuild(Cut::Visible, self.quill.clock().active(), 2)
    }
    fn rebuilt(&self) -> Root {
        let mut roots = self.rebuild().expect("sound leaves").roots;
        assert_eq!(roots.len(), 1);
        roots.pop().expect("one tree")
    }
    fn sound(&self, root: &Root, pairs: u64) {
        let audit = self.index.audit(root);
        assert_eq!(audit.faults, Vec::<String>::new());
        assert_eq!(audit.pairs, pairs);
    }
}

#[test]
fn empty_leaves_are_free_after_a_rebuild() {
    for grove in linked() {
        let mut root = grove.plant(3);
        for round in 0..4 {
            grove.put(&root, 0..5_000);
            // All keys but one in the middle: leaves before it, including the first, and leaves after it become empty.
            grove.remove(&root, (0..5_000).filter(|key| *key != 2_500));
            for _ in 0..2 {
                root = grove.rebuilt();
                grove.sound(&root, 1);
                // Designs that merge may have merged the two leaves.
                assert!(grove.index.audit(&root).leaves <= 2, "the first leaf and the one with a pair");
                assert!(grove.quill.space().block_frontier() < 600, "round {round}: blocks are used again");
            }
            grove.put(&root, 0..5_000);
            grove.sound(&root, 5_000);
            root = grove.rebuilt();
            grove.sound(&root, 5_000);
            grove.remove(&root, 0..5_000);
            root = grove.rebuilt();
            grove.sound(&root, 0);
            assert_eq!(grove.index.audit(&root).leaves, 1);
        }
    }
}

#[test]
fn a_dropped_tree_with_an_empty_first_leaf_does_not_come_back() {
    for grove in linked() {
        let root = grove.plant(3);
        grove.put(&root, 0..1_000);
        grove.remove(&root, 0..600);
        let root = grove.rebuilt();
        let mut freed = 0;
        let mut stay = grove.quill.clock().check_in().expect("sound");
        grove.index.uproot(&root, &mut stay, &mut |_| freed += 1).expect("sound");
        drop(stay);
        assert_eq!(freed, 400);
        assert_eq!(grove.rebuild().expect("sound leaves").roots.len(), 0);
    }
}

#[test]
fn a_chain_with_a_wrong_link_is_reported() {
    for grove in linked() {
        let (one, other) = (grove.plant(3), grove.plant(4));
        grove.put(&one, 1_000..1_100);
        grove.put(&other, 1_000..1_100);
        grove.rebuild().expect("sound leaves");
        // The first tree was created in the first block: link its chain to the second tree's.
        let words = grove.quill.image().words(Area::Leaves.at(512), 64).expect("the first block");
        let astray = grove.index.view(&other, Toward::Holding(0)).seen.leaf();
        // The link is the lower half of a word, or the lower 27 bits if links have versions.
        let bits = if grove.index.card().defers { 27 } else { 32 };
        let next = words.iter().find(|word| (3..20).contains(&(word.read() & ((1 << bits) - 1)))).expect("a link");
        grove.quill.cut_at(FIRST_EPOCH).write(next, next.read() >> bits << bits | u64::from(astray));
        let error = grove.rebuild().err().expect("damage is reported").to_string();
        assert!(error.contains("a block that is no leaf of the keyspace"), "{error}");
    }
}
