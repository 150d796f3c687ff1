//! Accepts everything and stores nothing: a benchmark of this leaf measures the cost of the rest of the tree.

use holm_medium::{Medium, Pen, Result, Word, persistent};
use holm_tree::keys::Keys;
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, Old, Pairs, Split};

persistent! {
    /// A block that uses only its first words.
    #[repr(align(64))]
    pub struct Blackhole {
        /// 1 + keyspace while the block is a leaf, otherwise 0.
        home: Word,
        unused: [Word; 63],
    }
}

impl Leaf for Blackhole {
    const CARD: Card = Card {
        source: "none: prices the house",
        defers: false,
        needs_line_order: false,
        needs_whole_keys: false,
        linked: false,
        keeps: false,
    };
    const CAPACITY: usize = usize::MAX;
    type Beside = ();

    fn get<K: Keys>(&self, _: &(), _: Lens<'_, K>, _: K::Probe<'_>) -> Option<u64> {
        None
    }

    fn live(&self, _: &(), _: &mut Pairs) {}

    fn format<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, home: Home) {
        pen.write(&self.home, 1 + u64::from(home.keyspace));
        pen.persist(&self.home);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        _: &(),
        _: Lens<'_, K>,
        _: &mut Pen<'_, M>,
        _: K::Probe<'_>,
        _: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        Ok(None)
    }

    fn remove<M: Medium, K: Keys>(&self, _: &(), _: Lens<'_, K>, _: &mut Pen<'_, M>, _: K::Probe<'_>) -> Option<Old> {
        None
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        _: &(),
        _: Lens<'_, K>,
        _: &mut Pen<'_, M>,
        _: [Fresh<'_, Self>; 2],
        _: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        Split { left: own, right: None }
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.home, 0);
        pen.persist(&self.home);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        _: u32,
        _: &(),
        _: &mut Pen<'_, M>,
        _: Cut,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        Ok(match self.home.read() {
            0 => Fate::Free,
            // Wrapping: after damage, any bits may lie here.
            home => Fate::Live { keyspace: (home as u32).wrapping_sub(1), first: false },
        })
    }
}
