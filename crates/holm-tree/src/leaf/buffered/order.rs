//! The order in which pairs lie in fresh blocks.

use crate::pairs::arrange;
use std::cmp::Ordering;

/// One such order. The comparison may contradict itself after damage; the methods end all the same.
pub trait Order: Send + Sync + 'static {
    /// Orders the pairs of one fresh leaf.
    fn whole<T: Copy>(pairs: &mut [T], order: impl Fn(&T, &T) -> Ordering);

    /// Orders the pairs of two fresh leaves. Those before `middle`, which is neither end, are the lesser ones. Each
    /// part ends with its greatest pair, and the second part begins with its least.
    fn halves<T: Copy>(pairs: &mut [T], middle: usize, order: impl Fn(&T, &T) -> Ordering);
}

/// In ascending order of their keys.
pub struct Ascending;

impl Order for Ascending {
    fn whole<T: Copy>(pairs: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
        arrange(pairs, order);
    }

    fn halves<T: Copy>(pairs: &mut [T], _: usize, order: impl Fn(&T, &T) -> Ordering) {
        arrange(pairs, order);
    }
}

/// In the order found, or in the order that dividing them has left.
pub struct AsFound;

impl Order for AsFound {
    fn whole<T: Copy>(_: &mut [T], _: impl Fn(&T, &T) -> Ordering) {}

    fn halves<T: Copy>(pairs: &mut [T], middle: usize, order: impl Fn(&T, &T) -> Ordering) {
        select(pairs, middle, &order);
        let (lower, upper) = pairs.split_at_mut(middle);
        greatest_last(lower, &order);
        // Its least pair is in place already.
        greatest_last(&mut upper[1..], &order);
    }
}

/// Moves the thing that belongs at a place in sorted order to that place, and lesser things before it.
fn select<T: Copy>(things: &mut [T], place: usize, order: impl Fn(&T, &T) -> Ordering) {
    let (mut from, mut to) = (0, things.len());
    // Whatever the comparison returns, each turn leaves one thing less.
    while to - from > 1 {
        things.swap(from.midpoint(to), to - 1);
        let mut lesser = from;
        for at in from..to - 1 {
            if order(&things[at], &things[to - 1]).is_lt() {
                things.swap(at, lesser);
                lesser += 1;
            }
        }
        things.swap(lesser, to - 1);
        match place.cmp(&lesser) {
            Ordering::Less => to = lesser,
            Ordering::Equal => return,
            Ordering::Greater => from = lesser + 1,
        }
    }
}

fn greatest_last<T: Copy>(things: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let greatest = (0..things.len()).max_by(|a, b| order(&things[*a], &things[*b]));
    if let Some(greatest) = greatest {
        things.swap(greatest, things.len() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every length and place: the parts, their ends, and each thing exactly once.
    fn parts<O: Order>(is_sorted: bool) {
        for len in 2..=112u64 {
            for middle in 1..len as usize {
                let mut things: Vec<_> = (0..len).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40).collect();
                let mut wanted = things.clone();
                wanted.sort_unstable();
                O::halves(&mut things, middle, u64::cmp);
                let ends = [middle - 1, middle, things.len() - 1];
                assert_eq!(ends.map(|at| things[at]), ends.map(|at| wanted[at]), "{middle} of {len}");
                assert!(things[..middle].iter().all(|thing| *thing <= things[middle - 1]), "{middle} of {len}");
                assert!(!is_sorted || things == wanted);
                things.sort_unstable();
                assert_eq!(things, wanted, "each once");
            }
        }
    }

    #[test]
    fn halves_are_parted_at_the_middle() {
        parts::<Ascending>(true);
        parts::<AsFound>(false);
        let mut equal = [(7, 0), (7, 1), (7, 2)];
        AsFound::halves(&mut equal, 1, |a, b| a.0.cmp(&b.0));
        AsFound::halves(&mut equal, 2, |_, _| Ordering::Less);
        AsFound::halves(&mut equal, 2, |_, _| Ordering::Greater);
        equal.sort_unstable();
        assert_eq!(equal, [(7, 0), (7, 1), (7, 2)]);
    }

    #[test]
    fn a_fresh_leaf_is_sorted_or_as_it_was() {
        let mut things = [3, 1, 2];
        AsFound::whole(&mut things, i32::cmp);
        assert_eq!(things, [3, 1, 2]);
        Ascending::whole(&mut things, i32::cmp);
        assert_eq!(things, [1, 2, 3]);
    }
}
