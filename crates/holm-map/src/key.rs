//! Keys: numbers that map to lanes in the same order.
//!
//! Floats have no total order of their own, because NaN has no place in it. [`Real`] is a float that is not NaN. Its
//! constructor rejects NaN with a typed error, so no later operation can fail.

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

/// A type of keys: `u32`, `u64`, `i32`, `i64`, [`Real<f32>`] or [`Real<f64>`]. Every value of these types is a valid
/// key.
pub trait Key: sealed::Sealed + Copy + Ord + fmt::Debug + Send + Sync + 'static {
    /// The number that nodes store in place of the key.
    type Lane: Lane + Plain;
    /// Returns the lane of this key.
    fn lane(self) -> Self::Lane;
    /// Returns the key of `lane`.
    fn of_lane(lane: Self::Lane) -> Self;
    /// Returns the position of `lane`'s key on the number line, up to rounding and a constant. Interpolation uses it.
    fn position(lane: Self::Lane) -> f64;
}

/// Whole numbers: the lane is the key. The top bit of an unsigned key is flipped.
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
    u32, i32, 1 << 31;
    u64, i64, 1 << 63;
    i32, i32, 0;
    i64, i64, 0;
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
        let tiny = f32::from_bits(1);
        let reals = [f32::NEG_INFINITY, f32::MIN, -1.0, -tiny, -0.0, 0.0, tiny, 1.0, f32::MAX, f32::INFINITY];
        ascend(&reals.map(|real| Real::new(real).unwrap()));
        ascend(&reals.map(|real| Real::new(f64::from(real)).unwrap()));
        assert_eq!(Real::<f64>::try_from(f64::NAN), Err(NotANumber));
    }
}
