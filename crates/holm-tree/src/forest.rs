//! A forest: the trees of one design over one medium. Get, put and remove, and the loop that starts over, written once.
//!
//! Concurrency lives here, in the spine and in the latch, and nowhere else. Readers look without writing; a writer
//! takes one leaf. The latch is let go after the leaf has fenced, so no reader returns what a crash could still take
//! back.

use crate::audit::Audit;
use crate::design::{BerthOf, Design, LocksOf};
use crate::index::{Glimpse, Index, Rebuilt, Root, Seal, Seen, Sighting, Toward, View};
use crate::inner::{Inner, Station, unused};
use crate::keys::Keys;
use crate::latch::{Held, Latch, Version};
use crate::leaf::{Card, Cut, Full, Home, Leaf, Lens, Old, damaged};
use crate::locks::Locks;
use crate::slab::Slab;
use crate::snapshot::Snapshot;
use crate::spine::{Reached, Spine};
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::{spin_loop, yield_now};
use holm_medium::{Area, Epoch, Image, Loc, Logged, MASK_BYTES, Medium, MediumError, Pen, Quill, Result, Stay};
use holm_search::{Search, prefetch_lines};
use std::sync::Arc;

/// A leaf that is still full after so many splits is damaged, and the writer must not spin for ever.
const MOST_SPLITS: usize = 64;

/// Probes that travel together in `get_many`: as many lines as a core can wait for at once.
const GROUP: usize = 16;

/// The trees of one design over one medium.
pub struct Forest<M: Medium, D: Design, K: Keys> {
    pub(crate) quill: Arc<Quill<M>>,
    /// The medium's, three steps nearer.
    image: Arc<Image>,
    pub(crate) keys: K,
    pub(crate) spine: Spine<D>,
    pub(crate) berths: Slab<BerthOf<D>>,
}

/// The payload of a put, and what its operation writes beside it.
pub(crate) type Put = (u64, Seal);

/// What was there before a put, or that the leaf is full.
type Tried = std::result::Result<Option<Old>, Full>;

/// A leaf whose latch a writer holds.
pub(crate) struct Taken<'a, D: Design> {
    pub(crate) number: u32,
    pub(crate) leaf: &'a D::Leaf,
    pub(crate) berth: &'a BerthOf<D>,
    pub(crate) held: Held<'a>,
}

/// Waits a little longer each time.
pub(crate) fn back_off(turn: &mut u32) {
    *turn += 1;
    if *turn < 32 { spin_loop() } else { yield_now() }
}

/// A latch, however long it takes: for whoever holds none that its holder may want.
pub(crate) fn wait(latch: &Latch) -> Held<'_> {
    let mut turn = 0;
    loop {
        match latch.read().and_then(|version| latch.hold(version)) {
            Some(held) => return held,
            None => back_off(&mut turn),
        }
    }
}

fn never_roomy<L>() -> MediumError {
    damaged::<L>((0, 0), "a leaf", "full however often it is split", "room after a split")
}

impl<M: Medium, D: Design, K: Keys> Forest<M, D, K> {
    /// A forest without trees.
    ///
    /// # Panics
    /// If the design does not suit the keys.
    pub fn new(quill: Arc<Quill<M>>, keys: K, search: Search) -> Self {
        assert!(D::CARD.suits::<K>(), "{} is only for slots that hold whole keys", D::NAME);
        quill.pool().space.measure(size_of::<D::Leaf>() as u64);
        if !size_of::<D::Leaf>().is_multiple_of(MASK_BYTES) {
            quill.pool().clock.share_masks();
        }
        let image = quill.pool().medium.image().clone();
        Forest { quill, image, keys, spine: Spine::new(search), berths: Slab::default() }
    }

    /// Bytes of the volatile nodes above the leaves, and of what lies in memory beside each leaf. Free nodes count:
    /// they are used again, not given back.
    pub fn volatile_bytes(&self) -> u64 {
        let blocks = u64::from(self.quill.pool().space.block_frontier());
        self.spine.bytes() + blocks * size_of::<BerthOf<D>>() as u64
    }

