//! The strict leaf: FPTree's fingerprints, LB+-Tree's inserts into the header's line, and one word that has both the
//! bitmap and the next leaf's number.
//!
//! Durable when an operation returns, for keys of one word and for keys in records. Fingerprints, bitmap and slot 0
//! share a line, so one flush admits a pair in slot 0. A pair that goes to another line takes slot 0's pair along if
//! that line has room for two, so that the next insert finds slot 0 free. A split writes the upper half into a fresh
//! leaf; then one store removes it from the old leaf and links the fresh one. A merge works the other way round in the
//! same manner. No change is ever half done, and recovery repairs nothing.
//!
//! ```text
//! bytes 0-7     state: number of the next leaf 32 | bitmap 29 | LEAF, FIRST | zero 1
//!       8-15    zero 32 | keyspace 24 | zero 8
//!       16-511  29 fingerprints, 29 pairs: see `fingerprinted_pairs`
//! ```
//!
//! Assumption about the medium: what persists of a line is a prefix of the stores to it.

use crate::fingerprinted_pairs::{ALL, FingerprintedPairs, SLOTS, line};
use crate::look::VECTORS;
use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    AlongLinks, BlockByte, BlockState, Full, Home, Leaf, LeafRef, Linked, Merge, MergeRequest, MergedInto, OneBlock,
    Pairs, PendingPair, PerOperation, Prefetch, ReadContext, RecoveryPoint, Replaced, Split, SplitRequest,
    WriteContext, damaged,
};
use holm_tree::pair::slots;
use holm_tree::pairs::upper_half;

/// The slot in the header's line.
const FRONT: usize = 0;

/// A leaf with fewer pairs looks for a neighbour to merge with,
const SPARSE: u32 = 6;

/// and merges if the two hold at most this many pairs together, or one of them none.
const MERGE_UP_TO: u32 = 15;

/// In the state: where the bitmap lies.
const BITMAP: u32 = 32;
/// In the state: number of the next leaf.
const NEXT: u64 = 0xffff_ffff;
/// In the state: the block is a leaf.
const LEAF: u64 = 1 << 61;
/// In the state: the first leaf of its keyspace.
const FIRST: u64 = 1 << 62;

/// Where the keyspace lies in its word, and the number of possible keyspaces.
const KEYSPACE: u32 = 32;
const KEYSPACES: u64 = 1 << 24;

persistent! {
    /// 512 bytes: two words of header, the fingerprints, and 29 pairs.
    #[repr(align(64))]
    pub struct HolmStrict {
        state: Word,
        keyspace: Word,
        fingerprinted: FingerprintedPairs,
    }
}

const _: () = assert!(size_of::<HolmStrict>() == 512 && line(FRONT) == 0 && line(FRONT + 1) == 1);

/// The word that commits every change except updates.
#[derive(Clone, Copy)]
struct State(u64);

impl State {
    /// Which slots count.
    #[inline]
    fn bits(self) -> u32 {
        (self.0 >> BITMAP) as u32 & ALL
    }

    /// The state with another bitmap.
    fn with(self, bits: u32) -> Self {
        State(self.0 & !(u64::from(ALL) << BITMAP) | u64::from(bits) << BITMAP)
    }

    /// The state with another next leaf.
    fn leading(self, next: u32) -> Self {
        State(self.0 & !NEXT | u64::from(next))
    }
}

impl HolmStrict {
    #[inline]
    fn state(&self) -> State {
        State(self.state.read())
    }

    #[inline]
    fn bits(&self) -> u32 {
        self.state().bits()
    }

    #[inline]
    fn find<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<(usize, u64)> {
        self.fingerprinted.find::<VECTORS, _, _>(self.bits(), context, search_key)
    }

