//! The page of this system.

#![forbid(unsafe_code)]

/// Bytes of a page of this system, the granularity of mappings. 4 KiB on x86-64, up to 64 KiB on ARM. Nothing at rest
/// depends on it.
pub(crate) fn page_size() -> usize {
    rustix::param::page_size()
}
