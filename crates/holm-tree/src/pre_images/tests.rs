//! Chains, filters and retained payloads, alone.

use super::*;
use crate::keys::Words;
use crate::{Index as _, TreeSet, designs};
use holm_medium::{FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps as _, Writer};
use holm_search::Search;
use rand::seq::IteratorRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;

fn pair(payload: u64) -> Slot {
    Slot { head: payload, payload }
}

fn open(pre_images: &PreImages, generation: u64) {
    pre_images.begin(generation);
}

fn keep(pre_images: &PreImages, leaf: u32, generation: u64, payloads: &[u64]) {
    let pairs = payloads.iter().map(|payload| pair(*payload)).collect();
    let contents = PreImageContents { skip: 0, pairs, stamp: 0 };
    pre_images.preserve(leaf, generation, [].into_iter(), || contents);
}

/// Each payload gives way in the epoch of its own number.
fn retain(pre_images: &PreImages, leaf: u32, payload: u64) -> bool {
    pre_images.retain(leaf, GivenWay { payload, bytes: 8, epoch: payload })
}

fn held(pre_images: &PreImages, leaf: u32, generation: u64) -> Option<Vec<u64>> {
    pre_images.at(leaf, generation).map(|pre_image| pre_image.contents.pairs.iter().map(|slot| slot.payload).collect())
}

#[test]
fn each_snapshot_finds_what_the_leaf_held() {
    let pre_images = PreImages::default();
    keep(&pre_images, 5, 0, &[1]);
    assert_eq!(held(&pre_images, 5, 1), None, "nobody looks back");
    open(&pre_images, 1);
    keep(&pre_images, 5, 1, &[1]);
    keep(&pre_images, 5, 1, &[2]);
    open(&pre_images, 2);
    open(&pre_images, 3);
    assert_eq!(held(&pre_images, 5, 3), None, "the leaf is as it was");
    keep(&pre_images, 5, 3, &[3]);
    assert_eq!([1, 2, 3].map(|generation| held(&pre_images, 5, generation)), [vec![1], vec![3], vec![3]].map(Some));
    assert_eq!(pre_images.close(2, |_| panic!("others are open")), []);
    assert_eq!([1, 3].map(|generation| held(&pre_images, 5, generation)), [vec![1], vec![3]].map(Some));
    pre_images.close(3, |_| panic!("one is open"));
    assert_eq!(held(&pre_images, 5, 1), Some(vec![1]));
    let mut ended = false;
    pre_images.close(1, |_| ended = true);
    assert!(ended && pre_images.bytes() == (0, 0) && pre_images.chains.load(Ordering::Relaxed) == 0);
    assert_eq!(pre_images.close(1, |_| panic!("it is closed")), []);
}

/// The clock goes on saying that a snapshot is open, and what was kept for it stays.
#[test]
fn a_snapshot_that_begins_while_the_last_one_closes_keeps_what_it_needs() {
    let pre_images = PreImages::default();
    open(&pre_images, 1);
    keep(&pre_images, 5, 1, &[10]);
    let freed = pre_images.close(1, |is_open| {
        assert!(!is_open());
        open(&pre_images, 2);
        assert!(is_open());
        keep(&pre_images, 6, 2, &[20]);
        assert!(retain(&pre_images, 6, 20));
    });
    assert_eq!((freed, held(&pre_images, 6, 2)), (vec![], Some(vec![20])));
    assert_eq!(held(&pre_images, 5, 1), None);
    assert_eq!(pre_images.close(2, |_| ()), [Released { payload: 20, epoch: 20 }]);
}

/// Every order in which three snapshots close: each payload is freed once, and not while a snapshot needs it.
#[test]
fn payloads_are_freed_once_and_in_time() {
    let orders = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]];
    for order in orders {
        let pre_images = PreImages::default();
        // In each generation, payload `g` gives way to `g + 1`; 10 stays through the first two.
        open(&pre_images, 1);
        keep(&pre_images, 5, 1, &[1, 10]);
        assert!(retain(&pre_images, 5, 1));
        assert!(!retain(&pre_images, 5, 7), "put since");
        open(&pre_images, 2);
        keep(&pre_images, 5, 2, &[2, 10]);
        assert!(retain(&pre_images, 5, 2) && retain(&pre_images, 5, 10));
        open(&pre_images, 3);
        keep(&pre_images, 5, 3, &[3]);
        assert!(retain(&pre_images, 5, 3));
        let needed = |open: &[u64]| -> BTreeSet<u64> {
            let of = |generation: &u64| match generation {
                1 => vec![1, 10],
                2 => vec![2, 10],
                _ => vec![3],
            };
            open.iter().flat_map(of).collect()
        };
        let mut kept: BTreeSet<u64> = [1, 2, 3, 10].into();
        for at in 0..3 {
            for Released { payload, epoch } in pre_images.close(order[at], |_| ()) {
                assert!(kept.remove(&payload), "{payload} is freed twice");
                assert_eq!(epoch, payload, "the epoch in which it gave way, after which the grace period counts");
            }
            assert_eq!(kept, needed(&order[at + 1..]), "{order:?}, after {}", order[at]);
        }
        assert_eq!(pre_images.bytes(), (0, 0));
    }
}

