//! Keys of several parts: tuples whose parts have sixteen bytes together, and reversed keys.
//!
//! A part has bits: a number without sign in the same order. The bits of a tuple are those of its parts, the first part
//! uppermost, so that tuples sort as the standard library's do. The sum of the parts' bytes is a type, and decides at
//! compile time which lane the tuple has. A tuple of more than sixteen bytes is no key.

use super::sealed::Sealed;
use super::{Key, Real};
use holm_search::Lane;
use std::cmp::Reverse;
use std::fmt::Debug;

/// A number of bytes.
#[derive(Debug)]
pub enum Bytes<const N: usize> {}

/// A number of bytes that a lane has room for.
pub trait Width {
    /// The smallest lane with room for this many bytes.
    type Lane: Lane + crate::area::Plain + OfBits;
}

/// The sum of two numbers of bytes, if it is at most sixteen.
pub trait Plus<Other> {
    /// The sum.
    type Sum: Width;
}

macro_rules! widths {
    ($($lane:ty: $($bytes:literal)*;)*) => { $($( impl Width for Bytes<$bytes> {
        type Lane = $lane;
    } )*)* };
}

widths! {
    i32: 1 2 3 4;
    i64: 5 6 7 8;
    i128: 9 10 11 12 13 14 15 16;
}

macro_rules! sums {
    ($($one:literal: $($other:literal)*;)*) => { $($( impl Plus<Bytes<$other>> for Bytes<$one> {
        type Sum = Bytes<{ $one + $other }>;
    } )*)* };
}

sums! {
    1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;
    2: 1 2 3 4 5 6 7 8 9 10 11 12 13 14;
    3: 1 2 3 4 5 6 7 8 9 10 11 12 13;
    4: 1 2 3 4 5 6 7 8 9 10 11 12;
    5: 1 2 3 4 5 6 7 8 9 10 11;
    6: 1 2 3 4 5 6 7 8 9 10;
    7: 1 2 3 4 5 6 7 8 9;
    8: 1 2 3 4 5 6 7 8;
    9: 1 2 3 4 5 6 7;
    10: 1 2 3 4 5 6;
    11: 1 2 3 4 5;
    12: 1 2 3 4;
    13: 1 2 3;
    14: 1 2;
    15: 1;
}

/// A lane as a number without sign.
pub trait OfBits {
    fn of_bits(bits: u128) -> Self;
    fn bits(self) -> u128;
    fn position(self) -> f64;
}

macro_rules! of_bits {
    ($($lane:ty as $unsigned:ty;)*) => { $(
        impl OfBits for $lane {
            #[inline(always)]
            fn of_bits(bits: u128) -> Self {
                bits as $lane ^ <$lane>::MIN
            }

            #[inline(always)]
            fn bits(self) -> u128 {
                (self ^ <$lane>::MIN) as $unsigned as u128
            }

            #[inline(always)]
            fn position(self) -> f64 {
                self as f64
            }
        }
    )* };
}

of_bits! {
    i32 as u32;
    i64 as u64;
    i128 as u128;
}

/// A part of a tuple: any key that is a number, a reversed part, or a tuple of parts.
pub trait Part: Sealed + Copy + Ord + Debug + Send + Sync + 'static {
    /// The bytes of the part.
    type Bytes: Width;
    /// How many those are.
    const BYTES: u32;
    /// Returns a number of that many bytes, in the order of parts.
    fn bits(self) -> u128;
    /// Returns the part that has these bits.
    fn of_bits(bits: u128) -> Self;
}

macro_rules! parts {
    ($($part:ty: $bytes:literal;)*) => { $(
        impl Part for $part {
            type Bytes = Bytes<$bytes>;
            const BYTES: u32 = $bytes;

            // A lane may be wider than the key, so its lower bytes count.
            #[inline(always)]
            fn bits(self) -> u128 {
                let bits = OfBits::bits(self.lane());
                if size_of::<<Self as Key>::Lane>() == $bytes { bits } else { bits - LOWEST }
            }

            #[inline(always)]
            fn of_bits(bits: u128) -> Self {
                let whole = size_of::<<Self as Key>::Lane>() == $bytes;
                Self::of_lane(OfBits::of_bits(if whole { bits } else { bits + LOWEST }))
            }
        }
    )* };
}

/// The bits of the lane of the least key of fewer bytes than the lane: a key without sign has the lane of its number.
const LOWEST: u128 = 1 << 31;

parts! {
    bool: 1;
    u8: 1;
    u16: 2;
    char: 4;
    u32: 4;
    i32: 4;
    u64: 8;
    i64: 8;
    usize: 8;
    isize: 8;
    u128: 16;
    i128: 16;
    Real<f32>: 4;
    Real<f64>: 8;
}

