//! Recovery of a block after a crash: the state at the recovery point, or the latest state.

use super::block::HEIR;
use super::fingerprint_policy::FingerprintPolicy;
use super::tagged::State;
use super::versions::Versions;
use super::{Buffered, Form, Volatile};
use crate::keys::Keys;
use crate::leaf::{BlockByte, BlockState, ReadContext, RecoveryPoint, Versioned, WriteContext, damaged};
use crate::pair::slots;
use holm_medium::{Epoch, LAST_EPOCH, Medium, MediumError, Result, WriteHandle};

/// The error for a tag that no crash with this recovery point can have left.
pub fn beyond<L>(place: BlockByte, what: &'static str, tag: Epoch, recovery_epoch: Epoch) -> MediumError {
    let expected = format!("at most {recovery_epoch}, for only two epochs with changes go without a record");
    damaged::<L>(place, what, tag.to_string(), expected)
}

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// See [`crate::leaf::Leaf::recover`].
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
        let State { tag, bits } = self.now();
        if tag > LAST_EPOCH {
            let expected = format!("<= {LAST_EPOCH}");
            return Err(damaged::<Self>(BlockByte::first_of(own), "an epoch's tag", tag.to_string(), expected));
        }
        let keyspace = self.home().keyspace;
        Ok(match (bits, self.owner()) {
            (0, _) => BlockState::Free,
            (_, 0) => BlockState::Live { keyspace, first: false },
            (_, leaf) => BlockState::Overflow { keyspace, leaf },
        })
    }

    fn scrub<M: Medium>(&self, own: u32, handle: &mut WriteHandle<'_, M>, recovery_epoch: Epoch) -> Result<()> {
        if let Some(tag) = self.versions.beyond(recovery_epoch) {
            return Err(beyond::<Self>(BlockByte::first_of(own), "an epoch's tag", tag, recovery_epoch));
        }
        // The scrub is durable before the clock restarts at the recovery point. Otherwise a word of a lost epoch would
        // become valid again when its epoch number is reused.
        if self.versions.scrub(handle, recovery_epoch) {
            handle.flush(&self.versions);
        }
        if self.now().bits != 0 && self.kin() != 0 {
            self.forget_kin(handle);
        }
        Ok(())
    }

    fn forget_kin<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.home, self.home.read() & !0xffff_ffff);
        handle.flush(&self.home);
    }

    /// Decides between two generations of a block that was giving way to others: one remains.
    fn resolve_generations<'a, M: Medium>(
        &'a self,
        handle: &mut WriteHandle<'_, M>,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) {
        let (kin, now) = (self.kin(), self.now());
        if now.bits == 0 || kin == 0 {
            return;
        }
        let live = |number: u32| peer(number).filter(|leaf| leaf.now().bits != 0);
        let gives_way_in = if kin & HEIR != 0 {
            // Its heir is committed once the heir's origin is empty.
            let heir = live(kin & !HEIR).filter(|heir| heir.kin() == 0 || live(heir.kin()).is_none());
            // The store gets the heir's epoch, as the merge itself would have given it. This leaf's own tag may long
            // have been durable. Under that tag, a power cut during this recovery would take back the merge and find
            // this leaf empty.
            heir.map(|heir| heir.now().tag)
        } else {
            live(kin).map(|_| now.tag)
        };
        match gives_way_in {
            Some(tag) => {
                self.versions.put(handle, State { tag, bits: 0 });
                handle.flush(&self.versions);
            }
            None => self.forget_kin(handle),
        }
    }

    /// Repairs a leaf of several blocks. An update that moves a pair into another block leaves the key in both blocks
    /// if the process dies in between. Such an update was the leaf's last operation, so its epoch is the leaf's latest.
    /// The older of the two copies is the one that states of earlier epochs name; otherwise the update would have
    /// changed the pair in place.
    pub(super) fn repair_leaf<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
    ) {
        let (context, handle) = context.parts();
        if self.kin() != 0 {
            // The block is empty, and its origin or heir belongs to a lost epoch. With its next pair, the block would
            // wrongly give way.
            self.forget_kin(handle);
        }
        let latest = self.stamp(context);
        for (place, block) in self.segments(context).filter(|(_, block)| block.now().tag == latest) {
            for index in slots(block.now().bits & !block.older(latest)) {
                for (_, before) in self.segments(context).filter(|(other, _)| *other != place) {
                    before.give_up_twin(context, handle, block, index, latest);
                }
            }
        }
    }

    /// Vacates the slot with the key of another block's slot at `index`, if an epoch before `tag` has filled it.
    fn give_up_twin<M: Medium, K: Keys>(
        &self,
        context: ReadContext<'_, Volatile<BLOCKS, F>, K>,
        handle: &mut WriteHandle<'_, M>,
        block: &Self,
        index: usize,
        tag: Epoch,
    ) {
        let bits = self.now().bits;
        let old = bits & self.older(tag);
        let fingerprint = F::FingerprintPolicy::of(&block.fingerprints, index);
        let alike = fingerprint.map_or(old, |fingerprint| {
            F::FingerprintPolicy::candidates(&self.fingerprints, context.search, fingerprint) & old
        });
        if alike == 0 {
            return;
        }
        let twin = slots(alike).find(|at| context.keys.order(self.slot(*at), block.slot(index)).is_eq());
        if let Some(twin) = twin {
            // The store gets the epoch of the update that it completes, as in `resolve_generations`.
            self.versions.put(handle, State { tag, bits: bits & !(1 << twin) });
            handle.flush(&self.versions);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::design::Design;
    use crate::designs;
    use crate::keys::Words;
    use crate::leaf::{
        BlockState, Home, KeyRange, Leaf, LeafRef, ReadContext, RecoveryPoint, RoomFor, SplitRequest, WithOverflow,
        WriteContext,
    };
    use holm_medium::{Area, FIRST_EPOCH, Flush, Loc, Mapped, MappedOptions, Storage};
    use holm_search::Search;

    type Holm = <designs::holm as Design>::Leaf;

    /// A block that was taken in a lost epoch is free, whatever it contains; a kept overflow block names its leaf.
    #[test]
    fn a_block_of_a_lost_epoch_is_behind_nobody() {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let writer = Storage::open(Mapped::heap(8 * 512, 64, options), FIRST_EPOCH).expect("memory");
        let image = writer.storage().medium_image();
        let block = |number: u64| image.at::<Holm>(Loc::new(Area::Leaves, number * 512)).expect("as many blocks");
        let volatiles = <[_; 4]>::default();
        let context = |number: usize| ReadContext {
            volatile: &volatiles[number],
            keys: &Words,
            search: Search::portable(),
            image: Some(&*image),
        };
        let home = Home { keyspace: 5, skip: 0, first: false };
        let leaf_ref =
            |number: u32| LeafRef { number, leaf: block(number.into()), volatile: &volatiles[number as usize] };
        let mut old = writer.begin_write_at(FIRST_EPOCH);
        block(1).format(&volatiles[1], &mut old, home);
        for key in 0..28 {
            assert_eq!(block(1).insert(&mut WriteContext { read: context(1), handle: &mut old }, key, key), Ok(None));
        }
        let mut new = writer.begin_write_at(FIRST_EPOCH + 1);
        assert!(block(1).insert(&mut WriteContext { read: context(1), handle: &mut new }, 28, 28).is_err());
        let request = SplitRequest {
            own: 1,
            fresh: [leaf_ref(2), leaf_ref(3)],
            spare: &[],
            range: KeyRange { low: &0, high: None },
            previous: None,
            room_for: RoomFor::Any,
        };
        block(1).split(&mut WriteContext { read: context(1), handle: &mut new }, request);
        assert_eq!(block(1).insert(&mut WriteContext { read: context(1), handle: &mut new }, 28, 28), Ok(None));
        let (named, free) = (BlockState::Overflow { keyspace: 5, leaf: 1 }, BlockState::Free);
        for (recovery_point, block_state) in [
            (RecoveryPoint::Visible, named),
            (RecoveryPoint::At(FIRST_EPOCH + 1), named),
            (RecoveryPoint::At(FIRST_EPOCH), free),
        ] {
            let mut handle = writer.begin_write_at(FIRST_EPOCH + 2);
            let fates = [1, 2].map(|number: u32| {
                let recovered = block(number.into()).recover(
                    number,
                    &volatiles[number as usize],
                    &mut handle,
                    recovery_point,
                    &|_| None,
                );
                recovered.expect("sound")
            });
            assert_eq!(fates, [BlockState::Live { keyspace: 5, first: false }, block_state], "{recovery_point:?}");
            if block_state == named {
                block(1).attach_overflow(1, context(1), &[2]).expect("sound");
            }
            block(1).repair_blocks(&mut WriteContext { read: context(1), handle: &mut handle });
            assert_eq!(block(1).get(context(1), 28).is_some(), block_state == named, "{recovery_point:?}");
        }
        assert!(block(1).attach_overflow(1, context(1), &[2, 3]).is_err(), "more than two");
        assert!(block(2).attach_overflow(2, context(2), &[1]).is_err(), "behind another itself");
    }

    /// An empty first block is kept for its overflow block, with an origin or heir from a lost merge. If it still had
    /// that origin or heir when it gets a pair again, it would give way to an unrelated leaf after the death of the
    /// process.
    #[test]
    fn a_first_block_that_holds_nothing_forgets_an_heir() {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let writer = Storage::open(Mapped::heap(8 * 512, 64, options), FIRST_EPOCH).expect("memory");
        let image = writer.storage().medium_image();
        let block = |number: u64| image.at::<Holm>(Loc::new(Area::Leaves, number * 512)).expect("as many blocks");
        let volatiles = <[_; 4]>::default();
        let context = |number: usize| ReadContext {
            volatile: &volatiles[number],
            keys: &Words,
            search: Search::portable(),
            image: Some(&*image),
        };
        let mut handle = writer.begin_write_at(FIRST_EPOCH);
        block(1).format(&volatiles[1], &mut handle, Home { keyspace: 5, skip: 0, first: false });
        block(1).set_kin(&mut handle, super::HEIR | 3);
        for number in [1, 2] {
            block(number)
                .recover(
                    number as u32,
                    &volatiles[number as usize],
                    &mut handle,
                    RecoveryPoint::At(FIRST_EPOCH),
                    &|_| None,
                )
                .expect("sound");
        }
        block(1).repair_blocks(&mut WriteContext { read: context(1), handle: &mut handle });
        assert_eq!(block(1).kin(), 0);
    }
}
