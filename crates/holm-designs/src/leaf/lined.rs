//! Lined: BD+Tree's versions, line by line. Durable at the end of the epoch.
//!
//! Each of the leaf's eight lines is a small leaf of its own: three pairs, and one word with their versions (`line`).
//! A put therefore dirties one line, not a line of metadata and a line of pairs, and a search reads one. An update
//! copies the pair into a line that this epoch writes anyway, or stays in its own line. The older copy stays live in a
//! line that is then not written: the copy with the latest *turn* counts.
//!
//! DRAM beside the block keeps which copies are the newest, their fingerprints, and the lines that this epoch has
//! changed (`known`). A leaf without room gives way to fresh ones (`replace`), and recovery goes back to the end of an
//! epoch line by line (`recovery`).
//!
//! **Slots.** An operation of epoch `e` writes a slot that no state of `e`, `e - 1` and `e - 2` names, or that holds an
//! older copy of the same key of which a newer one was live at the end of `e - 2`. That copy counts at no epoch that a
//! crash may choose, so it is dropped from the older states, too. An image from before still names the slot, so no
//! other key takes it in `e` and `e + 1`, even if it is removed.
//!
//! **The death of the process** keeps every store in program order. The commit word of an insert, of an update and of
//! the removal of a key's newest copy is the word of its line or, for a pair stored in the same epoch, the payload.
//! Older copies are removed first.
//!
//! Copies of a key are found by their heads, so slots must hold whole keys: the payload of an older copy may lead to a
//! record that is freed.

mod known;
mod line;
mod recovery;
mod replace;
#[cfg(test)]
mod torn;

use holm_medium::{Epoch, EpochSpan, Medium, Result, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    BlockState, ByVersions, Full, Home, Leaf, LeafRef, Merge, MergeRequest, MergedInto, OneBlock, Pairs, PerEpoch,
    Prefetch, ReadContext, RecoveryPoint, Replaced, Split, SplitRequest, Versioned, WriteContext,
};
use holm_tree::pair::slots;
use known::{Copies, Known};
use line::{ALL, FARTHEST, LEAF, Line, PAIRS, Versions, turns_after};
use replace::MERGE_UP_TO;

/// The lines of a leaf, and its slots.
const LINES: usize = 8;
const SLOTS: usize = LINES * PAIRS;

persistent! {
    /// 512 bytes: eight lines.
    #[repr(align(64))]
    pub struct Lined {
        lines: [Line; 8],
    }
}

const _: () = assert!(size_of::<Lined>() == 512, "eight lines");

/// Returns the line of a slot, and its place there.
#[inline]
fn place(slot: usize) -> (usize, usize) {
    (slot / PAIRS, slot % PAIRS)
}

/// Returns the bits of one line out of those of a leaf.
#[inline]
fn in_line(slots: u32, line: usize) -> u32 {
    slots >> (line * PAIRS) & ALL
}

/// Where a put goes.
#[derive(Clone, Copy)]
struct Destination {
    slot: usize,
    /// The slot holds an older copy of the same key.
    reused: bool,
}

impl Lined {
    #[inline]
    fn slot(&self, slot: usize) -> Slot {
        let (line, index) = place(slot);
        self.lines[line].slot(index)
    }

    /// Returns the slot with the newest copy of the search key, and its payload.
    #[inline]
    fn find<K: Keys>(&self, context: ReadContext<'_, Known, K>, search_key: K::SearchKey<'_>) -> Option<(usize, u64)> {
        let alike = context.volatile.alike(context.search, K::fingerprint(search_key));
        slots(alike & context.volatile.copies().newest).find_map(|slot| {
            let pair = self.slot(slot);
            context.keys.is(pair, search_key).then_some((slot, pair.payload))
        })
    }

