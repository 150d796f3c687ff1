//! Kernels over plain signed numbers: the search of nodes that nobody else writes.
//!
//! A lane is a number of four or eight bytes. Signed, for that is the order which every level of vector instructions
//! can compare; whoever has other keys maps them to lanes in the same order. Nodes are whole lines of lanes, and what
//! a node does not use holds the greatest lane, which is below no key: so a count needs no length.
//!
//! Unlike those of [`crate::Search`] these kernels are reached without a question each: [`Vectors`] is asked once per
//! operation, and everything below is generic over the kernels that it names.

use crate::LINE_BYTES;
use crate::portable::Portable;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::x86_64::{Avx2, Avx512};
use std::fmt::Debug;

/// Lanes whose equality one mask can say.
pub const MASK_LANES: usize = 64;

mod sealed {
    /// Lanes are what the kernels know.
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
}

/// A number that the kernels compare.
pub trait Lane: sealed::Sealed + Copy + Ord + Debug + Send + Sync + 'static {
    /// Lanes in a cache line.
    const PER_LINE: usize = LINE_BYTES / size_of::<Self>();
    /// What pads a node: below no lane.
    const GREATEST: Self;
    /// The smallest lane.
    const LEAST: Self;
    /// The lane's number.
    fn number(self) -> i64;
    /// The lane after this one.
    fn next(self) -> Option<Self>;
    /// The lane before this one.
    fn previous(self) -> Option<Self>;
}

impl Lane for i32 {
    const GREATEST: Self = Self::MAX;
    const LEAST: Self = Self::MIN;

    #[inline(always)]
    fn number(self) -> i64 {
        i64::from(self)
    }

    #[inline(always)]
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }

    #[inline(always)]
    fn previous(self) -> Option<Self> {
        self.checked_sub(1)
    }
}

impl Lane for i64 {
    const GREATEST: Self = Self::MAX;
    const LEAST: Self = Self::MIN;

    #[inline(always)]
    fn number(self) -> i64 {
        self
    }

    #[inline(always)]
    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }

    #[inline(always)]
    fn previous(self) -> Option<Self> {
        self.checked_sub(1)
    }
}

/// The computations of one level. A type that implements it is a proof that this CPU can run them.
pub trait LaneKernels: Copy + Debug + sealed_kernels::Sealed {
    /// How many of `lanes` are < `key`. `lanes` is whole lines; what stands behind the last whole line is not looked
    /// at. No branch depends on a lane.
    fn below<L: Lane>(self, lanes: &[L], key: L) -> usize;

    /// Bit i is set if and only if lane i equals `key`. At most [`MASK_LANES`] lanes, whole lines.
    fn equal<L: Lane>(self, lanes: &[L], key: L) -> u64;

    /// For each of the first `count` lanes, how many of those are less: where it stands once they are sorted, if no
    /// two are equal. Equal ones get equal answers. `count` is at most [`MASK_LANES`]; answers behind it mean nothing.
    fn ranks<L: Lane>(self, lanes: &[L; MASK_LANES], count: usize) -> [u8; MASK_LANES];

    /// The places of the lanes that `which` has bits for, those of lesser lanes first, and whether that is certain: if
    /// it is not, lanes next to each other may come the wrong way round, which is seldom where no two are equal. What
    /// stands behind as many answers means nothing.
    #[inline]
    fn order<L: Lane>(self, lanes: &[L; MASK_LANES], which: u64) -> ([u8; MASK_LANES], bool) {
        (by_rank(self, lanes, which), true)
    }

    /// Bit i is set if and only if byte i equals `byte`.
    fn bytes_equal(self, bytes: &[u8; LINE_BYTES], byte: u8) -> u64;
}

/// The places of some lanes in order, by their ranks.
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
        // Equal lanes share a rank: as many as share it follow it.
        let free = (!taken >> rank).trailing_zeros() as usize + usize::from(rank);
        taken |= 1 << free;
        order[free] = place;
    }
    order
}

pub(crate) mod sealed_kernels {
    /// Kernels are made here only.
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

/// Which kernels there are. A tree asks once, when it is made, and each operation matches on it once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// The reference in safe Rust.
    Portable(Portable),
    /// 32 bytes at a time.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2(Avx2),
    /// 64 bytes at a time.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512(Avx512),
}

/// The same expression, generic in its kernels, for whichever kernels a [`Vectors`] names.
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
    /// The fastest kernels that this CPU and its system can run.
    pub fn detect() -> Self {
        Self::all_available().pop().unwrap_or(Self::portable())
    }

    /// The reference in safe Rust, which runs everywhere.
    pub const fn portable() -> Self {
        Self::Portable(Portable)
    }

    /// Every level that can run here, the slowest first.
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

    /// The level's name, as reports print it.
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
