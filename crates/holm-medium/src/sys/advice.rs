//! Advice to the kernel about memory.

#![forbid(unsafe_code)]

/// Advice to the kernel. None of it discards contents, and a kernel that does not know it loses nothing but time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advice {
    /// Accesses follow no order: reading ahead is of no use.
    Random,
    /// A forked child does not inherit the pages.
    NotInherited,
    /// Large pages, where the kernel has them.
    LargePages,
    /// Fault the pages in, writable.
    PopulateToWrite,
    /// Fault the pages in, for reading.
    PopulateToRead,
    /// Begin to read the pages, and do not wait for them.
    WillNeed,
}
