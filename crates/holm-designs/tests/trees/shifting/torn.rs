//! Arbitrary bits: readers and recovery terminate, and nothing panics.

use crate::fixture::mixed;
use crate::names::Names;
use holm_designs::guide::{Aside, Fingerprints, Guide, Inlaid, Linear, Scalar, Segments, Sentinels, Vector};
use holm_designs::leaf::circ::Circ;
use holm_designs::leaf::fast_fair::{FastFair, Volatile};
use holm_medium::{Area, FIRST_EPOCH, Loc, Mapped, MappedOptions, Medium, Storage};
use holm_search::Search;
use holm_tree::leaf::{Linked, Pairs, Prefetch, ReadContext, RecoveryPoint, WriteContext};
use holm_tree::{Keys, Words};
use std::sync::atomic::Ordering::Relaxed;

/// Arbitrary bits in the block, and volatile data that `volatile` makes from a number.
fn torn<L, K: Keys>(keys: &K, search_keys: &[K::Separator], rounds: usize, volatile: fn(u64) -> L::Volatile)
where
    L: Linked + Prefetch,
{
    let block = size_of::<L>();
    let writer = Storage::open(Mapped::heap(3 * block, 64, MappedOptions::default()), FIRST_EPOCH).expect("a block");
    let image = writer.storage().medium.image();
    let words = image.words(Area::Leaves.at(block as u64), block / 4).expect("two blocks");
    let leaf = |number: usize| image.at::<L>(Loc::new(Area::Leaves, (number * block) as u64)).expect("two blocks");
    let (left, right) = (leaf(1), leaf(2));
    let mut handle = writer.begin_write_at(FIRST_EPOCH);
    let mut seed = 0;
    for round in 0..rounds {
        for word in words {
            seed += 1;
            let bits = mixed(seed);
            // Ties, zeros and existing records are likelier than in pure noise.
            let value = [0, 1, bits % 4, bits % 40, bits, bits >> 29][(bits >> 61) as usize % (round % 6 + 1)];
            handle.write(word, value);
        }
        let volatile = volatile([round as u64 % 33, mixed(seed)][round % 2]);
        let context = ReadContext { volatile: &volatile, keys, search: Search::detect(), image: None };
        for search_key in search_keys {
            let _ = (
                left.get(context, K::search_key(search_key)),
                left.candidate_payload(context, K::search_key(search_key)),
            );
        }
        let mut pairs = Pairs::default();
        left.block_pairs(&volatile, &mut pairs);
        let _ = (left.next(), left.recover(1, &volatile, &mut handle, RecoveryPoint::Visible, &|_| None));
        left.repair_link(&mut WriteContext { read: context, handle: &mut handle }, Some(right));
        left.rebuild_volatile(context);
        left.block_pairs(&volatile, &mut pairs);
    }
}

fn counted<G: Guide>(count: u64) -> Volatile<G> {
    let volatile = Volatile::default();
    volatile.count.store(count as u32, Relaxed);
    volatile
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
        names.write_record(&[0, 0, 0, 0, 0, 0, 0, i / 8, i]);
    });
    let search_keys = [vec![], vec![0; 9], vec![0, 0, 0, 0, 0, 0, 0, 2, 17], vec![255; 12]];
    torn::<FastFair<31, Linear>, _>(&names, &search_keys, 2_000, counted);
    torn::<Circ<30, Segments>, _>(&names, &search_keys, 2_000, |_| ());
    torn::<Circ<30, Sentinels<Inlaid<8>, Vector>>, _>(&names, &search_keys, 2_000, |_| ());
}