    /// Returns the slots with older copies of a key.
    fn stale_copies<K: Keys>(&self, context: ReadContext<'_, Known, K>, search_key: K::SearchKey<'_>) -> u32 {
        let alike = context.volatile.alike(context.search, K::fingerprint(search_key));
        let head = K::head(search_key, 0);
        let same = |slot: &usize| self.slot(*slot).head == head;
        slots(alike & context.volatile.copies().stale).filter(same).fold(0, |copies, slot| copies | 1 << slot)
    }

    /// Returns a line's versions as an operation of `epoch` finds them.
    #[inline]
    fn versions(&self, line: usize, epoch: Epoch) -> Versions {
        self.lines[line].versions().in_epoch(epoch)
    }

    fn turn(&self, slot: usize) -> u32 {
        let (line, index) = place(slot);
        self.lines[line].versions().turn(index)
    }

    /// Publishes a line, whose live slots are then those of `copies`. Older copies in the line go with it: the line is
    /// written anyway, and a newer copy of each key is live.
    #[inline]
    fn publish<M: Medium>(
        &self,
        known: &Known,
        handle: &mut WriteHandle<'_, M>,
        line: usize,
        versions: Versions,
        copies: &mut Copies,
    ) {
        copies.stale &= !(ALL << (line * PAIRS));
        let now = versions.now & LEAF | in_line(copies.newest, line);
        self.lines[line].put(handle, versions.with_now(now));
        known.note(handle.epoch(), line);
        known.set_copies(*copies);
    }

    /// Publishes the first line as it is, so that the leaf has changed in this epoch.
    fn touch<M: Medium>(&self, known: &Known, handle: &mut WriteHandle<'_, M>) {
        if known.changed_in() != handle.epoch() {
            let mut copies = known.copies();
            self.publish(known, handle, 0, self.versions(0, handle.epoch()), &mut copies);
        }
    }

    /// Returns the slot of a line that a new pair can take: no state names it, nor does an image from before its reuse.
    fn free(&self, known: &Known, line: usize, epoch: Epoch) -> Option<usize> {
        let versions = self.versions(line, epoch);
        let free = !(versions.now | versions.pinned() | in_line(known.held(epoch), line)) & ALL;
        (free != 0).then(|| line * PAIRS + free.trailing_zeros() as usize)
    }

    /// Returns whether an older copy of a key counts at no epoch that a crash may choose: a newer copy, the newest one
    /// or another, was live at the end of the epoch before the last.
    fn is_past(&self, slot: usize, copies_of_key: u32, epoch: Epoch) -> bool {
        let turn = self.turn(slot);
        slots(copies_of_key & !(1 << slot)).any(|other| {
            let (line, index) = place(other);
            let versions = self.versions(line, epoch);
            versions.before >> index & 1 == 1 && (1..=FARTHEST).contains(&turns_after(turn, versions.turn(index)))
        })
    }

    /// Chooses where a new copy goes, so that as few lines as possible become dirty: the line of the present copy, that
    /// of an older copy, any line that is dirty already, or any line with room. Among equals, that is the order, and
    /// the line with the fewest pairs. `None` if there is no room.
    fn destination(&self, known: &Known, present: Option<usize>, stale: u32, epoch: Epoch) -> Option<Destination> {
        let (dirty, newest) = (known.dirty(epoch), known.copies().newest);
        let own = present.map(|slot| place(slot).0);
        let copies_of_key = present.map_or(0, |slot| stale | 1 << slot);
        let past = slots(stale)
            .filter(|slot| self.is_past(*slot, copies_of_key, epoch))
            .map(|slot| (place(slot).0, Some(slot)));
        let mut ways: Vec<_> = (0..LINES).map(|line| (line, None)).chain(past).collect();
        // By what DRAM knows: a line is read only when its turn comes.
        ways.sort_by_key(|(line, reused)| {
            let rank = if own == Some(*line) { 0 } else { 1 + u32::from(reused.is_none()) };
            (dirty >> line & 1 == 0, rank, in_line(newest, *line).count_ones())
        });
        ways.into_iter().find_map(|(line, reused)| match reused {
            Some(slot) => Some(Destination { slot, reused: true }),
            None => self.free(known, line, epoch).map(|slot| Destination { slot, reused: false }),
        })
    }

