//! The order in which a round measures the cells of a study. A fixed order favours a cell that always follows the same
//! neighbour: what the neighbour leaves in the allocator, in the caches and in the processor's clock is then a part of
//! its number. Each round has an order of its own, which a seed determines.

use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the indices of `count` cells in the order of a round.
pub(crate) fn sequence(count: usize, seed: u64, round: usize) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..count).collect();
    indices.shuffle(&mut Pcg64Mcg::new((u128::from(seed) << 64) | ((round as u128) << 1) | 1));
    indices
}

/// Returns a seed for a run that is given none, short enough to be typed.
pub(crate) fn fresh_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::from(since.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_round_has_every_cell_once_in_an_order_that_the_seed_repeats() {
        let orders = |seed| (0..5).map(|round| sequence(12, seed, round)).collect::<Vec<_>>();
        for order in orders(7) {
            assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), (0..12).collect(), "{order:?}");
        }
        assert_eq!(orders(7), orders(7));
        assert_ne!(orders(7), orders(8));
        assert_eq!(orders(7).into_iter().collect::<BTreeSet<_>>().len(), 5, "two rounds have one order");
    }

    #[test]
    fn no_cell_is_always_the_first() {
        let firsts: BTreeSet<usize> = (0..40).map(|round| sequence(4, 7, round)[0]).collect();
        assert_eq!(firsts, (0..4).collect());
    }
}