    /// Makes another state durable, and with it all earlier stores to its line.
    #[track_caller]
    fn commit<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, state: State) {
        handle.write(&self.state, state.0);
        // Before the operation returns: otherwise a crash undoes it.
        handle.persist(&self.state);
    }

    /// Puts a pair into the first free slot. If that slot is not in the header's line, the header line's pair moves
    /// along where the line has room for both: LB+-Tree's entry moving.
    fn insert_pair<M: Medium>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        slot: Slot,
        fingerprint: u8,
    ) -> std::result::Result<(), Full> {
        let state = self.state();
        let free = !state.bits() & ALL;
        let at = slots(free).next().ok_or(Full)?;
        let mut bits = state.bits() | 1 << at;
        self.fingerprinted.pair(at).write(handle, slot);
        if at != FRONT {
            if let Some(to) = slots(free).find(|to| *to != at && line(*to) == line(at)) {
                self.fingerprinted.pair(to).write(handle, self.fingerprinted.slot(FRONT));
                self.fingerprinted.set_fingerprint(handle, to, self.fingerprinted.fingerprint(FRONT));
                bits = bits & !(1 << FRONT) | 1 << to;
            }
            // Before the bitmap: otherwise a crash keeps the bits and loses the pairs that they admit.
            handle.persist(self.fingerprinted.pair(at));
        }
        // In the bitmap's line, before it: a crash that keeps the bit keeps the fingerprint.
        self.fingerprinted.set_fingerprint(handle, at, fingerprint);
        // The commit word: it admits the new pair, and leaves the moved pair in one place only.
        self.commit(handle, state.with(bits));
        Ok(())
    }

    /// Makes an unreachable block a leaf like another one, with the same next leaf. The slot in the header's line stays
    /// free. Flushed, and not fenced.
    fn begin<M: Medium>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        other: &Self,
        coming: impl Iterator<Item = (Slot, u8)>,
    ) {
        let mut bits = 0;
        for ((slot, fingerprint), at) in coming.zip(FRONT + 1..SLOTS) {
            self.fingerprinted.pair(at).write(handle, slot);
            self.fingerprinted.set_fingerprint(handle, at, fingerprint);
            bits |= 1 << at;
        }
        handle.write(&self.keyspace, other.keyspace.read());
        handle.write(&self.state, State(other.state().0 & !FIRST).with(bits).0);
        self.flush(handle, bits);
        handle.flush(&self.state);
    }

    /// Flushes the lines of these slots, each once, except the header's, which the commit flushes.
    #[track_caller]
    fn flush<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, changed: u32) {
        let mut last = line(FRONT);
        for at in slots(changed) {
            if std::mem::replace(&mut last, line(at)) != line(at) {
                handle.flush(self.fingerprinted.pair(at));
            }
        }
    }
}

