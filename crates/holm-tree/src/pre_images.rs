//! The pre-images of leaves: what leaves held when snapshots began.
//!
//! While a snapshot is open, the first change of a leaf after the snapshot began is preceded by a copy of the leaf's
//! pairs, its *pre-image*. Pairs are two words, and records never change. So memory is bounded by the number of leaves
//! and of open snapshots, and not by the number of writes.
//!
//! A pre-image is true up to a generation. A leaf's pre-images are a chain: each says what the leaf held for the open
//! snapshots after the generation of the one before it, up to its own. For later snapshots the leaf itself is as it
//! was. A split gives the chain to both leaves; a reader leaves out the pairs of the other one. Leaves do not merge
//! while a snapshot is open.
//!
//! A payload that gives way while the latest pre-image names it is *retained*: its record is freed once no open
//! snapshot needs it.
//!
//! Writers come here under the latch of the leaf, and readers validate the latch afterwards, so a chain and its leaf
//! belong together. Locks are taken in the order `changes`, one shard, `open`, `retained`.

use crate::keys::{Keys, Slot};
use crate::sync::Mutex;
use holm_medium::Epoch;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

/// Enough that threads rarely meet in one.
const SHARDS: usize = 64;

fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> + '_ {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a leaf held, and since when.
pub(crate) struct PreImageContents {
    /// Bytes that heads leave out.
    pub(crate) skip: usize,
    /// In any order.
    pub(crate) pairs: Box<[Slot]>,
    /// The epoch of the leaf's last change before.
    pub(crate) stamp: Epoch,
}

/// What a leaf held for some snapshots.
pub(crate) struct PreImage {
    /// The last generation of snapshots for which this is true.
    upto: u64,
    /// What the leaf held.
    pub(crate) contents: PreImageContents,
    /// The bytes of all pre-images.
    bytes: Arc<AtomicU64>,
}

impl PreImage {
    fn size(&self) -> u64 {
        (size_of::<Self>() + size_of_val(&*self.contents.pairs)) as u64
    }

    /// Returns the payload of a key.
    pub(crate) fn get<K: Keys>(&self, keys: &K, search_key: K::SearchKey<'_>) -> Option<u64> {
        let head = K::head(search_key, self.contents.skip);
        let mut alike = self.contents.pairs.iter().filter(|slot| slot.head == head);
        alike.find(|slot| keys.is(**slot, search_key)).map(|slot| slot.payload)
    }

    fn names(&self, payload: u64) -> bool {
        self.contents.pairs.iter().any(|slot| slot.payload == payload)
    }
}

impl Drop for PreImage {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.size(), Ordering::Relaxed);
    }
}

/// A payload that has given way, the bytes of its record, and the snapshots that need it: those after one generation,
/// up to another.
struct Retained {
    payload: u64,
    bytes: u64,
    after: u64,
    upto: u64,
}

/// The pre-images of a leaf, the oldest first.
type Chain = Vec<Arc<PreImage>>;

/// The pre-images of all leaves of a tree set.
pub(crate) struct PreImages {
    /// Held while a snapshot begins or closes.
    changes: Mutex<()>,
    /// The chains, by the leaf's number.
    shards: Vec<Mutex<HashMap<u32, Chain>>>,
    /// The number of chains.
    chains: AtomicU64,
    /// The open generations.
    open: Mutex<BTreeSet<u64>>,
    /// The greatest of them; 0 if there is none.
    newest_open: AtomicU64,
    retained: Mutex<Vec<Retained>>,
    pre_image_bytes: Arc<AtomicU64>,
    retained_bytes: AtomicU64,
}

impl Default for PreImages {
    fn default() -> Self {
        PreImages {
            changes: Mutex::default(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            chains: AtomicU64::new(0),
            open: Mutex::default(),
            newest_open: AtomicU64::new(0),
            retained: Mutex::default(),
            pre_image_bytes: Arc::default(),
            retained_bytes: AtomicU64::new(0),
        }
    }
}

/// Returns whether a generation after one and up to another is open.
fn is_open_within(open: &BTreeSet<u64>, after: u64, upto: u64) -> bool {
    after < upto && open.range(after + 1..=upto).next().is_some()
}

/// Removes the pre-images that no open snapshot needs. What remains is true for all open snapshots that it then stands
/// for.
fn prune(chain: &mut Chain, open: &BTreeSet<u64>) {
    let mut after = 0;
    chain.retain(|pre_image| is_open_within(open, std::mem::replace(&mut after, pre_image.upto), pre_image.upto));
}

impl PreImages {
    fn shard(&self, leaf: u32) -> &Mutex<HashMap<u32, Chain>> {
        &self.shards[leaf as usize % SHARDS]
    }

