//! Which slots of a leaf count, the leaf's keyspace, and the next leaf: what designs with a bitmap and a chain share.
//!
//! Bitmap and home share a word, so each change of either is one store, and one store makes a block an empty leaf. A
//! block may also be a *log* during a split. The log lies in the second of the two blocks that every split gets, and
//! that block is free again afterwards.
//!
//! ```text
//! state     bitmap 32 | keyspace 24 | LEAF, FIRST, LOG | level 5; of leaves and logs zero
//! next      number of the next leaf 32 | zero 32
//! ```

use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::inner::NodeHeader;
use holm_tree::leaf::{BlockByte, BlockState, Home, damaged};

/// The block is a leaf.
const LEAF: u64 = 1 << 56;
/// The first leaf of its keyspace.
const FIRST: u64 = 1 << 57;
/// The block is a log.
const LOG: u64 = 1 << 58;
/// Where the level of a durable inner node lies.
const LEVEL: u32 = 59;

persistent! {
    /// The two words.
    pub struct Roster {
        state: Word,
        next: Word,
    }
}

impl Roster {
    /// Which slots count, and what else the design keeps in these 32 bits.
    #[inline]
    pub fn bits(&self) -> u32 {
        self.state.read() as u32
    }

    /// Changes the bits in one store, which may therefore commit; the caller flushes.
    pub fn set<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, bits: u32) {
        handle.write(&self.state, self.state.read() & !0xffff_ffff | u64::from(bits));
    }

    /// Changes the bits durably: the commit word of most operations.
    pub fn commit<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, bits: u32) {
        self.set(handle, bits);
        // Before the operation returns, or takes its next step: otherwise a crash undoes it.
        handle.persist(&self.state);
    }

    /// The next leaf; 0 is none.
    pub fn next(&self) -> u32 {
        self.next.read() as u32
    }

    /// Makes `next` the next leaf; the caller flushes.
    pub fn link<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, next: u32) {
        handle.write(&self.next, next.into());
    }

    /// Makes the block an empty leaf. Everything else of the leaf must already be durable.
    pub fn begin<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, home: Home, bits: u32) {
        let first = if home.first { FIRST } else { 0 };
        // The commit word: when recovery finds the block as a leaf, the leaf is empty.
        // Survivor (store): no crash tells an empty tree from none, and the first put writes this word again, flushes
        // it and fences.
        handle.write(&self.state, LEAF | first | u64::from(home.keyspace & 0xff_ffff) << 32 | u64::from(bits));
        // Before the first pair: otherwise a crash keeps the pair in a block that is no leaf.
        // Survivor (flush, fence): as above.
        handle.persist(&self.state);
    }

    /// Makes the block the first node of its level. Everything else of the node must already be durable.
    ///
    /// # Panics
    /// For a level beyond 31: a tree of nodes that are half full has no such level.
    pub fn begin_node<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, node_header: NodeHeader, bits: u32) {
        let NodeHeader { keyspace, level, .. } = node_header;
        assert!((1..32).contains(&level), "five bits of a level");
        let home = u64::from(level) << LEVEL | FIRST | u64::from(keyspace & 0xff_ffff) << 32;
        // The commit word: a search that finds the node finds its children.
        handle.write(&self.state, home | u64::from(bits));
        // Before the operation returns: otherwise a crash leaves a tree without a root, and recovery must make one.
        handle.persist(&self.state);
    }

    /// What the block says of itself if it is a durable inner node. Total over any bits.
    pub fn node_header(&self) -> Option<NodeHeader> {
        let state = self.state.read();
        let level = (state >> LEVEL) as u32;
        let sound = level > 0 && state & (LEAF | LOG) == 0 && self.next.read() <= u64::from(u32::MAX);
        sound.then_some(NodeHeader { keyspace: (state >> 32) as u32 & 0xff_ffff, level, first: state & FIRST != 0 })
    }

    /// Makes an unreachable block a leaf or node like another one, with its own bits and the same next leaf. The caller
    /// flushes.
    pub fn follow<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, other: &Self, bits: u32) {
        // Survivor in fp_tree (store): the bits are written once more before the leaf is linked.
        handle.write(&self.state, other.state.read() & !(FIRST | 0xffff_ffff) | u64::from(bits));
        handle.write(&self.next, other.next.read());
    }

    /// Makes the block a log of 32 bits, durably.
    pub fn log<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, entry: u32) {
        handle.write(&self.state, LOG | u64::from(entry));
        // Survivor in fp_tree (flush, fence): this half of the log may wait for the other one.
        handle.persist(&self.state);
    }

    /// The block's 32 bits if it is a log.
    pub fn logged(&self) -> Option<u32> {
        let state = self.state.read();
        (state & LOG != 0 && state & LEAF == 0).then_some(state as u32)
    }

    /// The leaf that a log describes: the block of number `number`, found through `peer`.
    ///
    /// # Errors
    /// `Corrupt`, if that is no leaf.
    pub fn subject<'a, L>(
        own: u32,
        number: u32,
        peer: &dyn Fn(u32) -> Option<&'a L>,
        roster: fn(&L) -> &Self,
    ) -> Result<&'a L> {
        let leaf =
            peer(number).filter(|leaf| matches!(roster(leaf).block_state::<L>(number), Ok(BlockState::Live { .. })));
        let found = || format!("the log of block {number}");
        leaf.ok_or_else(|| damaged::<L>(BlockByte::first_of(own), "a leaf's header", found(), "that of a leaf"))
    }

    /// Makes the block neither leaf nor log, durably.
    pub fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.state, 0);
        // Before the block is reused, and before the leaf that a log describes changes again: otherwise recovery finds
        // the first leaf of a dropped keyspace, or repeats a split that was finished long ago.
        handle.persist(&self.state);
    }

    /// What a crash left of the block, if it is no log.
    ///
    /// # Errors
    /// `Corrupt`, for bits that no crash can have left there.
    pub fn block_state<L>(&self, own: u32) -> Result<BlockState> {
        let (state, next) = (self.state.read(), self.next.read());
        if state == 0 {
            return Ok(BlockState::Free);
        }
        if state & LEAF == 0 || state >= LOG || next > u64::from(u32::MAX) {
            let expected = "a keyspace with one or two marks, of which one says leaf; a block's number";
            return Err(damaged::<L>(
                BlockByte::first_of(own),
                "a leaf's header",
                format!("{state:#x}, {next:#x}"),
                expected,
            ));
        }
        Ok(BlockState::Live { keyspace: (state >> 32) as u32 & 0xff_ffff, first: state & FIRST != 0 })
    }
}
