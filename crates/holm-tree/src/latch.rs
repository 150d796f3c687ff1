//! The version latch: readers validate and do not write, a writer holds it alone.
//!
//! A version is even while no thread writes. A reader notes the version, works, and validates it; a writer makes it
//! odd, and two higher when it is done. A writer holds the latch beyond the last fence of what it covers. So no reader
//! validates data that a crash could still take back.
//!
//! A writer takes a latch and then reads the clock; a commit reads the clock and then the latches of what it has read.
//! At least one of the two has to see the other's store: if a commit finds a leaf unlatched, then its writer takes a
//! label that is no older than the commit's. So taking a latch is sequentially consistent, and
//! [`order_after_label`] stands between a label and the latches that are read after it.

use crate::sync::atomic::{AtomicU64, Ordering, fence};

/// The version that a reader noted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Version(u64);

/// A version latch; starts at zero, unlatched.
#[derive(Debug)]
pub struct Latch(AtomicU64);

impl Default for Latch {
    fn default() -> Self {
        Latch(AtomicU64::new(0))
    }
}

impl Latch {
    /// Returns the version, unless a writer holds the latch.
    #[inline]
    pub fn read(&self) -> Option<Version> {
        let version = self.0.load(Ordering::Acquire);
        (version & 1 == 0).then_some(Version(version))
    }

    /// Returns whether the version is unchanged: everything read in between then belongs together.
    #[inline]
    pub fn validate(&self, version: Version) -> bool {
        // The reads before must not be satisfied after the version is loaded again.
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == version.0
    }

    /// Takes the latch if the version is unchanged.
    #[inline]
    pub fn try_lock(&self, version: Version) -> Option<LatchGuard<'_>> {
        debug_assert!(version.0 & 1 == 0, "a version that a reader noted is even, found {}", version.0);
        // On x86, the same instruction as in any weaker order.
        let taken = self.0.compare_exchange(version.0, version.0 | 1, Ordering::SeqCst, Ordering::Relaxed);
        taken.ok()?;
        // The stores that follow must not become visible before the version is odd.
        fence(Ordering::Release);
        Some(LatchGuard { latch: self, after: version.0 + 2 })
    }
}

/// The word of a latch whose leaf no thread of this process has looked at yet. Odd, as if a writer held it; no version
/// of a writer ever gets there.
const UNSEEN: u64 = u64::MAX;

/// The same while a thread looks.
const LOOKING: u64 = u64::MAX - 2;

/// The version after the look. No reader has noted an earlier one.
const SEEN: u64 = 2;

impl Latch {
    /// Closes the latch of a leaf until [`Latch::begin_look`], before any other thread can see it.
    pub(crate) fn close_unseen(&self) {
        self.0.store(UNSEEN, Ordering::Relaxed);
    }

    /// Returns whether no thread has completed its look.
    pub(crate) fn is_unseen(&self) -> bool {
        matches!(self.0.load(Ordering::Acquire), UNSEEN | LOOKING)
    }

    /// Begins the look at a leaf; `None` if there is nothing to look at, or another thread looks.
    pub(crate) fn begin_look(&self) -> Option<Look<'_>> {
        let taken = self.0.compare_exchange(UNSEEN, LOOKING, Ordering::SeqCst, Ordering::Relaxed);
        taken.ok()?;
        fence(Ordering::Release);
        Some(Look { latch: self, after: UNSEEN })
    }
}

/// The first look at a leaf, in progress. Dropping it leaves the latch closed.
pub(crate) struct Look<'a> {
    latch: &'a Latch,
    after: u64,
}

impl Look<'_> {
    /// Opens the latch: the leaf is what was written.
    pub(crate) fn open(mut self) -> Version {
        self.after = SEEN;
        Version(SEEN)
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.latch.0.store(self.after, Ordering::Release);
    }
}

/// A latch that is held; dropping it releases it with a new version.
#[derive(Debug)]
#[must_use = "the latch is let go at once"]
pub struct LatchGuard<'a> {
    latch: &'a Latch,
    after: u64,
}

impl LatchGuard<'_> {
    /// Releases the latch with the old version, because nothing was written.
    pub fn unlock_unchanged(mut self) {
        self.after -= 2;
    }

    /// Returns the version at which the latch was taken.
    pub fn version(&self) -> Version {
        Version(self.after - 2)
    }

    /// Returns the version that the latch has once it is dropped.
    pub fn version_after(&self) -> Version {
        Version(self.after)
    }

    /// Returns whether this is the latch that is held.
    pub fn holds(&self, latch: &Latch) -> bool {
        std::ptr::eq(self.latch, latch)
    }
}

impl Drop for LatchGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        debug_assert!(
            self.latch.0.load(Ordering::Relaxed).abs_diff(self.after) == 1,
            "a latch that is held keeps its version: found {:?}, to be released as {}",
            self.latch,
            self.after
        );
        self.latch.0.store(self.after, Ordering::Release);
    }
}

/// Stands between a commit's look at the clock and its look at the latches of what it has read.
#[inline]
pub fn order_after_label() {
    if cfg!(all(target_arch = "x86_64", not(any(shuttle, miri)))) {
        // The processor satisfies loads in order; the compiler must not exchange them.
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_release_gives_a_new_version_unless_nothing_was_written() {
        let latch = Latch::default();
        let version = latch.read().expect("no writer");
        let held = latch.try_lock(version).expect("unchanged");
        assert!(latch.read().is_none() && !latch.validate(version) && latch.try_lock(version).is_none());
        held.unlock_unchanged();
        assert!(latch.validate(version));
        drop(latch.try_lock(version));
        assert!(!latch.validate(version) && latch.try_lock(version).is_none());
    }

    /// A second writer in the same latch: what the assertion at its release is for.
    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "a latch that is held keeps its version")]
    fn a_latch_that_another_writer_released_is_noticed() {
        let latch = Latch::default();
        let held = latch.try_lock(Version(0)).expect("unchanged");
        latch.0.store(2, Ordering::Relaxed);
        drop(held);
    }
}
