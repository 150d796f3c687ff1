//! A tree whose stores are not recorded: for what concerns the tree only.

use holm_medium::{FIRST_EPOCH, Flush, Ground, Mapped, MappedOptions, Pool, Quill, Stay};
use holm_search::Search;
use holm_tree::{Forest, Index, Root, Words, designs};
use std::sync::Arc;

pub(super) struct Bare {
    pub(super) quill: Arc<Quill<Mapped>>,
    pub(super) forest: Forest<Mapped, designs::buffered, Words>,
    pub(super) root: Root,
}

impl Bare {
    /// A tree with the keys from 1 to `pairs`.
    pub(super) fn plant(pairs: u64) -> Self {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let quill = Arc::new(Pool::open(Mapped::heap(16 * 512, 64, options), FIRST_EPOCH).expect("memory"));
        let forest = Forest::new(quill.clone(), Words, Search::portable());
        let root = forest.plant(&mut quill.clock().check_in().expect("sound"), 1).expect("room");
        let bare = Bare { quill, forest, root };
        for key in 1..=pairs {
            bare.forest.put(&bare.root, &mut bare.stay(), key, key, None).expect("room");
        }
        bare
    }

    pub(super) fn stay(&self) -> Stay<'_> {
        self.quill.clock().check_in().expect("sound")
    }
}
