//! Where something lies in an image: an offset with a type, never an address.
//!
//! An image has two areas, each growing from its own zero: leaf blocks, and records. A location names area and offset
//! in one word of 47 bits, so that images open at any address, and two areas may grow without knowing of each other.

use std::marker::PhantomData;

/// Bytes of a cache line: the unit of write-back.
pub const LINE: u64 = 64;

/// The bit of a location that names the area; offsets within an area stay below it (64 TiB).
const AREA_BIT: u32 = 46;

/// The two areas of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Area {
    /// Leaf blocks; the first line of block 0 belongs to the storage.
    Leaves,
    /// Keys and values out of line.
    Records,
}

impl Area {
    /// Both, in the order of their files.
    pub const ALL: [Area; 2] = [Area::Leaves, Area::Records];

    /// The location of a byte of this area.
    #[inline]
    pub const fn at(self, offset: u64) -> u64 {
        offset | (self as u64) << AREA_BIT
    }
}

/// Area and offset of a location.
#[inline]
pub const fn parts(loc: u64) -> (Area, u64) {
    let area = if loc >> AREA_BIT & 1 == 0 { Area::Leaves } else { Area::Records };
    (area, loc & ((1 << AREA_BIT) - 1))
}

/// Where a `T` lies. Zero is null.
pub struct Loc<T>(u64, PhantomData<fn() -> T>);

impl<T> Clone for Loc<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Loc<T> {}
impl<T> PartialEq for Loc<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> std::fmt::Debug for Loc<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (area, offset) = parts(self.0);
        write!(f, "{area:?}+{offset:#x}")
    }
}

impl<T> Loc<T> {
    /// No place at all.
    pub const NULL: Self = Loc(0, PhantomData);

    /// From the bits that [`Loc::bits`] gave; any bits may be given, the image checks them.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Loc(bits, PhantomData)
    }

    /// A byte of an area.
    #[inline]
    pub const fn new(area: Area, offset: u64) -> Self {
        Loc(area.at(offset), PhantomData)
    }

    /// The location as one word.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether this is [`Loc::NULL`].
    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
}
