//! The strict leaf: fingerprints as FPTree's, inserts into the header's line as LB+-Tree's, and one word that says both
//! which slots count and where the next leaf lies.
//!
//! Durable when an operation returns, for keys of one word and for those that lie in records. Fingerprint and bitmap
//! share a line, and so does slot 0: a pair that goes there is admitted with one flush. A pair that goes elsewhere
//! takes that of slot 0 along, if its line has room for two, so that the next one finds slot 0 free. A split writes the
//! upper half into a fresh leaf; then one store takes it from the old one and leads to the fresh one. So does a merge,
//! the other way round. Nothing is ever half done, and recovery repairs nothing.
//!
//! ```text
//! bytes 0-7     state: number of the next leaf 32 | bitmap 29 | LEAF, FIRST | zero 1
//!       8-15    zero 32 | keyspace 24 | zero 8
//!       16-511  29 fingerprints, 29 pairs: see `printed`
//! ```
//!
//! Assumed of the medium: what persists of a line is a prefix of the stores to it.

use crate::printed::{ALL, Printed, SLOTS, line};
use holm_medium::{Medium, Pen, Result, Word, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, Old, Pairs, Room, Split, damaged};
use holm_tree::pair::slots;
use holm_tree::pairs::upper_half;

/// The slot in the header's line.
const FRONT: usize = 0;

/// With fewer pairs, a leaf looks for a neighbour to merge with,
const SPARSE: u32 = 6;

/// and does so if they hold no more than this together, or one of them nothing.
const MERGE_UP_TO: u32 = 15;

/// In the state: where the bitmap lies.
const BITMAP: u32 = 32;
/// In the state: number of the next leaf.
const NEXT: u64 = 0xffff_ffff;
/// In the state: the block is a leaf.
const LEAF: u64 = 1 << 61;
/// In the state: the first leaf of its keyspace.
const FIRST: u64 = 1 << 62;

/// Where the keyspace lies in its word, and how many there may be.
const KEYSPACE: u32 = 32;
const KEYSPACES: u64 = 1 << 24;

persistent! {
    /// 512 bytes: two words of header, the fingerprints, and 29 pairs.
    #[repr(align(64))]
    pub struct HolmStrict {
        state: Word,
        keyspace: Word,
        printed: Printed,
    }
}

const _: () = assert!(size_of::<HolmStrict>() == 512 && line(FRONT) == 0 && line(FRONT + 1) == 1);

/// The word that commits all but updates.
#[derive(Clone, Copy)]
struct State(u64);

impl State {
    /// Which slots count.
    #[inline]
    fn bits(self) -> u32 {
        (self.0 >> BITMAP) as u32 & ALL
    }

    /// With other slots that count.
    fn with(self, bits: u32) -> Self {
        State(self.0 & !(u64::from(ALL) << BITMAP) | u64::from(bits) << BITMAP)
    }

    /// With another leaf that comes next.
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
    fn find<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<(usize, u64)> {
        self.printed.find(self.bits(), lens, probe)
    }

    /// Another state, durably, and with it whatever was stored into its line before.
    #[track_caller]
    fn commit<M: Medium>(&self, pen: &mut Pen<'_, M>, state: State) {
        pen.write(&self.state, state.0);
        // Before the operation returns: else a crash takes it back.
        pen.persist(&self.state);
    }

