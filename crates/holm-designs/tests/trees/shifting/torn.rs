//! Arbitrary bits: readers and recovery terminate, and nothing panics.

use crate::grove::mixed;
use crate::names::Names;
use holm_designs::guide::{Aside, Fingerprints, Guide, Inlaid, Linear, Scalar, Segments, Sentinels, Vector};
use holm_designs::leaf::circ::Circ;
use holm_designs::leaf::fast_fair::{Beside, FastFair};
use holm_medium::{Area, FIRST_EPOCH, Loc, Mapped, MappedOptions, Medium, Pool};
use holm_search::Search;
use holm_tree::leaf::{Cut, Leaf, Lens, Pairs};
use holm_tree::{Keys, Words};
use std::sync::atomic::Ordering::Relaxed;

/// Arbitrary bits in the block, and volatile data that `beside` makes from a number.
fn torn<L: Leaf, K: Keys>(keys: &K, probes: &[K::Fence], rounds: usize, beside: fn(u64) -> L::Beside) {
    let block = size_of::<L>();
    let quill = Pool::open(Mapped::heap(3 * block, 64, MappedOptions::default()), FIRST_EPOCH).expect("a block");
    let image = quill.pool().medium.image();
    let words = image.words(Area::Leaves.at(block as u64), block / 4).expect("two blocks");
    let leaf = |number: usize| image.at::<L>(Loc::new(Area::Leaves, (number * block) as u64)).expect("two blocks");
    let (left, right) = (leaf(1), leaf(2));
    let lens = Lens { keys, search: Search::detect(), image: None };
    let mut pen = quill.cut_at(FIRST_EPOCH);
    let mut seed = 0;
    for round in 0..rounds {
        for word in words {
            seed += 1;
            let bits = mixed(seed);
            // Ties, zeros and existing records are likelier than in pure noise.
            let value = [0, 1, bits % 4, bits % 40, bits, bits >> 29][(bits >> 61) as usize % (round % 6 + 1)];
            pen.write(word, value);
        }
        let beside = beside([round as u64 % 33, mixed(seed)][round % 2]);
        for probe in probes {
            let _ = (left.get(&beside, lens, K::probe(probe)), left.glance(&beside, lens, K::probe(probe)));
        }
        let mut pairs = Pairs::default();
        left.live(&beside, &mut pairs);
        let _ = (left.next(), left.recover(1, &beside, &mut pen, Cut::Visible, &|_| None));
        left.mend(&beside, lens, &mut pen, Some(right));
        left.rederive(&beside, lens);
        left.live(&beside, &mut pairs);
    }
}

fn counted<G: Guide>(count: u64) -> Beside<G> {
    let beside = Beside::default();
    beside.count.store(count as u32, Relaxed);
    beside
}

#[test]
fn never_panics_on_torn_bits() {
    let words = [0, 1, 2, 39, u64::MAX];
    torn::<FastFair<31, Linear>, _>(&Words, &words, 4_000, counted);
    torn::<Circ<30, Segments>, _>(&Words, &words, 4_000, |_| ());
    torn::<Circ<30, Sentinels<Inlaid<8>, Scalar>>, _>(&Words, &words, 4_000, |_| ());
    torn::<Circ<30, Sentinels<Inlaid<8>, Vector>>, _>(&Words, &words, 4_000, |_| ());
    torn::<FastFair<31, Sentinels<Inlaid<8>, Vector>>, _>(&Words, &words, 4_000, counted);
    torn::<FastFair<255, Fingerprints<Inlaid<32>, Vector>>, _>(&Words, &words, 300, counted);
    torn::<Circ<254, Fingerprints<Aside<32>, Scalar>>, _>(&Words, &words, 300, |_| Default::default());
    let names = Names::default();
    (0..40u8).for_each(|i| {
        names.lay(&[0, 0, 0, 0, 0, 0, 0, i / 8, i]);
    });
    let probes = [vec![], vec![0; 9], vec![0, 0, 0, 0, 0, 0, 0, 2, 17], vec![255; 12]];
    torn::<FastFair<31, Linear>, _>(&names, &probes, 2_000, counted);
    torn::<Circ<30, Segments>, _>(&names, &probes, 2_000, |_| ());
    torn::<Circ<30, Sentinels<Inlaid<8>, Vector>>, _>(&names, &probes, 2_000, |_| ());
}
