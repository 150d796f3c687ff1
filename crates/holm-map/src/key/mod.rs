//! Keys: numbers that map to lanes in the same order.
//!
//! Floats have no total order of their own, because NaN has no place in it. [`Real`] is a float that is not NaN. Its
//! constructor rejects NaN with a typed error, so no later operation can fail.

mod parts;

use crate::area::Plain;
use holm_search::Lane;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

mod sealed {
    /// Restricts keys to the types that have a lane.
    pub trait Sealed {}

    /// The floats that [`super::Real`] can wrap.
    pub trait Float: Copy {
        /// Whether the float is not NaN.
        fn is_number(self) -> bool;
    }
}

/// A type of keys: the integers of up to sixteen bytes, `bool`, `char`, [`Real<f32>`] and [`Real<f64>`],
/// [`Reverse`](std::cmp::Reverse) of a key, and tuples of two to four keys that have sixteen bytes together at most.
/// Every value of these types is a valid key, and keys have the order of the type.
///
/// ```
/// use holm_map::Map;
/// use std::cmp::Reverse;
///
/// // The latest first, for each ship.
/// let mut positions: Map<(u32, Reverse<u64>), &str> = Map::new();
/// positions.insert((7, Reverse(100)), "harbour");
/// positions.insert((7, Reverse(200)), "reef");
/// assert_eq!(positions.range((7, Reverse(u64::MAX))..).next(), Some(((7, Reverse(200)), &"reef")));
/// ```
pub trait Key: sealed::Sealed + Copy + Ord + fmt::Debug + Send + Sync + 'static {
    /// The number that nodes store in place of the key.
    type Lane: Lane + Plain;
    /// Returns the lane of this key.
    fn lane(self) -> Self::Lane;
    /// Returns the key of `lane`, which is the lane of some key.
    fn of_lane(lane: Self::Lane) -> Self;
    /// Returns the position of `lane`'s key on the number line, up to rounding and a constant. Interpolation uses it.
    fn position(lane: Self::Lane) -> f64;
}

/// Whole numbers: the lane is the key. The top bit of an unsigned key of the lane's size is flipped.
macro_rules! whole_keys {
    ($($key:ty, $lane:ty, $flip:expr;)*) => { $(
        impl sealed::Sealed for $key {}

        impl Key for $key {
            type Lane = $lane;

            #[inline(always)]
            fn lane(self) -> $lane {
                (self ^ $flip) as $lane
            }

            #[inline(always)]
            fn of_lane(lane: $lane) -> Self {
                lane as $key ^ $flip
            }

            #[inline(always)]
            fn position(lane: $lane) -> f64 {
                lane as f64
            }
        }
    )* };
}

whole_keys! {
    u8, i32, 0;
    u16, i32, 0;
    u32, i32, 1 << 31;
    u64, i64, 1 << 63;
    u128, i128, 1 << 127;
    usize, i64, 1 << (usize::BITS - 1);
    i8, i32, 0;
    i16, i32, 0;
    i32, i32, 0;
    i64, i64, 0;
    i128, i128, 0;
    isize, i64, 0;
}

/// Keys that are not numbers: the lane is the number by which they are ordered.
macro_rules! numbered_keys {
    ($($key:ty: $lane:ident => $of_lane:expr;)*) => { $(
        impl sealed::Sealed for $key {}

        impl Key for $key {
            type Lane = i32;

            #[inline(always)]
            fn lane(self) -> i32 {
                self as i32
            }

            #[inline(always)]
            fn of_lane($lane: i32) -> Self {
                $of_lane
            }

            #[inline(always)]
            fn position(lane: i32) -> f64 {
                f64::from(lane)
            }
        }
    )* };
}

numbered_keys! {
    bool: lane => lane != 0;
    // The lane of a character is one.
    char: lane => char::from_u32(lane as u32).unwrap_or(char::REPLACEMENT_CHARACTER);
}

/// A float that is not NaN. Infinities are included. The order is total: -0 precedes +0, and two values are equal only
/// if their bits are equal.
///
/// ```
/// use holm_map::{Map, NotANumber, Real};
///
/// let mut depths = Map::<Real<f32>, &str>::new();
/// depths.insert(Real::new(-10.9)?, "trench");
/// depths.insert(Real::new(-0.2)?, "shelf");
/// assert_eq!(depths.range(Real::new(-1.0)?..).next().map(|(key, _)| key.get()), Some(-0.2));
/// assert_eq!(Real::new(f32::NAN), Err(NotANumber));
/// # Ok::<(), NotANumber>(())
/// ```
#[derive(Clone, Copy)]
pub struct Real<F>(F);

/// The error of [`Real::new`] for a NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANumber;

impl fmt::Display for NotANumber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key must be a number, and a NaN is none")
    }
}

impl std::error::Error for NotANumber {}

impl<F: fmt::Debug> fmt::Debug for Real<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl<F: sealed::Float> Real<F> {
    /// Wraps a float as a key.
    ///
    /// # Errors
    /// Returns [`NotANumber`] if the float is NaN.
    #[inline(always)]
    pub fn new(float: F) -> Result<Self, NotANumber> {
        if float.is_number() { Ok(Self(float)) } else { Err(NotANumber) }
    }

    /// Returns the float.
    #[inline(always)]
    pub fn get(self) -> F {
        self.0
    }
}