    /// The pair into the first free slot. If that is not in the header's line, the pair that is comes along where the
    /// line has room for both: LB+-Tree's entry moving.
    fn admit<M: Medium>(&self, pen: &mut Pen<'_, M>, slot: Slot, print: u8) -> std::result::Result<(), Full> {
        let state = self.state();
        let free = !state.bits() & ALL;
        let at = slots(free).next().ok_or(Full)?;
        let mut bits = state.bits() | 1 << at;
        self.printed.pair(at).write(pen, slot);
        if at != FRONT {
            if let Some(to) = slots(free).find(|to| *to != at && line(*to) == line(at)) {
                self.printed.pair(to).write(pen, self.printed.slot(FRONT));
                self.printed.set_print(pen, to, self.printed.print(FRONT));
                bits = bits & !(1 << FRONT) | 1 << to;
            }
            // Before the bitmap: else a crash keeps the bits and loses the pairs that they admit.
            pen.persist(self.printed.pair(at));
        }
        // In the bitmap's line, before it: a crash that keeps the bit keeps the fingerprint.
        self.printed.set_print(pen, at, print);
        // The commit word: the new pair comes, and the one that came along is in one place only.
        self.commit(pen, state.with(bits));
        Ok(())
    }

    /// The upper half of a full leaf to a fresh one, and with it the pending pair, if that is where it belongs.
    fn part<M: Medium, K: Keys>(
        &self,
        own: u32,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        right: &Fresh<'_, Self>,
        pending: Option<(K::Probe<'_>, u64)>,
    ) -> (Split<K::Fence>, bool) {
        let state = self.state();
        let Some((separator, upper)) = upper_half(lens.keys, self.printed.placed(state.bits()), SLOTS) else {
            return (Split { left: own, right: None }, false);
        };
        let rides =
            |(probe, _): &(K::Probe<'_>, u64)| K::fence(*probe) >= separator && self.find(lens, *probe).is_none();
        let rider = pending.filter(rides).map(|(probe, payload)| {
            let slot = Slot { head: K::head(probe, 0), payload };
            (slot, K::print(probe))
        });
        let coming = upper.iter().map(|(slot, at)| (*slot, self.printed.print(*at))).chain(rider);
        right.leaf.begin(pen, self, coming);
        // Before anything leads there: else a crash finds a leaf of noise.
        pen.fence();
        let moved = upper.iter().fold(0, |bits, (_, at)| bits | 1 << at);
        // The commit word: the fresh leaf comes next, and what it holds counts here no more.
        self.commit(pen, state.with(state.bits() & !moved).leading(right.number));
        (Split { left: own, right: Some((separator, right.number)) }, rider.is_some())
    }

    /// Makes a block that nothing leads to a leaf like another one, and leading to where that one leads. The slot in
    /// the header's line stays free. Flushed, and not fenced.
    fn begin<M: Medium>(&self, pen: &mut Pen<'_, M>, other: &Self, coming: impl Iterator<Item = (Slot, u8)>) {
        let mut bits = 0;
        for ((slot, print), at) in coming.zip(FRONT + 1..SLOTS) {
            self.printed.pair(at).write(pen, slot);
            self.printed.set_print(pen, at, print);
            bits |= 1 << at;
        }
        pen.write(&self.keyspace, other.keyspace.read());
        pen.write(&self.state, State(other.state().0 & !FIRST).with(bits).0);
        self.flush(pen, bits);
        pen.flush(&self.state);
    }

    /// Flushes the lines of these slots, each once, but for the header's, which whoever commits flushes.
    #[track_caller]
    fn flush<M: Medium>(&self, pen: &mut Pen<'_, M>, changed: u32) {
        let mut last = line(FRONT);
        for at in slots(changed) {
            if std::mem::replace(&mut last, line(at)) != line(at) {
                pen.flush(self.printed.pair(at));
            }
        }
    }
}

impl Leaf for HolmStrict {
    const CARD: Card = Card {
        source: "none: our own, over FPTree and LB+-Tree",
        defers: false,
        needs_line_order: true,
        needs_whole_keys: false,
        linked: true,
        keeps: true,
    };
    const CAPACITY: usize = SLOTS;
    type Beside = ();

    #[inline]
    fn get<K: Keys>(&self, _: &(), lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.find(lens, probe).map(|(_, payload)| payload)
    }

    #[inline]
    fn aim<K: Keys>(&self, _: &(), lens: Lens<'_, K>, probe: K::Probe<'_>) {
        self.printed.aim(self.bits(), lens, probe);
    }

    #[inline]
    fn glance<K: Keys>(&self, _: &(), lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.printed.glance(self.bits(), lens, probe)
    }

    fn live(&self, _: &(), out: &mut Pairs) {
        self.printed.live(self.bits(), out);
    }

    fn sparse<K: Keys>(&self, _: &(), _: Lens<'_, K>) -> bool {
        self.bits().count_ones() < SPARSE
    }

    fn next(&self) -> u32 {
        self.state.read() as u32
    }

    fn format<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, home: Home) {
        pen.write(&self.keyspace, (u64::from(home.keyspace) % KEYSPACES) << KEYSPACE);
        let first = if home.first { FIRST } else { 0 };
        // The commit word, last in its line: found as the first leaf, the block is an empty one.
        self.commit(pen, State(LEAF | first));
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        let Some((at, old)) = self.find(lens, probe) else {
            self.admit(pen, Slot { head: K::head(probe, 0), payload }, K::print(probe))?;
            return Ok(None);
        };
        let word = &self.printed.pair(at).payload;
        // The commit word.
        pen.write(word, payload);
        // Before the operation returns: else a crash brings the old payload back.
        pen.persist(word);
        Ok(Some(Old { payload: old, young: false }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let (at, payload) = self.find(lens, probe)?;
        let state = self.state();
        // The commit word.
        self.commit(pen, state.with(state.bits() & !(1 << at)));
        Some(Old { payload, young: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        _: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        self.part(own, lens, pen, &fresh[0], None).0
    }

    fn split_and_put<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        room: Room<'_, Self, K::Fence>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> (Split<K::Fence>, bool) {
        self.part(room.own, lens, pen, &room.fresh[0], Some((probe, payload)))
    }

    fn absorb<M: Medium, K: Keys>(
        &self,
        _: &(),
        (right, _): (&Self, &()),
        _: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
    ) -> bool {
        let state = self.state();
        let [own, theirs] = [self, right].map(|leaf| leaf.bits().count_ones());
        if own.min(theirs) > 0 && own + theirs > MERGE_UP_TO {
            return false;
        }
        let mut taken = 0;
        for (to, from) in slots(!state.bits() & ALL).zip(slots(right.bits())) {
            self.printed.pair(to).write(pen, right.printed.slot(from));
            self.printed.set_print(pen, to, right.printed.print(from));
            taken |= 1 << to;
        }
        if taken & !(1 << FRONT) != 0 {
            self.flush(pen, taken);
            // Before the bitmap: else a crash keeps the bits and loses the pairs that they admit.
            pen.fence();
        }
        // The commit word: the right leaf is passed over, and what it held counts here. Durable before its block is
        // used again: else a crash finds that in the chain.
        self.commit(pen, state.with(state.bits() | taken).leading(right.next()));
        true
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.state, 0);
        // Before the block is used again: else a crash finds the first leaf of a keyspace that has been dropped.
        pen.persist(&self.state);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &(),
        _: &mut Pen<'_, M>,
        _: Cut,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        let (state, home) = (self.state.read(), self.keyspace.read());
        if state == 0 {
            return Ok(Fate::Free);
        }
        let keyspace = home >> KEYSPACE;
        if state & LEAF == 0 || state >= FIRST << 1 || keyspace >= KEYSPACES || home << KEYSPACE != 0 {
            let expected = "one or two marks, of which one says leaf; a keyspace below 2^24";
            return Err(damaged::<Self>((own, 0), "a leaf's header", format!("{state:#x}, {home:#x}"), expected));
        }
        Ok(Fate::Live { keyspace: keyspace as u32, first: state & FIRST != 0 })
    }

    fn relink<M: Medium, K: Keys>(&self, _: &(), _: Lens<'_, K>, pen: &mut Pen<'_, M>, next: u32) {
        pen.write(&self.state, self.state().leading(next).0);
        pen.flush(&self.state);
    }
}
