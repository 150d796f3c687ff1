//! A tree whose stores are not recorded: for what concerns the tree only.

use holm_medium::{FIRST_EPOCH, Flush, Guard, Mapped, MappedOptions, Storage, StorageOps, Writer};
use holm_search::Search;
use holm_tree::{Index, TreeRoot, TreeSet, Words, designs};
use std::sync::Arc;

pub(super) struct Bare {
    pub(super) writer: Arc<Writer<Mapped>>,
    pub(super) tree_set: TreeSet<Mapped, designs::buffered, Words>,
    pub(super) root: TreeRoot,
}

impl Bare {
    /// A tree with the keys from 1 to `pairs`.
    pub(super) fn create(pairs: u64) -> Self {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let writer = Arc::new(
            Storage::open(Mapped::heap((16 + pairs as usize / 4) * 512, 64, options), FIRST_EPOCH).expect("memory"),
        );
        let tree_set = TreeSet::new(writer.clone(), Words, Search::portable());
        let root = tree_set.create_tree(&mut writer.clock().pin().expect("sound"), 1).expect("room");
        let bare = Bare { writer, tree_set, root };
        for key in 1..=pairs {
            bare.tree_set.put(&bare.root, &mut bare.guard(), key, key).expect("room");
        }
        bare
    }

    pub(super) fn guard(&self) -> Guard<'_> {
        self.writer.clock().pin().expect("sound")
    }
}