    /// Removes the older copies in these slots from the lines that hold them, `except` one line.
    fn drop_copies<M: Medium>(
        &self,
        known: &Known,
        handle: &mut WriteHandle<'_, M>,
        gone: u32,
        except: usize,
        copies: &mut Copies,
    ) {
        for line in (0..LINES).filter(|line| *line != except && in_line(gone, *line) != 0) {
            let versions = self.versions(line, handle.epoch());
            self.publish(known, handle, line, versions, copies);
        }
    }

    fn count(known: &Known) -> usize {
        known.copies().newest.count_ones() as usize
    }

    /// Returns how this leaf and its right neighbour can become one. A neighbour with a quarter of its room left takes
    /// over the range of an empty leaf.
    fn fit(known: &Known, right: LeafRef<'_, Self>) -> MergedInto {
        let roomy = |count| count <= SLOTS * 3 / 4;
        match (Self::count(known), Self::count(right.volatile)) {
            (0, count) if roomy(count) => MergedInto::Right,
            (count, 0) if roomy(count) => MergedInto::Left,
            (own, other) if own + other <= MERGE_UP_TO => MergedInto::Fresh,
            _ => MergedInto::Neither,
        }
    }
}

impl Leaf for Lined {
    const SOURCE: &'static str = "none: our own, over BD+Tree";
    const CAPACITY: usize = SLOTS;
    const NEEDS_WHOLE_KEYS: bool = true;
    type Volatile = Known;
    type Durability = PerEpoch;
    type Overflow = OneBlock;
    type Recovery = ByVersions;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, Known, K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.find(context, search_key).map(|(_, payload)| payload)
    }

    fn block_pairs(&self, known: &Known, out: &mut Pairs) {
        slots(known.copies().newest).for_each(|slot| out.push(self.slot(slot)));
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        write: &mut WriteContext<'_, '_, Known, M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = write.parts();
        let (known, epoch) = (context.volatile, handle.epoch());
        let present = self.find(context, search_key);
        if let Some((slot, old)) = present {
            let (line, index) = place(slot);
            if self.versions(line, epoch).pinned() >> index & 1 == 0 {
                // The pair was stored in this epoch, and no older state names it: the payload itself is the commit
                // word.
                let pair = &self.lines[line].pairs[index];
                handle.write(&pair.payload, payload);
                handle.defer(&pair.payload);
                return Ok(Some(Replaced { payload: old, same_epoch: true }));
            }
        }
        let present_slot = present.map(|(slot, _)| slot);
        let stale = if present.is_some() { self.stale_copies(context, search_key) } else { 0 };
        let to = self.destination(known, present_slot, stale, epoch).ok_or(Full)?;
        let (line, index) = place(to.slot);
        let mut copies = known.copies();
        let turn = present_slot.map_or(0, |slot| self.turn(slot) + 1);
        // Copies that would lie too many turns before the new one go first.
        let distant = |slot: &usize| *slot != to.slot && turns_after(self.turn(*slot), turn) > FARTHEST;
        let distant = slots(stale).filter(distant).fold(0, |distant, slot| distant | 1 << slot);
        self.drop_copies(known, handle, distant, line, &mut copies);
        // Before the word: without it, a process that dies in between would leave a live slot with arbitrary bytes. A
        // reused slot has the key and its fingerprint; until the word, the newer copy counts.
        if to.reused {
            handle.write(&self.lines[line].pairs[index].payload, payload);
            known.note_reused(epoch, 1 << to.slot);
        } else {
            let fingerprint = K::fingerprint(search_key);
            self.lines[line].write(handle, index, Slot { head: K::head(search_key, 0), payload }, fingerprint);
            known.set_fingerprint(to.slot, fingerprint);
        }
        let past = if to.reused { 1 << index } else { 0 };
        let versions = self.versions(line, epoch).without(past).with_turn(index, turn);
        if let Some(slot) = present_slot {
            copies.newest &= !(1 << slot);
            copies.stale |= 1 << slot;
        }
        copies.newest |= 1 << to.slot;
        self.publish(known, handle, line, versions, &mut copies);
        Ok(present.map(|(_, payload)| Replaced { payload, same_epoch: false }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        write: &mut WriteContext<'_, '_, Known, M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = write.parts();
        let (known, epoch) = (context.volatile, handle.epoch());
        let (slot, payload) = self.find(context, search_key)?;
        let (line, index) = place(slot);
        let stale = self.stale_copies(context, search_key);
        let mut copies = known.copies();
        // The older copies first: if the process died after the newest one had gone, an older one would come back.
        self.drop_copies(known, handle, stale, line, &mut copies);
        let versions = self.versions(line, epoch);
        copies.newest &= !(1 << slot);
        self.publish(known, handle, line, versions, &mut copies);
        // Whether no crash can bring back what the slot holds.
        Some(Replaced { payload, same_epoch: versions.pinned() >> index & 1 == 0 })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        self.make_room(context, request)
    }

    fn format<M: Medium>(&self, known: &Known, handle: &mut WriteHandle<'_, M>, home: Home) {
        self.fill(known, handle, &[], home.keyspace, 0);
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        self.give_way(handle, handle.epoch());
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        known: &Known,
        handle: &mut WriteHandle<'_, M>,
        recovery_point: RecoveryPoint,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        let block_state = self.bring_to(own, handle, recovery_point, peer)?;
        self.derive(known);
        if recovery_point == RecoveryPoint::Visible {
            self.hold_latest(known);
        }
        Ok(block_state)
    }

    fn rebuild_volatile<K: Keys>(&self, context: ReadContext<'_, Known, K>) {
        self.derive(context.volatile);
    }
}

impl Versioned for Lined {
    #[inline]
    fn stamp<K: Keys>(&self, context: ReadContext<'_, Known, K>) -> Epoch {
        context.volatile.changed_in()
    }

    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool {
        recovery::is_as_logged(logged, found, epoch)
    }

    fn live_at(&self, epoch: Epoch, out: &mut Pairs) -> bool {
        self.was_live(epoch, out)
    }

    fn changes_after(&self, epoch: Epoch) -> Option<EpochSpan> {
        self.changed_after(epoch)
    }
}

impl Prefetch for Lined {
    /// Does nothing: DRAM says first which line is needed, if any.
    #[inline]
    fn prefetch_block(&self) {}

    #[inline]
    fn prefetch_header(&self) {}

    #[inline]
    fn prefetch_pairs<K: Keys>(&self, context: ReadContext<'_, Known, K>, search_key: K::SearchKey<'_>) {
        let alike = context.volatile.alike(context.search, K::fingerprint(search_key));
        slots(alike & context.volatile.copies().newest)
            .take(1)
            .for_each(|slot| holm_search::prefetch(&self.lines[place(slot).0]));
    }
}

impl Merge for Lined {
    fn sparse<K: Keys>(&self, context: ReadContext<'_, Known, K>) -> bool {
        Self::count(context.volatile) < MERGE_UP_TO / 2
    }

    fn may_merge<K: Keys>(&self, context: ReadContext<'_, Known, K>, right: LeafRef<'_, Self>) -> bool {
        Self::fit(context.volatile, right) != MergedInto::Neither
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        request: MergeRequest<'_, Self, K::Separator>,
    ) -> MergedInto {
        let (read, handle) = context.parts();
        let right = request.right;
        let into = Self::fit(read.volatile, right);
        match into {
            MergedInto::Neither => {}
            MergedInto::Left => self.touch(read.volatile, handle),
            MergedInto::Right => right.leaf.touch(right.volatile, handle),
            MergedInto::Fresh => return self.unite(context, request),
        }
        into
    }
}
