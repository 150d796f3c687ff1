//! A copy of each block's first line beside it: which lines of a leaf are read if searches use the copy, before and
//! after a recovery. Also crashes, because a recovery renews all copies.

use holm_medium::observed::ReadObserver;
use holm_medium::{Area, FIRST_EPOCH, Storage, StorageOps, Word};
use holm_proof::subjects::holm;
use holm_proof::subjects::mirrored::holm_prints_aside;
use holm_proof::{Recorded, Subject, Tree, scenarios};
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Keys, TreeRoot, Words};
use std::sync::Arc;

mod scenario {
    use super::{holm_prints_aside, scenarios};
    tests! {
        holm_prints_aside;
        survives_a_crash_in_recovery
        survives_every_crash_by_word
        survives_every_death_of_the_process
        survives_emptied_leaves
        survives_merges
        survives_reuse
        survives_splits
    }
}

const BLOCKS: usize = 16;
const BLOCK_WORDS: usize = 64;
const LINE_WORDS: usize = 8;

/// A tree of one leaf, and the words of its blocks.
struct OneLeaf {
    storage: Arc<holm_medium::Writer<Recorded>>,
    index: Arc<dyn Tree>,
    root: TreeRoot,
}

impl OneLeaf {
    fn new(subject: &Subject) -> Self {
        let medium = Recorded::new([BLOCKS * BLOCK_WORDS * size_of::<Word>(), 64]);
        let storage = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
        let index = subject.tree(storage.clone());
        let root = index.create_tree(&mut storage.clock().pin().expect("a sound storage"), 1).expect("memory");
        OneLeaf { storage, index, root }
    }

    fn put(&self, key: u64) {
        let mut guard = self.storage.clock().pin().expect("a sound storage");
        self.index.put(&self.root, &mut guard, key, key).expect("memory");
    }

    fn rebuild(&mut self) {
        let rebuilt =
            self.index.rebuild(RecoveryPoint::Visible, self.storage.clock().active(), 1).expect("sound leaves");
        self.root = rebuilt.roots.into_iter().next().expect("one tree");
    }

    /// The number of lines of blocks that a lookup reads.
    fn lines(&self, look: impl FnOnce(&dyn Tree, &TreeRoot)) -> usize {
        let words = self.storage.image().words(Area::Leaves.at(0), BLOCKS * BLOCK_WORDS).expect("as long as that");
        ReadObserver::begin(words, 0..words.len(), false);
        look(&*self.index, &self.root);
        let mut lines: Vec<_> = ReadObserver::end().into_iter().map(|word| word / LINE_WORDS).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.len()
    }
}

/// The number of other keys among these that have a key's fingerprint.
fn agree(key: u64, among: &[u64]) -> usize {
    among.iter().filter(|it| **it != key && Words::fingerprint(**it) == Words::fingerprint(key)).count()
}

/// For an absent key, only lines are read in which a fingerprint matches, most often none; for a present key, its own
/// line as well.
fn reads_pairs_alone(tree: &OneLeaf, keys: &[u64]) -> usize {
    let mut none = 0;
    for key in (1..200).step_by(3) {
        let most = agree(key, keys);
        let missed = tree.lines(|index, root| assert_eq!(index.get(root, key).payload, None));
        assert!(missed <= most && (missed > 0) == (most > 0), "{key} beside {}: {missed} lines", keys.len());
        let together = tree.lines(|index, root| {
            let mut found = vec![];
            index.get_many(root, &[key], &mut found);
            assert_eq!(found[0].payload, None);
        });
        assert_eq!(together, missed, "{key} with others");
        let removed = tree.lines(|index, root| {
            let mut guard = tree.storage.clock().pin().expect("a sound storage");
            assert_eq!(index.remove(root, &mut guard, key).expect("sound"), None);
        });
        assert_eq!(removed, missed, "{key}, to be removed");
        none += usize::from(missed == 0);
    }
    for key in keys {
        let found = tree.lines(|index, root| assert_eq!(index.get(root, *key).payload, Some(*key)));
        assert!((1..=1 + agree(*key, keys)).contains(&found), "{key} of {}: {found} lines", keys.len());
    }
    none
}

#[test]
fn an_absent_key_is_answered_beside_the_blocks() {
    let (mut tree, beside) = (OneLeaf::new(&holm_prints_aside), OneLeaf::new(&holm));
    let (mut keys, mut none) = (vec![], 0);
    for key in (1..=holm_prints_aside.capacity as u64).map(|key| key * 3) {
        keys.push(key);
        tree.put(key);
        beside.put(key);
        none += reads_pairs_alone(&tree, &keys);
    }
    tree.rebuild();
    none += reads_pairs_alone(&tree, &keys);
    assert!(none > 3_000, "most keys agree with no other: {none}");
    // The first line of each block, whatever the fingerprints are.
    let both = beside.lines(|index, root| assert_eq!(index.get(root, 1).payload, None));
    assert!(both >= 2, "{both} lines where nothing is beside the blocks");
}
