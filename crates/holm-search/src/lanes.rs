//! Kernels over plain signed numbers: the search of nodes that have no concurrent writer.
//!
//! A lane is a number of four, eight or sixteen bytes. Lanes are signed, because every level of vector instructions can
//! compare signed numbers of the first two sizes; lanes of sixteen bytes are compared one by one. Other keys are mapped
//! to lanes in the same order by the caller. A node is whole lines of lanes, padded with the greatest lane. That lane
//! is below no key, so a count needs no length.
//!
//! Unlike the kernels of [`crate::Search`], these do not dispatch on each call. An operation matches on [`Vectors`]
//! once, and everything below it is generic over the chosen kernels.

use crate::LINE_BYTES;
use crate::portable::Portable;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::x86_64::{Avx2, Avx512};
use std::fmt::Debug;

/// The number of lanes whose equality fits in one mask.
pub const MASK_LANES: usize = 64;

mod sealed {
    /// Restricts lanes to the types that the kernels support.
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
    impl Sealed for i128 {}
}

/// A number that the kernels compare.
pub trait Lane: sealed::Sealed + Copy + Ord + Debug + Send + Sync + 'static {
    /// Lanes in a cache line.
    const PER_LINE: usize = LINE_BYTES / size_of::<Self>();
    /// The lane that pads a node. It is below no lane.
    const GREATEST: Self;
    /// The smallest lane.
    const LEAST: Self;
    /// Returns a number that is the lane itself if that fits, and otherwise depends on all of its bits. Different lanes
    /// of at most eight bytes have different numbers.
    fn number(self) -> i64;
    /// Returns the lane after this one; `None` for the greatest.
    fn next(self) -> Option<Self>;
    /// Returns the lane before this one; `None` for the smallest.
    fn previous(self) -> Option<Self>;
    /// Returns the lane at the same place from the other end: the order of reversed lanes is reversed.
    fn reversed(self) -> Self;
}

macro_rules! lanes {
    ($($lane:ty: $self:ident => $number:expr;)*) => { $(
        impl Lane for $lane {
            const GREATEST: Self = Self::MAX;
            const LEAST: Self = Self::MIN;

            #[inline(always)]
            fn number($self) -> i64 {
                $number
            }

            #[inline(always)]
            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }

            #[inline(always)]
            fn previous(self) -> Option<Self> {
                self.checked_sub(1)
            }

            #[inline(always)]
            fn reversed(self) -> Self {
                !self
            }
        }
    )* };
}

lanes! {
    i32: self => i64::from(self);
    i64: self => self;
    // The upper half is multiplied, so that lanes of equal halves do not fold to one number.
    i128: self => (self as i64) ^ ((self >> 64) as i64).wrapping_mul(0x2545_f491_4f6c_dd1d).rotate_left(32);
}

/// The computations of one level. A value of an implementing type proves that this CPU can run them.
pub trait LaneKernels: Copy + Debug + sealed_kernels::Sealed {
    /// Returns how many of `lanes` are < `key`. `lanes` is whole lines; lanes after the last whole line are ignored. No
    /// branch depends on a lane.
    fn below<L: Lane>(self, lanes: &[L], key: L) -> usize;

    /// Returns how many of `lanes`, which ascend, are < `key`: compares `BYTES` of them at a time, up to the first
    /// vector that is not wholly below. `lanes` is whole lines; lanes after the last whole line are ignored. 16 bytes
    /// are a vector of SSE, 32 one of AVX. Kernels without such vectors compare the lanes one by
    /// one, and all kernels those of sixteen bytes.
    ///
    /// ```
    /// use holm_search::{Lane, LaneKernels, Vectors, with_vectors};
    ///
    /// let mut node = [i32::GREATEST; 16];
    /// node[..5].copy_from_slice(&[2, 3, 5, 7, 11]);
    /// assert_eq!(with_vectors!(Vectors::detect(), x => x.below_by::<16, _>(&node, 7)), 3);
    /// ```
    #[inline(always)]
    fn below_by<const BYTES: usize, L: Lane>(self, lanes: &[L], key: L) -> usize {
        let whole = &lanes[..lanes.len() - lanes.len() % L::PER_LINE];
        whole.iter().position(|lane| *lane >= key).unwrap_or(whole.len())
    }

    /// Bit i of the result is set if and only if lane i equals `key`. `lanes` is whole lines, at most [`MASK_LANES`]
    /// lanes.
    fn equal<L: Lane>(self, lanes: &[L], key: L) -> u64;

    /// Returns for each of the first `count` lanes how many of those are less. If no two are equal, this is its sorted
    /// position. Equal lanes get equal ranks. `count` is at most [`MASK_LANES`]; results behind it are meaningless.
    fn ranks<L: Lane>(self, lanes: &[L; MASK_LANES], count: usize) -> [u8; MASK_LANES];

