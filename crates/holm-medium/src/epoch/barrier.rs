//! A barrier between two sides that each store one value and then load the other's: the thread that pins, and the
//! thread that advances the clock. At least one of them has to see the other's store.
//!
//! Fences on both sides ensure this, and make each operation wait for the stores of the previous one. Linux can make
//! all threads of a process pass a fence at once (`membarrier`). The frequent side, with millions of calls, then needs
//! no fence. The rare side, with a few hundred calls a second, pays some microseconds for all.

use crate::sync::atomic::{Ordering, fence};
use crate::sys;
use std::sync::LazyLock;
use std::sync::atomic::compiler_fence;

/// Whether the system call is what runs: explored schedules and interpreted steps do not model it.
const IS_REAL: bool = !cfg!(any(shuttle, miri));

/// The kind of barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Barrier {
    /// Both sides fence.
    Symmetric,
    /// The rare side makes all threads fence.
    Asymmetric,
}

impl Barrier {
    /// The best kind that the system offers. The first call asks the system: it takes nothing back that it
    /// has granted a process.
    pub(super) fn detect() -> Self {
        static BEST: LazyLock<Barrier> = LazyLock::new(|| {
            let is_granted = IS_REAL && sys::register_fences() && sys::fence_all_threads();
            if is_granted { Barrier::Asymmetric } else { Barrier::Symmetric }
        });
        *BEST
    }

    /// Stands between the store and the load of the frequent side.
    #[inline(always)]
    pub(super) fn light(self) {
        match self {
            Self::Symmetric => fence(Ordering::SeqCst),
            // Each thread passes a fence while `heavy` runs, at some point of its program. If that point is after this
            // thread's store, the other side sees the store. If it is before this thread's load, the load sees the
            // other side's store. The compiler must not exchange the two.
            Self::Asymmetric => compiler_fence(Ordering::SeqCst),
        }
    }

    /// Stands between the store and the load of the rare side.
    ///
    /// # Panics
    /// If the system now refuses what it granted before, after calling `refused`: an end of an epoch that misses an
    /// operation would lose what is acknowledged.
    pub(super) fn heavy(self, refused: impl FnOnce(&'static str)) {
        fence(Ordering::SeqCst);
        if self == Self::Asymmetric && !sys::fence_all_threads() {
            let why = "the system refuses what it granted before: to have other threads fence";
            refused(why);
            panic!("{why}");
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::Barrier;
    use crossbeam_utils::CachePadded;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

    /// One side of many rounds: reaches each round at the same time as the other side, stores, and returns what it
    /// loads.
    fn side(
        [here, there]: [&AtomicUsize; 2],
        [own, other]: [&[CachePadded<AtomicU32>]; 2],
        between: impl Fn(),
    ) -> Vec<u32> {
        let round = |(at, (own, other)): (usize, (&CachePadded<AtomicU32>, &CachePadded<AtomicU32>))| {
            // Puts both lines into both caches: a load is then answered at once, and a store has to wait.
            let _ = (own.load(Relaxed), other.load(Relaxed));
            here.store(at + 1, SeqCst);
            for turn in 0.. {
                if there.load(SeqCst) > at {
                    break;
                }
                if turn % 1024 == 1023 {
                    std::thread::yield_now();
                }
            }
            own.store(1, Relaxed);
            between();
            other.load(Relaxed)
        };
        own.iter().zip(other).enumerate().map(round).collect()
    }

    /// How often each side misses the other's store.
    fn missed(light: impl Fn() + Sync + Send, heavy: impl Fn()) -> usize {
        const ROUNDS: usize = if cfg!(miri) { 20 } else { 20_000 };
        let stores = [(); 2].map(|()| (0..ROUNDS).map(|_| CachePadded::new(AtomicU32::new(0))).collect::<Vec<_>>());
        let rounds = [const { AtomicUsize::new(0) }; 2];
        let (frequent, rare) = std::thread::scope(|scope| {
            let frequent = scope.spawn(|| side([&rounds[0], &rounds[1]], [&stores[0], &stores[1]], light));
            let rare = side([&rounds[1], &rounds[0]], [&stores[1], &stores[0]], heavy);
            (frequent.join().expect("no panic"), rare)
        });
        frequent.iter().zip(&rare).filter(|(one, other)| **one == 0 && **other == 0).count()
    }

    #[test]
    fn one_side_sees_the_other() {
        for barrier in [Barrier::detect(), Barrier::Symmetric] {
            assert_eq!(missed(|| barrier.light(), || barrier.heavy(|_| ())), 0, "{barrier:?}");
        }
    }
}
