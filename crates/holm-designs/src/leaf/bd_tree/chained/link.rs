//! The link of a leaf to the next one, in 28 bits.

/// In a link: the leaf is the first one of its tree.
pub const FIRST: u32 = 1 << 27;
/// In a link: there is no next leaf.
pub const NONE: u32 = FIRST - 1;

/// A link, unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The number of the next leaf; 0 is none.
    pub next: u32,
    /// Whether the leaf is the first one of its tree.
    pub first: bool,
}

impl Link {
    /// `None` if the block is not a leaf.
    pub fn unpack(bits: u32) -> Option<Self> {
        let next = Some(bits & NONE).filter(|next| *next != NONE).unwrap_or(0);
        (bits != 0).then_some(Link { next, first: bits & FIRST != 0 })
    }

    /// See [`Link::unpack`].
    pub fn pack(self) -> u32 {
        debug_assert!(self.next < NONE, "numbers are less than `Leaf::NUMBERS`");
        (if self.next == 0 { NONE } else { self.next }) | if self.first { FIRST } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_round_trip() {
        for next in [0, 1, 77, NONE - 1] {
            for first in [false, true] {
                let link = Link { next, first };
                assert_eq!(Link::unpack(link.pack()), Some(link));
                assert!(link.pack() < 1 << 28);
            }
        }
        assert_eq!(Link::unpack(0), None);
    }
}
