//! Isle-Tree's lines whose counter is zero: what they contain means nothing, whatever a crash leaves of them.

use crate::names::Names;
use crate::operations::{every_operation, full_leaf};
use crate::recorded::BLOCKS;
use crate::stage::{Act, LeftOut, Sample, Stage, explore};
use holm_designs::leaf::isle::Isle;
use holm_designs::look::ONE_BY_ONE;
use holm_tree::Words;
use holm_tree::leaf::Leaf;

/// A split flushes the lines that it fills. The third pair of its left half goes into a line of the block's last use,
/// where the other slots must be vacant before a counter admits the first one.
fn survives_in_used_blocks<S: Sample>(keys: &S) {
    let (stage, count) = (Stage::<Isle<7, ONE_BY_ONE>, S>::new(keys), Isle::<7, ONE_BY_ONE>::CAPACITY);
    let full: Vec<_> = (0..count).map(|index| 2 * index + 1).collect();
    let mut start = full_leaf(&stage, &full, 2);
    (2..BLOCKS).for_each(|block| start[block * 64 + 8..(block + 1) * 64].fill(0xABAD_1DEA));
    let put = |rank: usize| Act::Put(keys.ranked(rank), keys.payload(&keys.ranked(rank), 2));
    let gone = |rank: usize| Act::Remove(keys.ranked(rank));
    let fills_its_lines = [Act::Split, put(0), put(4)];
    for more in [[put(2), put(6)], [put(6), put(2)], [put(2), gone(2)], [put(2), Act::Merge]] {
        let acts = [&fills_its_lines[..], &more].concat();
        let verdict = explore(&stage, &start, &acts, LeftOut::Nothing);
        assert_eq!(verdict.wrong, Vec::<String>::new());
        assert!(verdict.images > 300, "{}", verdict.images);
    }
}

#[test]
fn words_survive_in_blocks_that_were_used() {
    survives_in_used_blocks(&Words);
}

#[test]
fn keys_with_few_heads_survive_in_blocks_that_were_used() {
    survives_in_used_blocks(&Names::default());
}

/// More than one word of counters.
#[test]
fn a_leaf_of_a_kilobyte_survives_every_crash() {
    every_operation::<Isle<15, ONE_BY_ONE>, _>(&Words, 2);
    every_operation::<Isle<15, ONE_BY_ONE>, _>(&Names::default(), 0);
}
