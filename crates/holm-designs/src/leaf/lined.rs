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
//! older copy of a key of which a newer one was live at the end of `e - 2`. That copy counts at no epoch that a crash
//! may choose. One store drops it from all states of its line before the slot gets another pair: the stores to a line
//! become durable in their order, so no image names the slot with the pair that was not there.
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

    /// Returns the slots with copies of the key that a live slot holds.
    fn copies_of<K: Keys>(&self, context: ReadContext<'_, Known, K>, slot: usize) -> u32 {
        let (line, index) = place(slot);
        let alike = context.volatile.alike(context.search, self.lines[line].fingerprint(index));
        let (head, live) = (self.slot(slot).head, context.volatile.live());
        let same = |other: &usize| self.slot(*other).head == head;
        slots(alike & live).filter(same).fold(0, |copies, slot| copies | 1 << slot)
    }

    /// Returns whether an older copy of a key counts at no epoch that a crash may choose: a newer copy, the newest one
    /// or another, was live at the end of the epoch before the last.
    fn is_past<K: Keys>(&self, context: ReadContext<'_, Known, K>, slot: usize, epoch: Epoch) -> bool {
        let turn = self.turn(slot);
        slots(self.copies_of(context, slot) & !(1 << slot)).any(|other| {
            let (line, index) = place(other);
            let versions = self.versions(line, epoch);
            versions.before >> index & 1 == 1 && (1..=FARTHEST).contains(&turns_after(turn, versions.turn(index)))
        })
    }

    /// Returns the slots of a line that a new pair can take: no state names them, or what they hold is past.
    fn free<K: Keys>(&self, context: ReadContext<'_, Known, K>, line: usize, epoch: Epoch) -> u32 {
        let versions = self.versions(line, epoch);
        let stale = in_line(context.volatile.copies().stale, line);
        let past = slots(stale).filter(|index| self.is_past(context, line * PAIRS + index, epoch));
        let named = (versions.now | versions.pinned()) & ALL;
        ALL & !named | past.fold(0, |past, index| past | 1 << index)
    }

    /// Chooses the slot of a new copy, so that as few lines as possible become dirty. `None` if there is no room.
    ///
    /// Lines that are dirty already come first. Of clean ones, the line of a copy so old that this put or the next
    /// would have to drop it; then lines that leave room for another put of this epoch, which then dirties no line of
    /// its own; then those that do not. Among equals the line of the present copy comes first, then those of older
    /// copies, then the line with the fewest pairs.
    fn destination<K: Keys>(
        &self,
        context: ReadContext<'_, Known, K>,
        present: Option<usize>,
        stale: u32,
        epoch: Epoch,
    ) -> Option<usize> {
        let (dirty, newest) = (context.volatile.dirty(epoch), context.volatile.copies().newest);
        let is_dirty = |line: usize| dirty >> line & 1 == 1;
        let aged = present.map_or(0, |present| {
            let oldest = |slot: &usize| turns_after(self.turn(*slot), self.turn(present)) + 1 >= FARTHEST;
            slots(stale).filter(oldest).fold(0, |aged, slot| aged | 1 << slot)
        });
        let is_aged = |line: usize| in_line(aged, line) != 0;
        let mut lines: [usize; LINES] = std::array::from_fn(|line| line);
        // By what DRAM knows: a line is read only when its turn comes.
        lines.sort_by_key(|&line| {
            let elsewhere = present.map(|slot| place(slot).0) != Some(line);
            let rank = (!is_aged(line), elsewhere, in_line(stale, line) == 0);
            (!is_dirty(line), rank, in_line(newest, line).count_ones())
        });
        let mut cramped = None;
        for line in lines {
            let free = self.free(context, line, epoch);
            if free == 0 {
                continue;
            }
            // An aged copy goes, whatever else is free in its line.
            let past = free & in_line(aged, line);
            let slot = line * PAIRS + if past == 0 { free } else { past }.trailing_zeros() as usize;
            if is_dirty(line) || is_aged(line) || free.count_ones() >= 2 {
                return Some(slot);
            }
            cramped = cramped.or(Some(slot));
        }
        cramped
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
    const NEEDS_LINE_ORDER: bool = true;
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
        let to = self.destination(context, present_slot, stale, epoch).ok_or(Full)?;
        let (line, index) = place(to);
        let mut copies = known.copies();
        let turn = present_slot.map_or(0, |slot| self.turn(slot) + 1);
        // Copies that would lie too many turns before the new one go first.
        let distant = |slot: &usize| turns_after(self.turn(*slot), turn) > FARTHEST;
        let distant = slots(stale).filter(distant).fold(0, |distant, slot| distant | 1 << slot);
        self.drop_copies(known, handle, distant, line, &mut copies);
        let versions = self.versions(line, epoch);
        if copies.stale >> to & 1 == 1 {
            // Before the pair: a crash that kept the pair and lost this would have it under the older states' names.
            self.publish(known, handle, line, versions.without(1 << index), &mut copies);
        }
        // Before the word: without it, a process that dies in between would leave a live slot with arbitrary bytes.
        let fingerprint = K::fingerprint(search_key);
        self.lines[line].write(handle, index, Slot { head: K::head(search_key, 0), payload }, fingerprint);
        known.set_fingerprint(to, fingerprint);
        let versions = self.versions(line, epoch).with_turn(index, turn);
        if let Some(slot) = present_slot {
            copies.newest &= !(1 << slot);
            copies.stale |= 1 << slot;
        }
        copies.newest |= 1 << to;
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