    /// Returns the indices of the lanes that `which` selects, in ascending order of lanes, and whether the order is
    /// certain. If it is not, adjacent lanes may be swapped, which is rare if no two are equal. Results behind the
    /// number of selected lanes are meaningless.
    #[inline]
    fn order<L: Lane>(self, lanes: &[L; MASK_LANES], which: u64) -> ([u8; MASK_LANES], bool) {
        (if size_of::<L>() > 8 { by_sorting(lanes, which) } else { by_rank(self, lanes, which) }, true)
    }

    /// Bit i of the result is set if and only if byte i equals `byte`.
    fn bytes_equal(self, bytes: &[u8; LINE_BYTES], byte: u8) -> u64;
}

/// Returns the indices of selected lanes in order, for lanes that no vector instruction ranks.
pub(crate) fn by_sorting<L: Lane>(lanes: &[L; MASK_LANES], which: u64) -> [u8; MASK_LANES] {
    let (mut order, mut count) = ([0; MASK_LANES], 0);
    for place in (0..).take(MASK_LANES).filter(|place| which >> place & 1 == 1) {
        order[count] = place;
        count += 1;
    }
    order[..count].sort_unstable_by_key(|place| lanes[usize::from(*place)]);
    order
}

/// Returns the indices of selected lanes in order, computed from their ranks.
fn by_rank<X: LaneKernels, L: Lane>(x: X, lanes: &[L; MASK_LANES], which: u64) -> [u8; MASK_LANES] {
    let (mut named, mut places, mut count) = ([L::GREATEST; MASK_LANES], [0; MASK_LANES], 0);
    for (place, lane) in (0..).zip(lanes) {
        if which >> place & 1 == 1 {
            (named[count], places[count]) = (*lane, place);
            count += 1;
        }
    }
    let ranks = x.ranks(&named, count);
    let (mut order, mut taken) = ([0; MASK_LANES], 0_u64);
    for (rank, place) in ranks.into_iter().zip(places).take(count) {
        // Equal lanes share a rank, and take the free positions from that rank on.
        let free = (!taken >> rank).trailing_zeros() as usize + usize::from(rank);
        taken |= 1 << free;
        order[free] = place;
    }
    order
}

pub(crate) mod sealed_kernels {
    /// Restricts kernels to those of this crate.
    pub trait Sealed {}
}

impl sealed_kernels::Sealed for Portable {}

impl LaneKernels for Portable {
    #[inline(always)]
    fn below<L: Lane>(self, lanes: &[L], key: L) -> usize {
        let whole = lanes.len() - lanes.len() % L::PER_LINE;
        lanes[..whole].iter().map(|lane| usize::from(*lane < key)).sum()
    }

    #[inline(always)]
    fn equal<L: Lane>(self, lanes: &[L], key: L) -> u64 {
        let whole = lanes.len().min(MASK_LANES);
        let lanes = lanes[..whole - whole % L::PER_LINE].iter().enumerate();
        lanes.fold(0, |mask, (slot, lane)| mask | u64::from(*lane == key) << slot)
    }

    fn ranks<L: Lane>(self, lanes: &[L; MASK_LANES], count: usize) -> [u8; MASK_LANES] {
        let mut ranks = [0; MASK_LANES];
        let counted = &lanes[..count.min(MASK_LANES)];
        for than in counted {
            ranks.iter_mut().zip(counted).for_each(|(rank, lane)| *rank += u8::from(than < lane));
        }
        ranks
    }

    #[inline(always)]
    fn bytes_equal(self, bytes: &[u8; LINE_BYTES], byte: u8) -> u64 {
        bytes.iter().enumerate().fold(0, |mask, (slot, one)| mask | u64::from(*one == byte) << slot)
    }
}

/// The available kernels. A tree detects them once when it is created, and each operation matches on them once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// The reference implementation in safe Rust.
    Portable(Portable),
    /// 32 bytes per vector.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2(Avx2),
    /// 64 bytes per vector.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512(Avx512),
}

/// Evaluates one expression, generic in its kernels, for the kernels that a [`Vectors`] names.
#[macro_export]
macro_rules! with_vectors {
    ($vectors:expr, $kernels:ident => $call:expr) => {
        match $vectors {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            $crate::Vectors::Avx512($kernels) => $call,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            $crate::Vectors::Avx2($kernels) => $call,
            $crate::Vectors::Portable($kernels) => $call,
        }
    };
}

impl Vectors {
    /// Returns the fastest kernels that this CPU and its operating system can run.
    pub fn detect() -> Self {
        Self::all_available().pop().unwrap_or(Self::portable())
    }

    /// Returns the reference implementation in safe Rust, which runs everywhere.
    pub const fn portable() -> Self {
        Self::Portable(Portable)
    }

    /// Returns every level that can run here, the slowest first.
    pub fn all_available() -> Vec<Self> {
        let levels = [
            Some(Self::Portable(Portable)),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Avx2::detect().map(Self::Avx2),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Avx512::detect().map(Self::Avx512),
        ];
        levels.into_iter().flatten().collect()
    }

    /// Returns the level's name, as reports print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable(_) => "portable",
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx2(_) => "avx2",
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Self::Avx512(_) => "avx512",
        }
    }
}
