//! Accepts everything and stores nothing: a benchmark of this leaf measures the cost of the rest of the tree.

use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::Keys;
use holm_tree::leaf::{
    BlockState, ByBlock, Full, Home, Leaf, Merge, OneBlock, Pairs, PerOperation, Prefetch, ReadContext, RecoveryPoint,
    Replaced, Scrubbed, Split, SplitRequest, WriteContext,
};

persistent! {
    /// A block that uses only its first words.
    #[repr(align(64))]
    pub struct Blackhole {
        /// 1 + keyspace while the block is a leaf, otherwise 0.
        home: Word,
        unused: [Word; 63],
    }
}

impl Leaf for Blackhole {
    const SOURCE: &'static str = "none: the cost of the rest of the tree";
    const CAPACITY: usize = usize::MAX;
    const STORES_PAIRS: bool = false;
    type Volatile = ();
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = ByBlock;

    fn get<K: Keys>(&self, _: ReadContext<'_, (), K>, _: K::SearchKey<'_>) -> Option<u64> {
        None
    }

    fn block_pairs(&self, _: &(), _: &mut Pairs) {}

    fn format<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, home: Home) {
        handle.write(&self.home, 1 + u64::from(home.keyspace));
        handle.persist(&self.home);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        _: &mut WriteContext<'_, '_, (), M, K>,
        _: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        // The caller frees the record that it has just written.
        Ok(Some(Replaced { payload, same_epoch: true }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        _: &mut WriteContext<'_, '_, (), M, K>,
        _: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        None
    }

    fn split<M: Medium, K: Keys>(
        &self,
        _: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        Split::new(own, None)
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.home, 0);
        handle.persist(&self.home);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        _: u32,
        _: &(),
        _: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        Ok(match self.home.read() {
            0 => BlockState::Free,
            // Wrapping: after damage, any bits may lie here.
            home => BlockState::Live { keyspace: (home as u32).wrapping_sub(1), first: false },
        })
    }
}

impl Prefetch for Blackhole {}

impl Merge for Blackhole {}

impl Scrubbed for Blackhole {}
