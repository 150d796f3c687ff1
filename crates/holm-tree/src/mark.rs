//! The two words of a slot by their part in a shift: the mark, which no two slots of a leaf share, and its mate.
//!
//! Designs that shift pairs tell a pair in transit by a mark that equals its left neighbour's ([`Keys::UNIQUE`]). So a
//! mark must be unique in its leaf, and where a mark of zero means that there is no pair, not zero.

use crate::keys::{Keys, Role};
use crate::leaf::buffered::Pair;
use crate::row::Row;
use holm_medium::Word;

/// The word that no other slot of the leaf has too.
#[inline]
pub fn mark<K: Keys>(pair: &Pair) -> &Word {
    match K::UNIQUE {
        Role::Head => &pair.head,
        Role::Payload => &pair.payload,
    }
}

/// The word beside the mark.
#[inline]
pub fn mate<K: Keys>(pair: &Pair) -> &Word {
    match K::UNIQUE {
        Role::Head => &pair.payload,
        Role::Payload => &pair.head,
    }
}

/// Refuses a payload that is a mark and could not be told from another one, or from none: a shift would lose a pair
/// that no crash has touched. It goes to index `at` of the row.
pub fn check<K: Keys>(row: Row<'_>, at: usize, payload: u64) {
    if K::UNIQUE == Role::Payload {
        assert!(payload != 0, "a payload of zero leads to no record");
        let differs = |index: usize| row.slot(index).payload != payload;
        debug_assert!((0..row.count()).all(|index| index == at || differs(index)), "a payload twice in one leaf");
    }
}
