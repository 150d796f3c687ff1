//! [`Loc`], a place in an image: an offset with a type, never an address.
//!
//! An image has two areas, leaf blocks and records, and each grows from its own offset zero. A location holds area and
//! offset in one word of 47 bits. Images thus open at any address, and each area grows without regard to the other.

use std::marker::PhantomData;

/// Bytes of a cache line, the unit of write-back.
pub const LINE: u64 = 64;

/// The bit of a location that selects the area. Offsets within an area are below it (64 TiB).
const AREA_BIT: u32 = 46;

/// The two areas of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Area {
    /// Leaf blocks. Block 0 is the header of the storage.
    Leaves,
    /// Keys and values that lie outside leaves.
    Records,
}

impl Area {
    /// Both areas, in the order of their files.
    pub const ALL: [Area; 2] = [Area::Leaves, Area::Records];

    /// The location of the byte at `offset` in this area.
    #[inline]
    pub const fn at(self, offset: u64) -> u64 {
        offset | (self as u64) << AREA_BIT
    }
}

/// The area and the offset of a location.
#[inline]
pub const fn parts(loc: u64) -> (Area, u64) {
    let area = if loc >> AREA_BIT & 1 == 0 { Area::Leaves } else { Area::Records };
    (area, loc & ((1 << AREA_BIT) - 1))
}

/// The place of a `T` in an image. Zero is null.
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
    /// The null location.
    pub const NULL: Self = Loc(0, PhantomData);

    /// A location from the bits that [`Loc::bits`] returned. Any bits are accepted here; the image checks them.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Loc(bits, PhantomData)
    }

    /// The location of the byte at `offset` in an area.
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
