//! The first large page of an area, whose space is reused last.

#![forbid(unsafe_code)]

use crate::region::LARGE_PAGE;

/// The first large page of an area. A small database begins in small pages, and they stay small. Each of them faults
/// once after every checkpoint, as often as all large pages of a million records together.
pub(super) const FIRST: u64 = LARGE_PAGE as u64;

/// From this size of an area on, in bytes, free space in its first large page is reused only when there is no other.
pub(super) const LARGE: u64 = 4 * FIRST;
