//! Shared parts of the tests: selections of every kind, small enough for tall trees, and keys of every type.

#![allow(dead_code, reason = "each test takes of this what it needs")]

use holm_map::{
    Binary, Counting, Examining, Fingerprinted, FingerprintedLevel, Hint, HybridBinary, HybridInterpolation, Key,
    Level, Paged, PagedLevel, Pages, Real, Sampled, Scalar, Selection, Sorted, Stepping, Unsorted,
};

/// A level of `BYTES` searched by `Q`.
pub struct Nodes<Q, const BYTES: usize>(std::marker::PhantomData<Q>);

impl<Q: holm_map::Layout, const BYTES: usize> Level for Nodes<Q, BYTES> {
    type Search = Q;
    const BYTES: usize = BYTES;
    const PAGES: Pages = Pages::Small;
    const IDENTIFIERS: Hint = Hint::T1;
}

/// Leaves of `SLOTS` fingerprints.
pub struct Marked<const SLOTS: usize, const SPARSE: usize>;

impl<const SLOTS: usize, const SPARSE: usize> FingerprintedLevel for Marked<SLOTS, SPARSE> {
    const SLOTS: usize = SLOTS;
    const SPARSE: usize = SPARSE;
}

/// Leaves of `BYTES` of keys in order `O`.
pub struct Pagewise<O, const BYTES: usize, const SPARSE: usize>(std::marker::PhantomData<O>);

impl<O: holm_map::Order, const BYTES: usize, const SPARSE: usize> PagedLevel for Pagewise<O, BYTES, SPARSE> {
    type Order = O;
    const BYTES: usize = BYTES;
    const PAIR_PAGES: Pages = Pages::Usual;
    const IDENTIFIERS: Hint = Hint::T0;
    const SPARSE: usize = SPARSE;
}

/// Selections: a name, a leaf, and the levels above it.
macro_rules! selections {
    ($($name:ident: $leaf:ident<$level:ty>, $first:ty, $second:ty, $above:ty;)*) => { $(
        pub enum $name {}

        impl Selection for $name {
            type Leaf<K: Key, V> = $leaf<K, V, $level>;
            type First = $first;
            type Second = $second;
            type Above = $above;
        }
    )* };
}

selections! {
    // The smallest nodes, so that thousands of pairs make a tall tree.
    Tall: Fingerprinted<Marked<4, 1>>, Nodes<Counting, 64>, Nodes<Counting, 64>, Nodes<Examining, 64>;
    // The smallest nodes in rows, of one row and of two.
    Rowed: Fingerprinted<Marked<4, 1>>, Nodes<Sampled, 128>, Nodes<Sampled, 256>, Nodes<Sampled, 128>;
    // Leaves that are removed only when they are empty.
    Loose: Fingerprinted<Marked<63, 0>>, Nodes<Scalar, 64>, Nodes<Binary, 128>, Nodes<HybridBinary, 64>;
    // A second level whose only node grows.
    Broad: Fingerprinted<Marked<5, 1>>, Nodes<Counting, 64>, Nodes<Sampled, 16384>, Nodes<Examining, 64>;
    UnsortedScalar: Paged<Pagewise<Unsorted, 64, 2>>, Nodes<Scalar, 64>, Nodes<Scalar, 64>, Nodes<Scalar, 64>;
    UnsortedPure: Paged<Pagewise<Unsorted, 64, 0>>, Nodes<HybridInterpolation<false>, 128>,
        Nodes<HybridInterpolation<false>, 256>, Nodes<HybridInterpolation<true>, 128>;
    SortedLinear: Paged<Pagewise<Sorted<Examining>, 128, 3>>, Nodes<Counting, 64>, Nodes<Examining, 128>,
        Nodes<Counting, 64>;
    SortedBinary: Paged<Pagewise<Sorted<Binary>, 64, 0>>, Nodes<Binary, 64>, Nodes<HybridBinary, 256>,
        Nodes<Binary, 64>;
    SortedSteps: Paged<Pagewise<Sorted<Stepping<16>>, 128, 3>>, Nodes<Stepping<32>, 64>, Nodes<Stepping<16>, 128>,
        Nodes<Stepping<32>, 64>;
    SortedGuessed: Paged<Pagewise<Sorted<HybridInterpolation>, 256, 9>>, Nodes<HybridInterpolation, 128>,
        Nodes<Sampled, 2048>, Nodes<Sampled, 2048>;
}

/// Keys that a test makes of numbers, in the same order and across the range of their type.
pub trait TestKey: Key {
    fn of(number: u64) -> Self;
}

/// Spreads `number`, which is below 2^32, over the type: evenly in between, and exactly at the ends.
macro_rules! test_keys {
    ($($key:ty: $number:ident => $make:expr;)*) => { $(
        impl TestKey for $key {
            fn of($number: u64) -> Self {
                $make
            }
        }
    )* };
}

test_keys! {
    u32: number => number as u32;
    i32: number => (number as u32 ^ 1 << 31) as i32;
    u64: number => number << 32 | number;
    i64: number => ((number << 32 | number) ^ 1 << 63) as i64;
    Real<f32>: number => Real::new((number as f32 - 2e9) * 1e20).unwrap();
    Real<f64>: number => match number {
        0 => Real::new(f64::NEG_INFINITY).unwrap(),
        0xffff_ffff => Real::new(f64::INFINITY).unwrap(),
        _ => Real::new((number as f64 - 2e9) * 1e200).unwrap(),
    };
}

/// A random generator with the same results on every platform.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Fewer steps under an interpreter.
pub fn steps(of: usize) -> usize {
    if cfg!(miri) { of.div_ceil(150) } else { of }
}
