//! FPTree's leaf: unsorted pairs under a bitmap, found by fingerprints, and split under a micro-log (Oukid, Lasperas,
//! Nica, Willhalm, Lehner, SIGMOD 2016).
//!
//! Durable when an operation returns. A pair and then its fingerprint are durable before the bitmap admits them. An
//! update goes to another slot, and one store of the bitmap changes both bits. A split copies the whole leaf and
//! divides the bitmaps. This takes two stores in the old leaf, so a log records that a split is in progress.
//!
//! ```text
//! bytes 0-15    roster: bit s of the bitmap admits slot s
//!       16-44   29 fingerprints of whole keys; 45-47 zero
//!       48-511  29 pairs {head, payload}
//! ```
//!
//! In a log, the roster's 32 bits have the number of the leaf that is split, and its `next` the right half.

use crate::printed::{ALL, Printed, SLOTS};
use crate::roster::Roster;
use holm_medium::{Medium, Pen, Result, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, Old, Pairs, Split};
use holm_tree::pair::slots;
use holm_tree::pairs::upper_half;

persistent! {
    /// 512 bytes: three quarters of a line of header, and 29 pairs.
    #[repr(align(64))]
    pub struct FpTree {
        roster: Roster,
        printed: Printed,
    }
}

const _: () = assert!(size_of::<FpTree>() == 512);

impl FpTree {
    fn bits(&self) -> u32 {
        self.roster.bits() & ALL
    }

    #[inline]
    fn find<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<(usize, u64)> {
        self.printed.find(self.bits(), lens, probe)
    }

    /// The steps of a split after its log: copies the whole leaf, divides the bitmaps, and links the halves.
    fn divide<M: Medium>(&self, pen: &mut Pen<'_, M>, right: &Self, number: u32, upper: u32) {
        right.roster.follow(pen, &self.roster, self.bits());
        right.printed.copy(pen, &self.printed);
        // Before the bitmaps are divided: otherwise a crash loses half of the pairs.
        pen.persist(right);
        right.roster.commit(pen, upper);
        // The commit word: if fewer than all bits are set after a crash, recovery finishes the split.
        self.roster.commit(pen, ALL & !upper);
        self.roster.link(pen, number);
        // Before the log ends: otherwise a crash leaves no link to the upper half.
        pen.persist(&self.roster);
    }
}

impl Leaf for FpTree {
    const CARD: Card = Card {
        source: "FPTree: Oukid et al., SIGMOD 2016",
        defers: false,
        needs_line_order: false,
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

    fn next(&self) -> u32 {
        self.roster.next()
    }

    fn format<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, home: Home) {
        self.roster.link(pen, 0);
        // Before the block is a leaf: otherwise a crash leaves a leaf with the link of the block's last use.
        pen.persist(&self.roster);
        self.roster.begin(pen, home, 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        let found = self.find(lens, probe);
        let bits = self.bits();
        let at = slots(!bits & ALL).next().ok_or(Full)?;
        self.printed.pair(at).write(pen, Slot { head: K::head(probe, 0), payload });
        // Before the bitmap: otherwise a crash keeps the bit and loses the pair that it admits.
        pen.persist(self.printed.pair(at));
        self.printed.set_print(pen, at, K::print(probe));
        // Before the bitmap: otherwise a crash keeps a pair that no search finds.
        pen.persist(self.printed.print_word(at));
        let gone = found.map_or(0, |(old, _)| 1 << old);
        // The commit word: one store admits the new pair and removes the old one.
        self.roster.commit(pen, bits & !gone | 1 << at);
        Ok(found.map(|(_, payload)| Old { payload, young: false }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let (at, payload) = self.find(lens, probe)?;
        // The commit word.
        self.roster.commit(pen, self.bits() & !(1 << at));
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
        let Some((separator, upper)) = upper_half(lens.keys, self.printed.placed(self.bits()), SLOTS) else {
            return Split { left: own, right: None };
        };
        let [right, log] = fresh;
        log.leaf.roster.log(pen, own);
        log.leaf.roster.link(pen, right.number);
        pen.persist(&log.leaf.roster);
        self.divide(pen, right.leaf, right.number, upper.iter().fold(0, |bits, (_, at)| bits | 1 << at));
        log.leaf.roster.end(pen);
        Split { left: own, right: Some((separator, right.number)) }
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        self.roster.end(pen);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &(),
        pen: &mut Pen<'_, M>,
        _: Cut,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        let Some(number) = self.roster.logged() else { return self.roster.fate::<Self>(own) };
        let leaf = Roster::subject(own, number, peer, |leaf| &leaf.roster)?;
        // While the bitmap is full, no pair has left the leaf, and no pair of the right half counts.
        if leaf.bits() != ALL {
            leaf.roster.link(pen, self.next());
            // Before the log ends, as in the split: otherwise a crash leaves no link to the upper half.
            pen.persist(&leaf.roster);
        }
        self.roster.end(pen);
        Ok(Fate::Free)
    }

    fn relink<M: Medium, K: Keys>(&self, _: &Self::Beside, _: Lens<'_, K>, pen: &mut Pen<'_, M>, next: u32) {
        self.roster.link(pen, next);
        pen.flush(&self.roster);
    }
}
