//! What may be a key: numbers, each of which stands for one lane, in the same order.
//!
//! Floats have no total order of their own, for what is not a number has no place in it. [`Real`] is a float that is
//! a number: to make one is where others are refused, with a typed error, and from there on nothing can fail.

use crate::area::Plain;
use holm_search::Lane;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

mod sealed {
    /// Keys are what has a lane.
    pub trait Sealed {}

    /// What may be [`super::Real`].
    pub trait Float: Copy {
        /// Whether it is one of the numbers.
        fn is_number(self) -> bool;
    }
}

/// A type of keys: `u32`, `u64`, `i32`, `i64`, [`Real<f32>`] and [`Real<f64>`]. All of their values are legal keys.
pub trait Key: sealed::Sealed + Copy + Ord + fmt::Debug + Send + Sync + 'static {
    /// What nodes hold in a key's place.
    type Lane: Lane + Plain;
    /// The lane that stands for this key.
    fn lane(self) -> Self::Lane;
    /// The key for which `lane` stands.
    fn of_lane(lane: Self::Lane) -> Self;
    /// Where `lane`'s key lies among numbers, up to rounding and a constant: for interpolation.
    fn position(lane: Self::Lane) -> f64;
}

/// Whole numbers: the lane is the key, with its top bit flipped if it has no sign.
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

/// A float that is a number, infinities included; in total order, in which -0 comes before +0, and only what has the
/// same bits is equal.
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

/// What was to be a key is not a number.
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
    /// The float as a key.
    ///
    /// # Errors
    /// [`NotANumber`], if it is none.
    #[inline(always)]
    pub fn new(float: F) -> Result<Self, NotANumber> {
        if float.is_number() { Ok(Self(float)) } else { Err(NotANumber) }
    }

    /// The float.
    #[inline(always)]
    pub fn get(self) -> F {
        self.0
    }
}

/// Floats: the lane is the bits, and those of negative ones are flipped but for the sign, for they are signs and
/// magnitudes.
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
