//! The split of a full inner node. A descent splits the first full node that it meets, so that the split of a leaf
//! finds room and never climbs.

use crate::descent::{Path, Step};
use crate::design::Design;
use crate::index::TreeRoot;
use crate::inner::{FreshNode, Inner, NewChild, NodeBlocks, NodeContents, NodeHeader, Placement as _, Route as _};
use crate::inner_levels::{InnerLevels, hold_all};
use crate::keys::Keys;
use crate::latch::LatchGuard;
use crate::leaf::KeyRange;
use crate::levels::Levels as _;
use crate::locks::Locks;
use crate::slab::Slab;
use crate::sync::atomic::Ordering::Relaxed;
use holm_medium::{Guard, Medium, Result, WriteHandle, Writer};

/// A descent that may meet full nodes, and what is needed to split one.
pub struct NodeSplit<'s, 'a, 'k, M: Medium, D: Design, K: Keys> {
    pub(crate) inner: &'s InnerLevels<D>,
    pub(crate) writer: &'s Writer<M>,
    pub(crate) root: &'s TreeRoot,
    pub(crate) guard: &'s Guard<'s>,
    pub(crate) path: &'s Path<'a, D, K>,
    pub(crate) search_key: K::SearchKey<'k>,
}

impl<M: Medium, D: Design, K: Keys> NodeSplit<'_, '_, '_, M, D, K> {
    /// Splits the first full node of the descent. Returns whether there was one; the caller then restarts.
    pub(crate) fn split_full(&self) -> Result<bool> {
        for (depth, step) in self.path.uppers.iter().enumerate() {
            if step.node.len() + 1 == D::Upper::CHILDREN {
                self.split(depth, step, &self.inner.uppers)?;
                return Ok(true);
            }
        }
        if self.path.leaf_parent.node.len() + 1 == D::LeafParent::CHILDREN {
            <D::Upper as Inner>::Placement::leaf_parent_full(self)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Splits the leaf parent of the descent.
    pub(crate) fn split_leaf_parent(&self) -> Result<()> {
        self.split(self.path.uppers.len(), &self.path.leaf_parent, &self.inner.leaf_parents)
    }

    /// Splits one node in two, if nothing has changed since the walk. The node stays latched until its parent has the
    /// new half. If the latch were released in between, no descent would find the keys of that half.
    fn split<I: Inner>(&self, depth: usize, step: &Step<'_, I>, slab: &Slab<I>) -> Result<()> {
        let (root, guard, search_key) = (self.root, self.guard, self.search_key);
        let (node, storage) = (step.node, self.writer.storage());
        let parent = depth.checked_sub(1).map(|depth| &self.path.uppers[depth]);
        // Allocate before the label is validated: an epoch end in between could release a block that is too young for
        // this label.
        let right = self.fresh(slab)?;
        let unused = || I::Placement::unused(slab, storage, right.number);
        let top = match parent {
            Some(_) => None,
            None => Some(self.fresh(&self.inner.uppers).inspect_err(|_| unused())?),
        };
        let undone = || {
            unused();
            if let Some(top) = top {
                <D::Upper as Inner>::Placement::unused(&self.inner.uppers, storage, top.number);
            }
            Ok(())
        };
        let held_parent = match parent {
            Some(parent) => parent.node.latch().try_lock(parent.version),
            None => root.latch.read().and_then(|version| root.latch.try_lock(version)),
        };
        let Some(held_parent) = held_parent else { return undone() };
        let held = if parent.is_some() || root.top.load(Relaxed) as u32 == step.number {
            node.latch().try_lock(step.version)
        } else {
            None
        };
        let Some(held) = held else {
            held_parent.unlock_unchanged();
            return undone();
        };
        // Some leaves of a leaf parent get their lock in another node from now on. No writer may hold them by the lock
        // that they had.
        let locks = hold_all(node.locks().all());
        if locks.is_none() || !guard.valid() {
            locks.into_iter().flatten().for_each(LatchGuard::unlock_unchanged);
            held.unlock_unchanged();
            held_parent.unlock_unchanged();
            return undone();
        }
        let mut handle = self.writer.begin_write(guard);
        let mut context = self.inner.writing(&mut handle);
        let separator = node.split::<M, K>(&mut context, &self.path.ranges[depth], right, search_key);
        match (parent, top) {
            (Some(parent), _) => {
                let range = &self.path.ranges[depth - 1];
                let new_child = NewChild { position: parent.position, separator: &separator, child: right.number };
                parent.node.insert_child::<M, K>(&mut context, range, new_child, search_key);
            }
            (None, Some(top)) => self.grow(&mut handle, top, &separator, [step.number, right.number]),
            (None, None) => unreachable!("a node without a parent gets one"),
        }
        Ok(())
    }

    /// Returns an unused number and its node.
    fn fresh<'n, I: Inner>(&self, slab: &'n Slab<I>) -> Result<FreshNode<'n, I>> {
        fresh::<_, _, D>(slab, self.writer, self.guard)
    }

    /// Makes a new top above two halves.
    fn grow(
        &self,
        handle: &mut WriteHandle<'_, M>,
        top: FreshNode<'_, D::Upper>,
        separator: &K::Separator,
        halves: [u32; 2],
    ) {
        let level = (self.root.top.load(Relaxed) >> 32) as u32 + 1;
        let contents = NodeContents {
            header: NodeHeader { keyspace: self.root.keyspace(), level, first: true },
            range: KeyRange { low: &K::Separator::default(), high: None },
            separators: std::slice::from_ref(separator),
            children: &halves,
        };
        top.node.fill::<M, K>(&mut self.inner.writing(handle), contents);
        self.root.top.store(u64::from(level) << 32 | u64::from(top.number), Relaxed);
    }
}

/// Returns an unused number and its node, for an operation under this guard.
pub(crate) fn fresh<'n, I: Inner, M: Medium, D: Design>(
    slab: &'n Slab<I>,
    writer: &Writer<M>,
    guard: &Guard<'_>,
) -> Result<FreshNode<'n, I>> {
    let storage = writer.storage();
    let blocks = NodeBlocks { storage, bytes: size_of::<D::Leaf>() };
    I::Placement::fresh(slab, &blocks, &mut || storage.space.take_block(&storage.medium, guard))
}