/// Numbers with sign whose lane is wider: the sign is flipped in the part's own width.
macro_rules! narrow_parts {
    ($($part:ty as $unsigned:ty: $bytes:literal;)*) => { $(
        impl Part for $part {
            type Bytes = Bytes<$bytes>;
            const BYTES: u32 = $bytes;

            #[inline(always)]
            fn bits(self) -> u128 {
                u128::from((self ^ <$part>::MIN) as $unsigned)
            }

            #[inline(always)]
            fn of_bits(bits: u128) -> Self {
                bits as $part ^ <$part>::MIN
            }
        }
    )* };
}

narrow_parts! {
    i8 as u8: 1;
    i16 as u16: 2;
}

/// The bits of a part of that many bytes, all set.
const fn all(bytes: u32) -> u128 {
    u128::MAX >> (128 - 8 * bytes)
}

impl<K: Sealed> Sealed for Reverse<K> {}

impl<P: Part> Part for Reverse<P> {
    type Bytes = P::Bytes;
    const BYTES: u32 = P::BYTES;

    #[inline(always)]
    fn bits(self) -> u128 {
        all(P::BYTES) ^ self.0.bits()
    }

    #[inline(always)]
    fn of_bits(bits: u128) -> Self {
        Self(P::of_bits(all(P::BYTES) ^ bits))
    }
}

/// Reversed keys: a map of them begins with the greatest.
impl<K: Key> Key for Reverse<K> {
    type Lane = K::Lane;

    #[inline(always)]
    fn lane(self) -> K::Lane {
        self.0.lane().reversed()
    }

    #[inline(always)]
    fn of_lane(lane: K::Lane) -> Self {
        Self(K::of_lane(lane.reversed()))
    }

    #[inline(always)]
    fn position(lane: K::Lane) -> f64 {
        -K::position(lane.reversed())
    }
}

impl<A: Part, B: Part> Sealed for (A, B) {}

impl<A: Part, B: Part> Part for (A, B)
where
    A::Bytes: Plus<B::Bytes>,
{
    type Bytes = <A::Bytes as Plus<B::Bytes>>::Sum;
    const BYTES: u32 = A::BYTES + B::BYTES;

    #[inline(always)]
    fn bits(self) -> u128 {
        self.0.bits() << (8 * B::BYTES) | self.1.bits()
    }

    #[inline(always)]
    fn of_bits(bits: u128) -> Self {
        (A::of_bits(bits >> (8 * B::BYTES)), B::of_bits(bits & all(B::BYTES)))
    }
}

/// The methods of a key that is compared as the bits of its parts.
macro_rules! key_of_bits {
    () => {
        type Lane = <<Self as Part>::Bytes as Width>::Lane;

        #[inline(always)]
        fn lane(self) -> Self::Lane {
            OfBits::of_bits(self.bits())
        }

        #[inline(always)]
        fn of_lane(lane: Self::Lane) -> Self {
            Part::of_bits(OfBits::bits(lane))
        }

        #[inline(always)]
        fn position(lane: Self::Lane) -> f64 {
            OfBits::position(lane)
        }
    };
}

impl<A: Part, B: Part> Key for (A, B)
where
    A::Bytes: Plus<B::Bytes>,
{
    key_of_bits!();
}

/// Longer tuples, as pairs of their first part and the others.
macro_rules! tuples {
    ($($first:ident $($other:ident)* = $rest:ty;)*) => { $(
        impl<$first: Part, $($other: Part),*> Sealed for ($first, $($other),*) {}

        impl<$first: Part, $($other: Part),*> Part for ($first, $($other),*)
        where
            $rest: Part,
            $first::Bytes: Plus<<$rest as Part>::Bytes>,
        {
            type Bytes = <$first::Bytes as Plus<<$rest as Part>::Bytes>>::Sum;
            const BYTES: u32 = $first::BYTES + <$rest as Part>::BYTES;

            #[inline(always)]
            #[allow(non_snake_case, reason = "the parts have the names of their types")]
            fn bits(self) -> u128 {
                let ($first, $($other),*) = self;
                ($first, ($($other),*)).bits()
            }

            #[inline(always)]
            #[allow(non_snake_case, reason = "the parts have the names of their types")]
            fn of_bits(bits: u128) -> Self {
                let ($first, ($($other),*)) = <($first, $rest) as Part>::of_bits(bits);
                ($first, $($other),*)
            }
        }

        impl<$first: Part, $($other: Part),*> Key for ($first, $($other),*)
        where
            $rest: Part,
            $first::Bytes: Plus<<$rest as Part>::Bytes>,
        {
            key_of_bits!();
        }
    )* };
}

tuples! {
    A B C = (B, C);
    A B C D = (B, C, D);
}
