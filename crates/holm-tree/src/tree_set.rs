//! A tree set: the trees of one design over one medium. Get, put and remove, with their retry loops, are written here
//! once.
//!
//! Concurrency lies in this file, in the inner levels and in the latch, and nowhere else. Readers do not write; a
//! writer latches one leaf. The writer releases the latch after the leaf has fenced, so no reader returns what a crash
//! could still take back.

use crate::audit::{Audit, LeafAudit};
use crate::block_difference::{self, ReadDifference};
use crate::commit::{CommitRequest, Committed};
use crate::conditional::{Conditional, Seen};
use crate::descent::Reached;
use crate::design::{DescriptorOf, Design};
use crate::group::ManyPuts;
use crate::index::{Evidence, Index, LeafCursor, LeafVersion, Lookup, LookupAt, Rebuilt, SeekTarget, TreeRoot};
use crate::inner::{FreshNode, Inner, NodeContents, NodeHeader, Placement as _};
use crate::inner_levels::InnerLevels;
use crate::keys::Keys;
use crate::latch::LatchGuard;
use crate::leaf::{
    Capabilities, Durability as _, Full, Home, KeyRange, Leaf, Merge, Overflow as _, Prefetch, ReadContext,
    RecoveryPoint, Replaced, WriteContext,
};
use crate::pairs::Pairs;
use crate::postponed::Postponed;
use crate::pre_images::{PreImages, Released};
use crate::put_record::PutRecord;
use crate::rebuild::Request;
use crate::remove_range::RangeRemoval;
use crate::slab::Slab;
use crate::split_node::fresh;
use crate::superseded::Superseded;
use crate::wait::back_off;
use crate::wanted::Wanted;
use holm_medium::{
    Area, EarlierIndex, Epoch, Guard, Image, LeafIndex, Loc, MASK_BYTES, Medium, MediumError, Result, WriteHandle,
    Writer,
};
use holm_search::Search;
use std::sync::{Arc, OnceLock};

/// The trees of one design over one medium.
pub struct TreeSet<M: Medium, D: Design, K: Keys> {
    pub(crate) writer: Arc<Writer<M>>,
    /// The medium's image, reached with three loads less.
    pub(crate) image: Arc<Image>,
    pub(crate) keys: K,
    pub(crate) inner: InnerLevels<D>,
    pub(crate) descriptors: Slab<DescriptorOf<D>>,
    /// What leaves held when snapshots began.
    pub(crate) pre_images: Arc<PreImages>,
    /// Merges that have to wait until no snapshot is open.
    pub(crate) postponed: Postponed<K>,
    /// What a leaf index says of leaves, if one was loaded.
    pub(crate) loaded: OnceLock<crate::leaf_index::Loaded>,
}

/// The types of a design's leaf that answer for it.
pub(crate) type DurabilityOf<D> = <<D as Design>::Leaf as Leaf>::Durability;
pub(crate) type OverflowOf<D> = <<D as Design>::Leaf as Leaf>::Overflow;
pub(crate) type VolatileOf<D> = <<D as Design>::Leaf as Leaf>::Volatile;

/// The payload that a put replaced, or `Full`.
pub(crate) type Tried = std::result::Result<Option<Superseded>, Full>;

