//! The version latch: readers look without writing, writers take it alone.
//!
//! A version is even while nobody writes. A reader notes the version, works, and asks whether it still stands; a
//! writer makes it odd and leaves it two higher. A latch outlives the last fence of what it covers, so that nobody can
//! validate a read of what a crash could still take back.

use crate::sync::atomic::{AtomicU64, Ordering, fence};

/// What a reader noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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
    /// The version, unless somebody is writing.
    #[inline]
    pub fn read(&self) -> Option<Version> {
        let version = self.0.load(Ordering::Acquire);
        (version & 1 == 0).then_some(Version(version))
    }

    /// Whether nothing has changed since: everything read in between then belongs together.
    #[inline]
    pub fn validate(&self, version: Version) -> bool {
        // The reads before must not be satisfied after the version is looked at again.
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == version.0
    }

    /// Takes the latch if nothing has changed since.
    #[inline]
    pub fn try_lock(&self, version: Version) -> Option<LatchGuard<'_>> {
        let taken = self.0.compare_exchange(version.0, version.0 | 1, Ordering::Acquire, Ordering::Relaxed);
        taken.ok()?;
        // The stores that follow must not become visible before the version is odd.
        fence(Ordering::Release);
        Some(LatchGuard { latch: self, after: version.0 + 2 })
    }
}

/// A latch taken; dropping it lets go, with a new version.
#[derive(Debug)]
#[must_use = "the latch is let go at once"]
pub struct LatchGuard<'a> {
    latch: &'a Latch,
    after: u64,
}

impl LatchGuard<'_> {
    /// Lets go with the version as it was: nothing has been written.
    pub fn unlock_unchanged(mut self) {
        self.after -= 2;
    }

    /// Whether this is the latch that is held.
    pub fn holds(&self, latch: &Latch) -> bool {
        std::ptr::eq(self.latch, latch)
    }
}

impl Drop for LatchGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.latch.0.store(self.after, Ordering::Release);
    }
}
