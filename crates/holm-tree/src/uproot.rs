//! A tree given up: its leaves, and then what is above them. Its writers are out, and know it; its readers need not.

use crate::design::Design;
use crate::forest::{Forest, back_off, wait};
use crate::index::{Root, Toward};
use crate::inner::Inner;
use crate::keys::Keys;
use crate::leaf::{Leaf, Pairs};
use crate::slab::Slab;
use crate::spine::Spine;
use crate::texts::Texts;
use holm_medium::{Medium, Result, Stay};

impl<M: Medium, D: Design, K: Keys> Forest<M, D, K> {
    /// Gives up every leaf of a tree that nobody uses any more.
    pub(crate) fn abandon(&self, root: &Root, stay: &mut Stay<'_>, freed: &mut dyn FnMut(u64)) -> Result<()> {
        let space = &self.quill.pool().space;
        let mut edge = K::Fence::default();
        let mut turn = 0;
        loop {
            let path = self.spine.walk::<K>(root, &Toward::Holding(K::probe(&edge)));
            let taken = path.as_ref().and_then(|path| self.take_at(path, path.twig.position));
            let (Some(path), Some(taken)) = (path, taken) else {
                back_off(&mut turn);
                continue;
            };
            if !stay.valid() {
                taken.held.undo();
                stay.renew()?;
                continue;
            }
            let mut pairs = Pairs::default();
            taken.leaf.gather(&taken.berth.beside, self.lens(), &mut pairs);
            let blocks: Vec<_> = self.blocks_of(taken.number).collect();
            for number in blocks.into_iter().rev() {
                if let Some(block) = self.leaf(number) {
                    block.abandon(&mut self.quill.cut(stay));
                }
                space.retire_block(stay.epoch(), number);
            }
            pairs.iter().for_each(|slot| freed(slot.payload));
            match path.leaf.1 {
                Some(high) => edge = high,
                None => break,
            }
        }
        self.fell(root, stay)
    }

    /// Gives up the nodes above the leaves of a tree, the durable ones from the top down; till then a crash finds a
    /// tree without leaves, which is none.
    fn fell(&self, root: &Root, stay: &mut Stay<'_>) -> Result<()> {
        let nodes = self.spine.nodes(root);
        self.spine.give_back(root);
        for (level, number) in nodes {
            while !stay.valid() {
                stay.renew()?;
            }
            let mut pen = self.quill.cut(stay);
            match level {
                1 => self.spine.twigs.get(number).into_iter().for_each(|node| node.end(&mut pen)),
                _ => self.spine.branches.get(number).into_iter().for_each(|node| node.end(&mut pen)),
            }
            self.quill.pool().space.retire_block(stay.epoch(), number);
        }
        Ok(())
    }
}

impl<D: Design> Spine<D> {
    /// Has others use the volatile nodes of a tree.
    fn give_back(&self, root: &Root) {
        let (branches, twigs) = self.numbers(root);
        branches.into_iter().for_each(|number| give_back(&self.branches, &self.texts, number));
        twigs.into_iter().for_each(|number| give_back(&self.twigs, &self.texts, number));
    }
}

/// The same with one node.
fn give_back<I: Inner>(slab: &Slab<I>, texts: &Texts, number: u32) {
    if let Some(node) = slab.get(number).filter(|_| !I::DURABLE) {
        // Whoever is in it knows from then on that it has changed.
        drop(wait(node.latch()));
        node.forget_texts(texts);
        slab.give(number);
    }
}
