//! Nodes at rest, and leaves that are not there.
//!
//! Only a leaf that is found without a chain can be gone before its parent knows it: a rebuild takes away what leads to
//! it. A leaf of a chain, or a node, cannot: the rebuild reports damage, and takes nothing away. A drop frees all
//! leaves of a tree before its nodes.

use crate::fixture::TreeFixture;
use holm_medium::{Area, MediumError, StorageOps, Word};
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Rebuilt, TreeRoot, Words};

/// Words of a node. The last two have no child in a design without a number of them.
const NODE: usize = 14;

/// Where the nodes of a design of narrow nodes, in blocks of 512 bytes, have what.
struct Layout {
    design: &'static str,
    /// The word with the level in its upper 16 bits.
    home: usize,
    /// The words of the first child: the least key of its range, and its number.
    first: usize,
    /// The words of the child behind it; the others follow.
    second: usize,
    /// The word with the number of children behind the first one in its upper half. Without it, the key zero ends them.
    tally: Option<usize>,
}

const FAST_FAIR: Layout = Layout { design: "fast_fair_all_narrow", home: 1, first: 2, second: 4, tally: None };
const ISLE: Layout = Layout { design: "isle_all_narrow", home: 7, first: 4, second: 8, tally: Some(3) };

impl Layout {
    /// Returns how many children are behind the first one.
    fn behind(&self, node: &[Word]) -> usize {
        match self.tally {
            Some(tally) => (node[tally].read() >> 32) as usize,
            None => node[self.second..].chunks(2).take_while(|slot| slot[0].read() != 0).count(),
        }
    }

    /// Gives the last node of a level another child behind its last one, a block that was never used; `false` if the
    /// node is full.
    fn mislead(&self, fixture: &TreeFixture<Words>, level: u64) -> bool {
        let image = fixture.writer.image();
        let frontier = fixture.writer.space().block_frontier();
        let blocks = (1..frontier).map(|number| image.words(Area::Leaves.at(u64::from(number) * 512), 64));
        let nodes = blocks.map(|words| words.expect("a block")).filter(|words| words[self.home].read() >> 48 == level);
        let node = nodes.max_by_key(|words| words[self.first].read()).expect("a node of the level");
        let at = self.second + 2 * self.behind(node);
        if at == NODE {
            return false;
        }
        let mut handle = fixture.writer.begin_write_at(fixture.writer.clock().active());
        handle.write(&node[at + 1], frontier.into());
        handle.write(&node[at], u64::MAX - 7);
        if let Some(tally) = self.tally {
            handle.write(&node[tally], node[tally].read() + (1 << 32));
        }
        true
    }
}

/// A drop that ended behind its last leaf leaves nodes that lead to free blocks.
#[test]
fn the_nodes_of_an_interrupted_drop_keep_no_block() {
    let fixture = TreeFixture::of_words("fast_fair_all_narrow");
    (0..400).for_each(|key| _ = fixture.put(key, key));
    // Above all blocks of the other tree.
    let other = fixture.index.create_tree(&mut fixture.writer.clock().pin().expect("sound"), 8).expect("memory");
    let space = fixture.writer.space();
    let (first, frontier) = (space.first_block(), space.block_frontier());
    let in_use = || u64::from(frontier - first) - space.free_blocks();
    let homes = (first..frontier).map(|number| {
        let words = fixture.writer.image().words(Area::Leaves.at(u64::from(number) * 512), 64);
        &words.expect("a block")[FAST_FAIR.home]
    });
    let is_leaf = |home: &&Word| home.read() >> 32 & 1 == 1 && home.read() as u32 == fixture.root.keyspace();
    let mut handle = fixture.writer.begin_write_at(fixture.writer.clock().active());
    let leaves = homes.filter(is_leaf).map(|home| handle.write(home, 0)).count();
    assert!(leaves > 20, "{leaves} leaves");
    for _ in 0..2 {
        let rebuilt = fixture.index.rebuild(RecoveryPoint::Visible, fixture.writer.clock().active(), 2);
        let roots: Vec<_> = rebuilt.expect("what a crash leaves").roots.iter().map(TreeRoot::keyspace).collect();
        assert_eq!((roots, in_use()), (vec![other.keyspace()], 2), "a leaf and the node above it");
    }
}

/// A tree of several levels above the leaves, one of which leads astray, is rebuilt.
fn misled(layout: &Layout, level: u64) -> Result<Rebuilt, MediumError> {
    let fixture = TreeFixture::of_words(layout.design);
    let mut keys = 0..;
    let mut put = |count| keys.by_ref().take(count).for_each(|key| _ = fixture.put(key, key));
    let rebuild = || fixture.index.rebuild(RecoveryPoint::Visible, fixture.writer.clock().active(), 2);
    put(400);
    rebuild().expect("a sound tree");
    while !layout.mislead(&fixture, level) {
        put(1);
    }
    rebuild()
}

#[test]
fn a_node_that_leads_to_no_leaf_of_the_chain_and_to_no_node_is_damaged() {
    for (layout, level) in [(FAST_FAIR, 1), (FAST_FAIR, 2), (ISLE, 2)] {
        let error = misled(&layout, level).err().expect("damage is reported").to_string();
        assert!(error.contains("a node's child"), "{}, level {level}: {error}", layout.design);
    }
    let rebuilt = misled(&ISLE, 1).expect("a leaf without pairs is gone after a crash");
    assert!(rebuilt.roots[0].pairs() >= 400);
}