/// A leaf whose latch a writer holds.
pub struct LatchedLeaf<'a, D: Design> {
    pub(crate) number: u32,
    pub(crate) leaf: &'a D::Leaf,
    pub(crate) descriptor: &'a DescriptorOf<D>,
    pub(crate) held: LatchGuard<'a>,
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Returns a tree set without trees.
    ///
    /// # Panics
    /// If the design does not support the keys.
    pub fn new(writer: Arc<Writer<M>>, keys: K, search: Search) -> Self {
        assert!(D::CAPABILITIES.supports::<K>(), "{} is only for slots that hold whole keys", D::NAME);
        writer.storage().space.measure(size_of::<D::Leaf>() as u64);
        if !size_of::<D::Leaf>().is_multiple_of(MASK_BYTES) {
            writer.storage().clock.share_masks();
        }
        let image = writer.storage().medium.image().clone();
        TreeSet {
            writer,
            image,
            keys,
            inner: InnerLevels::new(search),
            descriptors: Slab::default(),
            pre_images: Arc::default(),
            postponed: Postponed::default(),
            loaded: OnceLock::new(),
        }
    }

    /// Returns the bytes of the volatile nodes above the leaves, of the leaf descriptors, and of the filters that
    /// snapshots have needed. What is free counts, because it is reused and not returned.
    pub fn volatile_bytes(&self) -> u64 {
        let blocks = u64::from(self.writer.storage().space.block_frontier());
        self.inner.bytes() + blocks * size_of::<DescriptorOf<D>>() as u64 + self.pre_images.filter_bytes()
    }

    /// Returns the context for a leaf with this volatile side.
    #[inline]
    pub(crate) fn context<'a>(&'a self, volatile: &'a VolatileOf<D>) -> ReadContext<'a, VolatileOf<D>, K> {
        ReadContext { volatile, keys: &self.keys, search: self.inner.search, image: Some(&self.image) }
    }

    /// The same for its writer.
    #[inline]
    pub(crate) fn writing<'a, 'h>(
        &'a self,
        volatile: &'a VolatileOf<D>,
        handle: &'a mut WriteHandle<'h, M>,
    ) -> WriteContext<'a, 'h, VolatileOf<D>, M, K> {
        WriteContext { read: self.context(volatile), handle }
    }

    /// Returns the epoch of a leaf's last change, by which readers in strict mode wait.
    #[inline]
    pub(crate) fn stamp(&self, leaf: &D::Leaf, volatile: &VolatileOf<D>) -> Epoch {
        DurabilityOf::<D>::stamp(leaf, self.context(volatile))
    }

    /// Copies every live pair of a leaf, in any order.
    #[inline]
    pub(crate) fn leaf_pairs(&self, leaf: &D::Leaf, volatile: &VolatileOf<D>, out: &mut Pairs) {
        OverflowOf::<D>::pairs(leaf, self.context(volatile), out);
    }

    /// Returns the block of a number.
    #[inline]
    pub(crate) fn leaf(&self, number: u32) -> Option<&D::Leaf> {
        let offset = u64::from(number) * size_of::<D::Leaf>() as u64;
        self.image.at(Loc::new(Area::Leaves, offset))
    }

    /// Attempts [`Index::get`] once without waiting; `None` if a writer is changing the leaf.
    #[inline(always)]
    pub fn try_get(&self, root: &TreeRoot, search_key: K::SearchKey<'_>) -> Option<Lookup> {
        let at = self.inner.seek::<K>(root, search_key)?;
        let leaf = self.leaf(at.leaf)?;
        // This prefetch has the largest single effect on a serial get: the lines of the block arrive together.
        leaf.prefetch_block();
        let descriptor = self.descriptors.get(at.leaf)?;
        let latch = at.latch(at.leaf, descriptor);
        let version = self.read_latch(root, at.leaf, latch)?;
        if !at.leaf_parent.latch().validate(at.version) {
            return None;
        }
        let payload = leaf.get(self.context(&descriptor.volatile), search_key);
        let stamp = self.stamp(leaf, &descriptor.volatile);
        latch.validate(version).then_some(Lookup { payload, leaf_version: at.leaf_version(at.leaf, version), stamp })
    }

    /// Retries until no writer interferes.
    #[cold]
    #[inline(never)]
    fn get_again(&self, root: &TreeRoot, search_key: K::SearchKey<'_>) -> Lookup {
        let mut turn = 0;
        loop {
            back_off(&mut turn);
            if let Some(lookup) = self.try_get(root, search_key) {
                return lookup;
            }
            if root.is_freed() {
                return Lookup::default();
            }
        }
    }

    /// Latches the search key's leaf, unless another writer has it.
    #[inline(always)]
    pub(crate) fn try_take(&self, root: &TreeRoot, search_key: K::SearchKey<'_>) -> Option<LatchedLeaf<'_, D>> {
        self.try_take_reached(root, &self.inner.seek::<K>(root, search_key)?)
    }

    /// Latches the leaf to which a descent has led, unless another writer has it. The leaf's range cannot change from
    /// then on.
    #[inline(always)]
    pub(crate) fn try_take_reached<'a>(&'a self, root: &TreeRoot, at: &Reached<'a, D>) -> Option<LatchedLeaf<'a, D>> {
        let leaf = self.leaf(at.leaf)?;
        leaf.prefetch_block();
        let descriptor = self.descriptors.get(at.leaf)?;
        let latch = at.latch(at.leaf, descriptor);
        let version = self.read_latch(root, at.leaf, latch)?;
        if !at.leaf_parent.latch().validate(at.version) {
            return None;
        }
        Some(LatchedLeaf { number: at.leaf, leaf, descriptor, held: latch.try_lock(version)? })
    }

    /// Latches the search key's leaf for an operation whose label is then valid: its linearization point.
    #[inline]
    pub(crate) fn take(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
    ) -> Result<LatchedLeaf<'_, D>> {
        match self.try_take(root, search_key) {
            Some(latched) if guard.valid() => Ok(latched),
            missed => self.take_again(root, guard, search_key, missed),
        }
    }

    /// The retry loop of the above, with the leaf that the first attempt may have latched.
    #[cold]
    #[inline(never)]
    fn take_again<'a>(
        &'a self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        mut latched: Option<LatchedLeaf<'a, D>>,
    ) -> Result<LatchedLeaf<'a, D>> {
        let mut turn = 0;
        loop {
            match latched {
                Some(latched) if guard.valid() => return Ok(latched),
                Some(latched) => {
                    latched.held.unlock_unchanged();
                    root.repin(guard)?;
                }
                None => {
                    root.check_sound()?;
                    back_off(&mut turn);
                }
            }
            latched = self.try_take(root, search_key);
        }
    }

    /// Puts a payload, unless the leaf is full.
    #[inline]
    pub(crate) fn try_put(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> Result<Tried> {
        let latched = self.take(root, guard, search_key)?;
        Ok(self.put_latched(root, guard, latched, search_key, payload))
    }

    /// Puts a payload into a leaf that is latched under a valid label, unless the leaf is full. Releases the latch.
    #[inline(always)]
    pub(crate) fn put_latched(
        &self,
        root: &TreeRoot,
        guard: &Guard<'_>,
        latched: LatchedLeaf<'_, D>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> Tried {
        self.preserve(guard, &latched, Some(payload));
        let old = {
            // The write handle goes before the latch: its dirty marks must be set while this is the block's only
            // writer.
            let mut handle = self.writer.begin_write(guard);
            let mut context = self.writing(&latched.descriptor.volatile, &mut handle);
            latched.leaf.insert(&mut context, search_key, payload)
        };
        let Ok(old) = old else {
            latched.held.unlock_unchanged();
            return Err(Full);
        };
        Ok(self.end_put(root, guard, latched, old))
    }

    /// Releases the latch after an insert, and counts the pair if it replaced none.
    #[inline(always)]
    pub(crate) fn end_put(
        &self,
        root: &TreeRoot,
        guard: &Guard<'_>,
        latched: LatchedLeaf<'_, D>,
        old: Option<Replaced>,
    ) -> Option<Superseded> {
        let old = old.map(|old| self.superseded(guard, latched.number, old));
        self.unlock(guard, latched);
        if old.is_none() {
            root.pairs.add(1);
        }
        old
    }

    /// Removes a key from a leaf that is latched under a valid label and has room for it. Releases the latch, and
    /// merges the leaf if it is sparse then.
    pub(crate) fn remove_latched(
        &self,
        root: &TreeRoot,
        guard: &Guard<'_>,
        latched: LatchedLeaf<'_, D>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Superseded> {
        self.preserve(guard, &latched, None);
        let old = {
            // The write handle goes before the latch, as in a put.
            let mut handle = self.writer.begin_write(guard);
            let mut context = self.writing(&latched.descriptor.volatile, &mut handle);
            latched.leaf.remove(&mut context, search_key)
        };
        let sparse = old.is_some() && latched.leaf.sparse(self.context(&latched.descriptor.volatile));
        let old = old.map(|old| self.superseded(guard, latched.number, old));
        self.unlock(guard, latched);
        if old.is_some() {
            root.pairs.add(-1);
        }
        if sparse {
            // The merge is an operation of its own: the neighbour may already belong to the next epoch.
            self.merge(root, guard, search_key);
        }
        old
    }

    /// Unlatches a leaf after a write, and frees the block that the leaf has detached, if any.
    #[inline]
    pub(crate) fn unlock(&self, guard: &Guard<'_>, LatchedLeaf { leaf, descriptor, held, .. }: LatchedLeaf<'_, D>) {
        let detached = Self::take_detached(leaf, descriptor);
        drop(held);
        self.retire_blocks(guard, detached);
    }

    /// Returns the block that a leaf has detached, if any. The leaf names it no more.
    #[inline]
    pub(crate) fn take_detached(leaf: &D::Leaf, descriptor: &DescriptorOf<D>) -> Option<u32> {
        Some(OverflowOf::<D>::take_detached(leaf, &descriptor.volatile)).filter(|block| *block != 0)
    }

    /// Retires blocks that leaves have detached, once their latches are released.
    #[inline]
    pub(crate) fn retire_blocks(&self, guard: &Guard<'_>, detached: impl IntoIterator<Item = u32>) {
        let space = &self.writer.storage().space;
        detached.into_iter().for_each(|block| space.retire_block(guard.epoch(), block));
    }

    /// Makes a fresh leaf of a keyspace, which a crash finds as such.
    pub(crate) fn fresh_leaf(&self, epoch: Epoch, home: Home) -> Result<u32> {
        let storage = self.writer.storage();
        let number = storage.space.take_block_at(&storage.medium, epoch)?;
        let (leaf, descriptor) = self.block(number)?;
        leaf.format(&descriptor.volatile, &mut self.writer.begin_write_at(epoch), home);
        Ok(number)
    }

    /// Returns the block and the leaf descriptor of a number just taken.
    pub(crate) fn block(&self, number: u32) -> Result<(&D::Leaf, &DescriptorOf<D>)> {
        // The block comes first: a damaged link may name any number, and a number without a block must get no
        // descriptor.
        let block = self.leaf(number).filter(|_| number < D::Leaf::NUMBERS);
        let pair = block.and_then(|leaf| Some((leaf, self.descriptors.get_or_allocate(number)?)));
        let limit = D::Leaf::NUMBERS.into();
        pair.ok_or(MediumError::TooLarge { what: "a leaf's number", found: number.into(), limit })
    }

    /// Returns the numbers of a leaf's blocks, its own first. Their number is bounded, whatever the blocks contain.
    pub fn blocks_of(&self, leaf: u32) -> impl Iterator<Item = u32> {
        let overflow_block = move |place: usize| {
            let (block, descriptor) = self.leaf(leaf).zip(self.descriptors.get(leaf))?;
            let number = OverflowOf::<D>::block(block, self.context(&descriptor.volatile), place);
            Some(number).filter(|number| *number != 0)
        };
        // For leaves of one block, nothing is read.
        std::iter::once(leaf).chain((1..OverflowOf::<D>::BLOCKS).map_while(overflow_block))
    }
}

