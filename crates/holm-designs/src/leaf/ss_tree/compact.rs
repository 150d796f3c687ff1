//! Proactive compaction: updates move pairs from behind the head into it. The operation that removes the last pair of
//! the list's last subnode also releases that subnode.
//!
//! A subnode is released in three steps. It is tagged free; the bitmap drops its last pair, which commits; the
//! preceding subnode drops the link. Between the first two steps a crash leaves a free subnode with bits in its region,
//! and such a subnode still counts. **The last step is fenced**, where the paper only flushes. Without the fence, the
//! subnode or its region could be reused while a crash may still leave the old link to it.

use super::HASTY;
use super::subnode::{bit, line, lines_behind, part};
use super::{FoundPair, SsTree, Volatile};
use holm_medium::{Medium, WriteHandle};
use holm_tree::keys::Slot;
use holm_tree::pair::slots;
use holm_tree::sync::atomic::Ordering::Relaxed;

impl<const SUBNODES: usize, const COURSE: usize> SsTree<SUBNODES, COURSE> {
    /// Updates a pair behind the head by moving it into the head. Pairs of the same line move along while there is
    /// room.
    pub(super) fn draw_in<M: Medium>(
        &self,
        volatile: &Volatile,
        handle: &mut WriteHandle<'_, M>,
        place: &FoundPair<'_, Self>,
        payload: u64,
    ) {
        let Some(before) = place.before else { return };
        let known = volatile.known();
        let beyond = |slot: &usize| *slot != place.at && line(*slot) == line(place.at);
        let coming = std::iter::once(place.at).chain(slots(part(known.bitmap(), place.region)).filter(beyond));
        let (mut bitmap, mut taken) = (known.bitmap(), 0);
        for (to, from) in slots(known.free()).zip(coming) {
            let slot = place.node.slot(from);
            self.store(handle, to, if from == place.at { Slot { payload, ..slot } } else { slot });
            bitmap = bitmap & !bit(place.region, from) | bit(known.region(), to);
            taken |= 1 << to;
            // Its bit is not set yet, so no search reads it.
            volatile.fingerprints.set(to, before.delegated_fingerprint(from));
        }
        lines_behind(taken).for_each(|line| self.flush(handle, line));
        let emptied = self.tag_if_empty(handle, place, bitmap);
        if emptied || lines_behind(taken).next().is_some() {
            // Before the bitmap: otherwise a crash keeps the bits and loses the pairs. Or it leaves an empty subnode to
            // which nothing leads and which is not tagged free.
            handle.fence();
        }
        self.conclude(volatile, handle, place, bitmap, emptied);
    }

    /// Removes a pair.
    pub(super) fn drop_from<M: Medium>(
        &self,
        volatile: &Volatile,
        handle: &mut WriteHandle<'_, M>,
        place: &FoundPair<'_, Self>,
    ) {
        let bitmap = volatile.known().bitmap() & !bit(place.region, place.at);
        let emptied = self.tag_if_empty(handle, place, bitmap);
        if emptied {
            // Before the bitmap, as above.
            handle.fence();
        }
        self.conclude(volatile, handle, place, bitmap, emptied);
    }

    /// Tags the subnode free, if it is the last one and this bitmap has none of its pairs. Flushed, and not fenced.
    fn tag_if_empty<M: Medium>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        place: &FoundPair<'_, Self>,
        bitmap: u64,
    ) -> bool {
        // Only at the end of the list: otherwise the subnodes behind it would be lost.
        let empty = place.before.is_some() && part(bitmap, place.region) == 0 && place.node.next() == 0;
        if empty {
            place.node.untag(handle);
            place.node.flush(handle, 0);
        }
        empty
    }

    /// Stores the bitmap, and drops the link to a subnode that was tagged free.
    fn conclude<M: Medium>(
        &self,
        volatile: &Volatile,
        handle: &mut WriteHandle<'_, M>,
        place: &FoundPair<'_, Self>,
        bitmap: u64,
        emptied: bool,
    ) {
        let known = volatile.known();
        let Some(before) = place.before.filter(|_| emptied) else {
            self.commit(handle, bitmap);
            return volatile.know(bitmap, known.region(), known.more());
        };
        volatile.detached.store(before.next(), Relaxed);
        if std::ptr::eq(before, self) {
            // The commit word; the link lies in its line, and is stored after it.
            handle.write(&self.words[1], bitmap);
            self.end(handle);
            // Before the operation returns, and before the subnode or its region is reused.
            handle.persist(&self.words[1]);
            return volatile.know(bitmap, known.region(), false);
        }
        self.commit(handle, bitmap);
        before.end(handle);
        before.flush(handle, 0);
        if COURSE == HASTY {
            return volatile.know(bitmap, known.region(), true);
        }
        // Before the subnode or its region is reused: otherwise a crash leaves two links to one subnode, or recovery
        // takes another subnode's pairs for this one's.
        handle.fence();
        volatile.know(bitmap, known.region(), true);
    }
}
