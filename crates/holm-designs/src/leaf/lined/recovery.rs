//! Recovery of a block after a crash, line by line: the state at the recovery point, or the latest state. And the
//! comparison of a block that the death of a process left with what the log has of it.

use super::known::{Copies, Known};
use super::line::{ALL, FARTHEST, LEAF, PAIRS, Versions, turns_after};
use super::{LINES, Lined, SLOTS, in_line, place};
use holm_medium::{Epoch, EpochSpan, LAST_EPOCH, Medium, Result, WriteHandle};
use holm_tree::leaf::{BlockByte, BlockState, Pairs, RecoveryPoint, damaged};
use holm_tree::pair::slots;

/// This bit marks an *heir*: the block gives way to the leaf of that number, once that leaf is committed.
pub const HEIR: u32 = 1 << 31;

/// A leaf's words, as versions and heads: in the block or in a copy.
struct Image {
    versions: [Versions; LINES],
    heads: [u64; SLOTS],
}

impl Image {
    fn of(block: &Lined) -> Self {
        Image {
            versions: block.lines.each_ref().map(|line| line.versions()),
            heads: std::array::from_fn(|slot| block.slot(slot).head),
        }
    }

    /// Returns the copies that are live at the end of an epoch; none if the block is no leaf then.
    fn copies_at(&self, epoch: Epoch) -> Copies {
        if self.versions[0].at(epoch) & LEAF == 0 {
            return Copies::default();
        }
        let live = (0..LINES).fold(0, |live, line| live | (self.versions[line].at(epoch) & ALL) << (line * PAIRS));
        let turn = |slot: usize| {
            let (line, index) = place(slot);
            self.versions[line].turn(index)
        };
        let is_older = |slot: &usize| {
            slots(live & !(1 << slot)).any(|other| {
                let after = turns_after(turn(*slot), turn(other));
                self.heads[other] == self.heads[*slot] && (1..=FARTHEST).contains(&after)
            })
        };
        let stale = slots(live).filter(is_older).fold(0, |stale, slot| stale | 1 << slot);
        Copies { newest: live & !stale, stale }
    }
}

/// Returns the first and the last tag after an epoch; `None` if there is none.
fn later(versions: &[Versions; LINES], epoch: Epoch) -> Option<(Epoch, Epoch)> {
    let later = || versions.iter().map(|versions| versions.tag).filter(|tag| *tag > epoch);
    later().min().zip(later().max())
}

impl Lined {
    /// Returns the keyspace.
    pub(super) fn keyspace(&self) -> u32 {
        self.lines[0].of_leaf() & 0xff_ffff
    }

    /// Returns the leaf that this one replaces, or that it gives way to; zero if there is neither.
    fn origin(&self) -> u32 {
        self.lines[1].of_leaf()
    }

