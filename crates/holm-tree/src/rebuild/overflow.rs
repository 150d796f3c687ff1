//! Leaves of several blocks: which blocks are leaves, and which belong to one.

use super::leaves::{Leaves, LiveLeaf};
use crate::keys::Keys;
use crate::leaf::{BlockByte, BlockState, damaged_in};
use holm_medium::Result;
use std::collections::BTreeSet;
use std::ops::Range;

/// A block that names the leaf it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    leaf: u32,
    number: u32,
    keyspace: u32,
}

/// Returns the leaves among the blocks, and the leaves that overflow blocks name.
pub(super) fn leaves_of<K: Keys>(
    leaves: &dyn Leaves<K>,
    numbers: &Range<u32>,
    blocks: Vec<(u32, BlockState)>,
) -> Result<Vec<LiveLeaf>> {
    let (mut live, mut named) = (Vec::with_capacity(blocks.len()), Vec::new());
    for (number, block_state) in blocks {
        match block_state {
            BlockState::Live { keyspace, first } => live.push(LiveLeaf { number, keyspace, first }),
            BlockState::Overflow { keyspace, leaf } => named.push(Named { leaf, number, keyspace }),
            BlockState::Free => {}
        }
    }
    let live = heads(leaves, numbers, live)?;
    if named.is_empty() { Ok(live) } else { attach(leaves, numbers, live, named) }
}

/// Attaches the overflow blocks to the leaves that they name. A leaf whose own block is empty is a leaf because it is
/// named. If its block were given out as free, another leaf would use it while overflow blocks still name it.
fn attach<K: Keys>(
    leaves: &dyn Leaves<K>,
    numbers: &Range<u32>,
    mut live: Vec<LiveLeaf>,
    mut named: Vec<Named>,
) -> Result<Vec<LiveLeaf>> {
    named.sort_unstable();
    let mut hollow = Vec::new();
    for part in named.chunk_by(|a, b| a.leaf == b.leaf) {
        let Named { leaf, number, keyspace } = part[0];
        if !numbers.contains(&leaf) {
            let (what, expected) = ("the leaf of a block", "a block of the image");
            return Err(damaged_in(
                leaves.block_bytes(),
                BlockByte::first_of(number),
                what,
                leaf.to_string(),
                expected,
            ));
        }
        let overflow_numbers: Vec<_> = part.iter().map(|block| block.number).collect();
        leaves.attach(leaf, &overflow_numbers)?;
        // `live` is in ascending order of numbers.
        if live.binary_search_by_key(&leaf, |live| live.number).is_err() {
            hollow.push(LiveLeaf { number: leaf, keyspace, first: false });
        }
    }
    live.append(&mut hollow);
    live.sort_unstable();
    Ok(live)
}

/// For leaves of several blocks that lead from one to the next: returns the blocks that are not overflow blocks.
fn heads<K: Keys>(leaves: &dyn Leaves<K>, numbers: &Range<u32>, live: Vec<LiveLeaf>) -> Result<Vec<LiveLeaf>> {
    if leaves.most_blocks() == 1 {
        return Ok(live);
    }
    let mut followed = BTreeSet::new();
    for leaf in &live {
        let behind = leaves.block_behind(leaf.number);
        let exists = behind >= numbers.start && leaves.exists(behind);
        if behind != 0 && !(exists && followed.insert(behind)) {
            let (what, expected) = ("the block behind another", "a block of the image that no other leads to");
            return Err(damaged_in(
                leaves.block_bytes(),
                BlockByte::first_of(leaf.number),
                what,
                behind.to_string(),
                expected,
            ));
        }
    }
    let heads: Vec<_> = live.iter().copied().filter(|live| !followed.contains(&live.number)).collect();
    // Free blocks, which a release had only begun with, are not live.
    let mut reached = 0;
    for head in &heads {
        leaves.each_block(head.number, &mut |number| {
            reached += usize::from(live.binary_search_by_key(&number, |live| live.number).is_ok());
        });
    }
    if reached != live.len() {
        let found = format!("{} of {}", live.len() - reached, live.len());
        let what = "blocks that no leaf leads to";
        return Err(damaged_in(leaves.block_bytes(), BlockByte::first_of(numbers.start), what, found, "none"));
    }
    Ok(heads)
}