impl Leaf for HolmStrict {
    const SOURCE: &'static str = "none: our own, over FPTree and LB+-Tree";
    const CAPACITY: usize = SLOTS;
    const NEEDS_LINE_ORDER: bool = true;
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
        handle.write(&self.keyspace, (u64::from(home.keyspace) % KEYSPACES) << KEYSPACE);
        let first = if home.first { FIRST } else { 0 };
        // The commit word, last in its line: when recovery finds the block as the first leaf, the leaf is empty.
        // Survivor (store, flush, fence): no crash tells an empty tree from none, and the first put writes this word
        // again, flushes it and fences.
        self.commit(handle, State(LEAF | first));
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = context.parts();
        let Some((at, old)) = self.find(context, search_key) else {
            self.insert_pair(handle, Slot { head: K::head(search_key, 0), payload }, K::fingerprint(search_key))?;
            return Ok(None);
        };
        let word = &self.fingerprinted.pair(at).payload;
        // The commit word.
        handle.write(word, payload);
        // Before the operation returns: otherwise a crash brings the old payload back.
        handle.persist(word);
        Ok(Some(Replaced { payload: old, same_epoch: false }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let (at, payload) = self.find(context, search_key)?;
        let state = self.state();
        // The commit word.
        self.commit(handle, state.with(state.bits() & !(1 << at)));
        Some(Replaced { payload, same_epoch: false })
    }

    /// Moves the upper half of a full leaf to a fresh one, with the pending pair if it belongs there.
    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, fresh: [right, _], room_for, .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let state = self.state();
        let Some((separator, upper)) = upper_half(context.keys, self.fingerprinted.indexed_pairs(state.bits()), SLOTS)
        else {
            return Split::new(own, None);
        };
        let rides = |pair: &PendingPair<'_, K>| {
            K::to_separator(pair.search_key) >= separator && self.find(context, pair.search_key).is_none()
        };
        let rider = room_for.pair().filter(rides).map(|PendingPair { search_key, payload }| {
            let slot = Slot { head: K::head(search_key, 0), payload };
            (slot, K::fingerprint(search_key))
        });
        let coming = upper.iter().map(|pair| (pair.slot, self.fingerprinted.fingerprint(pair.at))).chain(rider);
        right.leaf.begin(handle, self, coming);
        // Before the link: otherwise a crash keeps the link and loses the pairs to which it leads.
        handle.fence();
        let moved = upper.iter().fold(0, |bits, pair| bits | 1 << pair.at);
        // The commit word: the fresh leaf is next, and its pairs no longer count here.
        self.commit(handle, state.with(state.bits() & !moved).leading(right.number));
        Split { left: own, right: Some((separator, right.number)), put: rider.is_some() }
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.state, 0);
        // Before the block is reused: otherwise recovery finds the first leaf of a dropped keyspace.
        handle.persist(&self.state);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &(),
        _: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        let (state, home) = (self.state.read(), self.keyspace.read());
        if state == 0 {
            return Ok(BlockState::Free);
        }
        let keyspace = home >> KEYSPACE;
        if state & LEAF == 0 || state >= FIRST << 1 || keyspace >= KEYSPACES || home << KEYSPACE != 0 {
            let expected = "one or two marks, of which one says leaf; a keyspace below 2^24";
            return Err(damaged::<Self>(
                BlockByte::first_of(own),
                "a leaf's header",
                format!("{state:#x}, {home:#x}"),
                expected,
            ));
        }
        Ok(BlockState::Live { keyspace: keyspace as u32, first: state & FIRST != 0 })
    }
}

impl Prefetch for HolmStrict {
    #[inline]
    fn prefetch_pairs<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) {
        self.fingerprinted.prefetch_pairs::<VECTORS, _, _>(self.bits(), context, search_key);
    }

    #[inline]
    fn candidate_payload<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.fingerprinted.candidate_payload::<VECTORS, _, _>(self.bits(), context, search_key)
    }
}

impl Merge for HolmStrict {
    fn sparse<K: Keys>(&self, _: ReadContext<'_, (), K>) -> bool {
        self.bits().count_ones() < SPARSE
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        MergeRequest { right: LeafRef { leaf: right, .. }, .. }: MergeRequest<'_, Self, K::Separator>,
    ) -> MergedInto {
        let (_, handle) = context.parts();
        let state = self.state();
        let [own, theirs] = [self, right].map(|leaf| leaf.bits().count_ones());
        if own.min(theirs) > 0 && own + theirs > MERGE_UP_TO {
            return MergedInto::Neither;
        }
        let mut taken = 0;
        for (to, from) in slots(!state.bits() & ALL).zip(slots(right.bits())) {
            self.fingerprinted.pair(to).write(handle, right.fingerprinted.slot(from));
            self.fingerprinted.set_fingerprint(handle, to, right.fingerprinted.fingerprint(from));
            taken |= 1 << to;
        }
        if taken & !(1 << FRONT) != 0 {
            self.flush(handle, taken);
            // Before the bitmap: otherwise a crash keeps the bits and loses the pairs that they admit.
            handle.fence();
        }
        // The commit word: the chain passes over the right leaf, and its pairs count here. Durable before its block is
        // reused: otherwise a crash leaves the reused block in the chain.
        self.commit(handle, state.with(state.bits() | taken).leading(right.next()));
        MergedInto::Left
    }
}

impl Linked for HolmStrict {
    fn next(&self) -> u32 {
        self.state.read() as u32
    }

    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, next: u32) {
        let (_, handle) = context.parts();
        handle.write(&self.state, self.state().leading(next).0);
        handle.flush(&self.state);
    }
}
