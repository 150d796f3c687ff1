//! One leaf at every fill, one operation at every position, every crash: for 512-byte leaves that shift.

use crate::recorded::{BLOCKS, Words as Bits};
use crate::stage::{Act, LAST, LeftOut, Sample, Stage, Staged, explore};
use holm_tree::leaf::Linked;

/// What a leaf has been through before it is filled.
#[derive(Clone, Copy)]
pub enum Past {
    /// The ring has advanced by that many places.
    Shifted(usize),
    /// Pairs that a split left behind lie after those in use.
    Worn,
}

/// A leaf of pairs.
pub fn fill<L: Linked + Staged, S: Sample>(stage: &Stage<L, S>, ranks: &[usize], turn: u64, past: Past) -> Bits {
    let Past::Shifted(shift) = past else { return worn_out(stage, ranks, turn) };
    let fresh = Stage::<L, S>::new(&stage.keys);
    let put = |rank: usize| {
        let key = fresh.keys.ranked(rank);
        fresh.act(&Act::Put(key.clone(), stage.keys.payload(&key, turn)));
    };
    let gone = |rank: usize| fresh.act(&Act::Remove(fresh.keys.ranked(rank)));
    for step in 0..shift {
        put(500 + step);
        if step > 0 {
            gone(500 + step - 1);
        }
    }
    for (index, rank) in ranks.iter().enumerate() {
        put(*rank);
        if index == 0 && shift > 0 {
            gone(500 + shift - 1);
        }
    }
    fresh.medium().snapshot()
}

fn worn_out<L: Linked + Staged, S: Sample>(stage: &Stage<L, S>, ranks: &[usize], turn: u64) -> Bits {
    let fresh = Stage::<L, S>::new(&stage.keys);
    let passing = |rank: usize| fresh.keys.ranked(500 + rank);
    (0..L::CAPACITY).for_each(|rank| fresh.act(&Act::Put(passing(rank), stage.keys.payload(&passing(rank), turn))));
    fresh.act(&Act::Split);
    // Its neighbour is not part of the test.
    fresh.leaf(1).relink(&mut fresh.write(1, &mut fresh.handle()), 0);
    fresh.recover().expect("a chain of one");
    let mut left = L::CAPACITY / 2;
    for (index, rank) in ranks.iter().enumerate() {
        let key = fresh.keys.ranked(*rank);
        fresh.act(&Act::Put(key.clone(), stage.keys.payload(&key, turn)));
        if index < L::CAPACITY / 2 {
            left -= 1;
            fresh.act(&Act::Remove(passing(left)));
        }
    }
    (0..left).rev().for_each(|rank| fresh.act(&Act::Remove(passing(rank))));
    let mut image = fresh.medium().snapshot();
    image[128..].fill(0xABAD_1DEA);
    (2..BLOCKS).for_each(|block| image[block * 64 + 1] = 0);
    image
}

/// These fills, with and without the least and the greatest key; every position and every operation.
pub fn every_operation<L: Linked + Staged, S: Sample>(keys: &S, fills: &[usize], turn: u64, worn: bool) -> usize {
    every_operation_from::<L, S>(keys, fills, turn, if worn { Past::Worn } else { Past::Shifted(0) })
}

/// The same after a ring has advanced.
pub fn every_operation_from<L: Linked + Staged, S: Sample>(keys: &S, fills: &[usize], turn: u64, past: Past) -> usize {
    let stage = Stage::<L, S>::new(keys);
    let mut images = 0;
    for &count in fills {
        for (first, top) in [(0, false), (1, false), (1, true)] {
            let mut ranks: Vec<_> = (0..count).map(|index| 2 * index + first).collect();
            if let Some(last) = ranks.last_mut().filter(|_| top) {
                *last = LAST;
            }
            let start = fill(&stage, &ranks, turn, past);
            let mut acts = vec![];
            for at in 0..=count {
                let rank = if at == count { LAST - 1 + usize::from(!top) } else { (2 * at + first).wrapping_sub(1) };
                if rank != usize::MAX && !(top && at == count) && count < L::CAPACITY {
                    let key = keys.ranked(rank);
                    acts.push(Act::Put(key.clone(), keys.payload(&key, turn)));
                }
            }
            for rank in &ranks {
                let key = keys.ranked(*rank);
                acts.push(Act::Remove(key.clone()));
                acts.push(Act::Put(key.clone(), keys.payload(&key, turn + 1)));
            }
            if count == L::CAPACITY {
                acts.push(Act::Split);
            }
            for act in acts {
                let verdict = explore(&stage, &start, &[act], LeftOut::Nothing);
                assert_eq!(verdict.wrong, Vec::<String>::new(), "{count} pairs from rank {first}, top {top}");
                images += verdict.images;
            }
        }
    }
    images
}
