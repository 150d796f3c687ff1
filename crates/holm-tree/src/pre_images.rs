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
//! snapshot needs it. A filter for each leaf answers for most writers without a lock (`pre_image_filter`).
//!
//! Writers come here under the latch of the leaf, and readers validate the latch afterwards, so a chain and its leaf
//! belong together. Locks are taken in the order one shard of chains, one shard of payloads, `open`; the clock takes
//! `open` alone.

use crate::keys::{Keys, Slot};
use crate::pre_image_filter::{Named, PreImageFilter};
use crate::slab::Slab;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use holm_medium::Epoch;
use std::collections::{BTreeSet, HashMap};
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

/// A payload that gives way in a leaf.
#[derive(Clone, Copy)]
pub(crate) struct GivenWay {
    pub(crate) payload: u64,
    /// The bytes of its record.
    pub(crate) bytes: u64,
    /// The label of the operation.
    pub(crate) epoch: Epoch,
}

/// A payload that was retained for snapshots, and that none needs any more. The caller frees its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// The payload.
    pub payload: u64,
    /// The epoch of the operation that replaced or removed it. The grace period counts from this epoch on: at the time
    /// of the close, it need not be over.
    pub epoch: Epoch,
}

/// A payload that has given way, and the snapshots that need it: those after one generation, up to another.
struct Retained {
    old: GivenWay,
    after: u64,
    upto: u64,
}

/// The pre-images of a leaf, the oldest first.
type Chain = Vec<Arc<PreImage>>;

/// The pre-images of all leaves of a tree set.
pub(crate) struct PreImages {
    /// The chains, by the leaf's number.
    shards: Vec<Mutex<HashMap<u32, Chain>>>,
    /// The number of chains.
    chains: AtomicU64,
    /// By the leaf's number: a summary of its latest pre-image.
    filters: Slab<PreImageFilter>,
    /// The open generations.
    open: Mutex<BTreeSet<u64>>,
    /// The least of them; `u64::MAX` if there is none.
    oldest_open: AtomicU64,
    /// The greatest of them; 0 if there is none.
    newest_open: AtomicU64,
    /// The payloads that have given way, by the leaf's number.
    retained: Vec<Mutex<Vec<Retained>>>,
    pre_image_bytes: Arc<AtomicU64>,
    retained_bytes: AtomicU64,
}