    #[inline]
    pub(crate) fn lens(&self) -> Lens<'_, K> {
        Lens { keys: &self.keys, search: self.spine.search, image: Some(&self.image) }
    }

    /// The block of a number.
    #[inline]
    pub(crate) fn leaf(&self, number: u32) -> Option<&D::Leaf> {
        let offset = u64::from(number) * size_of::<D::Leaf>() as u64;
        self.image.at(Loc::new(Area::Leaves, offset))
    }

    /// The payload of a key, if nobody is writing to its leaf: [`Index::get`] at one instant, without waiting.
    #[inline(always)]
    pub fn try_get(&self, root: &Root, probe: K::Probe<'_>) -> Option<Sighting> {
        let at = self.spine.seek::<K>(root, probe)?;
        let leaf = self.leaf(at.leaf)?;
        // The largest single effect on a serial get: the lines of the block arrive together.
        leaf.summon();
        let berth = self.berths.get(at.leaf)?;
        let latch = at.latch(at.leaf, berth);
        let version = latch.read()?;
        if !at.twig.latch().still(at.version) {
            return None;
        }
        let payload = leaf.get(&berth.beside, self.lens(), probe);
        let stamp = leaf.stamp(&berth.beside, self.lens());
        latch.still(version).then_some(Sighting { payload, seen: at.seen(at.leaf, version), stamp })
    }

    /// The same, waiting for whoever is.
    #[cold]
    #[inline(never)]
    fn get_again(&self, root: &Root, probe: K::Probe<'_>) -> Sighting {
        let mut turn = 0;
        loop {
            back_off(&mut turn);
            if let Some(sighting) = self.try_get(root, probe) {
                return sighting;
            }
            if root.is_given_up() {
                return Sighting::default();
            }
        }
    }

    /// Takes the probe's leaf, if nobody else has it.
    #[inline(always)]
    fn try_take(&self, root: &Root, probe: K::Probe<'_>) -> Option<Taken<'_, D>> {
        let at = self.spine.seek::<K>(root, probe)?;
        let leaf = self.leaf(at.leaf)?;
        leaf.summon();
        let berth = self.berths.get(at.leaf)?;
        let latch = at.latch(at.leaf, berth);
        let version = latch.read()?;
        if !at.twig.latch().still(at.version) {
            return None;
        }
        Some(Taken { number: at.leaf, leaf, berth, held: latch.hold(version)? })
    }

    /// Takes the probe's leaf for an operation whose label is then valid: its linearization point.
    #[inline]
    fn take(&self, root: &Root, stay: &mut Stay<'_>, probe: K::Probe<'_>) -> Result<Taken<'_, D>> {
        match self.try_take(root, probe) {
            Some(taken) if stay.valid() => Ok(taken),
            missed => self.take_again(root, stay, probe, missed),
        }
    }

    /// The same for whoever came too soon or too late, with what he took.
    #[cold]
    #[inline(never)]
    fn take_again<'a>(
        &'a self,
        root: &Root,
        stay: &mut Stay<'_>,
        probe: K::Probe<'_>,
        mut taken: Option<Taken<'a, D>>,
    ) -> Result<Taken<'a, D>> {
        let mut turn = 0;
        loop {
            match taken {
                Some(taken) if stay.valid() => return Ok(taken),
                Some(taken) => {
                    taken.held.undo();
                    root.renew(stay)?;
                }
                None => back_off(&mut turn),
            }
            taken = self.try_take(root, probe);
        }
    }

    /// Puts a payload, unless the leaf is full.
    #[inline]
    fn try_put(&self, root: &Root, stay: &mut Stay<'_>, probe: K::Probe<'_>, put: Put) -> Result<Tried> {
        let taken = self.take(root, stay, probe)?;
        let old = {
            // Let go before the latch: what it has marked is marked in a block of which we are the only writer.
            let mut pen = self.quill.cut(stay);
            let old = taken.leaf.insert(&taken.berth.beside, self.lens(), &mut pen, probe, put.0);
            if old.is_ok() {
                self.seal(&mut pen, put.1);
            }
            old
        };
        let Ok(old) = old else {
            taken.held.undo();
            return Ok(Err(Full));
        };
        self.let_go(stay, taken);
        if old.is_none() && D::Leaf::CARD.keeps {
            root.pairs.add(1);
        }
        Ok(Ok(old))
    }

    /// The same where the leaf is full.
    #[cold]
    #[inline(never)]
    fn put_with_room(&self, root: &Root, stay: &mut Stay<'_>, probe: K::Probe<'_>, put: Put) -> Result<Option<Old>> {
        for _ in 1..MOST_SPLITS {
            if self.make_room(root, stay, probe, Some(put))? {
                root.pairs.add(1);
                return Ok(None);
            }
            if let Ok(old) = self.try_put(root, stay, probe, put)? {
                return Ok(old);
            }
        }
        Err(never_roomy::<D::Leaf>())
    }

    /// Lets go of a leaf that has been written, and frees a block that it has given up, if it has.
    #[inline]
    fn let_go(&self, stay: &Stay<'_>, Taken { leaf, berth, held, .. }: Taken<'_, D>) {
        let shed = leaf.shed(&berth.beside);
        drop(held);
        if shed != 0 {
            self.quill.pool().space.retire_block(stay.epoch(), shed);
        }
    }

    /// Takes the probe's leaf, with room to take the probe's key away from it.
    fn take_uncrowded(&self, root: &Root, stay: &mut Stay<'_>, probe: K::Probe<'_>) -> Result<Taken<'_, D>> {
        for _ in 0..MOST_SPLITS {
            let taken = self.take(root, stay, probe)?;
            if !taken.leaf.crowded() || taken.leaf.get(&taken.berth.beside, self.lens(), probe).is_none() {
                return Ok(taken);
            }
            taken.held.undo();
            self.make_room(root, stay, probe, None)?;
        }
        Err(never_roomy::<D::Leaf>())
    }

    #[inline]
    pub(crate) fn seal(&self, pen: &mut Pen<'_, M>, seal: Seal) {
        if let Some((loc, value)) = seal
            && let Some([word]) = self.image.words(loc, 1)
        {
            pen.write(word, value);
        }
    }

    /// Blocks of the durable nodes above a tree's leaves, the top's first; nobody may write to it meanwhile.
    pub fn nodes(&self, root: &Root) -> Vec<u32> {
        self.spine.nodes(root).into_iter().map(|node| node.1).collect()
    }

    /// Children of each node of level 1, from left to right; nobody may write to the tree meanwhile.
    pub fn fills(&self, root: &Root) -> Vec<usize> {
        self.spine.fills(root)
    }

    /// Levels above a tree's leaves.
    pub fn height(&self, root: &Root) -> u32 {
        (root.top.load(Relaxed) >> 32) as u32
    }

    /// A fresh leaf of a keyspace, found as such after a crash.
    pub(crate) fn fresh_leaf(&self, epoch: Epoch, home: Home) -> Result<u32> {
        let pool = self.quill.pool();
        let number = pool.space.take_block_at(&pool.medium, epoch)?;
        let (leaf, berth) = self.block(number)?;
        leaf.format(&berth.beside, &mut self.quill.cut_at(epoch), home);
        Ok(number)
    }

    /// Block and berth of a number just taken.
    pub(crate) fn block(&self, number: u32) -> Result<(&D::Leaf, &BerthOf<D>)> {
        // The block first: a damaged link names any number, and no berth is made for one that has no block.
        let block = self.leaf(number).filter(|_| number < D::Leaf::NUMBERS);
        let pair = block.and_then(|leaf| Some((leaf, self.berths.reach(number)?)));
        let limit = D::Leaf::NUMBERS.into();
        pair.ok_or(MediumError::TooLarge { what: "a leaf's number", found: number.into(), limit })
    }

    /// The numbers of a leaf's blocks, from its own on: as many as there are said to be, whatever lies in them.
    pub fn blocks_of(&self, leaf: u32) -> impl Iterator<Item = u32> {
        let behind = move |place: usize| {
            let (block, berth) = self.leaf(leaf).zip(self.berths.get(leaf))?;
            Some(block.behind(&berth.beside, self.lens(), place)).filter(|number| *number != 0)
        };
        // Of leaves of one block nothing is read.
        std::iter::once(leaf).chain((1..D::Leaf::BLOCKS).map_while(behind))
    }

    /// Probes travel together, a stage at a time, so that their misses overlap: the way down, then each leaf's first
    /// line, then the one line of pairs that the fingerprints name, then the record.
    fn group(&self, root: &Root, probes: &[K::Probe<'_>], out: &mut Vec<Sighting>) {
        let mut reached = [const { None }; GROUP];
        for (probe, place) in probes.iter().zip(&mut reached) {
            let Some(at) = self.spine.seek::<K>(root, *probe) else { continue };
            let Some((leaf, berth)) = self.leaf(at.leaf).zip(self.berths.get(at.leaf)) else { continue };
            leaf.approach();
            holm_search::prefetch(at.latch(at.leaf, berth));
            *place = Some((at, leaf, berth));
        }
        let mut seen = [None; GROUP];
        for ((probe, place), seen) in probes.iter().zip(&reached).zip(&mut seen) {
            let Some((at, leaf, berth)) = place else { continue };
            *seen = at.latch(at.leaf, berth).read().filter(|_| at.twig.latch().still(at.version));
            if seen.is_some() {
                leaf.aim(&berth.beside, self.lens(), *probe);
            }
        }
        for ((probe, place), seen) in probes.iter().zip(&reached).zip(&seen) {
            let (Some((_, leaf, berth)), Some(_)) = (place, seen) else { continue };
            if let Some(payload) = leaf.glance(&berth.beside, self.lens(), *probe) {
                self.keys.prefetch(payload);
            }
        }
        for ((probe, place), seen) in probes.iter().zip(&reached).zip(&seen) {
            let sighting = place.as_ref().zip(*seen).and_then(|((at, leaf, berth), version)| {
                let payload = leaf.get(&berth.beside, self.lens(), *probe);
                let stamp = leaf.stamp(&berth.beside, self.lens());
                let seen = at.seen(at.leaf, version);
                at.latch(at.leaf, berth).still(version).then_some(Sighting { payload, seen, stamp })
            });
            // What a writer has disturbed is looked up by itself.
            out.push(sighting.unwrap_or_else(|| self.get(root, *probe)));
        }
    }

    fn try_look(&self, root: &Root, toward: &Toward<'_, K>, wanted: usize, view: &mut View<K>) -> Option<()> {
        let (at, edge) = self.spine.glide::<K>(root, toward)?;
        let leaf = self.leaf(at.leaf)?;
        prefetch_lines(leaf);
        let berth = self.berths.get(at.leaf)?;
        let version = at.latch(at.leaf, berth).read()?;
        if !at.twig.latch().still(at.version) {
            return None;
        }
        let step = if matches!(toward, Toward::Holding(_)) { 1 } else { -1 };
        let next =
            at.beside(step).filter(|_| wanted > 0).and_then(|number| Some((number, self.approach(&at, number)?)));
        view.edge = edge;
        view.foreseen = view.ahead.seen == at.seen(at.leaf, version);
        if view.foreseen {
            std::mem::swap(&mut view.here, &mut view.ahead);
        } else {
            self.glimpse(&at, (at.leaf, version), (leaf, berth), &mut view.here)?;
        }
        view.ahead.seen = Seen::default();
        view.ahead.pairs.clear();
        // A scan starts in the middle of its first leaf.
        let enough = view.here.pairs.len() / 2;
        if let Some((number, (leaf, berth))) = next.filter(|_| wanted > enough)
            && let Some(version) = at.latch(number, berth).read()
            // Asked now that the version is known: a leaf that has gone meanwhile is a block that somebody fills, and
            // where latches are the twig's nobody holds the one it had.
            && at.twig.latch().still(at.version)
            && self.glimpse(&at, (number, version), (leaf, berth), &mut view.ahead).is_some()
            && wanted > enough + view.ahead.pairs.len()
        {
            at.beside(2 * step).map(|number| self.approach(&at, number));
        }
        Some(())
    }

    /// Copies the pairs of a leaf under a twig out, in order, if nobody changes it meanwhile.
    fn glimpse(
        &self,
        at: &Reached<'_, D>,
        (number, version): (u32, Version),
        (leaf, berth): (&D::Leaf, &BerthOf<D>),
        into: &mut Glimpse,
    ) -> Option<()> {
        let still = || at.twig.locks().of(&berth.latch, number).still(version);
        into.seen = Seen::default();
        into.pairs.begin(D::Leaf::CAPACITY);
        leaf.gather(&berth.beside, self.lens(), &mut into.pairs);
        (into.skip, into.stamp) = (leaf.skip(), leaf.stamp(&berth.beside, self.lens()));
        if !still() {
            return None;
        }
        into.pairs.sort(&self.keys, self.spine.search, into.skip);
        // Ties of heads were decided by records: they count only if the leaf has not changed since.
        still().then(|| into.seen = at.seen(number, version))
    }

    /// Asks for the lines of a leaf that will be looked at soon.
    fn approach<'a>(&'a self, at: &Reached<'a, D>, number: u32) -> Option<(&'a D::Leaf, &'a BerthOf<D>)> {
        let (leaf, berth) = self.leaf(number).zip(self.berths.get(number))?;
        prefetch_lines(leaf);
        holm_search::prefetch(at.latch(number, berth));
        Some((leaf, berth))
    }
}

