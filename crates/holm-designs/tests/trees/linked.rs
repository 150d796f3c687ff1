//! Rebuilds of designs whose leaves form a chain: empty leaves leave the chain and become free, and the first leaf
//! stays. The rebuild reports a chain with a wrong link.

use holm_designs::designs;
use holm_lab::words;
use holm_medium::{Area, FIRST_EPOCH, Mapped, MappedOptions, MediumError, Storage, StorageOps, Writer};
use holm_search::Search;
use holm_tree::leaf::{AlongLinks, ByBlock, ByRange, ByVersions, Leaf, RecoveryPoint};
use holm_tree::{Design, Index, Rebuilt, SeekTarget, TreeRoot, Words};
use std::sync::Arc;

struct TreeFixture {
    writer: Arc<Writer<Mapped>>,
    index: Box<dyn Index<Words>>,
}

macro_rules! list {
    ($($name:ident)*) => {
        /// The designs of the list, and whether their leaves form a chain.
        const DESIGNS: &[(&str, bool)] = &[$((stringify!($name), is_linked::<designs::$name>())),*];
    };
}

holm_designs::for_each_design!(list);

/// A way in which recovery finds leaves.
trait Finds {
    /// Whether it follows a chain.
    const LINKED: bool;
}

impl<P> Finds for AlongLinks<P> {
    const LINKED: bool = true;
}

impl Finds for ByBlock {
    const LINKED: bool = false;
}

impl Finds for ByRange {
    const LINKED: bool = false;
}

impl Finds for ByVersions {
    const LINKED: bool = false;
}

const fn is_linked<D: Design<Leaf: Leaf<Recovery: Finds>>>() -> bool {
    <D::Leaf as Leaf>::Recovery::LINKED
}

/// The linked designs of the list, and the variant whose links have versions.
fn linked() -> impl Iterator<Item = TreeFixture> {
    DESIGNS.iter().filter(|(_, linked)| *linked).map(|(name, _)| *name).chain(["bd_tree_chained"]).map(|name| {
        let medium = Mapped::anonymous(MappedOptions::default()).expect("address space");
        let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
        let index = words::design_or_variant(name, writer.clone(), Search::detect());
        TreeFixture { writer, index: index.expect("a design of that name") }
    })
}

impl TreeFixture {
    fn create(&self, keyspace: u32) -> TreeRoot {
        self.index.create_tree(&mut self.writer.clock().pin().expect("sound"), keyspace).expect("memory")
    }
    fn put(&self, root: &TreeRoot, keys: impl Iterator<Item = u64>) {
        for key in keys {
            let mut guard = self.writer.clock().pin().expect("sound");
            self.index.put(root, &mut guard, key, key).expect("memory");
        }
    }
    fn remove(&self, root: &TreeRoot, keys: impl Iterator<Item = u64>) {
        for key in keys {
            let mut guard = self.writer.clock().pin().expect("sound");
            self.index.remove(root, &mut guard, key).expect("memory").expect("the key is there");
        }
    }
    fn rebuild(&self) -> Result<Rebuilt, MediumError> {
        self.index.rebuild(RecoveryPoint::Visible, self.writer.clock().active(), 2)
    }
    fn rebuilt(&self) -> TreeRoot {
        let mut roots = self.rebuild().expect("sound leaves").roots;
        assert_eq!(roots.len(), 1);
        roots.pop().expect("one tree")
    }
    fn sound(&self, root: &TreeRoot, pairs: u64) {
        let audit = self.index.audit(root);
        assert_eq!(audit.faults, Vec::<String>::new());
        assert_eq!(audit.pairs, pairs);
    }
}

#[test]
fn empty_leaves_are_free_after_a_rebuild() {
    for fixture in linked() {
        let mut root = fixture.create(3);
        for round in 0..4 {
            fixture.put(&root, 0..5_000);
            // All keys but one in the middle: leaves before it, including the first, and leaves after it become empty.
            fixture.remove(&root, (0..5_000).filter(|key| *key != 2_500));
            for _ in 0..2 {
                root = fixture.rebuilt();
                fixture.sound(&root, 1);
                // Designs that merge may have merged the two leaves.
                assert!(fixture.index.audit(&root).leaves <= 2, "the first leaf and the one with a pair");
                assert!(fixture.writer.space().block_frontier() < 600, "round {round}: blocks are used again");
            }
            fixture.put(&root, 0..5_000);
            fixture.sound(&root, 5_000);
            root = fixture.rebuilt();
            fixture.sound(&root, 5_000);
            fixture.remove(&root, 0..5_000);
            root = fixture.rebuilt();
            fixture.sound(&root, 0);
            assert_eq!(fixture.index.audit(&root).leaves, 1);
        }
    }
}

#[test]
fn a_dropped_tree_with_an_empty_first_leaf_does_not_come_back() {
    for fixture in linked() {
        let root = fixture.create(3);
        fixture.put(&root, 0..1_000);
        fixture.remove(&root, 0..600);
        let root = fixture.rebuilt();
        let mut freed = 0;
        let mut guard = fixture.writer.clock().pin().expect("sound");
        fixture.index.drop_tree(&root, &mut guard, &mut |_| freed += 1).expect("sound");
        drop(guard);
        assert_eq!(freed, 400);
        assert_eq!(fixture.rebuild().expect("sound leaves").roots.len(), 0);
    }
}

#[test]
fn a_chain_with_a_wrong_link_is_reported() {
    for fixture in linked() {
        let (one, other) = (fixture.create(3), fixture.create(4));
        fixture.put(&one, 1_000..1_100);
        fixture.put(&other, 1_000..1_100);
        fixture.rebuild().expect("sound leaves");
        // The first tree was created in the first block: link its chain to the second tree's.
        let words = fixture.writer.image().words(Area::Leaves.at(512), 64).expect("the first block");
        let astray = fixture.index.cursor_at(&other, SeekTarget::Holding(0)).leaf_version.leaf();
        // The link is the lower half of a word, or the lower 27 bits if links have versions.
        let bits = if fixture.index.capabilities().per_epoch { 27 } else { 32 };
        let next = words.iter().find(|word| (3..20).contains(&(word.read() & ((1 << bits) - 1)))).expect("a link");
        fixture.writer.begin_write_at(FIRST_EPOCH).write(next, next.read() >> bits << bits | u64::from(astray));
        let error = fixture.rebuild().err().expect("damage is reported").to_string();
        assert!(error.contains("a block that is no leaf of the keyspace"), "{error}");
    }
}
