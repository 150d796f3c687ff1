//! FPTree's leaf: unsorted pairs under a bitmap, found by fingerprints, and split under a micro-log (Oukid, Lasperas,
//! Nica, Willhalm, Lehner, SIGMOD 2016).
//!
//! Durable when an operation returns. A pair and then its fingerprint are durable before the bitmap admits them. An
//! update goes to another slot, and one store of the bitmap changes both bits. A split copies the whole leaf and
//! divides the bitmaps. This takes two stores in the old leaf, so a log records that a split is in progress.
//!
//! The parameter states whether fingerprints are compared with vectors or, as in the paper, one by one.
//!
//! ```text
//! bytes 0-15    roster: bit s of the bitmap admits slot s
//!       16-44   29 fingerprints of whole keys; 45-47 zero
//!       48-511  29 pairs {head, payload}
//! ```
//!
//! In a log, the roster's 32 bits have the number of the leaf that is split, and its `next` the right half.

use crate::fingerprinted_pairs::{ALL, FingerprintedPairs, SLOTS};
use crate::look::VECTORS;
use crate::roster::Roster;
use holm_medium::{Medium, Result, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    AlongLinks, BlockState, Full, Home, Leaf, Linked, Merge, OneBlock, Pairs, PerOperation, Prefetch, ReadContext,
    RecoveryPoint, Replaced, Split, SplitRequest, WriteContext,
};
use holm_tree::pair::slots;
use holm_tree::pairs::upper_half;

persistent! {
    /// 512 bytes: three quarters of a line of header, and 29 pairs.
    #[repr(align(64))]
    pub struct FpTree<const LOOK: usize> {
        roster: Roster,
        fingerprinted: FingerprintedPairs,
    }
}

const _: () = assert!(size_of::<FpTree<VECTORS>>() == 512);

impl<const LOOK: usize> FpTree<LOOK> {
    fn bits(&self) -> u32 {
        self.roster.bits() & ALL
    }

    #[inline]
    fn find<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<(usize, u64)> {
        self.fingerprinted.find::<LOOK, _, _>(self.bits(), context, search_key)
    }

    /// The steps of a split after its log: copies the whole leaf, divides the bitmaps, and links the halves.
    fn divide<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, right: &Self, number: u32, upper: u32) {
        right.roster.follow(handle, &self.roster, self.bits());
        right.fingerprinted.copy(handle, &self.fingerprinted);
        // Before the bitmaps are divided: otherwise a crash loses half of the pairs.
        // Survivor (fence): the right bitmap is written twice, and fenced before the left one.
        handle.persist(right);
        right.roster.commit(handle, upper);
        // The commit word: if fewer than all bits are set after a crash, recovery finishes the split.
        self.roster.commit(handle, ALL & !upper);
        self.roster.link(handle, number);
        // Before the log ends: otherwise a crash leaves no link to the upper half.
        handle.persist(&self.roster);
    }
}

impl<const LOOK: usize> Leaf for FpTree<LOOK> {
    const SOURCE: &'static str = "FPTree: Oukid et al., SIGMOD 2016";
    const CAPACITY: usize = SLOTS;
    type Volatile = ();
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = AlongLinks;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.find(context, search_key).map(|(_, payload)| payload)
    }

    fn block_pairs(&self, _: &(), out: &mut Pairs) {
        self.fingerprinted.block_pairs(self.bits(), out);
    }

    fn format<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, home: Home) {
        self.roster.link(handle, 0);
        // Before the block is a leaf: otherwise a crash leaves a leaf with the link of the block's last use.
        handle.persist(&self.roster);
        self.roster.begin(handle, home, 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = context.parts();
        let found = self.find(context, search_key);
        let bits = self.bits();
        let at = slots(!bits & ALL).next().ok_or(Full)?;
        self.fingerprinted.pair(at).write(handle, Slot { head: K::head(search_key, 0), payload });
        // Before the bitmap: otherwise a crash keeps the bit and loses the pair that it admits.
        // Survivor (fence): the fingerprint is fenced before the bitmap, too. The paper fences both.
        handle.persist(self.fingerprinted.pair(at));
        self.fingerprinted.set_fingerprint(handle, at, K::fingerprint(search_key));
        // Before the bitmap: otherwise a crash keeps a pair that no search finds.
        handle.persist(self.fingerprinted.fingerprint_word(at));
        let gone = found.map_or(0, |(old, _)| 1 << old);
        // The commit word: one store admits the new pair and removes the old one.
        self.roster.commit(handle, bits & !gone | 1 << at);
        Ok(found.map(|(_, payload)| Replaced { payload, same_epoch: false }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let (at, payload) = self.find(context, search_key)?;
        // The commit word.
        self.roster.commit(handle, self.bits() & !(1 << at));
        Some(Replaced { payload, same_epoch: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, fresh: [right, log], .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let Some((separator, upper)) = upper_half(context.keys, self.fingerprinted.indexed_pairs(self.bits()), SLOTS)
        else {
            return Split::new(own, None);
        };
        log.leaf.roster.log(handle, own);
        log.leaf.roster.link(handle, right.number);
        // Survivor (fence): the copied leaf is fenced before the bitmaps are divided.
        handle.persist(&log.leaf.roster);
        self.divide(handle, right.leaf, right.number, upper.iter().fold(0, |bits, pair| bits | 1 << pair.at));
        log.leaf.roster.end(handle);
        Split::new(own, Some((separator, right.number)))
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        self.roster.end(handle);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &(),
        handle: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        let Some(number) = self.roster.logged() else { return self.roster.block_state::<Self>(own) };
        let leaf = Roster::subject(own, number, peer, |leaf| &leaf.roster)?;
        // While the bitmap is full, no pair has left the leaf, and no pair of the right half counts.
        if leaf.bits() != ALL {
            leaf.roster.link(handle, self.next());
            // Before the log ends, as in the split: otherwise a crash leaves no link to the upper half.
            handle.persist(&leaf.roster);
        }
        self.roster.end(handle);
        Ok(BlockState::Free)
    }
}

impl<const LOOK: usize> Prefetch for FpTree<LOOK> {
    #[inline]
    fn prefetch_pairs<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) {
        self.fingerprinted.prefetch_pairs::<LOOK, _, _>(self.bits(), context, search_key);
    }

    #[inline]
    fn candidate_payload<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.fingerprinted.candidate_payload::<LOOK, _, _>(self.bits(), context, search_key)
    }
}

impl<const LOOK: usize> Merge for FpTree<LOOK> {}

impl<const LOOK: usize> Linked for FpTree<LOOK> {
    fn next(&self) -> u32 {
        self.roster.next()
    }

    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, next: u32) {
        let (_, handle) = context.parts();
        self.roster.link(handle, next);
        handle.flush(&self.roster);
    }
}