impl Default for PreImages {
    fn default() -> Self {
        PreImages {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            chains: AtomicU64::new(0),
            filters: Slab::default(),
            open: Mutex::default(),
            oldest_open: AtomicU64::new(u64::MAX),
            newest_open: AtomicU64::new(0),
            retained: (0..SHARDS).map(|_| Mutex::default()).collect(),
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

    /// Publishes the least and the greatest open generation.
    fn publish(&self, open: &BTreeSet<u64>) {
        self.oldest_open.store(open.first().copied().unwrap_or(u64::MAX), Ordering::SeqCst);
        self.newest_open.store(open.last().copied().unwrap_or(0), Ordering::SeqCst);
    }

    /// Begins a generation. Called before any writer can see it.
    pub(crate) fn begin(&self, generation: u64) {
        let mut open = lock(&self.open);
        open.insert(generation);
        self.publish(&open);
    }

    /// Closes a generation. If it was the last open one, `end_snapshots` runs, which asks again whether one is open, at
    /// a time when none begins. Returns the payloads that no snapshot needs any more; none if the generation is not
    /// open. O(leaves changed and payloads retained while snapshots are open); a snapshot that begins meanwhile does
    /// not wait for that.
    pub(crate) fn close(&self, generation: u64, end_snapshots: impl FnOnce(&dyn Fn() -> bool)) -> Vec<Released> {
        let was_last = {
            let mut open = lock(&self.open);
            if !open.remove(&generation) {
                return Vec::new();
            }
            self.publish(&open);
            open.is_empty()
        };
        if was_last {
            end_snapshots(&|| !lock(&self.open).is_empty());
        }
        for shard in &self.shards {
            let mut chains = lock(shard);
            if chains.is_empty() {
                continue;
            }
            // Not before the shard's lock: a snapshot that has begun meanwhile may have pre-images in it.
            let open = lock(&self.open).clone();
            let before = chains.len();
            chains.retain(|_, chain| {
                prune(chain, &open);
                !chain.is_empty()
            });
            self.chains.fetch_sub((before - chains.len()) as u64, Ordering::Relaxed);
            chains.shrink_to_fit();
        }
        let mut freed = Vec::new();
        for shard in &self.retained {
            let mut payloads = lock(shard);
            if payloads.is_empty() {
                continue;
            }
            let open = lock(&self.open).clone();
            payloads.retain(|retained| {
                let needed = is_open_within(&open, retained.after, retained.upto);
                if !needed {
                    let GivenWay { payload, bytes, epoch } = retained.old;
                    freed.push(Released { payload, epoch });
                    self.retained_bytes.fetch_sub(bytes, Ordering::Relaxed);
                }
                needed
            });
            payloads.shrink_to_fit();
        }
        freed
    }

    /// Returns the bytes of all pre-images, and of the records that are retained.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.pre_image_bytes.load(Ordering::Relaxed), self.retained_bytes.load(Ordering::Relaxed))
    }

    /// Returns the bytes of the filters, which remain allocated.
    pub(crate) fn filter_bytes(&self) -> u64 {
        self.filters.allocated_bytes()
    }

    /// Keeps what a leaf holds, before a writer of this generation changes it: the writer does not belong to the
    /// snapshots up to that generation. The writer holds the leaf's latch, and will put `payloads` if anything.
    pub(crate) fn preserve(
        &self,
        leaf: u32,
        generation: u64,
        payloads: impl Iterator<Item = u64>,
        copy: impl FnOnce() -> PreImageContents,
    ) {
        let upto = generation.min(self.newest_open.load(Ordering::SeqCst));
        if upto == 0 {
            return;
        }
        let filter = self.filters.get_or_allocate(leaf);
        // Without a filter, the number is one of the very last. Chains then answer alone.
        if filter.is_none_or(|filter| filter.upto() < upto) {
            self.add(leaf, generation, filter, copy);
        }
        if let Some(filter) = filter {
            payloads.for_each(|payload| filter.note_put(payload));
        }
    }

    #[cold]
    fn add(
        &self,
        leaf: u32,
        generation: u64,
        filter: Option<&PreImageFilter>,
        copy: impl FnOnce() -> PreImageContents,
    ) {
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
        let chain = match chain {
            Some(chain) => {
                prune(chain, &lock(&self.open));
                chain
            }
            None => {
                self.chains.fetch_add(1, Ordering::Relaxed);
                chains.entry(leaf).or_default()
            }
        };
        if let Some(filter) = filter {
            filter.set(upto, chain.is_empty(), pre_image.contents.pairs.iter().map(|slot| slot.payload));
        }
        chain.push(pre_image);
    }

    /// Retains a payload that gives way in a leaf, if an open snapshot needs it. Returns whether one does; the caller
    /// then leaves the record alone. The writer has called [`PreImages::preserve`] and still holds the latch.
    pub(crate) fn retain(&self, leaf: u32, old: GivenWay) -> bool {
        let needed = match self.filters.get(leaf).map_or(Named::Perhaps, |filter| filter.names(old.payload)) {
            Named::No => None,
            Named::ByTheOnly { upto } => Some((0, upto)),
            Named::Perhaps => self.needed_by(leaf, old.payload),
        };
        let Some((after, upto)) = needed else { return false };
        let mut payloads = lock(&self.retained[leaf as usize % SHARDS]);
        // Under the lock: a snapshot that closes is no longer open when it looks through the payloads.
        let is_open = match after {
            0 => self.oldest_open.load(Ordering::SeqCst) <= upto,
            _ => is_open_within(&lock(&self.open), after, upto),
        };
        if is_open {
            self.retained_bytes.fetch_add(old.bytes, Ordering::Relaxed);
            payloads.push(Retained { old, after, upto });
        }
        is_open
    }

    /// Returns the generations whose snapshots need a payload of a leaf: those after one generation, up to another.
    #[cold]
    fn needed_by(&self, leaf: u32, payload: u64) -> Option<(u64, u64)> {
        let chains = lock(self.shard(leaf));
        let (latest, older) = chains.get(&leaf)?.split_last()?;
        // A payload that the latest pre-image does not name has been put since.
        if !latest.names(payload) {
            return None;
        }
        let after =
            older.iter().rev().find(|pre_image| !pre_image.names(payload)).map_or(0, |pre_image| pre_image.upto);
        Some((after, latest.upto))
    }

    /// Gives the pre-images of a leaf to the leaves that have its range from now on. A leaf that is not among them is
    /// given up. The writer holds the latches of all.
    pub(crate) fn divide(&self, leaf: u32, into: impl Iterator<Item = u32> + Clone) {
        // Relaxed: a thread that has made a pre-image of this leaf held its latch.
        if self.chains.load(Ordering::Relaxed) == 0 {
            return;
        }
        let chain = lock(self.shard(leaf)).get(&leaf).cloned().unwrap_or_default();
        for number in into.clone().filter(|number| *number != leaf) {
            let mut chains = lock(self.shard(number));
            let mut own = chain.clone();
            // As in `add`: a snapshot that closes meanwhile may have looked through this shard.
            prune(&mut own, &lock(&self.open));
            if let Some(filter) = self.filters.get_or_allocate(number) {
                filter.copy_from(self.filters.get(leaf).filter(|_| !own.is_empty()));
            }
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
        if let Some(filter) = self.filters.get(leaf) {
            filter.clear();
        }
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
mod tests;
