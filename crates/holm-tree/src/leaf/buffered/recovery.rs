//! What a crash left of a block: the state at the cut, or the latest one.

use super::block::HEIR;
use super::prints::Prints;
use super::versions::{State, Versions};
use super::{Buffered, Form};
use crate::keys::Keys;
use crate::leaf::{Cut, Fate, Lens, damaged};
use crate::roster::slots;
use holm_medium::{Epoch, LAST_EPOCH, Medium, Pen, Result};

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
        let live = Fate::Live { keyspace: self.home().keyspace, first: false };
        Ok(if bits == 0 { Fate::Free } else { live })
    }

    /// Nothing is behind it any more.
    fn part<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        if self.next() != 0 {
            pen.write(self.link(), self.link().read() & 0xffff_ffff);
            pen.flush(self.link());
        }
    }

    fn scrub<M: Medium>(&self, own: u32, pen: &mut Pen<'_, M>, cut: Epoch) -> Result<()> {
        if let Some(tag) = self.versions.beyond(cut) {
            let expected = format!("at most {cut}, for only two epochs with changes go without a record");
            return Err(damaged::<Self>((own, 0), "an epoch's tag", tag.to_string(), expected));
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

    /// Of a leaf of several blocks: what the death of the process left of an update that went from one block into one
    /// behind it is a key in both, and the later one is the one that counts. A block that holds nothing is not behind
    /// it any more.
    pub(super) fn mend_list<M: Medium, K: Keys>(&self, lens: Lens<'_, K>, pen: &mut Pen<'_, M>) {
        if self.follower(lens).is_none_or(|block| block.now().bits == 0) {
            return self.part(pen);
        }
        for (block, place) in self.segments(lens).zip(1..) {
            let tag = block.now().tag;
            for index in slots(block.now().bits) {
                for before in self.segments(lens).take(place - 1) {
                    before.give_up_twin(lens, pen, (block, index), tag);
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
        let print = F::Prints::of(&block.prints, index);
        let alike = print.map_or(bits, |print| F::Prints::candidates(&self.prints, lens.search, print) & bits);
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
    use crate::leaf::{Cut, Fresh, Home, Leaf, Lens};
    use holm_medium::{Area, FIRST_EPOCH, Flush, Loc, Mapped, MappedOptions, Pool};
    use holm_search::Search;

    type Holm = <designs::holm as Design>::Leaf;

    /// Linked in an epoch that is lost, and the block with it, whose words nobody vouches for; and one that is kept.
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
        for (cut, behind) in [(Cut::Visible, 2), (Cut::At(FIRST_EPOCH + 1), 2), (Cut::At(FIRST_EPOCH), 0)] {
            let mut pen = quill.cut_at(FIRST_EPOCH + 2);
            for number in [2, 1] {
                block(number)
                    .recover(number as u32, &besides[number as usize], &mut pen, cut, &|_| None)
                    .expect("sound");
            }
            assert!(block(1).normalise(1, &besides[1], lens, &mut pen, false).expect("sound"));
            assert_eq!(
                (block(1).behind(), block(1).get(&besides[1], lens, 28).is_some()),
                (behind, behind == 2),
                "{cut:?}"
            );
        }
    }
}
