//! The lines on which a search depends: the test fills all others with noise, and the answer must stay the same.

use holm_designs::guide::{Aside, Fingerprints, Guide, Inlaid, Linear, Scalar, Sentinels, Vector};
use holm_designs::leaf::circ::Circ;
use holm_designs::leaf::fast_fair::FastFair;
use holm_medium::{Area, FIRST_EPOCH, Loc, Mapped, MappedOptions, Medium, Storage};
use holm_search::Search;
use holm_tree::Words;
use holm_tree::leaf::{Home, Leaf, ReadContext, WriteContext};
use std::collections::BTreeSet;

/// The number of lines of a block on which a search depends: the largest over present keys, and over absent ones. The
/// first `header` words keep their contents. Keys are inserted at both ends, so that a ring wraps around.
fn depends<L: Leaf>(header: usize) -> (usize, usize) {
    let block = size_of::<L>();
    let writer = Storage::open(Mapped::heap(2 * block, 64, MappedOptions::default()), FIRST_EPOCH).expect("a block");
    let image = writer.storage().medium.image();
    let leaf = image.at::<L>(Loc::new(Area::Leaves, block as u64)).expect("a block");
    let words = image.words(Area::Leaves.at(block as u64), block / 8).expect("a block");
    let (mut handle, volatile) = (writer.begin_write_at(FIRST_EPOCH), L::Volatile::default());
    let context = ReadContext { volatile: &volatile, keys: &Words, search: Search::detect(), image: None };
    leaf.format(&volatile, &mut handle, Home { keyspace: 1, skip: 0, first: true });
    let keys = |index: u64| if index.is_multiple_of(3) { 10_000 - index * 10 } else { 10_000 + index * 10 };
    for key in (0..L::CAPACITY as u64).map(keys) {
        let mut context = WriteContext { read: context, handle: &mut handle };
        assert_eq!(leaf.insert(&mut context, key, key + 1), Ok(None));
    }
    let mut most = (0, 0);
    for key in (0..L::CAPACITY as u64).map(keys).flat_map(|key| [key, key + 5]) {
        let right = leaf.get(context, key);
        assert_eq!(right, key.is_multiple_of(10).then_some(key + 1));
        let mut needed = BTreeSet::new();
        for line in 0..block / 64 {
            for noise in [0, u64::MAX, key, key ^ 1] {
                let at = (line * 8).max(header)..line * 8 + 8;
                let sound: Vec<_> = words[at.clone()].iter().map(|word| word.read()).collect();
                words[at.clone()].iter().for_each(|word| handle.write(word, noise));
                // A search that passes over noise may find a key in it; its payload is noise, too.
                if leaf.get(context, key) != right {
                    needed.insert(line);
                }
                words[at].iter().zip(&sound).for_each(|(word, value)| handle.write(word, *value));
            }
        }
        let most = if right.is_some() { &mut most.0 } else { &mut most.1 };
        *most = needed.len().max(*most);
    }
    most
}

/// The number of lines of a guide's signs.
fn signs<G: Guide>() -> usize {
    size_of::<G::Volatile>() / 64
}

#[test]
fn sentinels_find_the_one_line_of_a_key() {
    assert_eq!(depends::<FastFair<127, Sentinels<Aside<32>, Vector>>>(2).0, 1);
    assert_eq!(depends::<FastFair<127, Sentinels<Aside<32>, Scalar>>>(2).0, 1);
    assert_eq!(depends::<Circ<126, Sentinels<Aside<32>, Vector>>>(4).0, 1);
    assert!(depends::<FastFair<127, Sentinels<Aside<32>, Vector>>>(2).1 <= 2);
    assert!(depends::<Circ<126, Sentinels<Aside<32>, Scalar>>>(4).1 <= 2);
    assert_eq!(signs::<Sentinels<Aside<32>, Vector>>(), 4, "of 2 KiB: four lines of sentinels and one of pairs");
    assert_eq!(depends::<FastFair<127, Linear>>(2).0, 32, "the scan goes through all");
    // This includes the sentinels' own lines if they lie in the block.
    assert_eq!(depends::<FastFair<127, Sentinels<Inlaid<32>, Vector>>>(2).0, 5);
    assert_eq!(depends::<Circ<126, Sentinels<Inlaid<32>, Vector>>>(4).0, 5);
}

#[test]
fn fingerprints_find_the_one_line_of_a_key_where_no_other_matches() {
    let (there, _) = depends::<FastFair<63, Fingerprints<Aside<8>, Vector>>>(2);
    assert!((1..=4).contains(&there), "{there}");
    assert_eq!(signs::<Fingerprints<Aside<8>, Vector>>(), 1);
}
