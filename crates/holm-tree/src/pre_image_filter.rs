//! A summary of a leaf's latest pre-image, which answers most questions of writers without a lock.
//!
//! While a snapshot is open, each change of a leaf asks two things. Has the leaf a pre-image for all open snapshots?
//! Does the latest pre-image name the payload that gives way? The pre-images lie behind a lock, and are cold in the
//! caches. Two Bloom filters answer the second question most of the time: one of what the pre-image names, and one of
//! what was put since. What one of them lacks is settled; what both have is searched in the pre-image itself.
//!
//! All stores happen under the leaf's latch, which orders them.

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;

/// Words of the filter of what the pre-image names. It is made once, with some seventeen payloads and three bits each,
/// so it errs for one payload in five hundred.
const NAMED_WORDS: usize = 6;

/// The flag beside the generation: an older pre-image exists.
const HAS_OLDER: u64 = 1 << 63;

/// The summary of a leaf's latest pre-image, in one line.
#[repr(align(64))]
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

/// Spreads a payload over a word, whose high bits are the best.
fn hash(payload: u64) -> u64 {
    payload.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Returns the words and the bits of what is named.
fn named_bits(payload: u64) -> [(usize, u64); 3] {
    const BITS: u64 = NAMED_WORDS as u64 * 64;
    let high = hash(payload);
    let low = hash(high);
    [high >> 32, low >> 32, (high ^ low) & 0xffff_ffff].map(|part| {
        let at = (part * BITS) >> 32;
        ((at / 64) as usize, 1 << (at % 64))
    })
}

fn put_bit(payload: u64) -> u64 {
    1 << (hash(payload) >> 58)
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
        payloads.flat_map(named_bits).for_each(|(word, bit)| named[word] |= bit);
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
        let is_named = || named_bits(payload).iter().all(|(word, bit)| self.named[*word].load(Relaxed) & bit != 0);
        if upto == 0 || !is_named() {
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

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    fn said(filter: &PreImageFilter, payload: u64) -> &'static str {
        match filter.names(payload) {
            Named::No => "no",
            Named::ByTheOnly { upto: 7 } => "by the only one",
            Named::ByTheOnly { .. } => "by another one",
            Named::Perhaps => "perhaps",
        }
    }

    #[test]
    fn a_filter_and_its_copy_are_sure_of_most_payloads() {
        let filter = PreImageFilter::default();
        assert_eq!(said(&filter, 1), "no");
        filter.set(7, true, 1..=17);
        filter.note_put(3);
        let copy = PreImageFilter::default();
        copy.copy_from(Some(&filter));
        for filter in [&filter, &copy] {
            // A payload that is named and put may be either.
            assert_eq!(
                [1, 2, 3].map(|payload| said(filter, payload)),
                ["by the only one", "by the only one", "perhaps"]
            );
            let unsure = (1_000..2_000).filter(|payload| said(filter, *payload) != "no").count();
            assert!(unsure <= 10, "{unsure} of 1000");
        }
        filter.set(7, false, 1..=17);
        assert_eq!((said(&filter, 1), said(&filter, 40)), ("perhaps", "no"));
        copy.copy_from(None);
        assert_eq!((copy.upto(), said(&copy, 1)), (0, "no"));
    }
}
