//! The page of this system.

#![forbid(unsafe_code)]

use std::sync::OnceLock;

/// Bytes of a page of this system, the granularity of mappings. 4 KiB on x86-64, up to 64 KiB on ARM. Nothing at rest
/// depends on it.
#[inline]
pub(crate) fn page_size() -> usize {
    // The C library walks over a table for each answer, and announcements of pages ask for each key.
    static PAGE: OnceLock<usize> = OnceLock::new();
    *PAGE.get_or_init(rustix::param::page_size)
}
