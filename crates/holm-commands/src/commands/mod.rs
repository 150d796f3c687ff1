//! What each command does, one file for each family.

pub(crate) mod bitfield;
pub(crate) mod bits;
pub(crate) mod counters;
pub(crate) mod expiry;
pub(crate) mod former_restore;
pub(crate) mod geo;
pub(crate) mod geo_search;
pub(crate) mod hashes;
pub(crate) mod hyperloglog;
pub(crate) mod keys;
pub(crate) mod lcs;
pub(crate) mod list_moves;
pub(crate) mod lists;
pub(crate) mod ordered;
pub(crate) mod portable;
pub(crate) mod scan;
pub(crate) mod sets;
pub(crate) mod sort;
pub(crate) mod sorted_ranges;
pub(crate) mod sorted_sets;
pub(crate) mod sorted_stores;
pub(crate) mod strings;