/// Floats: the lane is the float's bits. Floats store a sign and a magnitude, so all bits of a negative float except
/// the sign are flipped.
macro_rules! real_keys {
    ($($float:ty, $lane:ty, $magnitude:expr;)*) => { $(
        impl sealed::Float for $float {
            #[inline(always)]
            fn is_number(self) -> bool {
                !self.is_nan()
            }
        }

        impl TryFrom<$float> for Real<$float> {
            type Error = NotANumber;

            fn try_from(float: $float) -> Result<Self, NotANumber> {
                Self::new(float)
            }
        }

        impl Ord for Real<$float> {
            #[inline(always)]
            fn cmp(&self, other: &Self) -> Ordering {
                self.lane().cmp(&other.lane())
            }
        }

        impl PartialOrd for Real<$float> {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl PartialEq for Real<$float> {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.lane() == other.lane()
            }
        }

        impl Eq for Real<$float> {}

        impl Hash for Real<$float> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.lane().hash(state);
            }
        }

        impl sealed::Sealed for Real<$float> {}

        impl Key for Real<$float> {
            type Lane = $lane;

            #[inline(always)]
            fn lane(self) -> $lane {
                let bits = self.0.to_bits() as $lane;
                bits ^ ((bits >> (<$lane>::BITS - 1)) & $magnitude)
            }

            #[inline(always)]
            fn of_lane(lane: $lane) -> Self {
                let bits = lane ^ ((lane >> (<$lane>::BITS - 1)) & $magnitude);
                Self(<$float>::from_bits(bits as _))
            }

            #[inline(always)]
            fn position(lane: $lane) -> f64 {
                f64::from(Self::of_lane(lane).0)
            }
        }
    )* };
}

real_keys! {
    f32, i32, i32::MAX;
    f64, i64, i64::MAX;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ascend<K: Key>(keys: &[K]) {
        for pair in keys.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].lane() < pair[1].lane(), "{pair:?}");
        }
        for key in keys {
            assert_eq!(K::of_lane(key.lane()), *key);
        }
    }

    #[test]
    fn lanes_order_as_keys_do() {
        ascend(&[0, 1, u32::MAX / 2, u32::MAX / 2 + 1, u32::MAX]);
        ascend(&[0, 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX]);
        ascend(&[i32::MIN, -1, 0, 1, i32::MAX]);
        ascend(&[i64::MIN, -1, 0, 1, i64::MAX]);
        ascend(&[0, 1, u8::MAX / 2 + 1, u8::MAX]);
        ascend(&[0, 1, u16::MAX / 2 + 1, u16::MAX]);
        ascend(&[i8::MIN, -1, 0, 1, i8::MAX]);
        ascend(&[i16::MIN, -1, 0, 1, i16::MAX]);
        ascend(&[0, 1, 1 << 64, u128::MAX / 2, u128::MAX / 2 + 1, u128::MAX]);
        ascend(&[i128::MIN, -1 << 64, -1, 0, 1, 1 << 64, i128::MAX]);
        ascend(&[0, 1, usize::MAX / 2, usize::MAX / 2 + 1, usize::MAX]);
        ascend(&[isize::MIN, -1, 0, 1, isize::MAX]);
        ascend(&[false, true]);
        ascend(&['\0', 'a', '\u{d7ff}', '\u{e000}', char::MAX]);
        let tiny = f32::from_bits(1);
        let reals = [f32::NEG_INFINITY, f32::MIN, -1.0, -tiny, -0.0, 0.0, tiny, 1.0, f32::MAX, f32::INFINITY];
        ascend(&reals.map(|real| Real::new(real).unwrap()));
        ascend(&reals.map(|real| Real::new(f64::from(real)).unwrap()));
        assert_eq!(Real::<f64>::try_from(f64::NAN), Err(NotANumber));
    }

    #[test]
    fn lanes_of_tuples_order_as_tuples_do() {
        use std::cmp::Reverse;
        ascend(&[Reverse(u64::MAX), Reverse(1), Reverse(0)]);
        ascend(&[Reverse(i8::MAX), Reverse(0), Reverse(i8::MIN)]);
        ascend(&[Reverse((1_u8, 'a')), Reverse((1, '\0')), Reverse((0, 'z'))]);
        ascend(&[(i8::MIN, u16::MAX), (-1, 0), (-1, 1), (0, 0), (0, u16::MAX), (i8::MAX, 0)]);
        ascend(&[(false, i16::MIN, 'z'), (false, -1, 'a'), (false, 0, '\0'), (true, i16::MIN, '\0')]);
        ascend(&[(0_u32, Reverse(u32::MAX)), (0, Reverse(0)), (1, Reverse(7)), (u32::MAX, Reverse(0))]);
        ascend(&[(i64::MIN, usize::MAX), (-1, 0), (-1, 1), (0, 0), (i64::MAX, 0), (i64::MAX, usize::MAX)]);
        ascend(&[(1_u64, (2_u32, 3_u16, i8::MIN)), (1, (2, 3, 0)), (1, (2, 4, -1)), (2, (0, 0, 0))]);
        ascend(&[(0_u8, i32::MIN, true, 'a'), (0, -1, false, 'z'), (0, 0, false, 'a'), (1, i32::MIN, false, 'a')]);
        let real = |float: f32| Real::new(float).unwrap();
        ascend(&[(real(-1.5), 9_u8), (real(-0.0), 1), (real(0.0), 0), (real(2.0), 0)]);
        assert_eq!(size_of::<<(u16, u16) as Key>::Lane>(), 4);
        assert_eq!(size_of::<<(u16, u32, i8) as Key>::Lane>(), 8);
        assert_eq!(size_of::<<(u64, i8) as Key>::Lane>(), 16);
    }
}
