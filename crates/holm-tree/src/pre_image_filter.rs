//! A summary of a leaf's latest pre-image, which answers most questions of writers without a lock.
//!
//! While a snapshot is open, each change of a leaf asks two things. Has the leaf a pre-image for all open snapshots?
//! Does the latest pre-image name the payload that gives way? The pre-images lie behind a lock, and are cold in the
//! caches. Two Bloom filters with one hash answer the second question most of the time: one of what the pre-image
//! names, and one of what was put since. What neither names is impossible; what one of them lacks is settled; what both
//! have is searched in the pre-image itself.
//!
//! All stores happen under the leaf's latch, which orders them.

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;

/// Words of the filter of what the pre-image names: it is made once, with some seventeen payloads.
const NAMED_WORDS: usize = 2;

/// The flag beside the generation: an older pre-image exists.
const HAS_OLDER: u64 = 1 << 63;

/// The summary of a leaf's latest pre-image.
#[repr(align(32))]
pub(crate) struct PreImageFilter {
    /// The generation up to which the pre-image is true; 0: there was none. It may have been dropped since, because no
    /// open snapshot needs it.
    upto: AtomicU64,
    named: [AtomicU64; NAMED_WORDS],
    /// What was put since. Writers of before count, too, if they put nothing in the end.
    put: AtomicU64,
}

/// Whether a leaf's latest pre-image names a payload.
pub(crate) enum Named {
    /// It does not.
    No,
    /// It does, and it is the only one of its leaf. Snapshots up to this generation may need the payload.
    ByTheOnly { upto: u64 },
    /// The filter cannot say, or there are older ones.
    Perhaps,
}

impl Default for PreImageFilter {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        PreImageFilter { upto: zero(), named: std::array::from_fn(|_| zero()), put: zero() }
    }
}

/// A hash of a payload: its seven high bits choose a bit.
fn hash(payload: u64) -> u64 {
    payload.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The word and the bit of what is named.
fn named_bit(payload: u64) -> (usize, u64) {
    let hash = hash(payload);
    ((hash >> 63) as usize % NAMED_WORDS, 1 << (hash >> 57 & 63))
}

fn put_bit(payload: u64) -> u64 {
    1 << (hash(payload) >> 57 & 63)
}

impl PreImageFilter {
    /// Returns the generation up to which a pre-image was made; 0 if none was.
    #[inline]
    pub(crate) fn upto(&self) -> u64 {
        self.upto.load(Relaxed) & !HAS_OLDER
    }

    /// Describes a new pre-image.
    pub(crate) fn set(&self, upto: u64, is_only: bool, payloads: impl Iterator<Item = u64>) {
        let mut named = [0; NAMED_WORDS];
        payloads.map(named_bit).for_each(|(word, bit)| named[word] |= bit);
        self.named.iter().zip(named).for_each(|(word, named)| word.store(named, Relaxed));
        self.put.store(0, Relaxed);
        self.upto.store(if is_only { upto } else { upto | HAS_OLDER }, Relaxed);
    }

    /// Notes a payload that is put. A payload that is noted and not put costs a search, and nothing else.
    #[inline]
    pub(crate) fn note_put(&self, payload: u64) {
        self.put.store(self.put.load(Relaxed) | put_bit(payload), Relaxed);
    }

    /// Returns whether the pre-image names a payload that gives way in the leaf now.
    pub(crate) fn names(&self, payload: u64) -> Named {
        let upto = self.upto.load(Relaxed);
        let (word, bit) = named_bit(payload);
        if upto == 0 || self.named[word].load(Relaxed) & bit == 0 {
            Named::No
        } else if upto & HAS_OLDER == 0 && self.put.load(Relaxed) & put_bit(payload) == 0 {
            Named::ByTheOnly { upto }
        } else {
            Named::Perhaps
        }
    }

    /// Describes what another leaf's filter describes: its pre-images are this leaf's, too.
    pub(crate) fn copy_from(&self, other: Option<&Self>) {
        let Some(other) = other else { return self.clear() };
        self.named.iter().zip(&other.named).for_each(|(own, other)| own.store(other.load(Relaxed), Relaxed));
        self.put.store(other.put.load(Relaxed), Relaxed);
        self.upto.store(other.upto.load(Relaxed), Relaxed);
    }

    /// Forgets the pre-image: the leaf is given up.
    pub(crate) fn clear(&self) {
        self.upto.store(0, Relaxed);
    }
}