    /// Begins a generation with `begin`, which gets a function to call before any writer can see the generation.
    pub(crate) fn begin<T>(&self, begin: impl FnOnce(&mut dyn FnMut(u64)) -> T) -> T {
        let _changes = lock(&self.changes);
        begin(&mut |generation| {
            lock(&self.open).insert(generation);
            self.newest_open.store(generation, Ordering::SeqCst);
        })
    }

    /// Closes a generation. `end_snapshots` runs if it was the last open one. Returns the payloads that no snapshot
    /// needs any more; none if the generation is not open. O(leaves changed and payloads retained while snapshots are
    /// open).
    pub(crate) fn close(&self, generation: u64, end_snapshots: impl FnOnce()) -> Vec<u64> {
        let _changes = lock(&self.changes);
        let open = {
            let mut open = lock(&self.open);
            if !open.remove(&generation) {
                return Vec::new();
            }
            self.newest_open.store(open.last().copied().unwrap_or(0), Ordering::SeqCst);
            open.clone()
        };
        if open.is_empty() {
            end_snapshots();
        }
        // Chains before payloads: a writer that has retained a payload had found its chain, under the shard's lock.
        for shard in &self.shards {
            let mut chains = lock(shard);
            let before = chains.len();
            chains.retain(|_, chain| {
                prune(chain, &open);
                !chain.is_empty()
            });
            self.chains.fetch_sub((before - chains.len()) as u64, Ordering::Relaxed);
            chains.shrink_to_fit();
        }
        let mut freed = Vec::new();
        lock(&self.retained).retain(|retained| {
            let needed = is_open_within(&open, retained.after, retained.upto);
            if !needed {
                freed.push(retained.payload);
                self.retained_bytes.fetch_sub(retained.bytes, Ordering::Relaxed);
            }
            needed
        });
        freed
    }

    /// Returns the bytes of all pre-images, and of the records that are retained.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.pre_image_bytes.load(Ordering::Relaxed), self.retained_bytes.load(Ordering::Relaxed))
    }

