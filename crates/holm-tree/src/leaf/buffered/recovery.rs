//! What a crash left of a block: the state at the cut, or the latest one.

use super::block::HEIR;
use super::prints::Prints;
use super::tagged::State;
use super::versions::Versions;
use super::{Buffered, Form, Roll};
use crate::keys::Keys;
use crate::leaf::{Cut, Fate, Leaf, Lens, damaged};
use crate::pair::slots;
use holm_medium::{Epoch, LAST_EPOCH, Medium, MediumError, Pen, Result};

/// A tag that no crash which has cut history there can have left.
pub fn beyond<L>(place: (u32, u64), what: &'static str, tag: Epoch, cut: Epoch) -> MediumError {
    let expected = format!("at most {cut}, for only two epochs with changes go without a record");
    damaged::<L>(place, what, tag.to_string(), expected)
}

impl<const SEGMENTS: usize, F: Form> Buffered<SEGMENTS, F> {
    /// See [`crate::leaf::Leaf::recover`].
    pub(super) fn bring_to<'a, M: Medium>(
        &'a self,
        own: u32,
        pen: &mut Pen<'_, M>,
        cut: Cut,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        match cut {
            Cut::Visible => self.settle_generations(pen, peer),
            Cut::At(cut) => self.scrub(own, pen, cut)?,
        }
        let State { tag, bits } = self.now();
        if tag > LAST_EPOCH {
            let expected = format!("<= {LAST_EPOCH}");
            return Err(damaged::<Self>((own, 0), "an epoch's tag", tag.to_string(), expected));
        }
        let keyspace = self.home().keyspace;
        Ok(match (bits, self.owner()) {
            (0, _) => Fate::Free,
            (_, 0) => Fate::Live { keyspace, first: false },
            (_, leaf) => Fate::Behind { keyspace, leaf },
        })
    }

    fn scrub<M: Medium>(&self, own: u32, pen: &mut Pen<'_, M>, cut: Epoch) -> Result<()> {
        if let Some(tag) = self.versions.beyond(cut) {
            return Err(beyond::<Self>((own, 0), "an epoch's tag", tag, cut));
        }
        // Scrubbed for good: the clock starts again where history was cut, and a word of a lost epoch would come back
        // to life when that epoch's number is used again.
        if self.versions.scrub(pen, cut) {
            pen.flush(&self.versions);
        }
        if self.now().bits != 0 && self.kin() != 0 {
            self.forget_kin(pen);
        }
        Ok(())
    }

    fn forget_kin<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.home, self.home.read() & !0xffff_ffff);
        pen.flush(&self.home);
    }

    /// Of blocks that were giving way to others, one generation.
    fn settle_generations<'a, M: Medium>(&'a self, pen: &mut Pen<'_, M>, peer: &dyn Fn(u32) -> Option<&'a Self>) {
        let (kin, now) = (self.kin(), self.now());
        if now.bits == 0 || kin == 0 {
            return;
        }
        let live = |number: u32| peer(number).filter(|leaf| leaf.now().bits != 0);
        let gives_way_in = if kin & HEIR != 0 {
            // Its heir is committed once the block that the heir stems from is gone.
            let heir = live(kin & !HEIR).filter(|heir| heir.kin() == 0 || live(heir.kin()).is_none());
            // In the heir's epoch, as the merge itself would have done. Under this leaf's own tag, which may long have
            // been durable, a power cut during this recovery would take back the merge and find this leaf empty.
            heir.map(|heir| heir.now().tag)
        } else {
            live(kin).map(|_| now.tag)
        };
        match gives_way_in {
            Some(tag) => {
                self.versions.put(pen, State { tag, bits: 0 });
                pen.flush(&self.versions);
            }
            None => self.forget_kin(pen),
        }
    }

    /// Of a leaf of several blocks: what the death of the process left of an update that went from one block into
    /// another is a key in both. Such an update was the leaf's last operation, so its epoch is the latest of them all,
    /// and of the two copies the older is the one that states of earlier epochs name: else it would have been changed
    /// where it is.
    pub(super) fn mend_leaf<M: Medium, K: Keys>(
        &self,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
    ) {
        if self.kin() != 0 {
            // One that holds nothing, and what it says is of a lost epoch: with its next pair it would give way.
            self.forget_kin(pen);
        }
        let latest = self.stamp(roll, lens);
        for (place, block) in self.segments(roll, lens).filter(|(_, block)| block.now().tag == latest) {
            for index in slots(block.now().bits & !block.older(latest)) {
                for (_, before) in self.segments(roll, lens).filter(|(other, _)| *other != place) {
                    before.give_up_twin(lens, pen, (block, index), latest);
                }
            }
        }
    }

    fn give_up_twin<M: Medium, K: Keys>(
        &self,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        (block, index): (&Self, usize),
        tag: Epoch,
    ) {
        let bits = self.now().bits;
        let old = bits & self.older(tag);
        let print = F::Prints::of(&block.prints, index);
        let alike = print.map_or(old, |print| F::Prints::candidates(&self.prints, lens.search, print) & old);
        if alike == 0 {
            return;
        }
        let twin = slots(alike).find(|at| lens.keys.order(self.slot(*at), block.slot(index)).is_eq());
        if let Some(twin) = twin {
            // In the epoch of the update, of which it is a part, as in `settle_generations`.
            self.versions.put(pen, State { tag, bits: bits & !(1 << twin) });
            pen.flush(&self.versions);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::design::Design;
    use crate::designs;
    use crate::keys::Words;
    use crate::leaf::{Cut, Fate, Fresh, Home, Leaf, Lens};
    use holm_medium::{Area, FIRST_EPOCH, Flush, Loc, Mapped, MappedOptions, Pool};
    use holm_search::Search;

    type Holm = <designs::holm as Design>::Leaf;

    /// Taken in an epoch that is lost, the block is nobody's, whatever it says; and one that is kept names its leaf.
    #[test]
    fn a_block_of_a_lost_epoch_is_behind_nobody() {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let quill = Pool::open(Mapped::heap(8 * 512, 64, options), FIRST_EPOCH).expect("memory");
        let image = quill.pool().medium_image();
        let block = |number: u64| image.at::<Holm>(Loc::new(Area::Leaves, number * 512)).expect("as many blocks");
        let besides = <[_; 4]>::default();
        let lens = Lens { keys: &Words, search: Search::portable(), image: Some(&image) };
        let home = Home { keyspace: 5, skip: 0, first: false };
        let fresh = |number: u32| Fresh { number, leaf: block(number.into()), beside: &besides[number as usize] };
        let mut old = quill.cut_at(FIRST_EPOCH);
        block(1).format(&besides[1], &mut old, home);
        for key in 0..28 {
            assert_eq!(block(1).insert(&besides[1], lens, &mut old, key, key), Ok(None));
        }
        let mut new = quill.cut_at(FIRST_EPOCH + 1);
        assert!(block(1).insert(&besides[1], lens, &mut new, 28, 28).is_err());
        block(1).split(1, &besides[1], lens, &mut new, [fresh(2), fresh(3)], (&0, None));
        assert_eq!(block(1).insert(&besides[1], lens, &mut new, 28, 28), Ok(None));
        let (named, free) = (Fate::Behind { keyspace: 5, leaf: 1 }, Fate::Free);
        for (cut, fate) in [(Cut::Visible, named), (Cut::At(FIRST_EPOCH + 1), named), (Cut::At(FIRST_EPOCH), free)] {
            let mut pen = quill.cut_at(FIRST_EPOCH + 2);
            let fates = [1, 2].map(|number: u32| {
                let recovered =
                    block(number.into()).recover(number, &besides[number as usize], &mut pen, cut, &|_| None);
                recovered.expect("sound")
            });
            assert_eq!(fates, [Fate::Live { keyspace: 5, first: false }, fate], "{cut:?}");
            if fate == named {
                block(1).enlist(1, &besides[1], lens, &[2]).expect("sound");
            }
            assert!(block(1).normalise(1, &besides[1], lens, &mut pen, false).expect("sound"));
            assert_eq!(block(1).get(&besides[1], lens, 28).is_some(), fate == named, "{cut:?}");
        }
        assert!(block(1).enlist(1, &besides[1], lens, &[2, 3]).is_err(), "more than two");
        assert!(block(2).enlist(2, &besides[2], lens, &[1]).is_err(), "behind another itself");
    }

    /// A first block without pairs is kept for the one behind it, with whatever it says of a merge that is lost. Said
    /// of it still when it has a pair again, it would give way to a stranger after the death of the process.
    #[test]
    fn a_first_block_that_holds_nothing_forgets_an_heir() {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let quill = Pool::open(Mapped::heap(8 * 512, 64, options), FIRST_EPOCH).expect("memory");
        let image = quill.pool().medium_image();
        let block = |number: u64| image.at::<Holm>(Loc::new(Area::Leaves, number * 512)).expect("as many blocks");
        let besides = <[_; 4]>::default();
        let lens = Lens { keys: &Words, search: Search::portable(), image: Some(&image) };
        let mut pen = quill.cut_at(FIRST_EPOCH);
        block(1).format(&besides[1], &mut pen, Home { keyspace: 5, skip: 0, first: false });
        block(1).set_kin(&mut pen, super::HEIR | 3);
        for number in [1, 2] {
            block(number)
                .recover(number as u32, &besides[number as usize], &mut pen, Cut::At(FIRST_EPOCH), &|_| None)
                .expect("sound");
        }
        assert!(block(1).normalise(1, &besides[1], lens, &mut pen, false).expect("sound"));
        assert_eq!(block(1).kin(), 0);
    }
}
