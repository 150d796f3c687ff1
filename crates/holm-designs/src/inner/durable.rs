//! A node in a block of its own: the volatile side of it, and what a block must offer to be one.
//!
//! A child is known by the least key of its range: a node is a row of such pairs, in order, and the first one's key is
//! where the node's own range starts. So it can be what a leaf is, with numbers for payloads. Only for keys that slots
//! hold whole. Changed under the latch, durably before the latch is let go; readers validate it as elsewhere, so what a
//! change passes through is seen by recovery alone.

use holm_medium::{Area, Image, Loc, Medium, Pen, Persistent};
use holm_search::Search;
use holm_tree::inner::{Arrival, Inner, Lead, Mark, Range, Shape, Station};
use holm_tree::keys::{Keys, Slot};
use holm_tree::latch::Latch;
use holm_tree::locks::InBerths;
use holm_tree::texts::Texts;
use std::sync::{Arc, OnceLock};

/// A block that keeps the children of a node: each a slot of the least key of its range, and its number.
pub trait Node: Persistent + Sized {
    /// The most children.
    const CHILDREN: usize;
    /// The node's volatile side.
    type Beside: Default + Send + Sync + 'static;

    /// Children now; never more than there is room for.
    fn count(&self, beside: &Self::Beside) -> usize;
    /// A child. Total over any bits.
    fn slot(&self, index: usize) -> Slot;

    /// Becomes the first node of its level, of one child or two: durable, and there, in one step.
    fn begin<M: Medium>(&self, beside: &Self::Beside, pen: &mut Pen<'_, M>, station: Station, children: &[Slot]);
    /// Takes a child in, where there is room.
    fn insert<M: Medium>(&self, beside: &Self::Beside, pen: &mut Pen<'_, M>, child: Slot);
    /// Lets go of a child that is not the first.
    fn remove<M: Medium>(&self, beside: &Self::Beside, pen: &mut Pen<'_, M>, index: usize);
    /// Gives a range to another child.
    fn point<M: Medium>(&self, pen: &mut Pen<'_, M>, index: usize, child: u32);
    /// Gives the upper half of its children to a fresh node of that number.
    fn split<M: Medium>(&self, beside: &Self::Beside, pen: &mut Pen<'_, M>, right: (u32, &Self, &Self::Beside));

    /// What the block says of itself; `None` if it is no node. Total over any bits.
    fn station(&self) -> Option<Station>;
    /// The next node of the level; 0 is none.
    fn next(&self) -> u32;
    /// After a crash: as [`Inner::mend`].
    fn mend<M: Medium>(&self, beside: &Self::Beside, pen: &mut Pen<'_, M>, right: Option<&Self>);
    /// Is no node any more, durably. Known by its caller to who leaves it out.
    #[track_caller]
    fn end<M: Medium>(&self, pen: &mut Pen<'_, M>);
}

/// The volatile side of a node that lies in a block.
pub struct Durable<N: Node> {
    latch: Latch,
    beside: N::Beside,
    block: OnceLock<(Arc<Image>, Loc<N>)>,
}

impl<N: Node> Default for Durable<N> {
    fn default() -> Self {
        Durable { latch: Latch::default(), beside: N::Beside::default(), block: OnceLock::new() }
    }
}

impl<N: Node> Durable<N> {
    /// `None` where a stale number leads: no block of that number has ever been a node.
    #[inline]
    fn look(&self) -> Option<&N> {
        let (image, place) = self.block.get()?;
        image.at(*place)
    }

    /// For whoever writes.
    fn block(&self) -> &N {
        self.look().expect("a node is told where its block lies before it is used")
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        self.look().filter(|_| index < N::CHILDREN).map_or(Slot::default(), |block| block.slot(index))
    }
}

/// A fence as slots hold it.
fn word<K: Keys>(fence: &K::Fence) -> u64 {
    K::head(K::probe(fence), 0)
}

impl<N: Node> Inner for Durable<N> {
    const CHILDREN: usize = N::CHILDREN;
    const DURABLE: bool = true;
    type Locks = InBerths;

    #[inline]
    fn latch(&self) -> &Latch {
        &self.latch
    }
    fn locks(&self) -> &InBerths {
        &InBerths
    }
    #[inline]
    fn shape(&self) -> Shape {
        let count = self.look().map_or(0, |block| block.count(&self.beside));
        Shape { len: count.min(N::CHILDREN).saturating_sub(1), ..Shape::default() }
    }
    fn approach(&self) {
        self.look().into_iter().for_each(holm_search::prefetch_lines);
    }
    #[inline]
    fn mark(&self, index: usize) -> Mark {
        Mark { head: self.slot(index + 1).head, text: 0 }
    }
    #[inline]
    fn child(&self, index: usize) -> u32 {
        self.slot(index).payload as u32
    }
    /// The papers' scan.
    #[inline]
    fn rank(&self, _: Search, len: usize, head: u64) -> usize {
        self.look().map_or(0, |block| (1..=len).take_while(|index| block.slot(*index).head <= head).count())
    }

    fn fill<M: Medium, K: Keys>(
        &self,
        pen: &mut Pen<'_, M>,
        _: &Texts,
        station: Station,
        range: (&K::Fence, Option<&K::Fence>),
        fences: &[K::Fence],
        children: &[u32],
    ) {
        let lows = [range.0].into_iter().chain(fences).map(word::<K>);
        let slots: Vec<_> = lows.zip(children).map(|(head, child)| Slot { head, payload: u64::from(*child) }).collect();
        self.block().begin(&self.beside, pen, station, &slots);
    }

    fn set_child<M: Medium>(&self, pen: &mut Pen<'_, M>, index: usize, child: u32) {
        self.block().point(pen, index, child);
    }

    fn adopt<M: Medium, K: Keys>(
        &self,
        pen: &mut Pen<'_, M>,
        _: &Texts,
        _: &Range<K>,
        (_, separator, child): Arrival<'_, K::Fence>,
        _: K::Probe<'_>,
    ) {
        let child = Slot { head: word::<K>(separator), payload: child.into() };
        self.block().insert(&self.beside, pen, child);
    }

    fn disown<M: Medium>(&self, pen: &mut Pen<'_, M>, index: usize) {
        self.block().remove(&self.beside, pen, index + 1);
    }

    fn split<M: Medium, K: Keys>(
        &self,
        pen: &mut Pen<'_, M>,
        _: &Texts,
        _: &Range<K>,
        (number, right): (u32, &Self),
        probe: K::Probe<'_>,
    ) -> K::Fence {
        self.block().split(&self.beside, pen, (number, right.block(), &right.beside));
        K::from_head(probe, &Lead::default(), right.low())
    }

    fn station(image: &Image, offset: u64) -> Option<Station> {
        image.at::<N>(Loc::new(Area::Leaves, offset))?.station()
    }

    fn stand(&self, image: &Arc<Image>, offset: u64) -> bool {
        let place = Loc::new(Area::Leaves, offset);
        self.block.get_or_init(|| (image.clone(), place));
        image.at::<N>(place).is_some()
    }

    fn low(&self) -> u64 {
        self.slot(0).head
    }

    fn next(&self) -> u32 {
        self.look().map_or(0, N::next)
    }

    fn mend<M: Medium>(&self, pen: &mut Pen<'_, M>, right: Option<&Self>) {
        self.block().mend(&self.beside, pen, right.and_then(Self::look));
    }

    #[track_caller]
    fn end<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        self.block().end(pen);
    }
}
