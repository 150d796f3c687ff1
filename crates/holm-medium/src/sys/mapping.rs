//! How much of a mapping is resident.

#![forbid(unsafe_code)]

/// What the kernel reports of an image's address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Bytes in memory that the page tables map.
    pub resident: u64,
    /// Those of the resident bytes that entries of 2 MiB map, whether of a file, of shared memory or anonymous.
    pub large: u64,
}