impl<M: Medium, D: Design, K: Keys> Index<K> for TreeSet<M, D, K> {
    fn block_difference(&self) -> Option<ReadDifference> {
        block_difference::reader::<D>()
    }

    fn design(&self) -> &'static str {
        D::NAME
    }

    fn leaf_slots(&self) -> usize {
        D::Leaf::CAPACITY
    }

    fn capabilities(&self) -> Capabilities {
        D::CAPABILITIES
    }

    /// The first attempt is inlined: the result of a call would be copied from memory, and the copy would wait for the
    /// call's stores.
    fn get(&self, root: &TreeRoot, search_key: K::SearchKey<'_>) -> Lookup {
        match self.try_get(root, search_key) {
            Some(lookup) => lookup,
            None => self.get_again(root, search_key),
        }
    }

    fn get_many(&self, root: &TreeRoot, search_keys: &[K::SearchKey<'_>], out: &mut Vec<Lookup>) {
        self.get_groups(root, search_keys, out);
    }

    fn put_many(&self, root: &TreeRoot, guard: &mut Guard<'_>, puts: ManyPuts<'_, '_, K>) -> Result<()> {
        self.put_groups(root, guard, puts)
    }

    #[inline]
    fn validate(&self, leaf_version: LeafVersion) -> bool {
        self.validates(leaf_version)
    }

    fn hold(&self, leaf_version: LeafVersion, read: &mut dyn FnMut()) -> bool {
        self.hold_at(leaf_version, read)
    }

    fn put(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> Result<Option<Superseded>> {
        match self.try_put(root, guard, search_key, payload)? {
            Ok(old) => Ok(old),
            Err(Full) => self.put_with_room(root, guard, search_key, payload),
        }
    }

    fn longest_record(&self) -> usize {
        D::Leaf::LONGEST_RECORD
    }

    fn put_record(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        record: &[u64],
    ) -> Result<PutRecord> {
        self.put_in_leaf(root, guard, search_key, record)
    }

    fn move_leaf(&self, root: &TreeRoot, guard: &mut Guard<'_>, key: K::SearchKey<'_>, limit: u32) -> Result<bool> {
        self.move_below(root, guard, key, limit)
    }

    fn remove(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
    ) -> Result<Option<Superseded>> {
        let latched = self.take_uncrowded(root, guard, search_key)?;
        Ok(self.remove_latched(root, guard, latched, search_key))
    }

    fn put_if_unchanged(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        seen: Seen<'_>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> Result<Conditional> {
        self.put_seen(root, guard, seen, search_key, payload)
    }

    fn remove_if_unchanged(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        seen: Seen<'_>,
        search_key: K::SearchKey<'_>,
    ) -> Result<Conditional> {
        self.remove_seen(root, guard, seen, search_key)
    }

    fn commit(&self, guard: &mut Guard<'_>, request: CommitRequest<'_, '_, K>) -> Result<Committed> {
        self.commit_writes(guard, request)
    }

    fn remove_range(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        request: RangeRemoval<'_, '_, K>,
    ) -> Result<Option<K::Separator>> {
        self.remove_part(root, guard, request)
    }

    fn begin_snapshot(&self) -> Result<(u64, Epoch)> {
        self.writer.storage().clock.begin_snapshot(|generation| self.pre_images.begin(generation))
    }

    fn begin_snapshot_between_epochs(&self, begun: Box<dyn FnOnce(u64) + Send>) -> Result<(u64, Epoch)> {
        let pre_images = self.pre_images.clone();
        self.writer.storage().clock.begin_snapshot_between_epochs(move |generation| {
            pre_images.begin(generation);
            begun(generation);
        })
    }

    fn close_snapshot(&self, generation: u64) -> Vec<Released> {
        self.pre_images.close(generation, |is_open| self.writer.storage().clock.end_snapshots(is_open))
    }

    fn snapshot_bytes(&self) -> (u64, u64) {
        self.pre_images.bytes()
    }

    fn get_at(&self, root: &TreeRoot, generation: u64, search_key: K::SearchKey<'_>) -> LookupAt {
        let mut turn = 0;
        loop {
            if let Some(lookup) = self.try_get_at(root, generation, search_key) {
                return lookup;
            }
            if root.is_freed() {
                return LookupAt::default();
            }
            back_off(&mut turn);
        }
    }

    fn copy_leaf_at(&self, root: &TreeRoot, generation: u64, target: SeekTarget<'_, K>, cursor: &mut LeafCursor<K>) {
        let mut turn = 0;
        while self.try_copy_leaf_at(root, generation, &target, cursor).is_none() {
            if root.is_freed() {
                return *cursor = LeafCursor::default();
            }
            back_off(&mut turn);
        }
    }

    fn copy_leaf(&self, root: &TreeRoot, target: SeekTarget<'_, K>, wanted: Wanted<'_, K>, cursor: &mut LeafCursor<K>) {
        let mut turn = 0;
        while self.try_copy_leaf(root, &target, wanted, cursor).is_none() {
            if root.is_freed() {
                return *cursor = LeafCursor::default();
            }
            back_off(&mut turn);
        }
    }

    fn create_tree(&self, guard: &mut Guard<'_>, keyspace: u32) -> Result<TreeRoot> {
        let storage = self.writer.storage();
        let leaf_parents = &self.inner.leaf_parents;
        let FreshNode { number: leaf_parent, node } = fresh::<_, _, D>(leaf_parents, &self.writer, guard)?;
        let home = Home { keyspace, skip: 0, first: true };
        let number = self.fresh_leaf(guard.epoch(), home).inspect_err(|_| {
            <D::LeafParent as Inner>::Placement::unused(leaf_parents, storage, leaf_parent);
        })?;
        let contents = NodeContents {
            header: NodeHeader { keyspace, level: 1, first: true },
            range: KeyRange { low: &K::Separator::default(), high: None },
            separators: &[],
            children: &[number],
        };
        node.fill::<M, K>(&mut self.inner.writing(&mut self.writer.begin_write(guard)), contents);
        Ok(TreeRoot::new(keyspace, 1, leaf_parent, 0))
    }

    fn drop_tree(&self, root: &TreeRoot, guard: &mut Guard<'_>, freed: &mut dyn FnMut(u64)) -> Result<()> {
        self.free_tree(root, guard, freed)
    }

    fn rebuild_when(
        &self,
        recovery_point: RecoveryPoint,
        epoch: Epoch,
        threads: usize,
        evidence: Evidence<'_>,
        ready: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Rebuilt> {
        crate::rebuild::rebuild(self, &Request { recovery_point, epoch, threads, evidence }, ready)
    }

    fn load(&self, index: &LeafIndex, looked_at: u32) -> Option<Rebuilt> {
        self.load_index(index, looked_at)
    }
    fn leaf_index(&self, roots: &[&TreeRoot]) -> Result<Option<LeafIndex>> {
        self.make_index(roots)
    }

    fn earlier_index(&self, roots: &[&TreeRoot]) -> Option<EarlierIndex> {
        self.index_beside_writers(roots)
    }
    fn audit(&self, root: &TreeRoot) -> Audit {
        crate::audit::audit(self, root)
    }
    fn audit_leaf(&self, root: &TreeRoot, low: &K::Separator) -> LeafAudit<K::Separator> {
        crate::audit::audit_leaf(self, &self.keys, root, low)
    }
    fn blocks_of_several(&self, leaf: u32, out: &mut Vec<u32>) {
        if OverflowOf::<D>::BLOCKS > 1 {
            out.extend(self.blocks_of(leaf));
        }
    }
}