    pub(super) fn set_origin<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, origin: u32) {
        if self.origin() != origin {
            self.lines[1].set_of_leaf(handle, origin);
            handle.defer(&self.lines[1].rest);
        }
    }

    fn forget_origin<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        self.lines[1].set_of_leaf(handle, 0);
        handle.flush(&self.lines[1].rest);
    }

    /// Returns whether the block is a leaf with at least one pair.
    fn is_live(&self) -> bool {
        let pairs = || self.lines.iter().any(|line| line.versions().now & ALL != 0);
        self.lines[0].versions().now & LEAF != 0 && pairs()
    }

    /// See [`holm_tree::leaf::Leaf::recover`].
    pub(super) fn bring_to<'a, M: Medium>(
        &'a self,
        own: u32,
        handle: &mut WriteHandle<'_, M>,
        recovery_point: RecoveryPoint,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        match recovery_point {
            RecoveryPoint::Visible => self.resolve_generations(handle, peer),
            RecoveryPoint::At(recovery_epoch) => self.scrub(own, handle, recovery_epoch)?,
        }
        for (line, tag) in self.lines.iter().map(|line| line.versions().tag).enumerate() {
            if tag > LAST_EPOCH {
                let byte = BlockByte { block: own, byte: 64 * line as u64 };
                return Err(damaged::<Self>(byte, "an epoch's tag", tag.to_string(), format!("<= {LAST_EPOCH}")));
            }
        }
        match self.is_live() {
            true => Ok(BlockState::Live { keyspace: self.keyspace(), first: false }),
            false => Ok(BlockState::Free),
        }
    }

    fn scrub<M: Medium>(&self, own: u32, handle: &mut WriteHandle<'_, M>, recovery_epoch: Epoch) -> Result<()> {
        let versions = self.lines.each_ref().map(|line| line.versions());
        if let Some((first, last)) = later(&versions, recovery_epoch).filter(|(first, last)| last - first > 1) {
            let expected = format!("at most {}, for only two epochs go without a record", first + 1);
            return Err(damaged::<Self>(BlockByte::first_of(own), "an epoch's tag", last.to_string(), expected));
        }
        // The scrub is durable before the clock restarts at the recovery point. Otherwise a state of a lost epoch would
        // become valid again when its epoch number is reused.
        for (line, versions) in self.lines.iter().zip(versions).filter(|(_, found)| found.tag > recovery_epoch) {
            line.put_now(handle, versions.scrubbed(recovery_epoch));
        }
        if self.is_live() && self.origin() != 0 {
            self.forget_origin(handle);
        }
        Ok(())
    }

    /// Decides between two generations of a block that was giving way to others: one remains.
    fn resolve_generations<'a, M: Medium>(
        &'a self,
        handle: &mut WriteHandle<'_, M>,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) {
        let origin = self.origin();
        if !self.is_live() || origin == 0 {
            return;
        }
        let live = |number: u32| peer(number).filter(|leaf| leaf.is_live());
        let tag = |leaf: &Self| leaf.lines[0].versions().tag;
        let gives_way_in = if origin & HEIR != 0 {
            // Its heir is committed once the heir's origin is no leaf. The store gets the heir's epoch, as the merge
            // itself would have given it: under this leaf's own tag, which may be durable, a power cut during this
            // recovery would take back the merge and find this leaf empty.
            let heir = live(origin & !HEIR).filter(|heir| heir.origin() == 0 || live(heir.origin()).is_none());
            heir.map(tag)
        } else {
            live(origin).map(|_| tag(self))
        };
        match gives_way_in {
            Some(epoch) => {
                let first = &self.lines[0];
                first.put_now(handle, first.versions().in_epoch(epoch).with_now(0));
            }
            None => self.forget_origin(handle),
        }
    }

    /// Derives what DRAM keeps of the block.
    pub(super) fn derive(&self, known: &Known) {
        let image = Image::of(self);
        known.begin(image.versions.iter().map(|versions| versions.tag).max().unwrap_or(0));
        known.set_copies(image.copies_at(Epoch::MAX - 1));
        for slot in 0..SLOTS {
            let (line, index) = place(slot);
            known.set_fingerprint(slot, self.lines[line].fingerprint(index));
        }
    }

    /// See [`holm_tree::leaf::Versioned::live_at`].
    pub(super) fn was_live(&self, epoch: Epoch, out: &mut Pairs) -> bool {
        let image = Image::of(self);
        slots(image.copies_at(epoch).newest).for_each(|slot| out.push(self.slot(slot)));
        later(&image.versions, epoch).is_none_or(|(first, last)| last - first <= 1)
    }

    /// See [`holm_tree::leaf::Versioned::changes_after`]. A state that names no slot may belong to a block that an
    /// interrupted recovery took.
    pub(super) fn changed_after(&self, epoch: Epoch) -> Option<EpochSpan> {
        let versions = self.lines.each_ref().map(|line| line.versions());
        let (_, last) = later(&versions, epoch)?;
        let first = versions.iter().filter(|it| it.tag > epoch && (it.now | it.last) & ALL != 0).map(|it| {
            let earlier = it.tag > epoch + 1 && it.last != it.before;
            if earlier { it.tag - 1 } else { it.tag }
        });
        Some(EpochSpan { first: first.min().unwrap_or(last), last })
    }
}

/// See [`holm_tree::leaf::Versioned::agrees`]. A line still has its state at the end of the last logged epoch, and the
/// pairs that this state names, whatever came after it. The log's copy may hold stores of the epoch after its own.
pub(super) fn is_as_logged(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool {
    let versions: [Versions; LINES] = std::array::from_fn(|line| Versions::unpack(found[line][0]));
    if later(&versions, epoch).is_some_and(|(first, last)| last - first > 1) {
        // More than two epochs have brought changes: the log has lost its end, and nothing can be compared.
        return true;
    }
    if logged[0].is_some_and(|first| Versions::unpack(first[0]).at(epoch) & LEAF != versions[0].at(epoch) & LEAF) {
        return false;
    }
    if versions[0].at(epoch) & LEAF == 0 {
        return true;
    }
    if logged[0].is_some_and(|first| first[7] >> 32 != found[0][7] >> 32) {
        return false;
    }
    let copies = |lines: &dyn Fn(usize) -> [u64; 8]| {
        let image = Image {
            versions: std::array::from_fn(|line| Versions::unpack(lines(line)[0])),
            heads: std::array::from_fn(|slot| lines(slot / PAIRS)[1 + slot % PAIRS * 2]),
        };
        image.copies_at(epoch).newest
    };
    let before = copies(&|line| logged[line].unwrap_or(found[line]));
    let newest = copies(&|line| found[line]);
    if before != newest {
        return false;
    }
    (0..LINES).filter_map(|line| Some((line, logged[line]?))).all(|(line, logged)| {
        slots(in_line(newest, line)).all(|index| {
            let (pair, print) = (1 + 2 * index, |words: &[u64; 8]| words[7] >> (index * 8) & 0xff);
            logged[pair..pair + 2] == found[line][pair..pair + 2] && print(&logged) == print(&found[line])
        })
    })
}