    /// Keeps what a leaf holds, before a writer of this generation changes it: the writer does not belong to the
    /// snapshots up to that generation. The writer holds the leaf's latch.
    pub(crate) fn preserve(&self, leaf: u32, generation: u64, copy: impl FnOnce() -> PreImageContents) {
        let mut chains = lock(self.shard(leaf));
        // Under the lock: a snapshot that closes is no longer open when it looks through the chains. Otherwise it could
        // miss a pre-image that is made for it, which would stay until another one closes.
        let upto = generation.min(self.newest_open.load(Ordering::SeqCst));
        let chain = chains.get_mut(&leaf);
        if upto == 0 || chain.as_ref().and_then(|chain| chain.last()).is_some_and(|pre_image| pre_image.upto >= upto) {
            return;
        }
        let pre_image = PreImage { upto, contents: copy(), bytes: self.pre_image_bytes.clone() };
        self.pre_image_bytes.fetch_add(pre_image.size(), Ordering::Relaxed);
        let pre_image = Arc::new(pre_image);
        match chain {
            Some(chain) => {
                prune(chain, &lock(&self.open));
                chain.push(pre_image);
            }
            None => {
                chains.insert(leaf, vec![pre_image]);
                self.chains.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Retains a payload of this many bytes that gives way in a leaf, if an open snapshot needs it. Returns whether one
    /// does; the caller then leaves the record alone. The writer has called [`PreImages::preserve`] and still holds the
    /// latch.
    pub(crate) fn retain(&self, leaf: u32, payload: u64, bytes: u64) -> bool {
        let chains = lock(self.shard(leaf));
        let Some((latest, older)) = chains.get(&leaf).and_then(|chain| chain.split_last()) else { return false };
        // A payload that the latest pre-image does not name has been put since.
        if !latest.names(payload) {
            return false;
        }
        let after =
            older.iter().rev().find(|pre_image| !pre_image.names(payload)).map_or(0, |pre_image| pre_image.upto);
        if !is_open_within(&lock(&self.open), after, latest.upto) {
            return false;
        }
        self.retained_bytes.fetch_add(bytes, Ordering::Relaxed);
        lock(&self.retained).push(Retained { payload, bytes, after, upto: latest.upto });
        true
    }

    /// Gives the pre-images of a leaf to the leaves that have its range from now on. A leaf that is not among them is
    /// given up. The writer holds the latches of all.
    pub(crate) fn divide(&self, leaf: u32, into: impl Iterator<Item = u32> + Clone) {
        // Relaxed: a thread that has made a pre-image of this leaf held its latch.
        if self.chains.load(Ordering::Relaxed) == 0 {
            return;
        }
        let Some(chain) = lock(self.shard(leaf)).get(&leaf).cloned() else { return };
        for number in into.clone().filter(|number| *number != leaf) {
            let mut chains = lock(self.shard(number));
            let mut own = chain.clone();
            // As in `preserve`: a snapshot that closes meanwhile may have looked through this shard.
            prune(&mut own, &lock(&self.open));
            if own.is_empty() {
                continue;
            }
            let replaced = chains.insert(number, own);
            self.chains.fetch_add(u64::from(replaced.is_none()), Ordering::Relaxed);
        }
        if into.clone().all(|number| number != leaf) {
            self.forget(leaf);
        }
    }

    /// Forgets the pre-images of a leaf that is given up.
    pub(crate) fn forget(&self, leaf: u32) {
        if self.chains.load(Ordering::Relaxed) > 0 && lock(self.shard(leaf)).remove(&leaf).is_some() {
            self.chains.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns what a leaf held for an open snapshot; `None` if the leaf itself is as it was. The reader has read the
    /// latch's version before, and validates it afterwards.
    pub(crate) fn at(&self, leaf: u32, generation: u64) -> Option<Arc<PreImage>> {
        lock(self.shard(leaf)).get(&leaf)?.iter().find(|pre_image| pre_image.upto >= generation).cloned()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    fn pair(payload: u64) -> Slot {
        Slot { head: payload, payload }
    }

    fn open(pre_images: &PreImages, generation: u64) {
        pre_images.begin(|begun| begun(generation));
    }

    fn keep(pre_images: &PreImages, leaf: u32, generation: u64, payloads: &[u64]) {
        let pairs = payloads.iter().map(|payload| pair(*payload)).collect();
        pre_images.preserve(leaf, generation, || PreImageContents { skip: 0, pairs, stamp: 0 });
    }

    fn held(pre_images: &PreImages, leaf: u32, generation: u64) -> Option<Vec<u64>> {
        pre_images
            .at(leaf, generation)
            .map(|pre_image| pre_image.contents.pairs.iter().map(|slot| slot.payload).collect())
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
        assert_eq!(pre_images.close(2, || panic!("others are open")), []);
        assert_eq!([1, 3].map(|generation| held(&pre_images, 5, generation)), [vec![1], vec![3]].map(Some));
        pre_images.close(3, || panic!("one is open"));
        assert_eq!(held(&pre_images, 5, 1), Some(vec![1]));
        let mut ended = false;
        pre_images.close(1, || ended = true);
        assert!(ended && pre_images.bytes() == (0, 0) && pre_images.chains.load(Ordering::Relaxed) == 0);
        assert_eq!(pre_images.close(1, || panic!("it is closed")), []);
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
            assert!(pre_images.retain(5, 1, 8));
            assert!(!pre_images.retain(5, 7, 8), "put since");
            open(&pre_images, 2);
            keep(&pre_images, 5, 2, &[2, 10]);
            assert!(pre_images.retain(5, 2, 8) && pre_images.retain(5, 10, 8));
            open(&pre_images, 3);
            keep(&pre_images, 5, 3, &[3]);
            assert!(pre_images.retain(5, 3, 8));
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
                for payload in pre_images.close(order[at], || ()) {
                    assert!(kept.remove(&payload), "{payload} is freed twice");
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
            assert!(pre_images.retain(5, generation, 8));
            assert_eq!(pre_images.close(generation, || ()), [generation]);
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
        assert!(pre_images.retain(71, 2, 8) && !pre_images.retain(70, 1, 8));
        pre_images.divide(71, [71, 72].into_iter());
        pre_images.forget(71);
        assert_eq!([71, 72].map(|leaf| held(&pre_images, leaf, 1).is_some()), [false, true]);
    }
}