impl<M: Medium, D: Design, K: Keys> Index<K> for Forest<M, D, K> {
    fn design(&self) -> &'static str {
        D::NAME
    }

    fn card(&self) -> Card {
        D::CARD
    }

    /// The attempt is part of it: what a call gives back would be copied from memory, and the copy wait for its stores.
    fn get(&self, root: &Root, probe: K::Probe<'_>) -> Sighting {
        match self.try_get(root, probe) {
            Some(sighting) => sighting,
            None => self.get_again(root, probe),
        }
    }

    fn get_many(&self, root: &Root, probes: &[K::Probe<'_>], out: &mut Vec<Sighting>) {
        probes.chunks(GROUP).for_each(|group| self.group(root, group, out));
    }

    #[inline]
    fn still(&self, seen: Seen) -> bool {
        let Some(berth) = self.berths.get(seen.leaf) else { return false };
        let array = || Some(self.spine.twigs.get(seen.twig)?.locks().of(&berth.latch, seen.leaf));
        LocksOf::<D>::own(&berth.latch).or_else(array).is_some_and(|latch| latch.still(seen.version))
    }

    fn put(
        &self,
        root: &Root,
        stay: &mut Stay<'_>,
        probe: K::Probe<'_>,
        payload: u64,
        seal: Seal,
    ) -> Result<Option<Old>> {
        let put = (payload, seal);
        match self.try_put(root, stay, probe, put)? {
            Ok(old) => Ok(old),
            Err(Full) => self.put_with_room(root, stay, probe, put),
        }
    }

    fn remove(&self, root: &Root, stay: &mut Stay<'_>, probe: K::Probe<'_>, seal: Seal) -> Result<Option<Old>> {
        let taken = self.take_uncrowded(root, stay, probe)?;
        let old = {
            // Let go before the latch, as by a put.
            let mut pen = self.quill.cut(stay);
            let old = taken.leaf.remove(&taken.berth.beside, self.lens(), &mut pen, probe);
            self.seal(&mut pen, seal);
            old
        };
        let sparse = old.is_some() && taken.leaf.sparse(&taken.berth.beside, self.lens());
        self.let_go(stay, taken);
        if old.is_some() {
            root.pairs.add(-1);
        }
        if sparse {
            // An operation of its own: the neighbour may already belong to the next epoch.
            self.merge(root, stay, probe);
        }
        Ok(old)
    }

    fn look(&self, root: &Root, toward: Toward<'_, K>, wanted: usize, view: &mut View<K>) {
        let mut turn = 0;
        while self.try_look(root, &toward, wanted, view).is_none() {
            if root.is_given_up() {
                return *view = View::default();
            }
            back_off(&mut turn);
        }
    }

    fn snapshot(
        &self,
        root: &Root,
        range: (&K::Fence, Option<&K::Fence>),
        follow: &mut dyn FnMut(&[Glimpse]),
    ) -> Snapshot {
        self.take_snapshot(root, range, follow)
    }

    fn plant(&self, stay: &mut Stay<'_>, keyspace: u32) -> Result<Root> {
        let pool = self.quill.pool();
        let (twig, node) = self.spine.fresh(&self.spine.twigs, pool, stay)?;
        let home = Home { keyspace, skip: 0, first: true };
        let number = self.fresh_leaf(stay.epoch(), home).inspect_err(|_| unused(&self.spine.twigs, pool, twig))?;
        let (station, range) = (Station { keyspace, level: 1, first: true }, (&K::Fence::default(), None));
        node.fill::<M, K>(&mut self.quill.cut(stay), &self.spine.texts, station, range, &[], &[number]);
        Ok(Root::new(keyspace, 1, twig, 0))
    }

    fn uproot(&self, root: &Root, stay: &mut Stay<'_>, freed: &mut dyn FnMut(u64)) -> Result<()> {
        self.abandon(root, stay, freed)
    }

    fn rebuild_when(
        &self,
        cut: Cut,
        epoch: Epoch,
        threads: usize,
        logged: Option<&Logged>,
        ready: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Rebuilt> {
        crate::rebuild::rebuild(self, cut, epoch, threads, logged, ready)
    }

    fn audit(&self, root: &Root) -> Audit {
        crate::audit::audit(self, &self.keys, root)
    }
}
