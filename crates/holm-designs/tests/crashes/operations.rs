//! One leaf at many fills, one operation, every crash: for any design.

use crate::mixed;
use crate::recorded::Words as Bits;
use crate::stage::{Act, LAST, LeftOut, Sample, Stage, Staged, explore};

/// A leaf of these keys, put in a random order among other keys that were put and removed, so that its lines are filled
/// at random.
fn fill<L: Staged, S: Sample>(stage: &Stage<L, S>, ranks: &[usize], turn: u64) -> Bits {
    let fresh = Stage::<L, S>::new(&stage.keys);
    let mut order: Vec<_> = (0..ranks.len()).collect();
    order.sort_unstable_by_key(|index| mixed(*index as u64 + ranks.len() as u64));
    let passing = |index: usize| fresh.keys.ranked(500 + index);
    for (index, place) in order.into_iter().enumerate() {
        let guest = index < L::CAPACITY / 3;
        if guest {
            fresh.act(&Act::Put(passing(index), stage.keys.payload(&passing(index), turn)));
        }
        let key = fresh.keys.ranked(ranks[place]);
        fresh.act(&Act::Put(key.clone(), stage.keys.payload(&key, turn)));
        if guest {
            fresh.act(&Act::Remove(passing(index)));
        }
    }
    fresh.medium().snapshot()
}

/// Few pairs and many, with and without the least and the greatest key; every position and every operation. Then splits
/// and merges, each with the operations that may follow.
pub fn every_operation<L: Staged, S: Sample>(keys: &S, turn: u64) {
    let stage = Stage::<L, S>::new(keys);
    let mut images = 0;
    let mut check = |start: &Bits, acts: &[Act<S::Separator>]| {
        let verdict = explore(&stage, start, acts, LeftOut::Nothing);
        assert_eq!(verdict.wrong, Vec::<String>::new());
        images += verdict.images;
    };
    let put = |rank: usize, turn: u64| Act::Put(keys.ranked(rank), keys.payload(&keys.ranked(rank), turn));
    let gone = |rank: usize| Act::Remove(keys.ranked(rank));
    for count in [0, 1, 2, 3, 4, 5, 6, 9, 13, 18, L::CAPACITY - 3] {
        for (first, top) in [(0, false), (1, true)] {
            let mut ranks: Vec<_> = (0..count).map(|index| 2 * index + first).collect();
            if let Some(last) = ranks.last_mut().filter(|_| top) {
                *last = LAST;
            }
            let start = fill(&stage, &ranks, turn);
            let gaps = (0..=count).map(|at| (2 * at + first).wrapping_sub(1)).filter(|rank| *rank != usize::MAX);
            gaps.for_each(|rank| check(&start, &[put(rank, turn)]));
            for rank in &ranks {
                check(&start, &[gone(*rank)]);
                check(&start, &[put(*rank, turn + 1)]);
            }
        }
    }
    let full: Vec<_> = (0..L::CAPACITY).map(|index| 2 * index + 1).collect();
    let start = full_leaf(&stage, &full, turn);
    check(&start, &[Act::Split]);
    for rank in [0, L::CAPACITY - 1, 2 * L::CAPACITY] {
        check(&start, &[Act::Split, put(rank, turn)]);
    }
    check(&start, &[Act::Split, gone(1), gone(full[L::CAPACITY - 1])]);
    for (low, high) in [(1, 1), (3, 9), (5, 5), (L::CAPACITY / 2, 1)] {
        let start = halves(&stage, &full, turn, (low, high));
        check(&start, &[Act::Merge]);
        check(&start, &[Act::Merge, put(0, turn), put(LAST, turn)]);
        // The left leaf may be empty by then.
        check(&start, &[gone(full[0]), Act::Merge, put(0, turn)]);
    }
    assert!(images > 1_500, "{images}");
}

/// These fills, a few positions, and every operation but splits: for leaves of which the stage holds two.
pub fn some_operations<L: Staged, S: Sample>(keys: &S, turn: u64, fills: &[usize]) {
    let stage = Stage::<L, S>::new(keys);
    let put = |rank: usize, turn: u64| Act::Put(keys.ranked(rank), keys.payload(&keys.ranked(rank), turn));
    let mut images = 0;
    for &count in fills {
        let ranks: Vec<_> = (0..count).map(|index| 2 * index + 1).collect();
        let start = full_leaf(&stage, &ranks, turn);
        let mut check = |acts: &[Act<S::Separator>]| {
            let verdict = explore(&stage, &start, acts, LeftOut::Nothing);
            assert_eq!(verdict.wrong, Vec::<String>::new());
            images += verdict.images;
        };
        check(&[put(2 * count, turn)]);
        for rank in [ranks.first(), ranks.get(count / 2), ranks.last()].into_iter().flatten() {
            check(&[put(rank - 1, turn)]);
            check(&[put(*rank, turn + 1)]);
            check(&[Act::Remove(keys.ranked(*rank))]);
        }
    }
    assert!(images > 30, "{images}");
}

/// A full leaf of these keys, put in another order.
pub fn full_leaf<L: Staged, S: Sample>(stage: &Stage<L, S>, ranks: &[usize], turn: u64) -> Bits {
    let fresh = Stage::<L, S>::new(&stage.keys);
    for index in 0..ranks.len() {
        let key = fresh.keys.ranked(ranks[index * 11 % ranks.len()]);
        fresh.act(&Act::Put(key.clone(), stage.keys.payload(&key, turn)));
    }
    fresh.medium().snapshot()
}

/// Two leaves with these numbers of pairs.
fn halves<L: Staged, S: Sample>(stage: &Stage<L, S>, full: &[usize], turn: u64, (low, high): (usize, usize)) -> Bits {
    let fresh = Stage::<L, S>::new(&stage.keys);
    fresh.load(&full_leaf(stage, full, turn));
    fresh.recover().expect("a sound leaf");
    fresh.act(&Act::Split);
    let middle = fresh.lowest().len();
    let gone = full[low.min(middle)..middle].iter().chain(full.iter().skip(middle + high));
    gone.for_each(|rank| fresh.act(&Act::Remove(fresh.keys.ranked(*rank))));
    fresh.medium().snapshot()
}