/// A short snapshot beside a long one leaves nothing behind.
#[test]
fn chains_do_not_grow_with_snapshots_that_close() {
    let pre_images = PreImages::default();
    open(&pre_images, 1);
    keep(&pre_images, 5, 1, &[1]);
    for generation in 2..100 {
        open(&pre_images, generation);
        keep(&pre_images, 5, generation, &[generation]);
        assert!(retain(&pre_images, 5, generation));
        assert_eq!(pre_images.close(generation, |_| ()), [Released { payload: generation, epoch: generation }]);
        assert_eq!(
            (held(&pre_images, 5, 1), pre_images.shard(5).lock().expect("no panic")[&5].len()),
            (Some(vec![1]), 1)
        );
    }
}

#[test]
fn both_halves_of_a_split_have_the_pasts() {
    let pre_images = PreImages::default();
    open(&pre_images, 1);
    keep(&pre_images, 5, 1, &[1, 2]);
    pre_images.divide(5, [70, 71].into_iter());
    assert_eq!([5, 70, 71].map(|leaf| held(&pre_images, leaf, 1).is_some()), [false, true, true]);
    open(&pre_images, 2);
    keep(&pre_images, 70, 2, &[3]);
    assert_eq!((held(&pre_images, 70, 2), held(&pre_images, 71, 2)), (Some(vec![3]), None));
    assert!(retain(&pre_images, 71, 2) && !retain(&pre_images, 70, 1));
    pre_images.divide(71, [71, 72].into_iter());
    pre_images.forget(71);
    assert_eq!([71, 72].map(|leaf| held(&pre_images, leaf, 1).is_some()), [false, true]);
}

/// Leaves that change at random beside snapshots, and sets of what each snapshot has.
struct Model {
    pre_images: PreImages,
    leaves: Vec<Vec<u64>>,
    snapshots: BTreeMap<u64, BTreeSet<u64>>,
    retained: BTreeSet<u64>,
    /// Payloads whose records are free again.
    free: Vec<u64>,
    generation: u64,
    next: u64,
}

impl Model {
    fn is_needed(&self, payload: u64) -> bool {
        self.snapshots.values().any(|payloads| payloads.contains(&payload))
    }

    fn begin(&mut self) {
        self.generation += 1;
        open(&self.pre_images, self.generation);
        self.snapshots.insert(self.generation, self.leaves.iter().flatten().copied().collect());
    }

    fn close(&mut self, generation: u64) {
        self.snapshots.remove(&generation);
        let released: BTreeSet<_> =
            self.pre_images.close(generation, |_| ()).iter().map(|released| released.payload).collect();
        let expected: BTreeSet<_> = self.retained.iter().copied().filter(|payload| !self.is_needed(*payload)).collect();
        assert_eq!(released, expected);
        self.retained.retain(|payload| !released.contains(payload));
        self.free.extend(released);
    }

    fn put(&mut self, leaf: usize, slot: usize) {
        let payload = self.free.pop().unwrap_or(self.next);
        self.next += 1;
        let slots = self.leaves[leaf].iter().copied().map(pair).collect();
        let contents = PreImageContents { skip: 0, pairs: slots, stamp: 0 };
        self.pre_images.preserve(leaf as u32, self.generation, [payload].into_iter(), || contents);
        let old = std::mem::replace(&mut self.leaves[leaf][slot], payload);
        let is_retained = retain(&self.pre_images, leaf as u32, old);
        assert_eq!(is_retained, self.is_needed(old), "{old} in leaf {leaf}, {:?}", self.snapshots);
        if is_retained {
            self.retained.insert(old);
        } else {
            self.free.push(old);
        }
    }

    /// Moves half of a leaf into a fresh one.
    fn split(&mut self, leaf: usize) {
        let half = self.leaves[leaf].len() / 2;
        let moved = self.leaves[leaf].split_off(half);
        self.leaves.push(moved);
        self.pre_images.divide(leaf as u32, [leaf as u32, self.leaves.len() as u32 - 1].into_iter());
    }
}

#[test]
fn a_payload_is_retained_exactly_if_an_open_snapshot_has_it() {
    for seed in 0..40 {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut model = Model {
            pre_images: PreImages::default(),
            leaves: vec![(1..=64).collect(), (65..=128).collect()],
            snapshots: BTreeMap::new(),
            retained: BTreeSet::new(),
            free: vec![],
            generation: 0,
            next: 1_000,
        };
        for _ in 0..2_000 {
            let leaf = random.random_range(0..model.leaves.len());
            match random.random_range(0..40) {
                0 if model.snapshots.len() < 4 => model.begin(),
                1 => {
                    if let Some(generation) = model.snapshots.keys().copied().choose(&mut random) {
                        model.close(generation);
                    }
                }
                2 if model.leaves[leaf].len() > 8 => model.split(leaf),
                _ => model.put(leaf, random.random_range(0..model.leaves[leaf].len())),
            }
        }
        while let Some(generation) = model.snapshots.keys().next().copied() {
            model.close(generation);
        }
        assert!(model.retained.is_empty() && model.pre_images.bytes() == (0, 0));
    }
}

/// Trees in memory, and their writer.
fn trees() -> (Arc<Writer<Mapped>>, TreeSet<Mapped, designs::buffered, Words>) {
    let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
    let medium = Mapped::anonymous(options).expect("address space");
    let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
    let tree_set = TreeSet::<Mapped, designs::buffered, Words>::new(writer.clone(), Words, Search::detect());
    (writer, tree_set)
}

/// The filters of a snapshot are volatile memory of the trees, and stay for later snapshots.
#[test]
fn filters_count_as_volatile_bytes() {
    const KEYS: u64 = 20_000;
    let (writer, tree_set) = trees();
    let pin = || writer.clock().pin().expect("sound");
    let root = tree_set.create_tree(&mut pin(), 7).expect("memory");
    let put_all = || {
        for key in 0..KEYS {
            tree_set.put(&root, &mut pin(), key, key + 1).expect("memory");
        }
    };
    put_all();
    let (before, leaves) = (tree_set.volatile_bytes(), u64::from(writer.storage().space.block_frontier()));
    assert_eq!(tree_set.pre_images.filter_bytes(), 0, "without a snapshot there is none");
    let (generation, _) = tree_set.begin_snapshot().expect("sound");
    put_all();
    assert_eq!(u64::from(writer.storage().space.block_frontier()), leaves, "no leaf has been split");
    let filters = tree_set.volatile_bytes() - before;
    assert!(filters >= KEYS / 32 * size_of::<PreImageFilter>() as u64, "{filters} bytes for {leaves} leaves");
    tree_set.close_snapshot(generation);
    assert_eq!(tree_set.volatile_bytes(), before + filters, "they are reused and not returned");
}

/// Writers see a snapshot between two epochs before its epoch is durable, which that may never be: what they retained
/// for it is returned with the error. Otherwise the records are in use for ever.
#[test]
fn a_snapshot_that_fails_returns_what_was_retained_for_it() {
    let (writer, tree_set) = trees();
    let pin = || writer.clock().pin().expect("sound");
    let root = tree_set.create_tree(&mut pin(), 7).expect("memory");
    tree_set.put(&root, &mut pin(), 1, 10).expect("memory");
    std::thread::scope(|scope| {
        let (said, begun) = std::sync::mpsc::channel();
        let tree_set = &tree_set;
        let beginning = scope.spawn(move || {
            let ended = tree_set.begin_snapshot_between_epochs(Box::new(move |generation| {
                said.send(generation).expect("a receiver");
            }));
            (ended.is_ok(), begun.recv().map(|generation| tree_set.close_snapshot(generation)).expect("it has begun"))
        });
        // It asks for the end of the epoch.
        assert!(!writer.clock().sleep(None));
        let ended = writer.clock().advance();
        // The next epoch does not belong to the snapshot.
        let old = tree_set.put(&root, &mut pin(), 1, 11).expect("memory").expect("it was there");
        assert_eq!((old.payload, old.reuse), (10, crate::superseded::Reuse::WithSnapshots));
        writer.clock().poison(&holm_medium::MediumError::Poisoned { why: "a test".into() });
        let expected = vec![Released { payload: 10, epoch: ended + 1 }];
        assert_eq!(beginning.join().expect("no panic"), (false, expected));
    });
    assert_eq!(tree_set.pre_images.bytes(), (0, 0));
}
